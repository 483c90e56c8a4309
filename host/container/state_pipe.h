/* SPDX-License-Identifier: Apache-2.0 */
/* state_pipe: a container's state on its way from one guest to another, in steps that wait for
 * nothing: what state_out hands on is what state_in gets. A piece is written to the one guest while
 * the next one is read from the other. Owner. */
#ifndef HOST_CONTAINER_STATE_PIPE_H
#define HOST_CONTAINER_STATE_PIPE_H

#include "host/container/state_in.h"
#include "host/container/state_out.h"

/* Zeroed except for the first members. It must stay where it is from the begin to the drop. */
struct host_state_pipe {
    struct host_call *host;
    struct host_life *from, *to; /* held by the caller, as the container is */
    const struct host_container *container;
    uint64_t deadline_ns; /* for all of it */
    const char *doing;    /* for messages to people */
    /* After an answer: host_state_pipe_go_on, or _load, is to be called; r < 0: it failed, with the
     * diagnosis. */
    void (*on_answer)(void *user, int r);
    void *user;

    bool open;
    struct host_state_out out;
    struct host_state_in in;
    const uint8_t *data; /* the bytes that are handed on; `size` of them are left */
    size_t size;
    bool offered, taken; /* it is handed on; all of it was taken */
    bool moved;          /* either of the two may have more to do */
};

/* Does what can be done now. 0: the new guest has all bytes; HOST_QUESTION_WAITS, -EAGAIN: see
 * question.h; else the failure. The second function lets it load them, after the first. */
int host_state_pipe_go_on(struct host_state_pipe *pipe);
int host_state_pipe_load(struct host_state_pipe *pipe);

/* Frees what it has; harmless twice, and if it is zeroed. */
void host_state_pipe_drop(struct host_state_pipe *pipe);

#endif
