/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/client/client_calls.h"

#include <inttypes.h>

#include <rapahub/error.h>

#include "hub/base/check.h"
#include "hub/base/clock.h"

#define CALL_OF(link, list) HUB_LIST_ITEM(link, struct cluster_client_call, list)

int cluster_client_calls_init(struct cluster_client_calls *calls)
{
    *calls = (struct cluster_client_calls){.due_ns = HUB_NEVER};
    hub_mutex_init(&calls->lock, HUB_MUTEX_CLIENT);
    hub_list_init(&calls->by_age);
    hub_list_init(&calls->inbox);
    hub_list_init(&calls->cancels);
    hub_list_init(&calls->open);
    hub_list_init(&calls->waiting);
    hub_list_init(&calls->settling);
    return cluster_client_streams_init(&calls->streams) < 0
               ? rapahub_last_error()->code
               : hub_id_map_create(CLUSTER_CLIENT_CALLS_MAX, &calls->by_number);
}

void cluster_client_calls_fini(struct cluster_client_calls *calls)
{
    CHECK(calls->count == 0 && !calls->shm);
    cluster_client_streams_fini(&calls->streams);
    hub_id_map_release(&calls->by_number);
    hub_mutex_fini(&calls->lock);
}

/* ---- any thread ---- */

static int check_room(const struct cluster_client_calls *calls,
                      const struct cluster_client_call *call)
{
    if (calls->closed)
        return rapahub_fail(RAPAHUB_ESTALE, "", "the client is being closed");
    if (calls->count >= CLUSTER_CLIENT_CALLS_MAX)
        return rapahub_fail(RAPAHUB_EBUSY, "cluster.client.bounds",
                            "%d calls of this client are open, as many as may be",
                            CLUSTER_CLIENT_CALLS_MAX);
    if (calls->bytes > 0 && calls->bytes + call->typed.size > CLUSTER_CLIENT_CALLS_BYTES)
        return rapahub_fail(RAPAHUB_EBUSY, "cluster.client.bounds",
                            "open calls have arguments of %" PRIu64 " bytes", calls->bytes);
    return 0;
}

/* Gives the call its number. */
static int enter(struct cluster_client_calls *calls, struct cluster_client_call *call)
    REQUIRES(calls->lock)
{
    int r = check_room(calls, call);

    if (r < 0)
        return r;
    call->number = calls->numbers + 1;
    r = hub_id_map_put(calls->by_number, call->number, call);
    if (r < 0)
        return rapahub_fail(r, "", "no room for a call");
    calls->numbers++;
    calls->count++;
    calls->bytes += call->typed.size;
    hub_list_append(&calls->by_age, &call->age);
    return 0;
}

static void leave(struct cluster_client_calls *calls, struct cluster_client_call *call)
    REQUIRES(calls->lock)
{
    hub_list_remove(&call->age);
    hub_list_remove(&call->cancelled);
    hub_id_map_remove(calls->by_number, call->number);
    calls->count--;
    calls->bytes -= call->typed.size;
}

static int add(struct cluster_client_calls *calls, struct cluster_client_call *call)
    REQUIRES(calls->lock)
{
    bool wake = hub_list_empty(&calls->inbox);
    int r = enter(calls, call);

    if (r == 0)
        hub_list_append(&calls->inbox, &call->open);
    return r == 0 && wake ? 1 : r;
}

int cluster_client_calls_add(struct cluster_client_calls *calls, struct cluster_client_call *call,
                             struct rapahub_request_id *out)
{
    int r;

    hub_mutex_lock(&calls->lock);
    r = add(calls, call);
    if (r >= 0 && out)
        out->number = call->number;
    hub_mutex_unlock(&calls->lock);
    return r;
}

bool cluster_client_calls_cancel(struct cluster_client_calls *calls, uint64_t number)
{
    struct cluster_client_call *call;
    bool asked = false;

    hub_mutex_lock(&calls->lock);
    call = hub_id_map_get(calls->by_number, number);
    if (call && !call->is_cancelled) {
        call->is_cancelled = asked = true;
        hub_list_append(&calls->cancels, &call->cancelled);
    }
    hub_mutex_unlock(&calls->lock);
    return asked;
}

/* ---- calls by shared memory ---- */

static uint64_t done_below(const struct cluster_client_calls *calls) REQUIRES(calls->lock)
{
    return hub_list_empty(&calls->by_age) ? calls->numbers + 1
                                          : CALL_OF(calls->by_age.next, age)->number;
}

/* The number below which all have ended says the same of those below it. */
static void take_acks(struct cluster_client_calls *calls, struct cluster_shared_call *out)
    REQUIRES(calls->lock)
{
    uint32_t i = calls->acks_count;

    while (i > 0 && out->acks_count < CLUSTER_SHARED_CALL_ACKS)
        if (calls->acks[--i] >= out->body.call.done_below)
            out->acks[out->acks_count++] = calls->acks[i];
    calls->acks_count = i;
}

static void guess(struct cluster_client_calls *calls, struct cluster_client_call *call)
    REQUIRES(calls->lock)
{
    struct cluster_body_member member;

    if (cluster_member_cache_find(&calls->members, call->pool, call->container, &call->query,
                                  &member))
        cluster_client_call_aim(call, &member);
}

static int begin(struct cluster_client_calls *calls, struct cluster_client_call *call,
                 struct cluster_shared_call *out) REQUIRES(calls->lock)
{
    int r = enter(calls, call);

    if (r < 0)
        return r;
    guess(calls, call);
    out->body.call.done_below = done_below(calls);
    out->acks_count = 0;
    if (calls->acks_count > 0)
        take_acks(calls, out);
    cluster_shm_transport_hold(calls->shm);
    return 0;
}

struct cluster_shm_transport *cluster_client_calls_begin(struct cluster_client_calls *calls,
                                                         struct cluster_client_call *call,
                                                         struct cluster_shared_call *out)
{
    struct cluster_shm_transport *shm;

    hub_mutex_lock(&calls->lock);
    shm = calls->shm;
    if (shm && begin(calls, call, out) < 0)
        shm = NULL; /* it is refused once more, when it is to go by the socket */
    hub_mutex_unlock(&calls->lock);
    return shm;
}

void cluster_client_calls_aim(struct cluster_client_calls *calls, struct cluster_client_call *call,
                              const struct cluster_body_member *member)
{
    cluster_client_call_aim(call, member);
    hub_mutex_lock(&calls->lock);
    cluster_member_cache_put(&calls->members, call->pool, call->container, &call->query, member);
    hub_mutex_unlock(&calls->lock);
}

void cluster_client_calls_finish(struct cluster_client_calls *calls,
                                 struct cluster_client_call *call)
{
    hub_mutex_lock(&calls->lock);
    leave(calls, call);
    if (calls->acks_count < CLUSTER_CLIENT_CALLS_ACKS)
        calls->acks[calls->acks_count++] = call->number;
    hub_mutex_unlock(&calls->lock);
}

void cluster_client_calls_hand_over(struct cluster_client_calls *calls,
                                    struct cluster_client_call *call)
{
    hub_mutex_lock(&calls->lock);
    hub_list_append(&calls->inbox, &call->open);
    hub_mutex_unlock(&calls->lock);
}

struct cluster_shm_transport *cluster_client_calls_use(struct cluster_client_calls *calls,
                                                       struct cluster_shm_transport *shm)
{
    struct cluster_shm_transport *before;

    hub_mutex_lock(&calls->lock);
    before = calls->shm;
    calls->shm = shm;
    calls->acks_count = 0; /* the node learns of these by the next calls */
    hub_mutex_unlock(&calls->lock);
    return before;
}

/* Only the client's thread sets it. */
bool cluster_client_calls_is_cut_off(const struct cluster_client_calls *calls)
{
    return calls->shm && cluster_shm_transport_is_over(calls->shm);
}

bool cluster_client_calls_are_added(struct cluster_client_calls *calls)
{
    bool any;

    hub_mutex_lock(&calls->lock);
    any = calls->closed || !hub_list_empty(&calls->inbox) || !hub_list_empty(&calls->cancels);
    hub_mutex_unlock(&calls->lock);
    return any;
}

void cluster_client_calls_close(struct cluster_client_calls *calls)
{
    hub_mutex_lock(&calls->lock);
    calls->closed = true;
    hub_mutex_unlock(&calls->lock);
}

bool cluster_client_calls_is_closed(struct cluster_client_calls *calls)
{
    bool closed;

    hub_mutex_lock(&calls->lock);
    closed = calls->closed;
    hub_mutex_unlock(&calls->lock);
    return closed;
}

/* ---- the client's thread ---- */

/* Calls of one order name the one before them. The same query means the same containers. */
static bool precedes(const struct cluster_client_call *earlier,
                     const struct cluster_client_call *later)
{
    const struct rapahub_query *one = &earlier->query, *other = &later->query;

    return one->order == other->order && earlier->pool == later->pool && one->mode == other->mode &&
           one->number == other->number && one->offset == other->offset &&
           one->count == other->count &&
           (one->mode != RAPAHUB_QUERY_DIRECT || earlier->container == later->container);
}

/* r[impl cluster.client.order] */
static void find_before(const struct cluster_client_calls *calls, struct cluster_client_call *call)
{
    if (call->query.order == 0)
        return;
    for (struct hub_list *link = calls->open.previous; link != &calls->open;
         link = link->previous) {
        if (!precedes(CALL_OF(link, open), call))
            continue;
        call->before = CALL_OF(link, open)->number;
        return;
    }
}

/* Puts a call into the list of those that wait, at its place by its number: mostly the last one. */
static void insert(struct cluster_client_calls *calls, struct cluster_client_call *call)
{
    struct hub_list *before = calls->waiting.previous;

    while (before != &calls->waiting && CALL_OF(before, waiting)->number > call->number)
        before = before->previous;
    hub_list_append(before->next, &call->waiting);
}

/* A call that was handed over is older than the last ones. */
static void insert_open(struct cluster_client_calls *calls, struct cluster_client_call *call)
{
    struct hub_list *before = calls->open.previous;

    while (before != &calls->open && CALL_OF(before, open)->number > call->number)
        before = before->previous;
    hub_list_append(before->next, &call->open);
}

static bool is_told(const struct cluster_client_call *call)
{
    return call->on_done || call->query.each;
}

void cluster_client_calls_take(struct cluster_client_calls *calls)
{
    struct hub_list added, *link;

    hub_list_init(&added);
    hub_mutex_lock(&calls->lock);
    while ((link = hub_list_pop(&calls->inbox))) {
        CALL_OF(link, open)->is_taken = true;
        hub_list_append(&added, link);
    }
    hub_mutex_unlock(&calls->lock);
    while ((link = hub_list_pop(&added))) {
        struct cluster_client_call *call = CALL_OF(link, open);

        calls->told += is_told(call) ? 1 : 0;
        find_before(calls, call);
        insert_open(calls, call);
        insert(calls, call);
        if (call->deadline_ns < calls->due_ns)
            calls->due_ns = call->deadline_ns;
    }
}

/* Only calls that were taken are given out: the others are not in the lists of this thread. */
struct cluster_client_call *cluster_client_calls_cancelled(struct cluster_client_calls *calls)
{
    struct cluster_client_call *call = NULL;

    hub_mutex_lock(&calls->lock);
    HUB_LIST_EACH (&calls->cancels, link) {
        if (!CALL_OF(link, cancelled)->is_taken)
            continue;
        call = CALL_OF(link, cancelled);
        hub_list_remove(link);
        break;
    }
    hub_mutex_unlock(&calls->lock);
    return call;
}

struct cluster_client_call *cluster_client_calls_find(struct cluster_client_calls *calls,
                                                      uint64_t number)
{
    struct cluster_client_call *call;

    hub_mutex_lock(&calls->lock);
    call = hub_id_map_get(calls->by_number, number);
    if (call && !call->is_taken)
        call = NULL;
    hub_mutex_unlock(&calls->lock);
    return call;
}

uint64_t cluster_client_calls_done_below(struct cluster_client_calls *calls)
{
    uint64_t below;

    hub_mutex_lock(&calls->lock);
    below = done_below(calls);
    hub_mutex_unlock(&calls->lock);
    return below;
}

static void move(struct cluster_client_call *call, uint32_t to)
{
    hub_states_move(&cluster_client_call_states, &call->state, to, "call", "");
}

/* r[impl cluster.client.resolved] */
void cluster_client_calls_guess(struct cluster_client_calls *calls,
                                struct cluster_client_call *call)
{
    if (call->maybe || call->members.count > 0 || !cluster_client_call_is_single(call) ||
        !cluster_ids_is_pool(call->pool))
        return;
    hub_mutex_lock(&calls->lock);
    guess(calls, call);
    hub_mutex_unlock(&calls->lock);
}

int cluster_client_calls_resolve(struct cluster_client_calls *calls,
                                 struct cluster_client_call *call,
                                 const struct cluster_body_resolved *resolved)
{
    int r = cluster_client_call_resolve(call, resolved);

    if (r < 0 || call->members.count != 1 || !cluster_client_call_is_single(call))
        return r;
    hub_mutex_lock(&calls->lock);
    cluster_member_cache_put(&calls->members, call->pool, call->container, &call->query,
                             call->members.list);
    hub_mutex_unlock(&calls->lock);
    return 0;
}

void cluster_client_calls_note_sent(struct cluster_client_calls *calls,
                                    struct cluster_client_call *call)
{
    move(call, CLUSTER_CLIENT_CALL_SENT);
    hub_list_remove(&call->waiting);
    calls->sent++;
}

static void end_now(struct cluster_client_calls *calls, struct cluster_client_call *call,
                    const struct cluster_client_end *end)
{
    move(call, CLUSTER_CLIENT_CALL_ENDED);
    calls->told -= is_told(call) ? 1 : 0;
    calls->waited = calls->waited || !call->on_done;
    hub_list_remove(&call->open);
    hub_list_remove(&call->waiting);
    hub_mutex_lock(&calls->lock);
    leave(calls, call);
    hub_mutex_unlock(&calls->lock);
    cluster_client_call_end(call, end);
}

void cluster_client_calls_end(struct cluster_client_calls *calls, struct cluster_client_call *call,
                              const struct cluster_client_end *end)
{
    if (call->state == CLUSTER_CLIENT_CALL_SENT)
        calls->sent--;
    if (!call->streams) {
        end_now(calls, call, end);
        return;
    }
    cluster_client_streams_end(call->streams, end);
    if (call->state == CLUSTER_CLIENT_CALL_SETTLING)
        return;
    move(call, CLUSTER_CLIENT_CALL_SETTLING);
    hub_list_remove(&call->waiting);
    hub_list_append(&calls->settling, &call->waiting);
}

void cluster_client_calls_settle(struct cluster_client_calls *calls, bool wait)
{
    HUB_LIST_EACH (&calls->settling, link) {
        struct cluster_client_call *call = CALL_OF(link, waiting);
        struct cluster_client_end end;
        char text[CLUSTER_BODY_TEXT_MAX];

        if (!wait && !cluster_client_streams_are_done(call->streams))
            continue;
        end = cluster_client_streams_finish(call->streams, text, sizeof text);
        end_now(calls, call, &end);
    }
}

/* A call whose streams were read or written is not sent again. r[impl cluster.client.streams] */
static bool may_go_again(struct cluster_client_calls *calls, struct cluster_client_call *call)
{
    if (!call->streams || cluster_client_streams_withdraw(call->streams))
        return true;
    cluster_client_calls_end(calls, call, &cluster_client_streams_maybe);
    return false;
}

void cluster_client_calls_delay(struct cluster_client_calls *calls,
                                struct cluster_client_call *call, uint64_t not_before_ns)
{
    if (call->state != CLUSTER_CLIENT_CALL_SENT || !may_go_again(calls, call))
        return;
    move(call, CLUSTER_CLIENT_CALL_WAITING);
    calls->sent--;
    call->not_before_ns = not_before_ns;
    insert(calls, call);
}

/* r[impl cluster.client.again] */
void cluster_client_calls_lost(struct cluster_client_calls *calls)
{
    cluster_streams_lose(&calls->streams.open);
    hub_list_init(&calls->waiting);
    HUB_LIST_EACH (&calls->open, link) {
        struct cluster_client_call *call = CALL_OF(link, open);

        if (call->state == CLUSTER_CLIENT_CALL_SETTLING) {
            if (cluster_client_streams_lack(call->streams))
                cluster_client_calls_end(calls, call, &cluster_client_streams_maybe);
            continue;
        }
        hub_list_init(&call->waiting);
        if (!may_go_again(calls, call))
            continue;
        hub_list_append(&calls->waiting, &call->waiting);
        call->not_before_ns = 0;
        if (call->state != CLUSTER_CLIENT_CALL_SENT)
            continue;
        call->maybe = true;
        move(call, CLUSTER_CLIENT_CALL_WAITING);
    }
    calls->sent = 0;
    calls->due_ns = 0; /* the times until which they wait are other ones now */
}
