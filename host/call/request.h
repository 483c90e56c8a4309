/* SPDX-License-Identifier: Apache-2.0 */
/* request: one Request to a guest and its Response, waited for. A thread that owns the host goes
 * on serving while it waits; any other one leads or follows on the link. */
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
    uint64_t container;             /* its handle; 0: the guest's only one */
    struct rapahub_bytes arguments; /* with bytes apart: what stands before them */
    struct hub_loan *loan;          /* NULL: none */
    struct rapahub_bytes apart;     /* in the loan, or where the caller has them; or none */
    size_t aligned;                 /* without: bytes at the end of the arguments that begin at a
                                       line; 0: none need to */
    bool view;                      /* a large answer may be shown where it lies */
    bool own;                       /* a message of the host's own, of no chain */
    uint64_t deadline_ns;
    const char *method;                            /* for texts */
    struct hub_streams *streams;                   /* the arguments hold their ids; NULL: none */
    void (*on_begun)(void *user, uint64_t number); /* the call is sent; NULL: nobody asks */
    bool (*is_cancelled)(void *user); /* what is still to be written is not; NULL: never */
    void *user;
};

/* The metadata of a call, as bytes. */
#define HOST_REQUEST_HEAD_MAX   96
#define HOST_REQUEST_BEFORE_MAX 64 /* bytes that stand before those apart, without a loan */
size_t host_request_head(uint64_t container, uint64_t chain, uint8_t *to);

/* 0 and the answer, or a failure with its diagnosis; RAPAHUB_ESTALE: nothing was executed. */
int host_request_run(struct host_call *host, const struct host_request *exchange,
                     struct hub_answer *answer);

/* Waits for the end of a call that was begun, as hub_calls_wait; the owner serves meanwhile. With
 * `streams` there is more to receive than one answer. */
int host_request_wait(struct host_call *host, struct hub_calls *calls, uint64_t number,
                      bool streams);

/* Reads an answer: 0 and *result (NULL: dropped), whose views show the answer's memory; or the code
 * of what the guest answered, with its diagnosis. A malformed one is a violation. What is shown
 * where it lies stays so for a result of bytes; anything else is copied first. */
int host_request_decode(struct host_life *life, struct hub_answer *answer, const char *method,
                        const struct rapahub_type *type, void *result);

/* The first half of it, of an answer that is shown: is it a result of bytes and nothing else? */
bool host_request_decode_shown(const struct hub_answer *answer, const struct rapahub_type *type,
                               void *result);

/* One of the messages of hub/wire/lifecycle.h, waited for until the deadline, which is the same for
 * all that one function asks. Owner. Views in *result hold until this thread's next call. */
struct host_request_question {
    enum hub_lifecycle_method method;
    const void *const *arguments; /* ended by NULL */
    void *result;                 /* NULL: dropped */
    uint64_t deadline_ns;
};
int host_request_ask(struct host_call *host, struct host_life *life,
                     const struct host_request_question *question);

/* One that is not waited for: `done` runs on the owner. -EAGAIN: there is no room for it now. */
struct host_request_message {
    enum hub_lifecycle_method method;
    const void *const *arguments; /* ended by NULL */
    hub_calls_done *done;
    void *user;
    uint64_t deadline_ns;
};
int host_request_send(struct host_life *life, const struct host_request_message *message);

/* The same with `life` as the user of `done`. */
int host_request_post(struct host_life *life, enum hub_lifecycle_method method,
                      const void *const *arguments, hub_calls_done *done, uint64_t deadline_ns);

/* The same, of whose end nobody is told; nor is space waited for: where there is none now, or no
 * room for a call, -EAGAIN or -EBUSY, and it was not sent. */
int host_request_tell(struct host_life *life, enum hub_lifecycle_method method,
                      const void *const *arguments, uint64_t deadline_ns);

#endif
