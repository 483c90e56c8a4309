/* SPDX-License-Identifier: Apache-2.0 */
/* hostile states: a container that says what it likes of its state, and takes its time for it. */
#include "tests/attack/hostile.h"
#include "tests/raw/raw_call.h"
#include "tests/support/pause.h"

#define CALL_MS 10000

static uint64_t announced = 1; /* bytes */
static int slowness;           /* ms, of each piece */

static int lie(struct raw_link *link, const struct raw_message *request, void *user)
{
    struct raw_postcard_rest arguments = raw_call_arguments(request);
    uint32_t own = request->id;

    (void)user;
    announced = raw_postcard_take_u64(&arguments);
    slowness = (int)raw_postcard_take_u64(&arguments);
    return raw_call_answer(link, own, NULL, CALL_MS);
}

static int agree(struct raw_link *link, const struct raw_message *request, void *user)
{
    (void)user;
    return raw_call_answer(link, request->id, NULL, CALL_MS);
}

static int idle(struct raw_link *link, const struct raw_message *request, void *user)
{
    struct raw_postcard none = {.size = 0};

    (void)user;
    raw_postcard_u64(&none, 0);
    return raw_call_answer(link, request->id, &none, CALL_MS);
}

/* No version, and the checksum of nothing. */
static int save(struct raw_link *link, const struct raw_message *request, void *user)
{
    struct raw_postcard saved = {.size = 0};

    (void)user;
    raw_postcard_u64(&saved, announced);
    raw_postcard_u64(&saved, 0);
    raw_postcard_u64(&saved, 0);
    return raw_call_answer(link, request->id, &saved, CALL_MS);
}

static int read_one(struct raw_link *link, const struct raw_message *request, void *user)
{
    uint32_t own = request->id;

    (void)user;
    pause_ms(slowness);
    return raw_call_answer_bytes(link, own, "", 1, CALL_MS);
}

static int write_one(struct raw_link *link, const struct raw_message *request, void *user)
{
    uint32_t own = request->id;

    (void)user;
    pause_ms(slowness);
    return raw_call_answer(link, own, NULL, CALL_MS);
}

const struct raw_method hostile_lie = {"lie(u64, u32) -> void", lie};

const struct raw_method hostile_orders[] = {
    {"rapahub.plug(u64, bool) -> void", agree},
    {"rapahub.work(u64) -> u64", idle},
    {"rapahub.save(u64) -> {size: u64, version: u32, checksum: u32}", save},
    {"rapahub.read(u64, u64) -> bytes", read_one},
    {"rapahub.write(u64, bytes) -> void", write_one},
    {"rapahub.load(u64, u32) -> void", agree},
    {NULL, NULL},
};
