/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/renewal/renewals.h"

#include <inttypes.h>
#include <stdlib.h>

#include <rapahub/error.h>
#include <rapahub/log.h>

#include "hub/base/clock.h"

#define RULE     "cluster.renewal.ask"
#define LOOK_NS  (3600 * HUB_SECOND) /* the wall clock may be set */
#define AGAIN_NS (60 * HUB_SECOND)   /* after a question, or without a link */

struct cluster_renewals {
    struct cluster_renewals_parts parts;
    struct cluster_grants grants;
    bool up;    /* the link to the authority */
    bool asked; /* and not answered */
    uint64_t look_ns;
};

int cluster_renewals_create(const struct cluster_renewals_parts *parts,
                            struct cluster_renewals **out)
{
    struct cluster_renewals *renewals = calloc(1, sizeof *renewals);

    *out = renewals;
    if (!renewals)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for certificates of nodes");
    renewals->parts = *parts;
    cluster_grants_init(&renewals->grants, &(struct cluster_grants_parts){
                                               parts->links, parts->marker, parts->identity});
    return 0;
}

void cluster_renewals_release(struct cluster_renewals **renewals)
{
    free(*renewals);
    *renewals = NULL;
}

/* With the diagnosis. */
static void say_failed(void)
{
    rapahub_log(RAPAHUB_LOG_ERROR, "identity",
                "the certificate of the node cannot be renewed: %s: it is tried again in a minute",
                rapahub_last_error()->text);
    rapahub_clear_error();
}

/* ---- the links tell ---- */

static void on_up(void *user, uint32_t node, uint64_t session, uint32_t boot)
{
    struct cluster_renewals *renewals = user;

    (void)session, (void)boot;
    cluster_grants_up(&renewals->grants, node);
    if (node != renewals->parts.authority)
        return;
    renewals->up = true;
    renewals->look_ns = 0;
}

static void on_lost(void *user, uint32_t node)
{
    struct cluster_renewals *renewals = user;

    cluster_grants_lost(&renewals->grants, node);
    if (node == renewals->parts.authority)
        renewals->up = renewals->asked = false;
}

/* r[impl cluster.renewal.ask] */
static int take(struct cluster_renewals *renewals, uint32_t from,
                const struct cluster_body_renewed *renewed)
{
    int r = renewed->status;

    if (from != renewals->parts.authority || !renewals->asked)
        return rapahub_fail(RAPAHUB_EPROTOCOL, RULE,
                            "node %" PRIu32 " sends a certificate that was not asked for", from);
    renewals->asked = false;
    if (r < 0)
        rapahub_fail(r, RULE, "node %" PRIu32 " says: %.*s", from, (int)renewed->text.size,
                     renewed->text.data);
    else
        r = cluster_node_identity_install(
            renewals->parts.identity,
            (struct rapahub_bytes){renewed->certificate.data, renewed->certificate.size});
    if (r < 0)
        say_failed();
    return 0;
}

static int on_frame(void *user, uint32_t from, const struct cluster_frame *header,
                    struct rapahub_bytes bytes)
{
    struct cluster_renewals *renewals = user;
    struct cluster_body body;
    int r = cluster_body_read(header->type, bytes, &body);

    if (r < 0)
        return r;
    return header->type == CLUSTER_FRAME_RENEW
               ? cluster_grants_ask(&renewals->grants, from, &body.renew, hub_clock_now())
               : take(renewals, from, &body.renewed);
}

const struct cluster_peer_links_hooks cluster_renewals_hooks = {on_up, on_lost, on_frame};

/* ---- asks ---- */

static void ask(struct cluster_renewals *renewals)
{
    struct cluster_pem request;
    struct cluster_body body;
    int r = cluster_node_identity_request(renewals->parts.identity, &request);

    body.renew.request = (struct rapahub_string){request.text, r == 0 ? request.size : 0};
    if (r == 0)
        r = cluster_peer_links_put(renewals->parts.links, renewals->parts.authority,
                                   CLUSTER_FRAME_RENEW, &body);
    if (r < 0)
        say_failed();
    renewals->asked = r == 0;
}

/* A question without an answer is asked again on a link that comes. */
uint64_t cluster_renewals_step(struct cluster_renewals *renewals, uint64_t now_ns)
{
    bool due;

    if (renewals->parts.authority == 0)
        return HUB_NEVER;
    if (now_ns < renewals->look_ns)
        return renewals->look_ns;
    due = cluster_node_identity_is_due(renewals->parts.identity);
    renewals->look_ns = now_ns + (due ? AGAIN_NS : LOOK_NS);
    if (due && renewals->up && !renewals->asked)
        ask(renewals);
    return renewals->look_ns;
}
