/* SPDX-License-Identifier: Apache-2.0 */
/* A guest of another make, which wakes its host by futexes only, is the other end of a link. */
#include <sys/eventfd.h>

#include "host/owner/lookout.h"
#include "host/process/life.h"
#include "host/process/nap.h"
#include "host/process/process.h"
#include "hub/shm/wait_foreign.h"
#include "tests/unit/link/pair.h"

struct rig {
    struct host_process host;
    struct pair pair;
    struct host_life life;
};

static struct rig *open_rig(void)
{
    const struct hub_limits limits = pair_limits();
    struct rig *rig = test_calloc(1, sizeof *rig);
    struct host_owner *owner = &rig->host.owner;

    pair_open(&rig->pair, &limits, 0);
    hub_store_relaxed(&rig->pair.host.view.entry->host_wait, 0);
    hub_store_relaxed(&rig->pair.host.view.entry->guest_wait, 0);
    assert_int_equal(host_loop_init(&owner->loop, 4), 0);
    assert_int_equal(host_lookout_open(&owner->lookout, owner->loop.epoll, 4), 0);
    hub_list_init(&rig->host.lives);
    hub_list_append(&rig->host.lives, &rig->life.link);
    rig->life.open = true;
    rig->life.connection.link = rig->pair.host.connection.link;
    rig->life.futex.link = rig->life.connection.link;
    hub_store_relaxed(&rig->life.connection.link->wait.unrung, HUB_WAIT_FOREIGN_UNRUNG);
    return rig;
}

static void close_rig(struct rig *rig)
{
    host_lookout_close(&rig->host.owner.lookout);
    host_loop_fini(&rig->host.owner.loop);
    pair_close(&rig->pair);
    test_free(rig);
}

static void send_one(struct rig *rig)
{
    const struct hub_message message = {HUB_REQUEST, 1, 99};
    const struct hub_parts none = {.loan = NULL};

    assert_int_equal(hub_link_send(rig->pair.guest.connection.link, &message, &none, 0), 0);
}

static uint32_t work_of(const struct rig *rig)
{
    return hub_observe(&rig->life.work);
}

static void only_an_owner_whose_guests_all_wake_by_futexes_may_nap(void **state)
{
    struct rig *rig = open_rig();
    struct host_life other = rig->life;

    (void)state;
    assert_true(host_nap_may(&rig->host));
    other.open = false;
    hub_list_append(&rig->host.lives, &other.link);
    assert_false(host_nap_may(&rig->host));
    hub_list_remove(&other.link);
    rig->life.death.proven_ns = 1;
    assert_false(host_nap_may(&rig->host));
    rig->life.death.proven_ns = 0;
    hub_list_remove(&rig->life.link);
    assert_false(host_nap_may(&rig->host)); /* no guest at all: the loop waits */
    close_rig(rig);
}

static void a_guest_that_rings_or_has_left_prevents_naps(void **state)
{
    struct rig *rig = open_rig();
    struct hub_link *link = rig->life.connection.link;

    (void)state;
    hub_store_relaxed(&link->wait.unrung, 0);
    assert_false(host_nap_may(&rig->host));
    hub_store_relaxed(&link->wait.unrung, HUB_WAIT_FOREIGN_UNRUNG);
    assert_true(host_nap_may(&rig->host));
    hub_link_close(link, RAPAHUB_ECLOSED, "");
    assert_false(host_nap_may(&rig->host));
    close_rig(rig);
}

/* Its events must stay in the descriptor. */
static void nobody_naps_while_another_thread_may_wait_for_the_loop(void **state)
{
    struct rig *rig = open_rig();

    (void)state;
    hub_publish(&rig->host.owner.shown, 1);
    assert_false(host_nap_may(&rig->host));
    hub_publish(&rig->host.owner.shown, 0);
    host_lookout_close(&rig->host.owner.lookout);
    assert_false(host_nap_may(&rig->host));
    close_rig(rig);
}

static void there_are_no_more_guests_than_words_of_one_sleep(void **state)
{
    static struct host_life more[HUB_FUTEX_LOOKS_MAX];
    struct rig *rig = open_rig();

    (void)state;
    for (int i = 0; i < HUB_FUTEX_LOOKS_MAX - 2; i++) {
        more[i] = rig->life;
        hub_list_append(&rig->host.lives, &more[i].link);
    }
    assert_true(host_nap_may(&rig->host));
    more[HUB_FUTEX_LOOKS_MAX - 1] = rig->life;
    hub_list_append(&rig->host.lives, &more[HUB_FUTEX_LOOKS_MAX - 1].link);
    assert_false(host_nap_may(&rig->host));
    close_rig(rig);
}

/* r[verify shm.wakeup.consumer-wait] */
static void a_message_ends_the_nap_and_is_work_for_its_life(void **state)
{
    struct rig *rig = open_rig();
    uint64_t deadline = hub_clock_after(SOON);

    (void)state;
    send_one(rig);
    if (!host_nap(&rig->host, 600000)) {
        close_rig(rig);
        skip(); /* the kernel cannot sleep on several words */
    }
    assert_true(hub_clock_left(deadline) > 0);
    assert_true((work_of(rig) & HOST_WORK_SWEEP) != 0);
    close_rig(rig);
}

static void without_news_a_nap_ends_at_its_time(void **state)
{
    struct rig *rig = open_rig();
    uint64_t before = hub_clock_now();

    (void)state;
    if (host_nap(&rig->host, 20)) {
        assert_true(hub_clock_now() - before >= 20 * HUB_MILLISECOND);
        assert_int_equal(work_of(rig), 0);
    }
    close_rig(rig);
}

/* It waits for a response of ours, and the thread that sends that one wakes the loop. */
static void a_message_of_before_the_last_nap_does_not_end_the_next(void **state)
{
    struct rig *rig = open_rig();
    uint64_t before;

    (void)state;
    send_one(rig);
    if (host_nap(&rig->host, 600000)) {
        before = hub_clock_now();
        assert_true(host_nap(&rig->host, 20));
        assert_true(hub_clock_now() - before >= 20 * HUB_MILLISECOND);
    }
    close_rig(rig);
}

static void an_event_of_the_loop_ends_the_nap(void **state)
{
    struct rig *rig = open_rig();
    uint64_t deadline = hub_clock_after(SOON);

    (void)state;
    host_loop_wake(&rig->host.owner.loop);
    (void)host_nap(&rig->host, 600000);
    assert_true(hub_clock_left(deadline) > 0);
    assert_int_equal(work_of(rig), 0);
    close_rig(rig);
}

static void nothing(void *user)
{
    (void)user;
}

/* Its time is the loop's until the loop is armed. */
static void a_timer_that_was_just_set_ends_the_nap(void **state)
{
    struct host_timer timer = {.on = nothing};
    struct rig *rig = open_rig();
    uint64_t deadline = hub_clock_after(SOON);

    (void)state;
    host_loop_set(&rig->host.owner.loop, &timer, hub_clock_after(5 * HUB_MILLISECOND));
    (void)host_nap(&rig->host, 600000);
    assert_true(hub_clock_left(deadline) > 0);
    host_loop_clear(&timer);
    close_rig(rig);
}

static void a_guest_that_the_thread_of_futexes_watches_prevents_the_nap(void **state)
{
    struct rig *rig = open_rig();

    (void)state;
    rig->life.futex.watched = true;
    assert_false(host_nap(&rig->host, 600000));
    rig->life.futex.watched = false;
    close_rig(rig);
}

/* r[verify hub.wait.flood] */
static void a_guest_that_wakes_for_nothing_again_and_again_is_left_to_the_loop(void **state)
{
    struct rig *rig = open_rig();
    const struct hub_a32 *head = hub_link_head(rig->life.connection.link);
    bool naps = true;

    (void)state;
    for (uint32_t i = 1; naps && i < 100000; i++) {
        rig->host.owner.futexes.woken = head;
        naps = host_nap(&rig->host, 0);
    }
    assert_false(naps);
    close_rig(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_an_owner_whose_guests_all_wake_by_futexes_may_nap),
        cmocka_unit_test(a_guest_that_rings_or_has_left_prevents_naps),
        cmocka_unit_test(nobody_naps_while_another_thread_may_wait_for_the_loop),
        cmocka_unit_test(there_are_no_more_guests_than_words_of_one_sleep),
        cmocka_unit_test(a_message_ends_the_nap_and_is_work_for_its_life),
        cmocka_unit_test(without_news_a_nap_ends_at_its_time),
        cmocka_unit_test(a_message_of_before_the_last_nap_does_not_end_the_next),
        cmocka_unit_test(an_event_of_the_loop_ends_the_nap),
        cmocka_unit_test(a_timer_that_was_just_set_ends_the_nap),
        cmocka_unit_test(a_guest_that_the_thread_of_futexes_watches_prevents_the_nap),
        cmocka_unit_test(a_guest_that_wakes_for_nothing_again_and_again_is_left_to_the_loop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
