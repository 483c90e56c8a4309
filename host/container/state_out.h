/* SPDX-License-Identifier: Apache-2.0 */
/* state_out: a container's state on its way out of its guest, in steps that wait for nothing. The
 * guest saves; head and bytes are handed on piece by piece. Owner. */
#ifndef HOST_CONTAINER_STATE_OUT_H
#define HOST_CONTAINER_STATE_OUT_H

#include "host/container/question.h"
#include "host/container/state_head.h"
#include "hub/wire/lifecycle.h"

struct host_container;

enum host_state_out_phase {
    HOST_STATE_OUT_SAVE, /* the guest saves */
    HOST_STATE_OUT_HEAD,
    HOST_STATE_OUT_READ, /* a piece is asked for */
    HOST_STATE_OUT_PUT,  /* a piece is handed on */
    HOST_STATE_OUT_END,
    HOST_STATE_OUT_OVER
};

/* Zeroed except for the first members. It must stay where it is until it is dropped. */
struct host_state_out {
    struct host_life *life; /* held by the caller, as the container is */
    const struct host_container *container;
    enum hub_lifecycle_method method; /* SAVE or SAVE_CHANGES */
    uint64_t deadline_ns;
    const char *doing; /* for messages to people; NULL: the question */
    /* Gets at most 60 KiB, the head alone; after the last bytes nothing (size 0). 0: it has them;
     * -EAGAIN: it will be given the same again, which stays where it is until then; else the
     * failure. */
    int (*put)(void *user, const void *data, size_t size);
    /* After an answer: host_state_out_go_on is to be called; r < 0: it failed, with the diagnosis.
     */
    void (*on_answer)(void *user, int r);
    void *user;

    struct host_question question;
    enum host_state_out_phase phase;
    struct hub_saved saved; /* the announcement of the guest */
    bool changes;           /* it is not the whole state */
    struct host_state_head head;
    uint64_t at;       /* bytes that the guest was asked for */
    uint32_t checksum; /* of the bytes before `at` */
    uint8_t *piece;
    size_t piece_size;
};

/* Does what can be done now. 0: the state is out; HOST_QUESTION_WAITS, HOST_QUESTION_STANDS,
 * -EAGAIN: see question.h; else the failure. */
int host_state_out_go_on(struct host_state_out *out);

/* Frees what it has. A guest that still has its output is told to forget it. */
void host_state_out_drop(struct host_state_out *out);

#endif
