/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/core/session/session.h"

#include <rapahub/error.h>

#include "cluster/base/ids.h"

/* r[impl cluster.session.start] */
int cluster_session_start(struct cluster_session *session, uint64_t revision, uint32_t boot,
                          uint32_t generation)
{
    if (session->revision != 0)
        return rapahub_fail(RAPAHUB_ESTATE, "cluster.session.start",
                            "the node has its session already");
    if (!cluster_ids_is_revision(revision) || boot == 0 ||
        cluster_ids_generation(revision) != generation)
        return rapahub_fail(RAPAHUB_EINVAL, "cluster.session.start",
                            "no session has these numbers");
    *session = (struct cluster_session){revision, boot, generation};
    return 0;
}

uint64_t cluster_session_token(const struct cluster_session *session, uint64_t epoch, uint32_t life)
{
    return cluster_ids_token(session->generation, epoch, life);
}
