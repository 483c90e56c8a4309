/* SPDX-License-Identifier: Apache-2.0 */
/* direct_pair: a pair whose ends take each other to be awake on another CPU, and one try of a call
 * that goes directly. */
#ifndef TESTS_UNIT_LINK_DIRECT_PAIR_H
#define TESTS_UNIT_LINK_DIRECT_PAIR_H

#include "hub/call/direct_call.h"
#include "hub/call/direct_serve.h"
#include "hub/link/link_state.h"
#include "tests/unit/link/pair.h"

#define DIRECT   __attribute__((unused)) static
#define FIRST_ID (UINT32_C(1) << 12) /* id of the first call of a link: entry 0, its first turn */
#define METHOD   3

/* Each is on a CPU that there is not; each look of one side may show another one. */
DIRECT void be_far(struct pair *pair)
{
    (void)hub_arm(&pair->host.view.entry->host_wait, UINT32_C(0xFFFF0000));
    (void)hub_arm(&pair->host.view.entry->guest_wait, UINT32_C(0xFFFF0000));
}

DIRECT void open_direct(struct pair *pair, const struct hub_limits *limits, uint32_t first_index)
{
    pair_open(pair, limits, first_index);
    be_far(pair);
}

struct attempt {
    struct hub_answer answer;
    uint8_t small[HUB_INLINE_SIZE]; /* the Response, if it was answered in a message */
    struct hub_direct_end end;
};

/* Makes a Request of `size` bytes after no metadata. */
DIRECT void attempt_within(struct pair *pair, uint8_t size, uint64_t timeout_ns,
                           struct attempt *attempt)
{
    uint8_t payload[HUB_INLINE_SIZE] = {0};
    const struct hub_parts parts = {.head = {payload, 1 + (size_t)size}};
    const struct hub_direct_order order = {.method_id = METHOD,
                                           .timeout_ns = timeout_ns,
                                           .small = attempt->small,
                                           .answer = &attempt->answer};

    memset(attempt, 0, sizeof *attempt);
    for (uint8_t i = 0; i < size; i++)
        payload[1 + i] = (uint8_t)(size + i);
    attempt->end = hub_direct_call(pair->host.connection.calls, &parts, &order, false);
}

DIRECT void attempt(struct pair *pair, uint8_t size, struct attempt *attempt)
{
    be_far(pair);
    attempt_within(pair, size, SOON, attempt);
}

DIRECT int wait_for(struct pair *pair, const struct attempt *attempt)
{
    return hub_calls_wait(pair->host.connection.calls, attempt->end.of, false);
}

DIRECT void send_raw(struct end *end, enum hub_message_type type, uint32_t id, const void *payload,
                     size_t size)
{
    const struct hub_message message = {type, id, type == HUB_REQUEST ? METHOD : 0};
    const struct hub_parts parts = {.head = {payload, size}};

    assert_int_equal(hub_link_send(end->connection.link, &message, &parts, 0), 0);
}

/* Reads it as the other side has it now. */
DIRECT uint32_t sent_to_guest(const struct pair *pair)
{
    return hub_load_relaxed(&pair->host.view.entry->host_to_guest_head);
}

DIRECT uint32_t sent_to_host(const struct pair *pair)
{
    return hub_load_relaxed(&pair->host.view.entry->guest_to_host_head);
}

/* With room for an answer through a slot: 256 bytes. */
DIRECT struct hub_answer roomy_answer(void)
{
    struct hub_answer answer = {0};

    assert_true(hub_responses_grow(&answer, 255));
    return answer;
}

/* Counts the questions about Requests, and has the answer. */
struct asking {
    int asked;
    bool plain;
    int method;
};

DIRECT int find_method(void *user, struct hub_request *request,
                       struct hub_channel_name names[HUB_CHANNELS_OF_CALL])
{
    struct asking *asking = user;

    (void)names;
    asking->asked++;
    request->method = &asking->method;
    request->plain = asking->plain;
    return 0;
}

/* The descriptors that were sent last. */
DIRECT struct hub_descriptor *last_to_host(const struct pair *pair)
{
    struct hub_ring_cell *cells = pair->guest.view.guest_to_host;

    return (struct hub_descriptor *)(void *)&cells[(sent_to_host(pair) - 1) % 8];
}

DIRECT struct hub_descriptor *last_to_guest(const struct pair *pair)
{
    struct hub_ring_cell *cells = pair->guest.view.host_to_guest;

    return (struct hub_descriptor *)(void *)&cells[(sent_to_guest(pair) - 1) % 8];
}

#endif
