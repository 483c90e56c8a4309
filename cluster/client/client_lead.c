/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/client/client_lead.h"

#include "hub/base/clock.h"
#include "hub/base/futex.h"

#define REST_NS      (2 * HUB_MILLISECOND) /* without a leader */
#define REST_NS_MOST HUB_SECOND            /* while one leads for long */
#define LONG_NS      HUB_MILLISECOND

enum leader { THE_THREAD, NOBODY, A_CALLER };

bool cluster_client_lead_claim(struct cluster_client_lead *lead)
{
    if (!hub_claim(&lead->leader, NOBODY, A_CALLER))
        return false;
    hub_add(&lead->led, 1);
    lead->since_ns = hub_clock_now();
    return true;
}

bool cluster_client_lead_leave(struct cluster_client_lead *lead)
{
    bool was_long = hub_clock_now() - lead->since_ns >= LONG_NS;

    hub_exchange(&lead->leader, NOBODY);
    return was_long;
}

void cluster_client_lead_call(struct cluster_client_lead *lead)
{
    if (hub_observe(&lead->leader) != NOBODY)
        return;
    hub_publish(&lead->called, 1);
    hub_futex_wake_private(&lead->called);
}

/* If another thread leads, it was not needed that this one was called: a leader that leaves looks
 * whether there is more. */
void cluster_client_lead_rest(struct cluster_client_lead *lead)
{
    uint64_t rest_ns = REST_NS;
    bool may_lead = false;

    hub_exchange(&lead->leader, NOBODY);
    while (!may_lead || !hub_claim(&lead->leader, NOBODY, THE_THREAD)) {
        uint32_t before = hub_observe(&lead->led);
        bool same;

        (void)hub_futex_wait_private(&lead->called, 0, hub_clock_after(rest_ns));
        same = hub_observe(&lead->led) == before;
        may_lead = hub_exchange(&lead->called, 0) != 0 || same;
        rest_ns = same && rest_ns < REST_NS_MOST ? 2 * rest_ns : REST_NS;
    }
}
