/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/client/reconnect.h"

#include "hub/base/clock.h"

#define FIRST      (10 * HUB_MILLISECOND)
#define SOON_MOST  (50 * HUB_MILLISECOND)
#define SOON_UNTIL (5 * HUB_SECOND)
#define MOST       HUB_SECOND

void cluster_reconnect_begin(struct cluster_reconnect *reconnect, uint64_t now_ns, bool at_once)
{
    *reconnect = (struct cluster_reconnect){.since_ns = now_ns,
                                            .next_ns = now_ns + (at_once ? 0 : FIRST),
                                            .wait_ns = at_once ? FIRST / 2 : FIRST};
}

/* r[impl cluster.client.again] */
void cluster_reconnect_failed(struct cluster_reconnect *reconnect, uint64_t now_ns)
{
    uint64_t most = now_ns - reconnect->since_ns < SOON_UNTIL ? SOON_MOST : MOST;

    reconnect->wait_ns = reconnect->wait_ns * 2 < most ? reconnect->wait_ns * 2 : most;
    reconnect->next_ns = now_ns + reconnect->wait_ns;
}
