/* SPDX-License-Identifier: Apache-2.0 */
/* routing: two hosts of this process, each with a thread of its own and a router that leads to the
 * other one. */
#ifndef TESTS_INTEGRATION_ROUTING_H
#define TESTS_INTEGRATION_ROUTING_H

#include <pthread.h>
#include <stdatomic.h>

#include <rapahub/route.h>

#include "tests/integration/hosting.h"
#include "tests/support/pause.h"

/* A way from one host to another: what its router has of each call. */
struct way {
    struct rapahub_host *from, *to;
    pthread_mutex_t lock;
    struct way_call *calls;
    unsigned begun, answered, cancelled; /* under the lock */
    uint64_t chain;                      /* of the last call */
    struct rapahub_uid uid;
    struct rapahub_guest_id guest;
    struct rapahub_pool_id pool;
};

struct way_call {
    struct way *way;
    struct way_call *next;
    struct rapahub_request_id here, there;
};

UNUSED static void way_forget(struct way_call *call)
{
    struct way_call **at = &call->way->calls;

    while (*at != call)
        at = &(*at)->next;
    *at = call->next;
    free(call);
}

/* On the owner of the other host. A call that has ended at its deadline is answered, too: its
 * streams are the router's until then. */
UNUSED static void way_done(void *user, const struct rapahub_raw_answer *answer)
{
    struct way_call *call = user;
    struct way *way = call->way;

    pthread_mutex_lock(&way->lock);
    way->answered++;
    if (rapahub_host_answer_raw(way->from, call->here, answer) < 0)
        assert_int_equal(rapahub_last_error()->code, RAPAHUB_ESTALE);
    way_forget(call);
    pthread_mutex_unlock(&way->lock);
}

/* How many calls have begun, and been cancelled, so far: by the owner of a host in another thread.
 */
UNUSED static void way_look(struct way *way, unsigned *begun, unsigned *cancelled)
{
    pthread_mutex_lock(&way->lock);
    *begun = way->begun;
    *cancelled = way->cancelled;
    pthread_mutex_unlock(&way->lock);
}

UNUSED static int way_begin(void *user, const struct rapahub_raw_call *call,
                            struct rapahub_request_id answer)
{
    struct way_call *way_call = calloc(1, sizeof *way_call);
    struct way *way = user;
    int r;

    assert_non_null(way_call);
    *way_call = (struct way_call){.way = way, .here = answer};
    pthread_mutex_lock(&way->lock);
    way->begun++;
    way->chain = call->chain;
    way->uid = call->uid;
    way->guest = call->from;
    way->pool = call->from_pool;
    way_call->next = way->calls;
    way->calls = way_call;
    r = rapahub_host_call_raw(way->to, call, way_done, way_call, &way_call->there);
    if (r < 0)
        way_forget(way_call);
    pthread_mutex_unlock(&way->lock);
    return r;
}

UNUSED static void way_cancel(void *user, struct rapahub_request_id answer)
{
    struct way *way = user;

    pthread_mutex_lock(&way->lock);
    way->cancelled++;
    for (struct way_call *call = way->calls; call; call = call->next)
        if (call->here.number == answer.number)
            rapahub_host_cancel(way->to, call->there);
    pthread_mutex_unlock(&way->lock);
}

UNUSED static int way_methods(void *user, struct rapahub_container_id target,
                              void (*visit)(void *visitor, const char *signature), void *visitor)
{
    return rapahub_host_methods(((struct way *)user)->to, target, visit, visitor);
}

UNUSED static void way_open(struct way *way, struct rapahub_host *from, struct rapahub_host *to)
{
    const struct rapahub_router router = {way_begin, way_cancel, way_methods, way, {0}};

    *way = (struct way){.from = from, .to = to};
    pthread_mutex_init(&way->lock, NULL);
    assert_done(rapahub_host_set_router(from, &router));
}

/* No call goes this way any more. */
UNUSED static void way_close(struct way *way)
{
    assert_done(rapahub_host_set_router(way->from, NULL));
}

/* The host of the test, and another one. */
struct routing {
    struct hosting near, far;
    struct way out, back;
};

/* The thread of the test owns the near one, unless that has a thread of its own. */
UNUSED static void routing_open_as(struct routing *on, bool near_own)
{
    open_host(&on->near, (struct rapahub_host_options){.name = "near", .own_thread = near_own});
    open_host(&on->far, (struct rapahub_host_options){.own_thread = true});
    way_open(&on->out, on->near.host, on->far.host);
    way_open(&on->back, on->far.host, on->near.host);
}

UNUSED static void routing_open(struct routing *on)
{
    routing_open_as(on, true);
}

UNUSED static void routing_close(struct routing *on)
{
    way_close(&on->out);
    way_close(&on->back);
    rapahub_host_destroy(on->far.host);
    rapahub_host_destroy(on->near.host);
    assert_null(on->out.calls);
    assert_null(on->back.calls);
    pthread_mutex_destroy(&on->out.lock);
    pthread_mutex_destroy(&on->back.lock);
    leak_assert_none(on->far.leak);
    leak_assert_none(on->near.leak);
}

UNUSED static int call_at(struct rapahub_host *host, struct rapahub_container_id target,
                          const char *signature, const void *const *arguments, void *result)
{
    const struct rapahub_call call = {
        .target = target, .method = signature, .arguments = arguments};

    return rapahub_host_call(host, &call, result);
}

struct done {
    atomic_uint count;
    int status;
    int64_t sum;
    char text[256];
};

UNUSED static void on_done(void *user, int status, const void *result)
{
    struct done *done = user;

    done->status = status;
    if (result)
        done->sum += *(const int64_t *)result;
    if (status < 0)
        snprintf(done->text, sizeof done->text, "%s", rapahub_last_error()->text);
    done->count++;
}

UNUSED static bool ends(struct done *done, unsigned count)
{
    uint64_t end = now_ms() + 10000;

    while (done->count < count && now_ms() < end)
        pause_ms(1);
    return done->count == count;
}

#endif
