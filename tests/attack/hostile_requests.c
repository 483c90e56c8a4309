/* SPDX-License-Identifier: Apache-2.0 */
/* hostile requests: what a guest may ask its host for by descriptors of its own making: orders that
 * are the host's to give, entry by a chain it is not in, and more than it will ever fetch. */
#include <errno.h>
#include <string.h>

#include "tests/attack/hostile.h"
#include "tests/raw/raw_call.h"
#include "tests/support/pause.h"

#define CALL_MS   10000
#define FIRST     0x20000000 /* first id of requests */
#define BURST     16
#define COLLECTED 1024 /* requests at most whose answers are counted */

static uint32_t next_id = FIRST;
static uint64_t seen; /* chain of the last request that had one */

/* A container as metadata names it, in a chain or in none. */
static void begin(struct raw_postcard *to, uint32_t pool, uint64_t chain)
{
    struct raw_postcard target = {.size = 0};

    raw_postcard_u64(&target, chain);
    raw_postcard_u64(&target, pool);
    raw_postcard_byte(&target, 0);
    raw_postcard_byte(&target, 0);
    to->size = 0;
    raw_postcard_u64(to, 1);
    raw_postcard_string(to, "rapahub-to");
    raw_postcard_u64(to, 1); /* kind: bytes */
    raw_postcard_bytes(to, target.bytes, target.size);
}

static uint32_t ask(struct raw_link *link, uint64_t method, const struct raw_postcard *payload)
{
    const struct raw_message request = {.type = RAW_REQUEST,
                                        .id = ++next_id,
                                        .method = method,
                                        .payload = payload->bytes,
                                        .length = (uint32_t)payload->size};

    raw_link_send(link, &request, CALL_MS);
    return request.id;
}

/* ---- orders ---- */

enum way { TO_NEIGHBOUR, IN_A_CHAIN, IN_A_BURST, IN_A_SLOT, TO_ITSELF, TO_AN_OFFER, TO_THE_HOST };

static void give_order(struct raw_link *link, enum way way, uint64_t id, const uint8_t *arguments,
                       size_t size)
{
    static const uint8_t more[200];
    static struct raw_postcard payload;
    uint32_t pool = way == TO_ITSELF ? 2 : way == TO_AN_OFFER ? 9 : 1;

    begin(&payload, pool, way == IN_A_CHAIN ? (seen != 0 ? seen : 4711) : 0);
    if (way == TO_THE_HOST)
        payload = (struct raw_postcard){.bytes = {0}, .size = 1};
    raw_postcard_raw(&payload, arguments, size);
    if (way == IN_A_SLOT)
        raw_postcard_raw(&payload, more, sizeof(more));
    for (int i = 0; i < (way == IN_A_BURST ? BURST : 1); i++)
        (void)ask(link, id, &payload);
}

/* This guest does not check the outcome: it goes on until the host ends it. */
static int usurp(struct raw_link *link, const struct raw_message *request, void *user)
{
    struct raw_postcard_rest arguments = raw_call_arguments(request);
    enum way way = (enum way)raw_postcard_take_u64(&arguments);
    uint64_t id = raw_postcard_take_u64(&arguments);
    uint8_t kept[64];
    const uint8_t *bytes;
    uint32_t own = request->id;
    size_t size;

    (void)user;
    bytes = raw_postcard_take_bytes(&arguments, &size);
    if (arguments.wrong || size > sizeof(kept))
        return raw_call_fail(link, own, RAW_INVALID_PAYLOAD, CALL_MS);
    memcpy(kept, bytes, size);
    give_order(link, way, id, kept, size);
    return raw_call_answer_i64(link, own, 0, CALL_MS);
}

/* ---- chains ---- */

static uint64_t chain_of(const struct raw_message *request)
{
    static const char key[] = "rapahub-chain";
    struct raw_postcard_rest rest = {request->payload, request->length, false};
    uint64_t left = raw_postcard_take_u64(&rest), chain = 0;

    while (left-- > 0 && !rest.wrong) {
        const uint8_t *name;
        size_t size;

        name = raw_postcard_take_bytes(&rest, &size);
        if (raw_postcard_take_u64(&rest) != 2)
            return chain;
        if (!rest.wrong && size == strlen(key) && memcmp(name, key, size) == 0)
            chain = raw_postcard_take_u64(&rest);
        else
            raw_postcard_take_u64(&rest);
    }
    return chain;
}

static uint32_t enter(struct raw_link *link, uint64_t chain)
{
    static struct raw_postcard payload;

    begin(&payload, 1, chain);
    return ask(link, raw_call_method("enter() -> void"), &payload);
}

/* Remembers the chain it is in; with 1 it comes in where that leads, as it may. */
static int look(struct raw_link *link, const struct raw_message *request, void *user)
{
    struct raw_postcard_rest arguments = raw_call_arguments(request), none;
    uint64_t enters = raw_postcard_take_u64(&arguments);
    uint32_t own = request->id;

    (void)user;
    seen = chain_of(request);
    if (enters)
        (void)raw_call_await(link, enter(link, seen), CALL_MS, &none);
    return raw_call_answer(link, own, NULL, CALL_MS);
}

/* The one that was seen, then those around it. */
static uint64_t forged(uint32_t i)
{
    return i % 8 == 0 ? seen : i % 2 ? seen + i / 2 : seen - i / 2;
}

/* So many requests that say they are in its neighbour's chain. The neighbour has them all before
 * the call that it waits for ends. */
static int forge(struct raw_link *link, const struct raw_message *request, void *user)
{
    struct raw_postcard_rest arguments = raw_call_arguments(request);
    uint32_t count = (uint32_t)raw_postcard_take_u64(&arguments), own = request->id;

    (void)user;
    for (uint32_t i = 0; i < count; i++)
        (void)enter(link, forged(i));
    return raw_call_answer(link, own, NULL, CALL_MS);
}

/* ---- answers ---- */

/* So many large answers of a pool, of which it fetches none. */
static int hoard(struct raw_link *link, const struct raw_message *request, void *user)
{
    struct raw_postcard_rest arguments = raw_call_arguments(request);
    uint32_t pool = (uint32_t)raw_postcard_take_u64(&arguments);
    uint64_t count = raw_postcard_take_u64(&arguments);
    static struct raw_postcard payload;

    (void)user;
    for (uint64_t i = 0; i < count; i++) {
        begin(&payload, pool, 0);
        raw_postcard_u64(&payload, i);
        (void)ask(link, raw_call_method("large(u32) -> bytes"), &payload);
    }
    while (!raw_link_left(link))
        pause_ms(100);
    return -EPIPE;
}

/* Returns the fault that its metadata names; 0: none. */
static uint64_t fault_of(const struct raw_message *response)
{
    static const char key[] = "rapahub-fault";
    struct raw_postcard_rest rest = {response->payload, response->length, false};
    const uint8_t *name;
    size_t size;

    if (raw_postcard_take_u64(&rest) == 0)
        return 0;
    name = raw_postcard_take_bytes(&rest, &size);
    if (rest.wrong || size != strlen(key) || memcmp(name, key, size) != 0)
        return 0;
    return raw_postcard_take_u64(&rest) == 2 ? raw_postcard_take_u64(&rest) : 0;
}

/* Judges a response to one of `count` requests from `first` on: each is answered once, in a known
 * way. */
static uint64_t judge_answer(const struct raw_message *response, uint32_t first, uint64_t count)
{
    static uint32_t answered[COLLECTED];
    uint32_t index = response->id - first;
    struct raw_postcard_rest rest;
    int r = raw_call_result(response, &rest);
    uint64_t fault = fault_of(response);

    if (index >= count || answered[index] == first)
        return HOSTILE_COLLECTED_WRONG;
    answered[index] = first;
    if (r == 0)
        return HOSTILE_COLLECTED_WHOLE;
    if (r == 1 + RAW_CANCELLED && (fault == 4 || fault == 5))
        return fault == 4 ? HOSTILE_COLLECTED_REFUSED : HOSTILE_COLLECTED_DROPPED;
    return HOSTILE_COLLECTED_WRONG;
}

/* The same, but after a while it fetches what is left: how many of each kind. */
static int collect(struct raw_link *link, const struct raw_message *request, void *user)
{
    struct raw_postcard_rest arguments = raw_call_arguments(request);
    uint32_t pool = (uint32_t)raw_postcard_take_u64(&arguments), own = request->id;
    uint64_t count = raw_postcard_take_u64(&arguments), sum = 0;
    uint32_t first = next_id + 1, ms = (uint32_t)raw_postcard_take_u64(&arguments);
    static struct raw_postcard payload;
    struct raw_message message;
    int r = 0;

    (void)user;
    if (arguments.wrong || count > COLLECTED)
        return raw_call_fail(link, own, RAW_INVALID_PAYLOAD, CALL_MS);
    for (uint64_t i = 0; i < count; i++) {
        begin(&payload, pool, 0);
        raw_postcard_u64(&payload, i);
        (void)ask(link, raw_call_method("large(u32) -> bytes"), &payload);
    }
    pause_ms((int)ms);
    for (uint64_t i = 0; i < count && r == 0; i += message.type == RAW_RESPONSE) {
        r = raw_link_receive(link, CALL_MS, &message);
        if (r == 0 && message.type == RAW_RESPONSE)
            sum += judge_answer(&message, first, count);
    }
    return r < 0 ? r : raw_call_answer_i64(link, own, (int64_t)sum, CALL_MS);
}

const struct raw_method hostile_requests[HOSTILE_REQUESTS] = {
    {"usurp(u32, u64, bytes) -> i32", usurp},
    {"look(u32) -> void", look},
    {"forge(u32) -> void", forge},
    {"hoard(u32, u32) -> void", hoard},
    {"collect(u32, u32, u32) -> i64", collect},
};
