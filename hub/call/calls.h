/* SPDX-License-Identifier: Apache-2.0 */
/* calls: the calls one side has made over a link, from Request to end. Each ends exactly once.
 *
 * A waiting caller leads (it receives for all) or follows (the leader wakes it). The answers to
 * calls nobody waits for are queued for the owner. r[impl hub.call.once]
 *
 * A call's answer is the whole payload of its Response: hub/wire/response.h reads it. */
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

/* A growing buffer for an answer; zeroed at first, freed by hub_answers_fini. */
struct hub_answer {
    uint8_t *data; /* in `memory`, or the caller's where that is NULL */
    uint32_t size, capacity;
    uint8_t *memory;           /* of `capacity` behind each place in its first line */
    struct hub_align aligned;  /* of what it shows, and had to be moved */
    struct hub_view view;      /* of a call with `view`: the whole answer may lie there instead */
    struct hub_budget *budget; /* held; `capacity` is taken from it. NULL: from none */
};

/* From now on, of an empty one: beyond the budget the call ends with RAPAHUB_EBUDGET. */
void hub_answers_limit(struct hub_answer *answer, struct hub_budget *budget);
void hub_answers_fini(struct hub_answer *answer);

/* Room for `size` bytes, from `phase` bytes behind a multiple of 64 on; what was there may be lost.
 * False for no memory. */
bool hub_answers_grow(struct hub_answer *answer, uint32_t size);
static inline bool hub_answers_reserve(struct hub_answer *answer, uint32_t size, uint32_t phase)
{
    if ((!answer->memory || size > answer->capacity) && !hub_answers_grow(answer, size))
        return false;
    answer->data = answer->memory + phase;
    return true;
}

/* Runs once for a call nobody waits for: code 0 and the answer (empty where the call brought an own
 * one, which has it), or the failure. On the thread of hub_call_ends_deliver. */
typedef void hub_calls_done(void *user, int code, struct hub_answer *answer);

struct hub_calls;

/* `limit` calls at most; -ENOMEM. The link is set by hub_calls_bind. */
int hub_calls_create(uint32_t limit, struct hub_calls **out);
void hub_calls_bind(struct hub_calls *calls, struct hub_link *link);
void hub_calls_release(struct hub_calls **calls);

/* One call, as the caller wants it. */
struct hub_call {
    uint64_t method_id;
    struct hub_parts payload;
    uint64_t deadline_ns; /* or 0, with: */
    uint64_t timeout_ns;  /* of one that is waited for: from when it was sent at once; `at_once` */
    struct hub_answer *answer; /* the caller's, until its end is told; of a call that is waited for,
                                  and of one that is not, if it keeps it; else NULL */
    hub_calls_done *done;      /* of a call that is not: else NULL */
    void *user;
    bool view;    /* the answer may be shown where it lies; not with channels */
    bool at_once; /* where there is no space now: -EAGAIN, and nothing is left */
    const struct hub_channel_list *channels; /* its arguments name; NULL: none */
};

/* Enters the call, then sends the Request: 0 and its number, which is never used again; -EBUSY
 * where the table is full, and the failures of hub_link_send: nothing was executed, nothing is
 * left. */
int hub_calls_begin(struct hub_calls *calls, const struct hub_call *call, uint64_t *number);

/* Waits for the end of a call begun with `answer`: 0, or -ETIMEDOUT, -ECANCELED, or the code of the
 * closed link. With `spin_only` -EAGAIN where the answer did not come at once: the call goes on and
 * the caller must wait again. */
int hub_calls_wait(struct hub_calls *calls, uint64_t number, bool spin_only);

/* How long a thread with `spin_only` may sleep in one go where waits begin with a sleep: asked
 * before each. Not set: 500 us on a host, for others come as late as that; in a guest 10 ms. */
typedef uint64_t hub_calls_nap(void *user);
void hub_calls_on_nap(struct hub_calls *calls, hub_calls_nap *nap, void *user);

/* Something came that the owner is to do: one that spins for its answer goes and does it. */
void hub_calls_stir(struct hub_calls *calls);

/* Has it ended? True: hub_calls_wait returns at once. */
bool hub_calls_ended(struct hub_calls *calls, uint64_t number);

/* Sends Cancel, once; the call ends with -ECANCELED within a second, unless it is answered first.
 */
void hub_calls_cancel(struct hub_calls *calls, uint64_t number);

/* Called (any thread, under the receive token) when hub_call_ends_deliver has work. */
void hub_calls_on_ready(struct hub_calls *calls, void (*on_ready)(void *user), void *user);

/* Every open call ends with `code`, and new ones are refused with it: the link closed, or the peer
 * said goodbye. Only the first code counts. */
void hub_calls_end_all(struct hub_calls *calls, int code);

/* Calls open now, calls that ended with an answer, late answers, calls that ended because the peer
 * did. */
uint32_t hub_calls_open(struct hub_calls *calls);
uint64_t hub_calls_answered(const struct hub_calls *calls);
uint64_t hub_calls_late(const struct hub_calls *calls);
uint64_t hub_calls_lost(const struct hub_calls *calls);

/* The method of the oldest of those that were lost at once, the last time some were; 0: none. */
uint64_t hub_calls_lost_method(struct hub_calls *calls);

#endif
