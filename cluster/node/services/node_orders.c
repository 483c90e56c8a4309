/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/services/node_orders.h"

#include <string.h>

#include <rapahub/error.h>
#include <rapahub/log.h>

#include "hub/wire/postcard.h"

#define RULE "cluster.recover.word"

/* A node whose verdict is `alive` has answered a probe, of this node or of one that was asked to
 * help. Without a verdict it is not watched, and is looked for by its link.
 * r[impl cluster.recover.word] */
static int check_silent(const struct cluster_lists *lists, uint32_t node)
{
    struct cluster_detector_verdict verdict;
    bool watched = cluster_detector_verdict(lists->detector, node, &verdict);

    if (watched && strcmp(verdict.word, "alive") == 0)
        return rapahub_fail(RAPAHUB_ESTATE, RULE,
                            "node %u lives: it answers probes; end rapahubd there first, or wait "
                            "until `rapahub get nodes` says that it is dead",
                            node);
    if (watched && strcmp(verdict.word, "suspect") == 0)
        return rapahub_fail(RAPAHUB_ESTATE, RULE,
                            "node %u may live: it has been silent for a short time only; try again "
                            "when `rapahub get nodes` says that it is dead",
                            node);
    if (!watched && cluster_peer_links_session(lists->peers, node) != 0)
        return rapahub_fail(RAPAHUB_ESTATE, RULE,
                            "node %u lives: its link is up; end rapahubd there first", node);
    return 0;
}

int cluster_node_orders_dead(struct cluster_asking *asking, struct cluster_asker *asker,
                             struct hub_reader *arguments)
{
    const uint32_t node = (uint32_t)hub_postcard_read_unsigned(arguments, 32);
    const bool discard = hub_postcard_read_bool(arguments);
    const struct cluster_orders_order order = {
        .kind = CLUSTER_ORDER_DEAD, .number = asker->number, .node = node, .discard = discard};
    const struct cluster_event event = {.kind = CLUSTER_EVENT_ORDER, .order = &order};
    int status = node == asking->lists.node ? 0 : check_silent(&asking->lists, node);

    if (arguments->failure < 0 || status < 0)
        return arguments->failure < 0 ? arguments->failure : status;
    rapahub_log(RAPAHUB_LOG_WARN, "node", "a person says that node %u is dead%s", node,
                discard ? ", and gives up what only its disk has" : "");
    return cluster_event_queue_add(asking->events, &event);
}

/* Without it no node can join, and no certificate is renewed. */
static int check_authority(const struct cluster_lists *lists, uint32_t node)
{
    uint32_t authority = lists->leader->authority;

    return node != (authority != 0 ? authority : lists->node)
               ? 0
               : rapahub_fail(RAPAHUB_EINVAL, "cluster.leave.order",
                              "node %u has the authority of the cluster, which stays on its "
                              "machine: it cannot leave",
                              node);
}

/* A node without a session is not watched: it has nothing to end.
 * r[impl cluster.leave.order] */
static int check_answers(const struct cluster_lists *lists, uint32_t node)
{
    struct cluster_detector_verdict verdict;

    return !cluster_detector_verdict(lists->detector, node, &verdict) ||
                   (strcmp(verdict.word, "dead") != 0 && strcmp(verdict.word, "suspect") != 0)
               ? 0
               : rapahub_fail(RAPAHUB_ESTATE, "cluster.leave.order",
                              "node %u does not answer, so it cannot end in order: start rapahubd "
                              "there; or, if its machine is off, say so first: `rapahub node dead "
                              "%u --yes`",
                              node, node);
}

int cluster_node_orders_leave(struct cluster_asking *asking, struct cluster_asker *asker,
                              struct hub_reader *arguments)
{
    const uint32_t node = (uint32_t)hub_postcard_read_unsigned(arguments, 32);
    const bool discard = hub_postcard_read_bool(arguments);
    const struct cluster_orders_order order = {
        .kind = CLUSTER_ORDER_LEAVE, .number = asker->number, .node = node, .discard = discard};
    const struct cluster_event event = {.kind = CLUSTER_EVENT_ORDER, .order = &order};
    int status = check_authority(&asking->lists, node);

    if (status == 0)
        status = check_answers(&asking->lists, node);

    if (arguments->failure < 0 || status < 0)
        return arguments->failure < 0 ? arguments->failure : status;
    rapahub_log(RAPAHUB_LOG_INFO, "node", "a person wants that node %u leaves the cluster%s", node,
                discard ? ", also without what only its disk has" : "");
    return cluster_event_queue_add(asking->events, &event);
}
