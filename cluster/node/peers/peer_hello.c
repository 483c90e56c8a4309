/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/peers/peer_hello.h"

#include <inttypes.h>
#include <string.h>

#include <rapahub/error.h>
#include <rapahub/log.h>

#define TOPIC  "peers"
#define RULE   "cluster.nodes.hello"
#define ONE    "cluster.nodes.one"
#define RECORD "cluster.nodes.gone"

int cluster_peer_hello_say(struct cluster_peer_link *link, uint8_t type)
{
    const struct cluster_peer_links *links = link->links;
    const struct cluster_body body = {.hello = {.protocol_least = CLUSTER_BODY_PROTOCOL,
                                                .protocol_most = CLUSTER_BODY_PROTOCOL,
                                                .role = CLUSTER_ROLE_NODE,
                                                .cluster = {links->cluster, sizeof links->cluster},
                                                .node = links->node,
                                                .boot = links->boot,
                                                .origin = links->session}};

    link->said = links->session;
    return cluster_connection_put(link->connection, &(struct cluster_frame){.type = type}, &body);
}

/* The certificate proves the number; all else is what the node says of itself.
 * r[impl cluster.nodes.hello] */
static int check(const struct cluster_peer_link *link, const struct cluster_body_hello *hello)
{
    const struct cluster_peer_links *links = link->links;
    const struct cluster_peer_name *name = cluster_tls_peer(link->tls);

    if (hello->role != CLUSTER_ROLE_NODE)
        return rapahub_fail(RAPAHUB_EACCES, RULE, "node %u is no client, and says HELLO as one",
                            (unsigned)name->node);
    if (hello->protocol_least > CLUSTER_BODY_PROTOCOL)
        return rapahub_fail(RAPAHUB_EABI, RULE,
                            "node %" PRIu32 " knows protocols from %u on, and node %" PRIu32
                            " protocol %d: use releases that follow each other",
                            hello->node, hello->protocol_least, links->node, CLUSTER_BODY_PROTOCOL);
    if (hello->cluster.size != sizeof links->cluster ||
        memcmp(hello->cluster.data, links->cluster, sizeof links->cluster) != 0)
        return rapahub_fail(RAPAHUB_EACCES, RULE, "node %" PRIu32 " is of another cluster",
                            hello->node);
    if (hello->node != name->node)
        return rapahub_fail(RAPAHUB_EACCES, RULE,
                            "it says that it is node %" PRIu32
                            ", and has the certificate of node %u",
                            hello->node, (unsigned)name->node);
    if (hello->node == links->node)
        return rapahub_fail(RAPAHUB_EACCES, RULE,
                            "it says that it is node %" PRIu32
                            ", as this node is: end the one with the copied folder",
                            hello->node);
    return link->dial && link->dial->node != 0 && link->dial->node != hello->node
               ? rapahub_fail(RAPAHUB_EACCES, RULE,
                              "node %" PRIu32 " answers at %s, which is an address of node %" PRIu32
                              ": start each with a --listen of its own",
                              hello->node, link->where, link->dial->node)
               : 0;
}

/* Says whether a session is that of this node, or of another one than comes with it. */
static bool is_of_another(const struct cluster_peer_links *links, uint32_t node, uint64_t session)
{
    if (session == 0)
        return false;
    for (unsigned i = 0; i < CLUSTER_PEER_ROWS_MAX; i++)
        if (links->rows[i].node != 0 && links->rows[i].node != node &&
            links->rows[i].session == session)
            return true;
    return session == links->session;
}

/* A node may know a later session of itself than the metastore does here, and no earlier one; and
 * none of another node, whose calls would end with it. r[impl cluster.nodes.gone] */
static int compare(const struct cluster_peer_link *link, const struct cluster_body_hello *hello)
{
    const struct cluster_peer_row *row = cluster_peer_link_row(link->links, hello->node);

    if (is_of_another(link->links, hello->node, hello->origin))
        return rapahub_fail(RAPAHUB_EACCES, RECORD,
                            "node %" PRIu32 " comes with the session of another node", hello->node);
    if (!row)
        return 0;
    if (row->gone)
        return rapahub_fail(RAPAHUB_ESTALE, RECORD,
                            "node %" PRIu32 " is no node of the cluster any more", hello->node);
    if (row->fenced && hello->origin != 0 && hello->origin <= row->over)
        return rapahub_fail(RAPAHUB_EFENCED, "cluster.session.back",
                            "the session of node %" PRIu32 " is over: the node is held for dead",
                            hello->node);
    return hello->origin != 0 && hello->origin < row->session
               ? rapahub_fail(RAPAHUB_EACCES, RECORD,
                              "node %" PRIu32
                              " comes with a session that another one has followed: its folder was "
                              "copied, or it was stopped for long",
                              hello->node)
               : 0;
}

/* A later life proves that the one before has ended, or that its folder was copied: then the
 * session in the metastore decides. r[impl cluster.nodes.one] */
static int replace_older(const struct cluster_peer_link *link,
                         const struct cluster_body_hello *hello)
{
    struct cluster_peer_link *before = cluster_peer_link_find(link->links, hello->node);

    if (!before)
        return 0;
    if (hello->boot <= before->boot)
        return rapahub_fail(
            RAPAHUB_EBUSY, ONE,
            "node %" PRIu32 " has a link in its boot %" PRIu32 ", and comes with boot %" PRIu32
            ": two run from one folder, or the link of before is not seen as dead yet",
            hello->node, before->boot, hello->boot);
    rapahub_log(RAPAHUB_LOG_INFO, TOPIC,
                "node %" PRIu32 " comes with boot %" PRIu32 ": its link of boot %" PRIu32 " ends",
                hello->node, hello->boot, before->boot);
    cluster_peer_link_close(before);
    return 0;
}

static void come_up(struct cluster_peer_link *link, const struct cluster_body_hello *hello)
{
    link->node = hello->node;
    link->boot = hello->boot;
    link->session = hello->origin;
    hub_states_move(&cluster_peer_link_states, &link->state, CLUSTER_PEER_LINK_UP, "peer", "HELLO");
    link->links->counts.links++;
    rapahub_log(RAPAHUB_LOG_INFO, TOPIC, "node %" PRIu32 " at %s is linked, in its boot %" PRIu32,
                link->node, link->where, link->boot);
}

int cluster_peer_hello_take(struct cluster_peer_link *link, uint8_t type,
                            const struct cluster_body_hello *hello)
{
    int r = check(link, hello);

    if (r == 0)
        r = compare(link, hello);
    if (r == 0)
        r = replace_older(link, hello);
    if (r == 0 && type == CLUSTER_FRAME_HELLO)
        r = cluster_peer_hello_say(link, CLUSTER_FRAME_HELLO_OK);
    if (r < 0) {
        cluster_peer_link_refuse(link, r);
        return CLUSTER_CONNECTION_LATER;
    }
    come_up(link, hello);
    cluster_peer_link_tell(link);
    /* This node may have begun its session since it dialled. r[impl cluster.nodes.session] */
    return link->said != link->links->session ? cluster_peer_hello_say(link, CLUSTER_FRAME_HELLO)
                                              : 0;
}

/* r[impl cluster.nodes.session] */
int cluster_peer_hello_take_session(struct cluster_peer_link *link,
                                    const struct cluster_body_hello *hello)
{
    if (link->session != 0 || hello->origin == 0)
        return rapahub_fail(RAPAHUB_EPROTOCOL, RULE, "node %" PRIu32 " says HELLO again",
                            link->node);
    if (hello->role != CLUSTER_ROLE_NODE || hello->node != link->node || hello->boot != link->boot)
        return rapahub_fail(RAPAHUB_EPROTOCOL, RULE, "node %" PRIu32 " says that it is another one",
                            link->node);
    if (compare(link, hello) < 0)
        return RAPAHUB_EACCES;
    link->session = hello->origin;
    cluster_peer_link_tell(link);
    return 0;
}
