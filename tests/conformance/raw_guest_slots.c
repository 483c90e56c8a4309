/* SPDX-License-Identifier: Apache-2.0 */
/* raw guest slots: of a segment with size classes. */
#include "tests/conformance/raw_guest_slots.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "tests/raw/raw_call.h"
#include "tests/raw/raw_class.h"
#include "tests/raw/raw_words.h"
#include "tests/support/pause.h"

#define CALL_MS 10000
#define HELD    64 /* most slots of a class that are held at once */

/* Where the request lay: its ref; -1: in its descriptor. */
static int place(struct raw_link *link, const struct raw_message *request, void *user)
{
    (void)user;
    return raw_call_answer_i64(link, request->id,
                               request->slot == RAW_INLINE ? -1 : (int64_t)request->slot, CALL_MS);
}

/* Takes slots for `size` bytes as they come, waiting for what the host adds, and puts them back on
 * the own stack; the refs, 4 bytes each. */
static int hold(struct raw_link *link, uint32_t size, uint32_t count, uint32_t *refs)
{
    uint32_t generation, taken = 0;
    int r = 0;

    link->wanted_size = size;
    for (unsigned tries = 0; taken < count && tries < 1000; tries++) {
        r = raw_class_take(link, size, &refs[taken], &generation);
        taken += r == 0;
        if (r < 0 && r != -EAGAIN)
            return r;
        if (r == -EAGAIN)
            pause_ms(1);
    }
    return (int)taken;
}

static int take(struct raw_link *link, const struct raw_message *request, void *user)
{
    struct raw_postcard_rest arguments = raw_call_arguments(request);
    uint32_t size = (uint32_t)raw_postcard_take_u64(&arguments);
    uint32_t count = (uint32_t)raw_postcard_take_u64(&arguments);
    uint32_t refs[HELD], id = request->id;
    int taken;

    (void)user;
    if (arguments.wrong || count > HELD)
        return raw_call_fail(link, id, RAW_INVALID_PAYLOAD, CALL_MS);
    taken = hold(link, size, count, refs);
    for (int i = taken; i-- > 0;) {
        raw_store32(raw_class_record(link, refs[i]), 4, RAW_FREE);
        raw_class_push(link, link->classes->of[refs[i] >> 24].block, refs[i]);
    }
    return taken < 0
               ? taken
               : raw_call_answer_bytes(link, id, refs, (size_t)taken * sizeof(*refs), CALL_MS);
}

/* So many slots whose record says that they are ours, of all extents of a class there are. */
static int count_own(struct raw_link *link, const struct raw_message *request, void *user)
{
    struct raw_postcard_rest arguments = raw_call_arguments(request);
    uint32_t c = (uint32_t)raw_postcard_take_u64(&arguments), extents;
    int64_t count = 0;

    (void)user;
    if (arguments.wrong || c >= link->classes->count)
        return raw_call_fail(link, request->id, RAW_INVALID_PAYLOAD, CALL_MS);
    extents = raw_load32(link->base, link->classes->of[c].header + 8);
    for (uint32_t e = 0; e < extents; e++)
        for (uint32_t i = 0; i < link->classes->of[c].per_extent; i++) {
            uint8_t *record = raw_class_record(link, c << 24 | e << 22 | i);

            if (!record)
                return -EPROTO;
            count += raw_load32(record, 8) == link->peer;
        }
    return raw_call_answer_i64(link, request->id, count, CALL_MS);
}

/* With slots of each class in every state: allocated, in flight with no descriptor, set free and
 * not yet on the stack, and the host's that was received and not given back. */
static int die_with_slots(struct raw_link *link, const struct raw_message *request, void *user)
{
    uint32_t ref, generation;

    (void)user;
    if (request->slot != RAW_INLINE)
        raw_store32(raw_class_record(link, request->slot), 4, RAW_FREE);
    for (uint32_t c = 0; c < link->classes->count; c++) {
        uint32_t size = link->classes->of[c].slot_size;

        if (raw_class_take(link, size, &ref, &generation) == 0)
            memset(raw_class_bytes(link, ref), 0xdd, size);
        if (raw_class_take(link, size, &ref, &generation) == 0)
            raw_class_sent(link, ref);
        if (raw_class_take(link, size, &ref, &generation) == 0)
            raw_store32(raw_class_record(link, ref), 4, RAW_FREE);
    }
    raise(SIGKILL);
    return 0;
}

const struct raw_method raw_guest_slots[] = {
    {"place(bytes) -> i64", place},
    {"take(u64, u64) -> bytes", take},
    {"count_own(u64) -> i64", count_own},
    {"die_with_slots(bytes) -> void", die_with_slots},
    {NULL, NULL},
};
