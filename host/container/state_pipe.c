/* SPDX-License-Identifier: Apache-2.0 */
#include "host/container/state_pipe.h"

#include <errno.h>
#include <string.h>

#include <rapahub/error.h>

#include "host/process/life.h"

/* The same bytes are put until they are taken. */
static int put(void *user, const void *data, size_t size)
{
    struct host_state_pipe *pipe = user;

    if (pipe->offered && !pipe->taken)
        return -EAGAIN;
    pipe->moved = true;
    pipe->offered = !pipe->offered;
    pipe->taken = false;
    pipe->data = data;
    pipe->size = size;
    return pipe->offered ? -EAGAIN : 0;
}

/* The end is an offer of nothing. */
static int get(void *user, void *data, size_t size)
{
    struct host_state_pipe *pipe = user;

    if (!pipe->offered || pipe->taken)
        return -EAGAIN;
    size = size < pipe->size ? size : pipe->size;
    if (size > 0) {
        memcpy(data, pipe->data, size);
        pipe->data += size;
        pipe->size -= size;
    }
    pipe->taken = pipe->size == 0;
    pipe->moved = true;
    return (int)size;
}

static void on_answer(void *user, int r)
{
    struct host_state_pipe *pipe = user;

    pipe->on_answer(pipe->user, r);
}

/* The head is handed on like every piece, so the new guest gets what any embedder would give. */
static void open_both(struct host_state_pipe *pipe)
{
    pipe->out = (struct host_state_out){.life = pipe->from,
                                        .container = pipe->container,
                                        .method = HUB_LIFECYCLE_SAVE,
                                        .deadline_ns = pipe->deadline_ns,
                                        .doing = pipe->doing,
                                        .put = put,
                                        .on_answer = on_answer,
                                        .user = pipe};
    pipe->in = (struct host_state_in){.life = pipe->to,
                                      .container = pipe->container,
                                      .method = HUB_LIFECYCLE_LOAD,
                                      .piece_max = host_state_head_piece(pipe->host),
                                      .deadline_ns = pipe->deadline_ns,
                                      .doing = pipe->doing,
                                      .pauses = true,
                                      .get = get,
                                      .on_answer = on_answer,
                                      .user = pipe};
    pipe->open = true;
}

int host_state_pipe_go_on(struct host_state_pipe *pipe)
{
    int out, in;

    if (!pipe->open)
        open_both(pipe);
    do {
        pipe->moved = false;
        out = host_state_out_go_on(&pipe->out);
        if (out < 0 && out != -EAGAIN)
            return out;
        in = host_state_in_go_on(&pipe->in);
        if (in < 0 && in != -EAGAIN)
            return in;
    } while (pipe->moved);
    if (out == -EAGAIN || in == -EAGAIN)
        return -EAGAIN;
    return out == 0 && in == 0 ? 0 : (int)HOST_QUESTION_WAITS;
}

int host_state_pipe_load(struct host_state_pipe *pipe)
{
    pipe->in.pauses = false;
    return host_state_in_go_on(&pipe->in);
}

void host_state_pipe_drop(struct host_state_pipe *pipe)
{
    if (pipe->open) {
        host_state_out_drop(&pipe->out);
        host_state_in_drop(&pipe->in);
    }
    pipe->open = pipe->offered = pipe->taken = false;
}
