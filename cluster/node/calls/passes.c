/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/calls/passes.h"

#include <stdlib.h>

#include <rapahub/error.h>
#include <rapahub/host.h>

/* A pool of the host itself, or an offer: it is reached by its name when the call is not one that
 * was asked to answer another, for which all of them come here. */
struct passed {
    struct cluster_passes *passes;
    struct rapahub_request_id request;
};

static void on_passed(void *user, const struct rapahub_raw_answer *answer)
{
    struct passed *passed = user;

    passed->passes->count--;
    if (rapahub_host_answer_raw(passed->passes->host, passed->request, answer) < 0)
        rapahub_clear_error();
    free(passed);
}

/* r[impl cluster.node.calls] */
static bool is_meant_here(const struct cluster_passes *passes, const struct rapahub_raw_call *call)
{
    const struct rapahub_query *query = call->query;

    return !query || query->mode == RAPAHUB_QUERY_DIRECT || query->mode == RAPAHUB_QUERY_LOCAL ||
           (query->mode == RAPAHUB_QUERY_PHYSICAL && query->number == passes->node);
}

int cluster_passes_begin(struct cluster_passes *passes, const struct rapahub_raw_call *call,
                         struct rapahub_request_id request)
{
    struct rapahub_raw_call again = *call;
    struct passed *passed;
    int status;

    if ((call->uid.origin == 0 && !call->query) || !is_meant_here(passes, call))
        return rapahub_fail(RAPAHUB_ENOPOOL, "cluster.resolve.query",
                            "there is no pool %u.%u, and no such container in this host",
                            call->target.pool.major, call->target.pool.minor);
    passed = malloc(sizeof *passed);
    if (!passed)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a call");
    *passed = (struct passed){passes, request};
    again.uid = (struct rapahub_uid){0, 0};
    again.query = NULL;
    status = rapahub_host_call_raw(passes->host, &again, on_passed, passed, NULL);
    if (status < 0)
        free(passed);
    else
        passes->count++;
    return status;
}
