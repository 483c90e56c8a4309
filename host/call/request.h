/* SPDX-License-Identifier: Apache-2.0 */
/* request: a Request to a guest and its Response, which the caller waits for. The owner goes on
 * serving while it waits. Any other thread is a leader or a follower on the link. Any thread,
 * unless a function says otherwise. */
#ifndef HOST_CALL_REQUEST_H
#define HOST_CALL_REQUEST_H

#include <rapahub/host.h>

#include "host/process/life.h"
#include "hub/connection/streams.h"
#include "hub/wire/lifecycle.h"

struct host_call;

struct host_request {
    struct host_life *life; /* the caller is one of its users */
    uint64_t method_id;
    uint64_t container;                  /* its handle; 0: the guest has no other container */
    const struct host_container *target; /* the container; NULL: the message is the host's own */
    struct rapahub_bytes arguments;      /* if bytes are apart, only the arguments before them */
    struct hub_loan *loan;               /* NULL: none */
    struct rapahub_bytes apart;          /* in the loan, or in the caller's memory; or none */
    /* without bytes apart: how many bytes at the end of the arguments begin at a cache line; 0:
     * none need to */
    size_t aligned;
    bool view; /* a large answer may be shown as a view */
    bool own;  /* a message of the host's own, in no chain */
    uint64_t deadline_ns;
    const char *method;                            /* for messages to people */
    struct hub_streams *streams;                   /* the arguments hold their ids; NULL: none */
    bool *moved;                                   /* of hub_streams_order */
    void (*on_begun)(void *user, uint64_t number); /* the call is sent; may be NULL */
    bool (*is_cancelled)(void *user); /* then streams are not written on; NULL: never */
    void *user;
};

/* Encodes the metadata of a call. Returns the size in bytes. */
#define HOST_REQUEST_HEAD_MAX   96
#define HOST_REQUEST_BEFORE_MAX 64 /* bytes that may stand before those apart, without a loan */
size_t host_request_head(uint64_t container, uint64_t chain, uint8_t *to);

/* Sends a request and waits for its answer. Returns 0 and the answer, or a failure with its
 * diagnosis. RAPAHUB_ESTALE: nothing was executed. */
int host_request_run(struct host_call *host, const struct host_request *exchange,
                     struct hub_answer *answer);

/* Waits for the end of a call that was begun, as hub_calls_wait does; the owner serves meanwhile.
 * `streams`: more than one answer is to be received. */
int host_request_wait(struct host_call *host, struct hub_calls *calls, uint64_t number,
                      bool streams);

/* Decodes an answer. Returns 0 and *result (NULL: dropped), whose views point into the answer's
 * memory; or the code of the guest's answer, with its diagnosis. A malformed answer is a violation;
 * without a life (NULL) it is an answer of this process, and only refused.
 * A view stays a view only if the result is bytes; any other result is copied first. */
int host_request_decode(struct host_life *life, struct hub_answer *answer, const char *method,
                        const struct rapahub_type *type, void *result);

/* Does the first half of that for a view: returns whether it is a result of bytes and nothing
 * else. */
bool host_request_decode_shown(const struct hub_answer *answer, const struct rapahub_type *type,
                               void *result);

/* A lifecycle message, see hub/wire/lifecycle.h. The caller waits for its end until the deadline,
 * which is the same for all messages of one function. Owner. Views in *result are valid until this
 * thread's next call. */
struct host_request_question {
    enum hub_lifecycle_method method;
    const void *const *arguments; /* ended by NULL */
    void *result;                 /* NULL: dropped */
    uint64_t deadline_ns;
};
int host_request_ask(struct host_call *host, struct host_life *life,
                     const struct host_request_question *question);

/* A lifecycle message. No thread waits for its end: `done` runs then, on the owner. -EAGAIN: there
 * is no space for it now. */
struct host_request_message {
    enum hub_lifecycle_method method;
    const void *const *arguments; /* ended by NULL */
    hub_calls_done *done;
    void *user;
    uint64_t deadline_ns;
};
int host_request_send(struct host_life *life, const struct host_request_message *message);

/* Does the same with `life` as the user of `done`. */
int host_request_post(struct host_life *life, enum hub_lifecycle_method method,
                      const void *const *arguments, hub_calls_done *done, uint64_t deadline_ns);

/* Does the same without reporting the end, and without waiting for space. -EAGAIN or -EBUSY: there
 * is no space, or no entry for a call, and the message was not sent. */
int host_request_tell(struct host_life *life, enum hub_lifecycle_method method,
                      const void *const *arguments, uint64_t deadline_ns);

#endif
