/* SPDX-License-Identifier: Apache-2.0 */
/* inquiring: a host with inquiries, which wait until a thread of the test answers them, and a guest
 * that asks them. */
#ifndef TESTS_INTEGRATION_INQUIRING_H
#define TESTS_INTEGRATION_INQUIRING_H

#include "tests/integration/routing.h"

#define MS     UINT64_C(1000000)
#define CALLER MODULE("caller")
#define POOL   9
#define MOST   16

static const struct rapahub_container_id asker = {.pool = {2, 0}};
static const struct rapahub_container_id gate = {.pool = {POOL, 0}};

/* Where inquiries wait until a thread answers them. */
struct gate {
    struct rapahub_host *host;
    pthread_mutex_t lock;
    unsigned begun, cancelled, count; /* count: that wait */
    struct rapahub_request_id waiting[MOST], ended;
    uint8_t numbers[MOST]; /* what each asked about, in POSTCARD: one byte */
    struct rapahub_guest_id guest;
    struct rapahub_pool_id pool;
    uint64_t chain;
    int refuses;
    bool stops, keeps_none;
    pthread_t thread;
};

UNUSED static int gate_begin(void *user, const struct rapahub_raw_call *call,
                             struct rapahub_request_id answer)
{
    struct gate *at = user;
    int r = at->refuses;

    pthread_mutex_lock(&at->lock);
    at->begun++;
    at->guest = call->from;
    at->pool = call->from_pool;
    at->chain = call->chain;
    if (r == 0 && !at->keeps_none) {
        assert_true(at->count < MOST && call->arguments.size == 1);
        at->numbers[at->count] = *(const uint8_t *)call->arguments.data;
        at->waiting[at->count++] = answer;
    }
    pthread_mutex_unlock(&at->lock);
    return r;
}

UNUSED static void gate_cancel(void *user, struct rapahub_request_id answer)
{
    struct gate *at = user;

    pthread_mutex_lock(&at->lock);
    at->cancelled++;
    at->ended = answer;
    pthread_mutex_unlock(&at->lock);
}

/* Twice the number, whose POSTCARD is twice that byte. */
UNUSED static int answer_one(struct rapahub_host *host, struct rapahub_request_id id,
                             uint8_t number)
{
    const uint8_t twice = (uint8_t)(2 * number);
    const struct rapahub_raw_answer answer = {.payload = {&twice, 1}};

    return rapahub_host_answer_raw(host, id, &answer);
}

UNUSED static bool take_one(struct gate *at, struct rapahub_request_id *id, uint8_t *number)
{
    bool any;

    pthread_mutex_lock(&at->lock);
    any = at->count > 0;
    if (any) {
        at->count--;
        *id = at->waiting[at->count];
        *number = at->numbers[at->count];
    }
    pthread_mutex_unlock(&at->lock);
    return any;
}

UNUSED static void *answer_all(void *user)
{
    struct gate *at = user;
    bool stops = false;

    while (!stops) {
        struct rapahub_request_id id;
        uint8_t number;

        while (take_one(at, &id, &number))
            assert_done(answer_one(at->host, id, number));
        pause_ms(1);
        pthread_mutex_lock(&at->lock);
        stops = at->stops;
        pthread_mutex_unlock(&at->lock);
    }
    return NULL;
}

UNUSED static void gate_open(struct gate *at, struct hosting *on, bool own_thread)
{
    static const char *const methods[] = {"twice(i64) -> i64", "hold(u32)", NULL};
    const struct rapahub_container_options options = {.id = gate, .pool_name = "gate"};
    const struct rapahub_inquiries inquiries = {methods, gate_begin, gate_cancel, at, NULL, {0}};

    open_host(on, (struct rapahub_host_options){.own_thread = own_thread});
    *at = (struct gate){.host = on->host};
    pthread_mutex_init(&at->lock, NULL);
    assert_done(rapahub_host_offer_inquiries(on->host, &options, &inquiries));
    assert_done(start(on, CALLER, asker, NULL));
}

UNUSED static void gate_answer(struct gate *at)
{
    assert_int_equal(pthread_create(&at->thread, NULL, answer_all, at), 0);
}

UNUSED static void gate_close(struct gate *at, struct hosting *on)
{
    pthread_mutex_lock(&at->lock);
    at->stops = true;
    pthread_mutex_unlock(&at->lock);
    if (at->thread)
        pthread_join(at->thread, NULL);
    close_host(on);
    pthread_mutex_destroy(&at->lock);
}

UNUSED static unsigned look(struct gate *at, const unsigned *count)
{
    unsigned now;

    pthread_mutex_lock(&at->lock);
    now = *count;
    pthread_mutex_unlock(&at->lock);
    return now;
}

UNUSED static bool gate_until(struct gate *at, const unsigned *count, unsigned wanted)
{
    uint64_t end = now_ms() + 10000;

    while (look(at, count) < wanted && now_ms() < end)
        pause_ms(1);
    return look(at, count) >= wanted;
}

UNUSED static int ask_guest(struct hosting *on, int64_t number, int64_t *result)
{
    const uint32_t pool = POOL;

    return call_at(on->host, asker, "ask(u32, i64) -> i64",
                   (const void *const[]){&pool, &number, NULL}, result);
}

/* Has the guest hold an inquiry open. */
UNUSED static void begin_hold(struct hosting *on, struct done *done, struct rapahub_request_id *id)
{
    static const uint32_t pool = POOL, ms = 7;
    const void *const arguments[] = {&pool, &ms, NULL};
    const struct rapahub_call call = {
        .target = asker, .method = "hold(u32, u32)", .arguments = arguments};

    assert_done(rapahub_host_call_async(on->host, &call, on_done, done, id));
}

#endif
