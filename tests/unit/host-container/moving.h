/* SPDX-License-Identifier: Apache-2.0 */
/* moving: a guest whose container has a state, and the embedder's end of a state that moves piece
 * by piece. Everything is in the calling thread. */
#ifndef TESTS_UNIT_HOST_CONTAINER_MOVING_H
#define TESTS_UNIT_HOST_CONTAINER_MOVING_H

#include <errno.h>

#include <rapahub/lifecycle.h>

#include "host/owner/detached.h"
#include "hub/base/crc32c.h"
#include "tests/unit/host-container/answering.h"

#define MOVING_MOST 4000
#define MOVING_HEAD 32
#define MOVING_READ 500 /* bytes of a piece that the guest gives */

struct moving {
    struct answering *answering;
    struct host_owner *owner;
    /* the guest: what it announces, what it has, what it loaded, what it was asked: "srrwl" */
    struct hub_saved saved;
    uint8_t state[MOVING_MOST], written[MOVING_MOST];
    size_t has, read, written_size;
    uint32_t version;
    unsigned loads;
    bool whole, plugged;
    char log[256];
    /* the embedder: the bytes that it got, or gives */
    uint8_t bytes[MOVING_MOST];
    size_t size, at, step; /* step: bytes that it gives at once */
    unsigned asked, ends;  /* calls of its callback; those with size 0 */
    unsigned stands;       /* so many of the next calls let the state wait */
    unsigned fails;        /* the number of the call that fails with -5; 0: none */
    int result;            /* of each call, if it is not 0 */
    void (*in_piece)(struct moving *moving);
    bool inside;
    /* the end of the step */
    unsigned told;
    int code;
    int was_whole; /* -1: no result */
    char text[256];
};

/* ---- the guest ---- */

FLOOR_UNUSED static void moving_note(struct moving *moving, enum hub_lifecycle_method method)
{
    static const char letters[HUB_LIFECYCLE_COUNT] = {
        [HUB_LIFECYCLE_BEGIN] = 'b',        [HUB_LIFECYCLE_WRITE] = 'w',
        [HUB_LIFECYCLE_LOAD] = 'l',         [HUB_LIFECYCLE_SAVE] = 's',
        [HUB_LIFECYCLE_READ] = 'r',         [HUB_LIFECYCLE_FINI] = 'f',
        [HUB_LIFECYCLE_SAVE_CHANGES] = 'S', [HUB_LIFECYCLE_LOAD_CHANGES] = 'L',
        [HUB_LIFECYCLE_PLUG] = 'p',         [HUB_LIFECYCLE_ROLE] = 'o',
        [HUB_LIFECYCLE_ROLES] = 'O'};
    size_t size = strlen(moving->log);

    assert_true(letters[method] != 0 && size + 1 < sizeof moving->log);
    moving->log[size] = letters[method];
}

FLOOR_UNUSED static void moving_read(struct moving *moving, struct hub_writer *writer, uint64_t at)
{
    struct rapahub_bytes bytes = {moving->state + at, 0};

    assert_true(at <= moving->has || at == moving->saved.size);
    if (at < moving->has)
        bytes.size = moving->has - at < moving->read ? moving->has - at : moving->read;
    hub_payload_put(writer, &rapahub_type_bytes, &bytes);
}

FLOOR_UNUSED static void moving_write(struct moving *moving, struct rapahub_bytes bytes)
{
    if (bytes.size == 0)
        moving->written_size = 0;
    assert_true(bytes.size <= MOVING_MOST - moving->written_size);
    memcpy(moving->written + moving->written_size, bytes.data, bytes.size);
    moving->written_size += bytes.size;
}

FLOOR_UNUSED static bool moving_put(struct answering *answering, struct hub_writer *writer,
                                    enum hub_lifecycle_method method, struct hub_reader *arguments)
{
    const struct rapahub_type *const *types = hub_lifecycle_table[method].types;
    struct moving *moving = answering->test;
    struct hub_changes changes;
    struct rapahub_bytes bytes;
    uint64_t handle, at;

    moving_note(moving, method);
    if (method != HUB_LIFECYCLE_BEGIN)
        hub_payload_decode(arguments, &rapahub_type_u64, &handle);
    if (method == HUB_LIFECYCLE_SAVE) {
        hub_payload_put(writer, types[0], &moving->saved);
    } else if (method == HUB_LIFECYCLE_SAVE_CHANGES) {
        hub_payload_decode(arguments, types[2], &moving->plugged);
        changes = (struct hub_changes){moving->saved.size, moving->saved.version,
                                       moving->saved.checksum, moving->whole};
        hub_payload_put(writer, types[0], &changes);
    } else if (method == HUB_LIFECYCLE_READ) {
        hub_payload_decode(arguments, types[2], &at);
        moving_read(moving, writer, at);
    } else if (method == HUB_LIFECYCLE_WRITE) {
        hub_payload_decode(arguments, types[2], &bytes);
        moving_write(moving, bytes);
    } else if (method == HUB_LIFECYCLE_LOAD || method == HUB_LIFECYCLE_LOAD_CHANGES) {
        hub_payload_decode(arguments, types[2], &moving->version);
        moving->loads++;
    }
    return true;
}

/* Lets it have a state of so many bytes. */
FLOOR_UNUSED static void moving_fill(struct moving *moving, size_t size)
{
    for (size_t i = 0; i < size; i++)
        moving->state[i] = (uint8_t)(i * 7 + 1);
    moving->has = size;
    moving->read = MOVING_READ;
    moving->saved = (struct hub_saved){
        .size = size, .version = 3, .checksum = hub_crc32c(0, moving->state, size)};
}

/* ---- the embedder ---- */

/* What every call does first: it may let the state wait, or fail. 0: it goes on. */
FLOOR_UNUSED static int moving_asked(struct moving *moving, size_t size)
{
    assert_false(moving->inside); /* one after another */
    assert_true(moving->owner->callbacks > 0);
    assert_true(size <= 61440);
    moving->asked++;
    moving->inside = true;
    if (moving->in_piece)
        moving->in_piece(moving);
    moving->inside = false;
    if (moving->stands > 0) {
        moving->stands--;
        return -EAGAIN;
    }
    return moving->asked == moving->fails ? -5 : moving->result;
}

FLOOR_UNUSED static int moving_take(void *user, void *data, size_t size)
{
    struct moving *moving = user;
    int r = moving_asked(moving, size);

    if (r != 0)
        return r;
    assert_int_equal(moving->ends, 0);
    moving->ends += size == 0;
    assert_true(size <= MOVING_MOST - moving->size);
    if (size > 0)
        memcpy(moving->bytes + moving->size, data, size);
    moving->size += size;
    return 0;
}

FLOOR_UNUSED static int moving_give(void *user, void *data, size_t size)
{
    struct moving *moving = user;
    size_t left = moving->size - moving->at;
    size_t count = left < moving->step ? left : moving->step;
    int r = moving_asked(moving, size);

    if (r != 0)
        return r;
    assert_int_equal(moving->ends, 0);
    assert_true(size > 0);
    count = count < size ? count : size;
    memcpy(data, moving->bytes + moving->at, count);
    moving->at += count;
    moving->ends += count == 0;
    return (int)count;
}

FLOOR_UNUSED static void moving_on_done(void *user, int status, const void *result)
{
    struct moving *moving = user;

    moving->told++;
    moving->code = status;
    moving->was_whole = result ? *(const bool *)result : -1;
    snprintf(moving->text, sizeof moving->text, "%s", rapahub_last_error()->text);
}

/* ---- both ---- */

FLOOR_UNUSED static struct moving *moving_open(void)
{
    struct moving *moving = test_calloc(1, sizeof *moving);

    moving->answering = answering_open();
    moving->answering->put = moving_put;
    moving->answering->test = moving;
    moving->owner = HOST_OWNER(&moving->answering->stage->host);
    moving_fill(moving, 1200);
    moving->step = MOVING_MOST;
    return moving;
}

FLOOR_UNUSED static void moving_close(struct moving *moving)
{
    assert_true(hub_list_empty(&moving->owner->detached));
    assert_true(hub_list_empty(&moving->owner->changes.listeners));
    assert_false(moving->answering->stage->container->moving);
    answering_close(moving->answering);
    test_free(moving);
}

FLOOR_UNUSED static struct rapahub_host *moving_handle(const struct moving *moving)
{
    return answering_handle(&moving->answering->stage->host);
}

/* Begins anew: nothing was asked, and nothing got. */
FLOOR_UNUSED static void moving_again(struct moving *moving)
{
    memset(moving->log, 0, sizeof moving->log);
    moving->at = moving->asked = moving->ends = moving->told = 0;
    moving->written_size = moving->loads = 0;
    moving->code = 1;
}

FLOOR_UNUSED static struct rapahub_step moving_step(struct moving *moving,
                                                    const struct rapahub_pieces *state,
                                                    uint64_t timeout_ns)
{
    return (struct rapahub_step){.target = stage_here,
                                 .timeout_ns = timeout_ns,
                                 .on_done = moving_on_done,
                                 .user = moving,
                                 .state = state};
}

FLOOR_UNUSED static void moving_turn(struct moving *moving)
{
    (void)answering_until(moving->owner, 0);
    (void)host_detached_settle(moving->owner);
}

FLOOR_UNUSED static void moving_turns(struct moving *moving, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        moving_turn(moving);
}

/* Turns until the end is told, for a second at most. */
FLOOR_UNUSED static int moving_await(struct moving *moving)
{
    uint64_t end = hub_clock_after(HUB_SECOND);

    while (moving->told == 0 && hub_clock_left(end) > 0)
        moving_turn(moving);
    moving_turns(moving, 3); /* what is told after it */
    assert_int_equal(moving->told, 1);
    return moving->code;
}

#endif
