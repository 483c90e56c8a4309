/* SPDX-License-Identifier: Apache-2.0 */
/* calls: the calls that one side has made over a link, from Request to end. Each ends exactly once.
 *
 * A waiting caller leads (it receives for all) or follows (the leader wakes it). The answers to
 * asynchronous calls are queued for the owner. r[impl hub.call.once]
 *
 * A call's answer is the whole payload of its Response: hub/wire/response.h decodes it.
 */
#ifndef HUB_CALL_CALLS_H
#define HUB_CALL_CALLS_H

#include <stdbool.h>
#include <stdint.h>

#include "hub/base/budget.h"
#include "hub/base/list.h"
#include "hub/channel/channels.h"
#include "hub/link/link.h"
#include "hub/wire/align.h"

#ifndef HUB_CALLS_MAX /* fuzzers are built with fewer: most of their time would go into tables */
#define HUB_CALLS_MAX 1024 /* in flight, each direction */
#endif
#define HUB_CALLS_CANCEL_WAIT (UINT64_C(1000000000))

/* A growing buffer for an answer; zeroed at first, freed by hub_responses_fini. */
struct hub_answer {
    uint8_t *data; /* in `memory`, or the caller's if that is NULL */
    uint32_t size, capacity;
    uint8_t *memory;           /* `capacity` bytes, usable from each offset in its first line */
    struct hub_align aligned;  /* memory for bytes of the answer that had to be moved */
    struct hub_view view;      /* with `view`: the whole answer may be there instead */
    struct hub_budget *budget; /* a reference; `capacity` is reserved in it. NULL: unlimited */
};

/* Sets the budget of an empty answer: if it is exceeded, the call ends with RAPAHUB_EBUDGET. */
void hub_responses_limit(struct hub_answer *answer, struct hub_budget *budget);
void hub_responses_fini(struct hub_answer *answer);

/* Reserves space for `size` bytes, with the offset `phase` from a multiple of 64; the old content
 * may be lost. False if there is no memory. */
bool hub_responses_grow(struct hub_answer *answer, uint32_t size);
static inline bool hub_responses_reserve(struct hub_answer *answer, uint32_t size, uint32_t phase)
{
    if ((!answer->memory || size > answer->capacity) && !hub_responses_grow(answer, size))
        return false;
    answer->data = answer->memory + phase;
    return true;
}

/* Called once for an asynchronous call: code 0 and the answer (empty if the call brought its own,
 * which has it), or the failure. On the thread of hub_call_ends_deliver. */
typedef void hub_calls_done(void *user, int code, struct hub_answer *answer);

struct hub_calls;

/* Makes a table of at most `limit` calls; -ENOMEM. hub_calls_bind sets the link. */
int hub_calls_create(uint32_t limit, struct hub_calls **out);
void hub_calls_bind(struct hub_calls *calls, struct hub_link *link);
void hub_calls_release(struct hub_calls **calls);

/* The description of a call. */
struct hub_call {
    uint64_t method_id;
    struct hub_parts payload;
    uint64_t deadline_ns; /* or 0, with: */
    /* from when it was sent at once, for a call that is waited for; with `at_once` */
    uint64_t timeout_ns;
    /* belongs to the caller until the end is told; for a call that is waited for, and for an
     * asynchronous one that keeps it; else NULL */
    struct hub_answer *answer;
    hub_calls_done *done; /* for an asynchronous call; else NULL */
    void *user;
    bool view;    /* the answer may be shown in place; not with channels */
    bool at_once; /* if there is no space now: -EAGAIN, and nothing remains */
    const struct hub_channel_list *channels; /* the channels in its arguments; NULL: none */
};

/* Enters the call, then sends the Request. Returns 0 and the call's number, which is never used
 * again; -EBUSY if the table is full, and the failures of hub_link_send: nothing was executed,
 * nothing remains. Any thread. */
int hub_calls_begin(struct hub_calls *calls, const struct hub_call *call, uint64_t *number);

/* Waits for the end of a call begun with `answer`. Returns 0, -ETIMEDOUT, -ECANCELED, or the code
 * of the closed link. With `spin_only` -EAGAIN if the answer did not come at once: the call goes on
 * and the caller must wait again. */
int hub_calls_wait(struct hub_calls *calls, uint64_t number, bool spin_only);

/* Returns how long a thread with `spin_only` may sleep in one go where waits begin with a sleep;
 * called before each sleep. If it is not set: 500 us on a host, because other events come as late
 * as that; in a guest 10 ms. */
typedef uint64_t hub_calls_nap(void *user);
void hub_calls_on_nap(struct hub_calls *calls, hub_calls_nap *nap, void *user);

/* Work for the owner has come: an owner that spins for its answer returns and does it. */
void hub_calls_stir(struct hub_calls *calls);

/* Says whether the call has ended: then hub_calls_wait returns at once. */
bool hub_calls_ended(struct hub_calls *calls, uint64_t number);

/* Sends Cancel, once; the call ends with -ECANCELED within a second, unless it is answered first.
 * Any thread. */
void hub_calls_cancel(struct hub_calls *calls, uint64_t number);

/* Sets the function called (any thread, under the receive token) when hub_call_ends_deliver has
 * work. */
void hub_calls_on_ready(struct hub_calls *calls, void (*on_ready)(void *user), void *user);

/* Ends every open call with `code`, and refuses new ones with it: the link closed, or the peer said
 * goodbye. Only the first code counts. */
void hub_calls_end_all(struct hub_calls *calls, int code);

/* Return the numbers of calls that are open now, that ended with an answer, of late answers, and of
 * calls that ended because the peer did. */
uint32_t hub_calls_open(struct hub_calls *calls);
uint64_t hub_calls_answered(const struct hub_calls *calls);
uint64_t hub_calls_late(const struct hub_calls *calls);
uint64_t hub_calls_lost(const struct hub_calls *calls);

/* Returns the method of the oldest call among those lost together the last time; 0: none. */
uint64_t hub_calls_lost_method(struct hub_calls *calls);

#endif
