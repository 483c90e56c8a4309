/* SPDX-License-Identifier: Apache-2.0 */
#include "host/container/state_in.h"

#include <errno.h>
#include <stdlib.h>

#include <rapahub/error.h>

#include "host/process/life.h"
#include "host/registry/containers.h"
#include "hub/base/clock.h"
#include "hub/base/crc32c.h"

static const struct rapahub_bytes nothing = {NULL, 0};

static enum hub_lifecycle_method method_of(const struct host_state_in *in)
{
    return in->phase == HOST_STATE_IN_LOAD ? in->method : HUB_LIFECYCLE_WRITE;
}

static void on_answer(void *user, int code, struct hub_answer *answer)
{
    static const enum host_state_in_phase next[] = {[HOST_STATE_IN_FORGET] = HOST_STATE_IN_HEAD,
                                                    [HOST_STATE_IN_WRITE] = HOST_STATE_IN_GET,
                                                    [HOST_STATE_IN_LOAD] = HOST_STATE_IN_OVER};
    struct host_state_in *in = user;
    const char *name = hub_lifecycle_table[method_of(in)].name;
    int r = code < 0 ? host_life_explain(in->life, code, in->doing ? in->doing : name)
                     : host_request_decode(in->life, answer, name, &rapahub_type_void, NULL);

    if (r == 0)
        in->phase = next[in->phase];
    in->on_answer(in->user, r);
}

static int ask(struct host_state_in *in, const void *argument)
{
    const void *const arguments[] = {&in->container->handle, argument, NULL};

    return host_question_ask(&in->question, in->life,
                             &(const struct host_request_message){method_of(in), arguments,
                                                                  on_answer, in, in->deadline_ns});
}

/* ---- phases ---- */

static bool is_changes(const struct host_state_in *in)
{
    return in->method == HUB_LIFECYCLE_LOAD_CHANGES;
}

/* A container that has just begun has no such pieces. */
static int forget(struct host_state_in *in)
{
    if (is_changes(in))
        return ask(in, &nothing);
    in->phase = HOST_STATE_IN_HEAD;
    return 0;
}

/* Returns how many bytes have come, at least one; HOST_QUESTION_STANDS as a failure. */
static int get(struct host_state_in *in, void *data, size_t size, size_t *out)
{
    int r = in->get(in->user, data, size);

    if (r == 0)
        return rapahub_fail(RAPAHUB_ERESET, "", "the saved state ended before its last byte");
    if (r < 0)
        return r == -EAGAIN ? (int)HOST_QUESTION_STANDS : r;
    *out = (size_t)r;
    return 0;
}

static int make_room(struct host_state_in *in)
{
    in->left = in->head.size;
    if (in->left == 0)
        return 0;
    in->piece = malloc(in->left < in->piece_max ? in->left : in->piece_max);
    return in->piece ? 0 : rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a piece of a state");
}

static int get_head(struct host_state_in *in)
{
    size_t size = 0;
    int r = get(in, (uint8_t *)&in->head + in->head_size, sizeof in->head - in->head_size, &size);

    if (r != 0)
        return r;
    in->head_size += size;
    if (in->head_size < sizeof in->head)
        return 0;
    r = host_state_head_check(&in->head, is_changes(in), in->life->name, in->container);
    if (r == 0)
        r = make_room(in);
    in->phase = HOST_STATE_IN_GET;
    return r;
}

static int get_piece(struct host_state_in *in)
{
    int r;

    if (in->left == 0) {
        in->phase = HOST_STATE_IN_END;
        return 0;
    }
    r = get(in, in->piece, in->left < in->piece_max ? in->left : in->piece_max, &in->piece_size);
    if (r != 0)
        return r;
    in->left -= in->piece_size;
    in->checksum = hub_crc32c(in->checksum, in->piece, in->piece_size);
    in->phase = HOST_STATE_IN_WRITE;
    return 0;
}

static int write_piece(struct host_state_in *in)
{
    const struct rapahub_bytes piece = {in->piece, in->piece_size};

    return ask(in, &piece);
}

static int get_end(struct host_state_in *in)
{
    uint8_t more;
    int r = in->get(in->user, &more, sizeof more);

    if (r < 0)
        return r == -EAGAIN ? (int)HOST_QUESTION_STANDS : r;
    if (r > 0)
        return host_state_head_refuse("it goes on after its last byte");
    if (in->checksum != in->head.checksum)
        return host_state_head_refuse("its checksum differs");
    in->phase = HOST_STATE_IN_LOAD;
    return 0;
}

static int load(struct host_state_in *in)
{
    return ask(in, &in->head.version);
}

int host_state_in_go_on(struct host_state_in *in)
{
    static int (*const phases[])(struct host_state_in *) = {
        [HOST_STATE_IN_FORGET] = forget, [HOST_STATE_IN_HEAD] = get_head,
        [HOST_STATE_IN_GET] = get_piece, [HOST_STATE_IN_WRITE] = write_piece,
        [HOST_STATE_IN_END] = get_end,   [HOST_STATE_IN_LOAD] = load,
    };
    int r = 0;

    if (host_question_is_open(&in->question))
        return HOST_QUESTION_WAITS;
    while (r == 0 && in->phase != HOST_STATE_IN_OVER &&
           !(in->pauses && in->phase == HOST_STATE_IN_LOAD))
        r = phases[in->phase](in);
    return r;
}

void host_state_in_drop(struct host_state_in *in)
{
    const void *const arguments[] = {&in->container->handle, &nothing, NULL};

    host_question_drop(&in->question);
    if (is_changes(in) && in->head_size > 0 && in->phase < HOST_STATE_IN_LOAD)
        (void)host_request_tell(in->life, HUB_LIFECYCLE_WRITE, arguments,
                                hub_clock_after(HUB_SECOND));
    free(in->piece);
    in->piece = NULL;
}
