/* SPDX-License-Identifier: Apache-2.0 */
/* tls_stage: a node and a client, ana, with what the authority of their cluster has given them. */
#ifndef TESTS_UNIT_CLUSTER_LINK_TLS_STAGE_H
#define TESTS_UNIT_CLUSTER_LINK_TLS_STAGE_H

#include "cluster/link/tls.h"
#include "cluster/link/tls_context.h"
#include "tests/unit/cluster-link/ends.h"
#include "tests/unit/cluster-link/identities.h"

#define NODE 0
#define ANA  1

struct stage {
    char folder[64], folders[2][IDENTITY_PATH];
    struct cluster_ca ca;
    struct cluster_tls_context *node, *ana;
};

ENDS void open_stage(struct stage *stage)
{
    *stage = (struct stage){.folder = "/tmp/rapahub-tls-XXXXXX"};
    assert_non_null(mkdtemp(stage->folder));
    snprintf(stage->folders[NODE], IDENTITY_PATH, "%s/node", stage->folder);
    snprintf(stage->folders[ANA], IDENTITY_PATH, "%s/ana", stage->folder);
    make_authority(&stage->ca, 7);
    write_node(stage->folders[NODE], &stage->ca, 3);
    write_client(stage->folders[ANA], &stage->ca, CLUSTER_PEER_OPERATOR, "ana");
    assert_int_equal(cluster_tls_open(stage->folders[NODE], "node", &stage->node), 0);
    assert_int_equal(cluster_tls_open(stage->folders[ANA], "client", &stage->ana), 0);
}

ENDS void close_stage(struct stage *stage)
{
    cluster_tls_context_release(&stage->node);
    cluster_tls_context_release(&stage->ana);
    remove_identity(stage->folders[NODE]);
    remove_identity(stage->folders[ANA]);
    cluster_ca_fini(&stage->ca);
    assert_int_equal(rmdir(stage->folder), 0);
}

ENDS struct cluster_tls *session_of(const struct cluster_tls_context *context, int fd,
                                    enum cluster_tls_side side)
{
    const struct cluster_tls_options options = {.side = side,
                                                .deadline_ns = hub_clock_after(60 * HUB_SECOND)};
    struct cluster_tls *tls = NULL;

    assert_int_equal(cluster_tls_create(context, fd, &options, &tls), 0);
    return tls;
}

ENDS void make_pair(int fds[2])
{
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
}

#endif
