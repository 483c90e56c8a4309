/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/call/calls.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "hub/base/check.h"
#include "hub/base/clock.h"
#include "hub/base/memory.h"
#include "hub/base/own.h"
#include "hub/call/call_table.h"
#include "hub/call/follower.h"
#include "hub/call/responses.h"

/* limit of an owner's sleep: other events come as late as that */
#define NAP (500 * HUB_MICROSECOND)

static void ignore(void *user)
{
    (void)user;
}

static uint64_t nap_shortly(void *user)
{
    (void)user;
    return NAP;
}

int hub_calls_create(uint32_t limit, struct hub_calls **out)
{
    OWN(hub_calls) struct hub_calls *calls = calloc(1, sizeof *calls);

    if (!calls)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a table of %u calls", limit);
    CHECK(limit <= UINT32_C(1) << HUB_CALL_ID_SHIFT);
    hub_list_init(&calls->followers);
    hub_list_init(&calls->finished);
    calls->limit = limit;
    calls->next_deadline = HUB_NEVER;
    calls->on_ready = ignore;
    calls->nap = nap_shortly;
    calls->entries = hub_memory_sparse(limit * sizeof *calls->entries);
    calls->spare = calloc(limit, sizeof *calls->spare);
    if (!calls->entries || !calls->spare)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a table of %u calls", limit);
    *out = TAKE(calls);
    return 0;
}

void hub_calls_bind(struct hub_calls *calls, struct hub_link *link)
{
    calls->link = link;
    calls->lock = hub_link_lock(link);
}

void hub_calls_on_ready(struct hub_calls *calls, void (*on_ready)(void *user), void *user)
{
    calls->on_ready = on_ready;
    calls->user = user;
}

void hub_calls_on_nap(struct hub_calls *calls, hub_calls_nap *nap, void *user)
{
    calls->nap = nap;
    calls->napper = user;
}

static void release_entry(struct hub_calls *calls, struct hub_call_entry *entry)
{
    hub_mutex_lock(calls->lock);
    if (entry->state != HUB_CALL_FREE)
        hub_call_table_forget(calls, entry);
    hub_mutex_unlock(calls->lock);
    hub_responses_fini(&entry->own);
}

void hub_calls_release(struct hub_calls **calls)
{
    if (!*calls)
        return;
    for (uint32_t i = 0; i < (*calls)->begun; i++)
        release_entry(*calls, &(*calls)->entries[i]);
    hub_memory_free_sparse((*calls)->entries, (*calls)->limit * sizeof *(*calls)->entries);
    free((*calls)->spare);
    free(*calls);
    *calls = NULL;
}

/* ---- making a call ---- */

static int send_request(struct hub_calls *calls, const struct hub_call *call, uint32_t id)
{
    const struct hub_message message = {HUB_REQUEST, id, call->method_id};

    return hub_link_send(calls->link, &message, &call->payload,
                         call->at_once ? 0 : call->deadline_ns);
}

/* A peer that guessed the id may have answered a Request that was never sent: the memory is the
 * caller's again only when the leader has filled it. */
static void take_back(struct hub_calls *calls, uint64_t number)
{
    struct hub_call_entry *entry;
    bool filling;

    do {
        hub_mutex_lock(calls->lock);
        entry = hub_call_table_find(calls, number);
        filling = entry && entry->state == HUB_CALL_FILLING;
        if (entry && !filling)
            hub_call_table_forget(calls, entry);
        hub_mutex_unlock(calls->lock);
        if (filling)
            sched_yield();
    } while (filling);
}

static void settle_begin(struct hub_calls *calls, uint64_t number)
{
    struct hub_call_entry *entry;

    hub_mutex_lock(calls->lock);
    entry = hub_call_table_find(calls, number);
    if (entry)
        hub_call_table_note_sent(calls, entry);
    hub_mutex_unlock(calls->lock);
}

/* Enters the call and sends its Request, if there is space now. Returns the result of hub_link_try,
 * or the reason against a new call. */
static int enter_and_try(struct hub_calls *calls, const struct hub_call *call, uint32_t *id,
                         uint64_t *number) REQUIRES(*calls->lock)
{
    struct hub_message message = {HUB_REQUEST, 0, call->method_id};
    struct hub_call_entry *entry;
    int r;

    if (calls->refusal != 0)
        return RAPAHUB_ESTALE;
    entry = hub_call_table_enter(calls, call);
    if (!entry)
        return -EBUSY;
    *id = message.id = entry->id;
    *number = hub_load_relaxed64(&entry->number);
    r = hub_link_try(calls->link, &message, &call->payload);
    if (r >= 0 && call->done)
        hub_call_table_note_sent(calls, entry);
    return r;
}

/* Waits for space; the call has its id already. */
static int begin_slowly(struct hub_calls *calls, const struct hub_call *call, uint32_t id,
                        uint64_t number)
{
    int r = send_request(calls, call, id);

    if (r < 0)
        take_back(calls, number);
    else if (call->done)
        settle_begin(calls, number);
    return r;
}

/* The clock is read while the peer works already. No other thread knows of the call yet. */
static void note_timeout(struct hub_calls *calls, const struct hub_call *call, uint64_t number)
{
    hub_store_relaxed64(&hub_call_table_find(calls, number)->deadline_ns,
                        hub_clock_after(call->timeout_ns));
}

/* r[impl call.initiate] r[impl core.call] r[impl call.pipelining.allowed] */
int hub_calls_begin(struct hub_calls *calls, const struct hub_call *call, uint64_t *number)
{
    bool hushed = hub_link_naps(calls->link) && !call->done && !call->channels;
    uint32_t id = 0;
    int r;

    if (hushed)
        hub_link_hush(calls->link);
    hub_mutex_lock(calls->lock);
    r = enter_and_try(calls, call, &id, number);
    hub_mutex_unlock(calls->lock);
    if (r > 0)
        hub_link_wake_receiver(calls->link);
    else if (r < 0 && hushed)
        hub_link_listen(calls->link);
    if (r >= 0) {
        if (call->deadline_ns == 0)
            note_timeout(calls, call, *number);
        return 0;
    }
    if (r == -EAGAIN)
        return begin_slowly(calls, call, id, *number);
    if (id != 0)
        take_back(calls, *number);
    if (r == RAPAHUB_EPROTOCOL)
        return hub_link_violated(calls->link); /* the violation may not be found again */
    return r == -EBUSY ? rapahub_fail(r, "", "%u calls of %u are open", calls->limit, calls->limit)
                       : r;
}

void hub_calls_send_cancel(struct hub_calls *calls, uint32_t id)
{
    const struct hub_message message = {HUB_CANCEL, id, 0};
    const struct hub_parts nothing = {.loan = NULL};

    (void)hub_link_send(calls->link, &message, &nothing, hub_clock_after(HUB_MILLISECOND));
}

/* r[impl core.call.cancel] r[impl call.request-id.cancel-still-in-flight] */
void hub_calls_cancel(struct hub_calls *calls, uint64_t number)
{
    uint64_t limit = hub_clock_after(HUB_CALLS_CANCEL_WAIT);
    struct hub_call_entry *entry;
    uint32_t id = 0;

    hub_mutex_lock(calls->lock);
    entry = hub_call_table_find(calls, number);
    if (entry && entry->state == HUB_CALL_OPEN && !entry->cancelled) {
        entry->cancelled = true;
        if (limit < hub_load_relaxed64(&entry->deadline_ns))
            hub_store_relaxed64(&entry->deadline_ns, limit);
        if (entry->done && limit < calls->next_deadline)
            calls->next_deadline = limit;
        id = entry->id;
        hub_call_table_wake(entry); /* its caller must note the nearer deadline */
    }
    hub_mutex_unlock(calls->lock);
    if (id == 0)
        return;
    hub_link_nudge(calls->link);
    hub_calls_send_cancel(calls, id);
    calls->on_ready(calls->user);
}

/* ---- waiting ---- */

struct waiting {
    struct hub_calls *calls;
    struct hub_call_entry *entry;
    uint64_t number;
    uint64_t deadline_ns;
    bool cancelled;
};

static bool has_ended(void *user)
{
    return hub_follower_has_ended(((struct waiting *)user)->entry);
}

static bool has_ended_or_stirred(void *user)
{
    return has_ended(user) || hub_observe(&((struct waiting *)user)->calls->stirred) != 0;
}

void hub_calls_stir(struct hub_calls *calls)
{
    hub_publish(&calls->stirred, 1);
}

/* After `ended` no other thread writes to the entry. An entry without channels is forgotten when
 * the next call needs it. */
static int take_ended(struct hub_calls *calls, struct hub_call_entry *entry)
{
    int code = entry->code;

    if (!entry->channels) {
        hub_publish(&entry->taken, 1);
        return code;
    }
    hub_mutex_lock(calls->lock);
    hub_call_table_forget(calls, entry);
    hub_mutex_unlock(calls->lock);
    return code;
}

/* Returns 1 with *code if the call has ended, 0 if it continues; notes its deadline. From here on
 * its end is told to the loop, or to its caller. */
static int take_end(struct waiting *waiting, bool in_loop, int *code)
{
    struct hub_calls *calls = waiting->calls;
    struct hub_call_entry *entry = waiting->entry;
    bool ended = hub_observe(&entry->ended) != 0;

    if (!ended) {
        hub_mutex_lock(calls->lock);
        ended = entry->state == HUB_CALL_ENDED;
        waiting->deadline_ns = hub_load_relaxed64(&entry->deadline_ns);
        waiting->cancelled = entry->cancelled;
        entry->in_loop = in_loop;
        hub_store_relaxed(&entry->word, HUB_CALL_AWAKE);
        hub_mutex_unlock(calls->lock);
    }
    if (ended)
        *code = take_ended(calls, entry);
    return ended;
}

/* The deadline has passed: the caller leaves, and the id stays reserved until the Response. While a
 * leader copies the answer the call counts as ended. r[impl call.cancel.no-response-required] */
static int abandon(struct waiting *waiting)
{
    struct hub_calls *calls = waiting->calls;
    uint32_t id = 0;
    bool open;

    hub_mutex_lock(calls->lock);
    open = waiting->entry->state == HUB_CALL_OPEN;
    if (open) {
        waiting->entry->state = HUB_CALL_ZOMBIE;
        waiting->entry->answer = NULL;
        if (!waiting->cancelled)
            id = waiting->entry->id;
    }
    hub_mutex_unlock(calls->lock);
    if (!open) {
        sched_yield();
        return 0;
    }
    if (id != 0)
        hub_calls_send_cancel(calls, id);
    return waiting->cancelled ? -ECANCELED : -ETIMEDOUT;
}

/* r[impl message.goodbye.receive] */
static void end_if_left(struct hub_calls *calls)
{
    if (hub_link_host_left(calls->link) && !hub_link_closed(calls->link))
        hub_calls_end_all(calls, RAPAHUB_ECLOSED);
}

/* A thread that has more to do than to wait may only spin, or nap: sleep as long as nothing else
 * can come. */
static struct hub_link_until until_ended(struct waiting *waiting, bool spin_only)
{
    struct hub_link_until until = {.done = spin_only ? has_ended_or_stirred : has_ended,
                                   .user = waiting,
                                   .stage = spin_only ? HUB_WAIT_SPIN : HUB_WAIT_SLEEP,
                                   .deadline_ns = waiting->deadline_ns};

    if (spin_only && hub_link_naps(waiting->calls->link)) {
        uint64_t nap = hub_clock_after(waiting->calls->nap(waiting->calls->napper));

        until.stage = HUB_WAIT_SLEEP;
        until.deadline_ns = nap < until.deadline_ns ? nap : until.deadline_ns;
    }
    return until;
}

static bool take_stir(struct hub_calls *calls)
{
    return hub_observe(&calls->stirred) != 0 && hub_exchange(&calls->stirred, 0) != 0;
}

static int wait_once(struct waiting *waiting, bool spin_only)
{
    struct hub_calls *calls = waiting->calls;
    const struct hub_link_until until = until_ended(waiting, spin_only);
    int r = hub_link_lead(calls->link, &until);

    if (r == 0)
        end_if_left(calls);
    if (spin_only)
        return !take_stir(calls) && r == 0 ? 0 : -EAGAIN;
    if (r == -EBUSY)
        hub_follower_follow(calls, waiting->entry, waiting->deadline_ns);
    else if (r == 0)
        hub_follower_doze(calls, waiting->entry, waiting->deadline_ns);
    return 0;
}

/* The clock is read only after a wait was in vain. */
static int wait_for_end(struct waiting *waiting, bool spin_only)
{
    int code = 0, r = has_ended(waiting) ? 0 : wait_once(waiting, spin_only);

    while (take_end(waiting, r == -EAGAIN, &code) == 0) {
        if (hub_clock_left(waiting->deadline_ns) == 0)
            r = abandon(waiting);
        else if (r != -EAGAIN)
            r = wait_once(waiting, spin_only);
        else
            return -EAGAIN;
        if (r == -ETIMEDOUT || r == -ECANCELED)
            return r;
    }
    return code;
}

int hub_calls_wait(struct hub_calls *calls, uint64_t number, bool spin_only)
{
    struct waiting waiting = {
        .calls = calls, .number = number, .entry = hub_call_table_find(calls, number)};
    int r;

    if (!waiting.entry)
        return RAPAHUB_ESTALE;
    waiting.deadline_ns = hub_load_relaxed64(&waiting.entry->deadline_ns);
    r = wait_for_end(&waiting, spin_only);
    /* a thread that was woken to lead and left without leading must not leave the others asleep */
    if (hub_load_relaxed(&calls->following) != 0 && !hub_link_receiving(calls->link))
        hub_responses_hand_over(calls);
    return r;
}

bool hub_calls_ended(struct hub_calls *calls, uint64_t number)
{
    struct hub_call_entry *entry;
    bool ended;

    hub_mutex_lock(calls->lock);
    entry = hub_call_table_find(calls, number);
    ended = !entry || entry->state == HUB_CALL_ENDED ||
            hub_clock_left(hub_load_relaxed64(&entry->deadline_ns)) == 0;
    hub_mutex_unlock(calls->lock);
    return ended;
}

/* ---- all calls ---- */

void hub_calls_end_all(struct hub_calls *calls, int code)
{
    uint64_t oldest = UINT64_MAX;

    hub_mutex_lock(calls->lock);
    if (calls->refusal == 0)
        calls->refusal = code;
    calls->last = NULL;
    for (uint32_t i = 0; i < calls->begun; i++) {
        struct hub_call_entry *entry = &calls->entries[i];

        if (entry->state == HUB_CALL_OPEN) {
            if (hub_load_relaxed64(&entry->number) < oldest) {
                oldest = hub_load_relaxed64(&entry->number);
                calls->lost_method = entry->method_id;
            }
            hub_add64(&calls->lost, 1);
            hub_call_table_end(calls, entry, code);
        } else if (entry->state == HUB_CALL_ZOMBIE && !entry->done &&
                   hub_link_closed(calls->link)) {
            hub_call_table_forget(calls, entry);
        }
    }
    hub_mutex_unlock(calls->lock);
}

uint64_t hub_calls_lost_method(struct hub_calls *calls)
{
    uint64_t method;

    hub_mutex_lock(calls->lock);
    method = calls->lost_method;
    hub_mutex_unlock(calls->lock);
    return method;
}

uint32_t hub_calls_open(struct hub_calls *calls)
{
    uint32_t count;

    hub_mutex_lock(calls->lock);
    count = hub_call_table_sweep(calls);
    hub_mutex_unlock(calls->lock);
    return count;
}

uint64_t hub_calls_answered(const struct hub_calls *calls)
{
    return hub_load_relaxed64(&calls->answered);
}

uint64_t hub_calls_late(const struct hub_calls *calls)
{
    return hub_load_relaxed64(&calls->late);
}

uint64_t hub_calls_lost(const struct hub_calls *calls)
{
    return hub_load_relaxed64(&calls->lost);
}
