/* SPDX-License-Identifier: Apache-2.0 */
/* state_in: a state on its way into a container, in steps that wait for nothing. Head and bytes
 * come piece by piece, and the guest loads them when they are all there. Owner. */
#ifndef HOST_CONTAINER_STATE_IN_H
#define HOST_CONTAINER_STATE_IN_H

#include "host/container/question.h"
#include "host/container/state_head.h"
#include "hub/wire/lifecycle.h"

enum host_state_in_phase {
    HOST_STATE_IN_FORGET, /* what an earlier load has left in the guest */
    HOST_STATE_IN_HEAD,
    HOST_STATE_IN_GET,   /* a piece comes */
    HOST_STATE_IN_WRITE, /* it is sent to the guest */
    HOST_STATE_IN_END,
    HOST_STATE_IN_LOAD,
    HOST_STATE_IN_OVER
};

/* Zeroed except for the first members. It must stay where it is until it is dropped. */
struct host_state_in {
    struct host_life *life; /* held by the caller, as the container is */
    const struct host_container *container;
    enum hub_lifecycle_method
        method;       /* LOAD, of a container that has just begun; or LOAD_CHANGES */
    size_t piece_max; /* bytes of a message: host_state_head_piece */
    uint64_t deadline_ns;
    const char *doing; /* for messages to people; NULL: the question */
    bool pauses;       /* 0 is returned before the guest loads, too; false again: it loads */
    /* Fills in at most `size` bytes. Returns how many; 0: the state is at its end; -EAGAIN: not
     * now; else the failure. */
    int (*get)(void *user, void *data, size_t size);
    /* After an answer: host_state_in_go_on is to be called; r < 0: it failed, with the diagnosis.
     */
    void (*on_answer)(void *user, int r);
    void *user;

    struct host_question question;
    enum host_state_in_phase phase;
    struct host_state_head head;
    size_t head_size; /* bytes of it that are there */
    uint64_t left;    /* bytes of the state that are to come */
    uint32_t checksum;
    uint8_t *piece;
    size_t piece_size;
};

/* Does what can be done now. 0: the state is loaded; HOST_QUESTION_WAITS, HOST_QUESTION_STANDS,
 * -EAGAIN: see question.h; else the failure: RAPAHUB_EABI for bytes that are no saved state,
 * RAPAHUB_ERESET if they end too early. */
int host_state_in_go_on(struct host_state_in *in);

/* Frees what it has. A guest that has pieces of changes is told to forget them; that of a container
 * that has just begun is to be told to end it. */
void host_state_in_drop(struct host_state_in *in);

#endif
