/* SPDX-License-Identifier: Apache-2.0 */
/* channel_pair: one channel with both its ends in one process; the host is the caller. */
#ifndef TESTS_UNIT_LINK_CHANNEL_PAIR_H
#define TESTS_UNIT_LINK_CHANNEL_PAIR_H

#include "hub/channel/channel_state.h"
#include "hub/channel/channel_writer.h"
#include "tests/unit/link/pair.h"

#define FLOW __attribute__((unused)) static

struct flow {
    struct pair pair;
    struct hub_channel_list caller, callee;
};

FLOW struct hub_limits flow_limits(void)
{
    struct hub_limits limits = pair_limits();

    limits.channels_max = 16;
    return limits;
}

FLOW struct hub_channels *flow_host(struct flow *flow)
{
    return flow->pair.host.connection.channels;
}

FLOW struct hub_channels *flow_guest(struct flow *flow)
{
    return flow->pair.guest.connection.channels;
}

/* Everything that is on its way arrives. */
FLOW void flow_sweep(struct flow *flow)
{
    for (int i = 0; i < 4; i++) {
        assert_true(hub_link_sweep(flow->pair.guest.connection.link, 64) >= 0);
        assert_true(hub_link_sweep(flow->pair.host.connection.link, 64) >= 0);
    }
}

/* A channel of the caller, known to both; `to_callee`: as a `source` of the method. */
FLOW void flow_open_channel(struct flow *flow, bool to_callee)
{
    struct hub_channel_name name = {.sends = !to_callee};

    assert_int_equal(hub_channels_open(flow_host(flow), to_callee, 0, &flow->caller.list[0]), 0);
    flow->caller.count = 1;
    name.id = hub_channel_id(flow->caller.list[0]);
    assert_int_equal(hub_channels_register(flow_guest(flow), &name, 1, &flow->callee), 0);
}

FLOW void flow_open(struct flow *flow, bool to_callee)
{
    const struct hub_limits limits = flow_limits();

    memset(flow, 0, sizeof *flow);
    pair_open(&flow->pair, &limits, 0);
    flow_open_channel(flow, to_callee);
}

FLOW struct hub_channel *flow_sender(struct flow *flow)
{
    return flow->caller.list[0]->sends ? flow->caller.list[0] : flow->callee.list[0];
}

FLOW struct hub_channel *flow_receiver(struct flow *flow)
{
    return flow->caller.list[0]->sends ? flow->callee.list[0] : flow->caller.list[0];
}

/* Does the work of the methods' room around a Response. */
FLOW void flow_answer(struct flow *flow)
{
    hub_channels_answer(&flow->callee, false);
    hub_channels_answered(&flow->caller, false);
    hub_channels_drop(&flow->callee);
    flow_sweep(flow);
    hub_channels_drop(&flow->caller);
    flow_sweep(flow);
}

FLOW void flow_close(struct flow *flow)
{
    hub_channels_drop(&flow->callee);
    hub_channels_drop(&flow->caller);
    pair_close(&flow->pair);
}

/* A message as a peer sends it that keeps no rule. */
FLOW int flow_send(struct end *from, enum hub_message_type type, uint32_t id, const char *bytes,
                   size_t size)
{
    const struct hub_message message = {type, id, 0};
    const struct hub_parts parts = {.head = {bytes, size}};

    return hub_link_send(from->connection.link, &message, &parts, 0);
}

#endif
