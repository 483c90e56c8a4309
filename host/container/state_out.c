/* SPDX-License-Identifier: Apache-2.0 */
#include "host/container/state_out.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "host/process/life.h"
#include "host/registry/containers.h"
#include "hub/base/clock.h"
#include "hub/base/crc32c.h"

/* ---- answers of the guest ---- */

static enum hub_lifecycle_method method_of(const struct host_state_out *out)
{
    return out->phase == HOST_STATE_OUT_SAVE ? out->method : HUB_LIFECYCLE_READ;
}

static int decode(struct host_state_out *out, struct hub_answer *answer, void *result)
{
    const struct hub_lifecycle_entry *entry = &hub_lifecycle_table[method_of(out)];

    return host_request_decode(out->life, answer, entry->name, entry->types[0], result);
}

static int take_saved(struct host_state_out *out, struct hub_answer *answer)
{
    struct hub_changes changes = {.whole = true};
    bool whole = out->method == HUB_LIFECYCLE_SAVE;
    int r = decode(out, answer, whole ? (void *)&out->saved : &changes);

    if (r < 0)
        return r;
    if (!whole)
        out->saved = (struct hub_saved){changes.size, changes.version, changes.checksum};
    out->changes = !changes.whole;
    out->phase = HOST_STATE_OUT_HEAD;
    return host_state_head_check_size(out->life->name, out->container, out->saved.size);
}

/* A piece is read only once: the guest frees its output after the last one. */
static int take_piece(struct host_state_out *out, struct hub_answer *answer)
{
    struct rapahub_bytes piece;
    int r = decode(out, answer, &piece);

    if (r < 0)
        return r;
    if (piece.size == 0 || piece.size > HUB_LIFECYCLE_PIECE ||
        piece.size > out->saved.size - out->at)
        return host_state_head_refuse("the guest sent other bytes than it announced");
    memcpy(out->piece, piece.data, piece.size);
    out->piece_size = piece.size;
    out->at += piece.size;
    out->checksum = hub_crc32c(out->checksum, out->piece, piece.size);
    out->phase = HOST_STATE_OUT_PUT;
    return 0;
}

static void on_answer(void *user, int code, struct hub_answer *answer)
{
    struct host_state_out *out = user;
    const char *doing = out->doing ? out->doing : hub_lifecycle_table[method_of(out)].name;
    int r;

    if (code < 0)
        r = host_life_explain(out->life, code, doing);
    else
        r = out->phase == HOST_STATE_OUT_SAVE ? take_saved(out, answer) : take_piece(out, answer);
    out->on_answer(out->user, r);
}

/* ---- phases ---- */

static int ask(struct host_state_out *out, const void *argument)
{
    const void *const arguments[] = {&out->container->handle, argument, NULL};

    return host_question_ask(&out->question, out->life,
                             &(const struct host_request_message){
                                 method_of(out), arguments, on_answer, out, out->deadline_ns});
}

/* For changes the guest is told whether the container is closed to calls: a module that knows no
 * changes saves its whole state, and may do so only then. */
static int save(struct host_state_out *out)
{
    const bool plugged = out->container->state == HOST_CONTAINER_PLUGGED;

    return ask(out, out->method == HUB_LIFECYCLE_SAVE ? NULL : &plugged);
}

static int put(struct host_state_out *out, const void *data, size_t size,
               enum host_state_out_phase next)
{
    int r = out->put(out->user, data, size);

    if (r == 0)
        out->phase = next;
    return r == -EAGAIN ? (int)HOST_QUESTION_STANDS : r;
}

static int put_head(struct host_state_out *out)
{
    host_state_head_make(&out->saved, out->changes, &out->head);
    return put(out, &out->head, sizeof out->head, HOST_STATE_OUT_READ);
}

static int make_room(struct host_state_out *out)
{
    if (!out->piece)
        out->piece =
            malloc(out->saved.size < HUB_LIFECYCLE_PIECE ? out->saved.size : HUB_LIFECYCLE_PIECE);
    return out->piece ? 0 : rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a piece of a state");
}

static int read_piece(struct host_state_out *out)
{
    int r;

    if (out->at == out->saved.size) {
        out->phase = HOST_STATE_OUT_END;
        return out->checksum == out->saved.checksum
                   ? 0
                   : host_state_head_refuse("its checksum differs");
    }
    r = make_room(out);
    return r < 0 ? r : ask(out, &out->at);
}

static int put_piece(struct host_state_out *out)
{
    return put(out, out->piece, out->piece_size, HOST_STATE_OUT_READ);
}

static int put_end(struct host_state_out *out)
{
    return put(out, NULL, 0, HOST_STATE_OUT_OVER);
}

int host_state_out_go_on(struct host_state_out *out)
{
    static int (*const phases[])(struct host_state_out *) = {
        [HOST_STATE_OUT_SAVE] = save,       [HOST_STATE_OUT_HEAD] = put_head,
        [HOST_STATE_OUT_READ] = read_piece, [HOST_STATE_OUT_PUT] = put_piece,
        [HOST_STATE_OUT_END] = put_end,
    };
    int r = 0;

    if (host_question_is_open(&out->question))
        return HOST_QUESTION_WAITS;
    while (r == 0 && out->phase != HOST_STATE_OUT_OVER)
        r = phases[out->phase](out);
    return r;
}

/* To read at the end is to have read all. */
void host_state_out_drop(struct host_state_out *out)
{
    const void *const arguments[] = {&out->container->handle, &out->saved.size, NULL};

    host_question_drop(&out->question);
    if (out->phase > HOST_STATE_OUT_SAVE && out->at < out->saved.size)
        (void)host_request_tell(out->life, HUB_LIFECYCLE_READ, arguments,
                                hub_clock_after(HUB_SECOND));
    free(out->piece);
    out->piece = NULL;
}
