/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/simulation/cluster/node_orders.h"

#include <string.h>

/* The token of the life of a container in which a call ran last, by the first call with the uid. */
static uint64_t ran[CALLS][CONTAINERS];

void node_orders_reset(void)
{
    memset(ran, 0, sizeof ran);
}

void node_orders_choose(struct cluster_send_call *asked)
{
    asked->order = node_rules_draw(3);
}

static bool is_before(const struct call *call, const struct cluster_send_call *than, uint32_t c)
{
    return call->open && call->asked.order == than->order &&
           call->asked.uid.origin == than->uid.origin &&
           call->asked.uid.number < than->uid.number && c >= call->first &&
           c < call->first + call->count && (call->each & UINT32_C(1) << c) == 0 &&
           call->asked.query.mode != CLUSTER_MODE_LOCAL;
}

void node_orders_check(struct cluster_uid uid, uint32_t c)
{
    uint32_t at = node_rules_first(uid);
    const struct cluster_send_call *asked = &node_rules_world.calls[at].asked;
    uint64_t life = node_rules_world.actors[c].tokens;

    for (uint32_t i = 0; asked->order != 0 && i < node_rules_world.calls_count; i++) {
        const struct call *call = &node_rules_world.calls[i];

        if (is_before(call, asked, c) && ran[node_rules_first(call->asked.uid)][c] != life)
            node_rules_broke("order: call %u runs in container %u before call %u", at, c, i);
    }
    ran[at][c] = life;
}
