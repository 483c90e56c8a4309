/* SPDX-License-Identifier: Apache-2.0 */
/* A call between two sides that are awake: what it stores into the lines both look at, and what is
 * made good before anybody sleeps. */
#include "hub/link/slot_return.h"
#include "tests/support/process.h"
#include "tests/unit/link/pair.h"

/* Begun by the host, answered by the guest, taken by the host, all on this thread. */
static int call_once(struct pair *pair)
{
    static const uint8_t head[] = {0}; /* no metadata */
    const struct hub_response ok = {.kind = HUB_RESPONSE_OK};
    struct hub_inbound_calls *served = pair->guest.connection.served;
    struct hub_answer answer = {0};
    const struct hub_call call = {.method_id = 1,
                                  .payload = {.head = {head, sizeof head}},
                                  .deadline_ns = hub_clock_after(SOON),
                                  .answer = &answer};
    struct hub_request *request;
    uint64_t number;
    int r;

    assert_int_equal(hub_calls_begin(pair->host.connection.calls, &call, &number), 0);
    assert_int_equal(hub_link_sweep(pair->guest.connection.link, 8), 1);
    request = hub_inbound_calls_next(served, NULL, NULL);
    assert_non_null(request);
    assert_null(hub_inbound_calls_next(served, NULL, NULL));
    assert_int_equal(hub_inbound_calls_answer(served, request, &ok, request->arguments), 0);
    r = hub_calls_wait(pair->host.connection.calls, number, true);
    hub_responses_fini(&answer);
    return r;
}

static uint32_t tail_of(const struct pair *pair)
{
    return hub_load_relaxed(&pair->host.view.entry->guest_to_host_tail);
}

static bool is_armed(const struct pair *pair)
{
    return (hub_load_relaxed(&pair->host.view.entry->host_wait) & HUB_WAIT_RX_BELL) != 0;
}

/* r[verify shm.wakeup.producer-wait] */
static void who_waits_for_space_is_woken_by_the_tail(void **state)
{
    const struct hub_message message = {HUB_CANCEL, 77, 0};
    const struct hub_parts nothing = {.head = {"", 0}};
    const struct hub_limits limits = pair_limits();
    struct hub_link *guest;
    struct pair pair;

    (void)state;
    pair_open(&pair, &limits, 0);
    guest = pair.guest.connection.link;
    while (hub_link_send(guest, &message, &nothing, 0) == 0)
        continue;
    hub_wait_arm(&guest->wait, HUB_WAIT_TX);
    assert_true(hub_link_sweep(pair.host.connection.link, 64) > 0);
    assert_int_equal(hub_load_relaxed(&pair.guest.view.entry->guest_wait) & HUB_WAIT_TX, 0);
    pair_close(&pair);
}

static void who_waits_for_a_slot_is_woken_for_a_single_one(void **state)
{
    const struct hub_limits limits = pair_limits();
    struct hub_link *host;
    struct pair pair;

    (void)state;
    pair_open(&pair, &limits, 0);
    host = pair.host.connection.link;
    hub_wait_arm(&pair.guest.connection.link->wait, HUB_WAIT_TX);
    hub_slot_return_wake(host);
    assert_true((hub_load_relaxed(&pair.guest.view.entry->guest_wait) & HUB_WAIT_TX) != 0);
    host->returned.count = 1;
    hub_slot_return_wake(host);
    assert_int_equal(hub_load_relaxed(&pair.guest.view.entry->guest_wait) & HUB_WAIT_TX, 0);
    pair_close(&pair);
}

/* r[verify hub.ring.lazy-tail] */
static void a_tail_is_shown_rarely_and_before_a_sleep(void **state)
{
    const struct hub_limits limits = pair_limits();
    struct pair pair;

    (void)state;
    pair_open(&pair, &limits, 0);
    assert_int_equal(call_once(&pair), 0);
    assert_int_equal(tail_of(&pair), 0);
    assert_int_equal(call_once(&pair), 0);
    assert_int_equal(tail_of(&pair), 2); /* a quarter of the ring */
    assert_int_equal(call_once(&pair), 0);
    assert_int_equal(tail_of(&pair), 2);
    assert_int_equal(hub_link_sweep(pair.host.connection.link, 8), 0);
    assert_int_equal(tail_of(&pair), 3);
    pair_close(&pair);
}

/* A thread that spun for its answer checks again before it sleeps: the loop is told to. */
static void the_bell_is_armed_again_by_the_look_before_a_sleep(void **state)
{
    const struct hub_limits limits = pair_limits();
    struct pair pair;

    (void)state;
    pair_open(&pair, &limits, 0);
    assert_int_equal(hub_link_sweep(pair.host.connection.link, 8), 0);
    assert_true(is_armed(&pair));
    for (uint32_t i = 1; i <= 3; i++) {
        assert_int_equal(call_once(&pair), 0);
        assert_false(is_armed(&pair));
        assert_int_equal(hub_load_relaxed(&pair.host.pending), i);
    }
    assert_int_equal(hub_link_sweep(pair.host.connection.link, 8), 0);
    assert_true(is_armed(&pair));
    assert_int_equal(hub_load_relaxed(&pair.host.pending), 3);
    pair_close(&pair);
}

static bool has_shown(void *user)
{
    return tail_of(user) != 0;
}

static bool is_set(void *user)
{
    return hub_observe(user) != 0;
}

static void *lead_until_set(void *user)
{
    struct pair *pair = user;
    const struct hub_link_until until = {.done = is_set,
                                         .user = &pair->host.hints,
                                         .stage = HUB_WAIT_SLEEP,
                                         .deadline_ns = hub_clock_after(SOON)};

    return hub_link_lead(pair->host.connection.link, &until) == 0 ? NULL : user;
}

/* r[verify hub.ring.lazy-tail] */
static void a_leader_shows_its_tail_before_it_sleeps(void **state)
{
    const struct hub_limits limits = pair_limits();
    struct pair pair;
    pthread_t thread;
    void *failed;

    (void)state;
    pair_open(&pair, &limits, 0);
    assert_int_equal(call_once(&pair), 0);
    assert_int_equal(tail_of(&pair), 0);
    assert_int_equal(pthread_create(&thread, NULL, lead_until_set, &pair), 0);
    assert_true(process_until(has_shown, &pair, SOON));
    assert_int_equal(tail_of(&pair), 1);
    hub_publish(&pair.host.hints, 1);
    hub_link_nudge(pair.host.connection.link);
    pthread_join(thread, &failed);
    assert_null(failed);
    pair_close(&pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_waits_for_space_is_woken_by_the_tail),
        cmocka_unit_test(who_waits_for_a_slot_is_woken_for_a_single_one),
        cmocka_unit_test(a_tail_is_shown_rarely_and_before_a_sleep),
        cmocka_unit_test(the_bell_is_armed_again_by_the_look_before_a_sleep),
        cmocka_unit_test(a_leader_shows_its_tail_before_it_sleeps),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
