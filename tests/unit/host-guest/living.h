/* SPDX-License-Identifier: Apache-2.0 */
/* living: a stage with a supervised guest, which has a life on a link whose other end is in this
 * thread. The clock runs on when a test says so; the program wraps hub_clock_now for that. */
#ifndef TESTS_UNIT_HOST_GUEST_LIVING_H
#define TESTS_UNIT_HOST_GUEST_LIVING_H

#include "hub/call/call_ends.h"
#include "tests/unit/host-guest/stage.h"
#include "tests/unit/link/pair.h"

struct living {
    struct host_supervision *host;
    struct pair pair;
    struct host_guest *guest;
    struct host_life life;
    unsigned attached, ready, leaving, stuck, may_be_dead; /* how often it was told so */
    enum host_cause cause;
};

static struct living *living_now;
static uint64_t living_later; /* how far the clock is ahead */

uint64_t __real_hub_clock_now(void);
uint64_t __wrap_hub_clock_now(void);
uint64_t __wrap_hub_clock_now(void)
{
    return __real_hub_clock_now() + living_later;
}

static void living_attached(struct host_life *life)
{
    (void)life;
    living_now->attached++;
}

static void living_ready(struct host_life *life)
{
    living_now->ready++;
    host_supervision_ready(life->guest);
}

static void living_leaving(struct host_life *life)
{
    (void)life;
    living_now->leaving++;
}

static void living_stuck(struct host_life *life, enum host_cause cause)
{
    (void)life;
    living_now->stuck++;
    living_now->cause = cause;
}

static void living_may_be_dead(struct host_life *life)
{
    (void)life;
    living_now->may_be_dead++;
}

static bool living_nobody(struct host_supervision *host)
{
    (void)host;
    return false;
}

UNUSED static struct living *living_open(struct rapahub_supervision how)
{
    static struct host_supervision_hooks hooks;
    const struct hub_limits limits = pair_limits();
    struct living *living = test_calloc(1, sizeof *living);

    living_now = living;
    living_later = 0;
    living->host = stage_new();
    hooks = stage_hooks;
    hooks.lives = (struct host_supervision_lives){.attached = living_attached,
                                                  .ready = living_ready,
                                                  .leaving = living_leaving,
                                                  .stuck = living_stuck,
                                                  .may_be_dead = living_may_be_dead};
    hooks.anonymous_guests = living_nobody;
    living->host->hooks = &hooks;
    pair_open(&living->pair, &limits, 0);
    living->guest = stage_add(living->host, HOST_SUPERVISION_ROOT, "calc", how);
    host_supervision_attached(living->guest);
    living->life = (struct host_life){
        .host = &living->host->call.process,
        .loop = &HOST_OWNER(living->host)->loop,
        .guest = living->guest,
        .segment = {.view = living->pair.host.view, .peer_state = HUB_PEER_ATTACHED},
        .connection = living->pair.host.connection,
        .process.pidfd = -1};
    living->life.id.epoch = living->pair.epoch;
    living->life.doorbell.watch.fd = -1;
    living->life.futex.link = living->life.connection.link;
    hub_list_append(&living->host->call.process.lives, &living->life.link);
    return living;
}

UNUSED static void living_close(struct living *living)
{
    hub_list_remove(&living->life.link);
    host_loop_clear(&living->host->beat);
    host_loop_clear(&living->host->silent);
    pair_close(&living->pair);
    living->host->hooks = &stage_hooks;
    stage_free(living->host);
    test_free(living);
    living_later = 0;
}

/* The time passes, in steps that are much longer than what this thread itself takes. */
#define LIVING_STEP (500 * HUB_MILLISECOND)
UNUSED static void living_pass(struct living *living, uint64_t span_ns)
{
    for (uint64_t passed = 0; passed < span_ns; passed += LIVING_STEP) {
        living_later += LIVING_STEP;
        (void)host_loop_run_timers(&HOST_OWNER(living->host)->loop);
    }
}

/* The host stands still for so long. */
UNUSED static void living_stand_still(struct living *living, uint64_t span_ns)
{
    living_later += span_ns;
    (void)host_loop_run_timers(&HOST_OWNER(living->host)->loop);
}

/* The next request that the host has sent to the guest; NULL: none. */
UNUSED static struct hub_request *living_next(struct living *living)
{
    struct hub_connection *guest = &living->pair.guest.connection;

    assert_true(hub_link_sweep(guest->link, UINT32_MAX) >= 0);
    return hub_inbound_calls_next(guest->served, NULL, NULL);
}

/* The guest answers it with a byte, or with an error, and the host hears that. */
UNUSED static void living_answer(struct living *living, struct hub_request *request,
                                 enum hub_response_kind kind, uint8_t byte)
{
    const struct hub_response response = {.kind = kind};

    assert_non_null(request);
    assert_int_equal(
        hub_inbound_calls_answer(living->pair.guest.connection.served, request, &response,
                                 (struct rapahub_bytes){&byte, kind == HUB_RESPONSE_OK}),
        0);
    assert_true(hub_link_sweep(living->life.connection.link, UINT32_MAX) >= 0);
    (void)hub_call_ends_deliver(living->life.connection.calls);
}

#endif
