/* SPDX-License-Identifier: Apache-2.0 */
/* The first looks of a wait, at one word of the peer. */
#include "hub/shm/wait_for.h"
#include "tests/unit/shm/wait_pair.h"

#define FULL     (20 * HUB_MICROSECOND) /* the spin time of a wait where spinning pays */
#define CPU_BITS UINT32_C(0xFFFF0000)

static void a_word_that_has_changed_is_seen(void **state)
{
    struct hub_a32 word = {7};
    struct pair pair;

    (void)state;
    begin_pair(&pair);
    assert_true(hub_wait_for_word(&pair.side[0], &word, 6, &word));
    assert_true(hub_wait_for_word(&pair.side[0], &word, UINT32_MAX, &word));
    assert_false(hub_wait_for_word(&pair.side[0], &word, 7, &word));
    end_pair(&pair);
}

/* There may be no sleeper, so it is no sleep: nothing is armed, no thread is woken. */
static void looks_in_vain_are_few_and_leave_nothing(void **state)
{
    struct hub_a32 word = {7};
    struct pair pair;
    uint64_t start;

    (void)state;
    begin_pair(&pair);
    start = hub_clock_now();
    for (int i = 0; i < 100; i++)
        assert_false(hub_wait_for_word(&pair.side[0], &word, 7, &word));
    assert_true(hub_clock_now() - start < HUB_SECOND);
    assert_int_equal(bits_of(&pair, 0), HUB_WAIT_PART);
    assert_int_equal(bits_of(&pair, 1), HUB_WAIT_PART);
    assert_int_equal(hub_load_relaxed(&pair.side[0].turns), 0);
    end_pair(&pair);
}

/* r[verify hub.wait.budget] */
static void what_the_first_look_finds_says_nothing_of_spinning(void **state)
{
    const uint64_t budgets[] = {0, FULL / 4};
    struct hub_a32 word = {7};
    struct pair pair;

    (void)state;
    begin_pair(&pair);
    hub_store_relaxed64(&pair.side[0].spin_ns, 0);
    assert_false(hub_wait_for_word(&pair.side[0], &word, 7, &word));
    assert_int_equal(hub_load_relaxed64(&pair.side[0].spin_ns), 0);
    for (size_t i = 0; i < 2; i++) {
        hub_store_relaxed64(&pair.side[0].spin_ns, budgets[i]);
        assert_true(hub_wait_for_word(&pair.side[0], &word, 8, &word));
        assert_int_equal(hub_load_relaxed64(&pair.side[0].spin_ns), budgets[i]);
    }
    end_pair(&pair);
}

struct writer {
    struct hub_a32 word;
    struct hub_a32 cell;
};

static void *write_later(void *user)
{
    struct writer *writer = user;

    for (int i = 0; i < 1000; i++)
        hub_pause();
    hub_store_relaxed(&writer->cell, 42);
    hub_publish(&writer->word, 1);
    return NULL;
}

/* After it, all writes before the word are visible. */
static void what_was_written_before_the_word_is_seen_behind_it(void **state)
{
    (void)state;
    for (int i = 0; i < 100; i++) {
        struct writer writer = {{0}, {0}};
        struct pair pair;
        pthread_t thread;

        begin_pair(&pair);
        assert_int_equal(pthread_create(&thread, NULL, write_later, &writer), 0);
        while (!hub_wait_for_word(&pair.side[0], &writer.word, 0, &writer.cell))
            sched_yield();
        assert_int_equal(hub_load_relaxed(&writer.cell), 42);
        pthread_join(thread, NULL);
        end_pair(&pair);
    }
}

/* r[verify hub.wait.manner] */
static void a_peer_is_near_where_it_pays_to_look(void **state)
{
    static const struct {
        enum hub_wait_manner manner;
        bool same, near;
    } rows[] = {
        {HUB_WAIT_MANNER_ADAPT, false, true},  {HUB_WAIT_MANNER_POLL, false, true},
        {HUB_WAIT_MANNER_SLEEP, false, false}, {HUB_WAIT_MANNER_BELL, false, false},
        {HUB_WAIT_MANNER_ADAPT, true, false},  {HUB_WAIT_MANNER_POLL, true, false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct pair pair;

        begin_pair(&pair);
        pair.side[0].manner = rows[i].manner;
        hub_store_relaxed(&pair.side[0].cpu, 5);
        (void)hub_clear_bits(&pair.words[1], CPU_BITS);
        (void)hub_arm(&pair.words[1], (rows[i].same ? UINT32_C(5) : UINT32_C(6))
                                          << HUB_WAIT_CPU_SHIFT);
        assert_int_equal(hub_wait_is_near(&pair.side[0]), rows[i].near);
        end_pair(&pair);
    }
}

/* A CPU that is not known is not another one. */
static void a_peer_is_elsewhere_where_it_is_known_to_be(void **state)
{
    static const struct {
        uint32_t ours, theirs;
        bool elsewhere;
    } rows[] = {{5, 6, true}, {5, 5, false}, {5, 0, false}, {0, 0, false}};

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct pair pair;

        begin_pair(&pair);
        pair.side[0].manner = HUB_WAIT_MANNER_SLEEP;
        hub_store_relaxed(&pair.side[0].cpu, rows[i].ours);
        (void)hub_clear_bits(&pair.words[1], CPU_BITS);
        (void)hub_arm(&pair.words[1], rows[i].theirs << HUB_WAIT_CPU_SHIFT);
        assert_int_equal(hub_wait_is_elsewhere(&pair.side[0]), rows[i].elsewhere);
        end_pair(&pair);
    }
}

/* A judgement of a peer does not apply to another word, nor on another CPU. */
static void who_was_near_may_be_so_no_more(void **state)
{
    uint32_t here = (uint32_t)sched_getcpu() + 1, far = here + 1;
    struct pair pair;

    (void)state;
    begin_pair(&pair);
    (void)hub_clear_bits(&pair.words[1], CPU_BITS);
    (void)hub_arm(&pair.words[1], far << HUB_WAIT_CPU_SHIFT);
    for (int i = 0; i < 2; i++)
        assert_true(hub_wait_is_near(&pair.side[0]));
    (void)hub_clear_bits(&pair.words[1], HUB_WAIT_PART);
    assert_false(hub_wait_is_near(&pair.side[0]));
    (void)hub_arm(&pair.words[1], HUB_WAIT_PART);
    assert_true(hub_wait_is_near(&pair.side[0]));
    hub_publish(&pair.words[1], 0); /* no word is near by itself */
    assert_false(hub_wait_is_near(&pair.side[0]));
    assert_false(hub_wait_is_near(&pair.side[0]));
    end_pair(&pair);
}

static void who_moves_to_the_cpu_of_its_peer_is_near_no_more(void **state)
{
    struct pair pair;
    uint32_t here;

    (void)state;
    begin_pair(&pair);
    here = hub_load_relaxed(&pair.side[0].cpu);
    hub_store_relaxed(&pair.side[0].cpu, here + 1); /* where it was before */
    (void)hub_clear_bits(&pair.words[1], CPU_BITS);
    (void)hub_arm(&pair.words[1], here << HUB_WAIT_CPU_SHIFT);
    assert_true(hub_wait_is_near(&pair.side[0]));
    hub_wait_show_cpu(&pair.side[0]);
    /* unless it moved on meanwhile */
    assert_int_equal(hub_wait_is_near(&pair.side[0]), hub_load_relaxed(&pair.side[0].cpu) != here);
    end_pair(&pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_word_that_has_changed_is_seen),
        cmocka_unit_test(who_was_near_may_be_so_no_more),
        cmocka_unit_test(who_moves_to_the_cpu_of_its_peer_is_near_no_more),
        cmocka_unit_test(looks_in_vain_are_few_and_leave_nothing),
        cmocka_unit_test(what_the_first_look_finds_says_nothing_of_spinning),
        cmocka_unit_test(what_was_written_before_the_word_is_seen_behind_it),
        cmocka_unit_test(a_peer_is_near_where_it_pays_to_look),
        cmocka_unit_test(a_peer_is_elsewhere_where_it_is_known_to_be),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
