/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/services/node_inquiries.h"

#include <stdlib.h>

#include <rapahub/error.h>

struct cluster_node_inquiries {
    const struct cluster_node_inquiries_hooks *hooks; /* NULL: the node has ended */
    void *user;
};

static int begin(void *user, const struct rapahub_raw_call *call, struct rapahub_request_id answer)
{
    const struct cluster_node_inquiries *inquiries = user;

    return inquiries->hooks ? inquiries->hooks->begin(inquiries->user, call, answer)
                            : rapahub_fail(RAPAHUB_ECLOSED, "", "the node has stopped");
}

static void cancel(void *user, struct rapahub_request_id answer)
{
    const struct cluster_node_inquiries *inquiries = user;

    if (inquiries->hooks)
        inquiries->hooks->cancel(inquiries->user, answer);
}

int cluster_node_inquiries_make(struct rapahub_host *host,
                                const struct cluster_node_inquiries_offer *offer,
                                struct cluster_node_inquiries **out)
{
    struct cluster_node_inquiries *made = malloc(sizeof *made);
    const struct rapahub_inquiries inquiries = {offer->methods, begin, cancel, made, free, {0}};
    int status;

    if (!made)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for what a node offers");
    *made = (struct cluster_node_inquiries){offer->hooks, offer->user};
    status = rapahub_host_offer_inquiries(host, offer->container, &inquiries);
    if (status < 0)
        free(made);
    else
        *out = made;
    return status;
}

void cluster_node_inquiries_end(struct cluster_node_inquiries **inquiries)
{
    if (*inquiries)
        (*inquiries)->hooks = NULL;
    *inquiries = NULL;
}
