/* SPDX-License-Identifier: Apache-2.0 */
/* The errors that the memory of weak.h finds, and those it leaves alone: the small tests of the
 * literature. */
#include <string.h>

#include "tests/unit/ordering/ordering.h"

struct words {
    struct hub_a32 data, flag, a, b;
    uint32_t saw[2];
};

static void begin(void *user)
{
    struct words *words = user;

    memset(words, 0, sizeof *words);
    weak_data(&words->data, sizeof words->data);
}

static void write_and_publish(void *user)
{
    struct words *words = user;

    hub_store_relaxed(&words->data, 7);
    hub_publish(&words->flag, 1);
}

static void write_and_note(void *user)
{
    struct words *words = user;

    hub_store_relaxed(&words->data, 7);
    hub_store_relaxed(&words->flag, 1);
}

static void observe_and_read(void *user)
{
    struct words *words = user;

    while (weak_goes_on() && !hub_observe(&words->flag))
        continue;
    weak_expect(hub_load_relaxed(&words->data) == 7, "old data");
}

static void peek_and_read(void *user)
{
    struct words *words = user;

    while (weak_goes_on() && !hub_load_relaxed(&words->flag))
        continue;
    weak_expect(hub_load_relaxed(&words->data) == 7, "old data");
}

static void read_and_publish(void *user)
{
    struct words *words = user;

    (void)hub_load_relaxed(&words->data);
    hub_publish(&words->flag, 1);
}

static void read_and_note(void *user)
{
    struct words *words = user;

    (void)hub_load_relaxed(&words->data);
    hub_store_relaxed(&words->flag, 1);
}

static void observe_and_write(void *user)
{
    struct words *words = user;

    while (weak_goes_on() && !hub_observe(&words->flag))
        continue;
    hub_store_relaxed(&words->data, 8);
}

static void count_broken(void (*one)(void *user), void (*other)(void *user), bool is_broken,
                         const char *why)
{
    const struct weak_plan plan = {.begin = begin, .threads = {one, other}};
    char what[WEAK_TEXT];
    struct words words;
    unsigned broken = weak_run(&plan, &words, 100, what);

    if (!is_broken && broken > 0)
        print_error("%s\n", what);
    assert_int_equal(broken > 0, is_broken);
    assert_int_equal(strncmp(what, why, strlen(why)), 0);
}

static void what_is_published_and_observed_is_handed_over(void **state)
{
    (void)state;
    count_broken(write_and_publish, observe_and_read, false, "");
    count_broken(read_and_publish, observe_and_write, false, "");
}

static void data_behind_a_relaxed_word_is_not(void **state)
{
    static const char *unread = "data is read that was not published: data 0, byte 0";

    (void)state;
    count_broken(write_and_note, observe_and_read, true, unread);
    count_broken(write_and_publish, peek_and_read, true, unread);
}

/* No store overtakes a load here; the rule for data sees that it might. */
static void data_that_is_read_before_a_relaxed_store_may_be_written_too_early(void **state)
{
    (void)state;
    count_broken(read_and_note, observe_and_write, true, "data is written while it may be read");
}

/* ---- store buffers ---- */

static void store_a_look_at_b(void *user)
{
    struct words *words = user;

    hub_publish(&words->a, 1);
    words->saw[0] = hub_observe(&words->b);
}

static void store_b_look_at_a(void *user)
{
    struct words *words = user;

    hub_publish(&words->b, 1);
    words->saw[1] = hub_observe(&words->a);
}

static void store_a_settle_look_at_b(void *user)
{
    struct words *words = user;

    hub_store_relaxed(&words->a, 1);
    hub_fence(&words->flag);
    words->saw[0] = hub_load_relaxed(&words->b);
}

static void store_b_settle_look_at_a(void *user)
{
    struct words *words = user;

    hub_store_relaxed(&words->b, 1);
    hub_fence(&words->flag);
    words->saw[1] = hub_load_relaxed(&words->a);
}

static void one_saw_the_other(void *user)
{
    const struct words *words = user;

    weak_expect(words->saw[0] || words->saw[1], "neither saw the other");
}

static unsigned neither_saw(void (*one)(void *user), void (*other)(void *user))
{
    const struct weak_plan plan = {
        .begin = begin, .threads = {one, other}, .end = one_saw_the_other};
    char what[WEAK_TEXT];
    struct words words;

    return weak_run(&plan, &words, ORDERING_RUNS, what);
}

static void only_fences_on_both_sides_keep_a_load_behind_a_store(void **state)
{
    (void)state;
    assert_in_range(neither_saw(store_a_look_at_b, store_b_look_at_a), 1, ORDERING_RUNS);
    assert_in_range(neither_saw(store_a_settle_look_at_b, store_b_look_at_a), 1, ORDERING_RUNS);
    assert_int_equal(neither_saw(store_a_settle_look_at_b, store_b_settle_look_at_a), 0);
}

/* ---- read-modify-write ---- */

static void add_often(void *user)
{
    struct words *words = user;

    for (int i = 0; i < 10; i++)
        (void)hub_add(&words->a, 1);
}

static void sum_is_right(void *user)
{
    const struct words *words = user;

    weak_expect(words->a.word == 30, "a count is lost");
}

/* A third thread that changes the flag meanwhile takes nothing from the release before it. */
static void add_to_flag(void *user)
{
    struct words *words = user;

    (void)__atomic_fetch_add(&words->flag.word, 2, __ATOMIC_RELAXED);
}

static void see_both_in_flag(void *user)
{
    struct words *words = user;

    while (weak_goes_on() && hub_observe(&words->flag) != 3)
        continue;
    weak_expect(hub_load_relaxed(&words->data) == 7, "old data");
}

static void add_one_to_flag(void *user)
{
    struct words *words = user;

    hub_store_relaxed(&words->data, 7);
    (void)hub_add(&words->flag, 1);
}

static void what_reads_and_writes_in_one_loses_nothing(void **state)
{
    const struct weak_plan sums = {
        .begin = begin, .threads = {add_often, add_often, add_often}, .end = sum_is_right};
    const struct weak_plan chain = {.begin = begin,
                                    .threads = {add_one_to_flag, add_to_flag, see_both_in_flag}};
    struct words words;

    (void)state;
    assert_ordered(&sums, &words);
    assert_ordered(&chain, &words);
}

static void who_waits_for_ever_is_told(void **state)
{
    (void)state;
    count_broken(observe_and_read, observe_and_read, true, "it does not end");
}

static void outside_of_a_run_the_operations_are_what_they_are(void **state)
{
    struct hub_a32 word = {5};
    struct hub_a64 wide = {UINT64_MAX};

    (void)state;
    assert_int_equal(hub_add(&word, 3), 5);
    assert_int_equal(hub_clear_bits(&word, 8), 8);
    assert_int_equal(hub_exchange(&word, 9), 0);
    assert_false(hub_claim(&word, 1, 2));
    assert_true(hub_claim(&word, 9, UINT32_MAX));
    assert_int_equal(hub_add(&word, 1), UINT32_MAX);
    assert_int_equal(hub_observe(&word), 0);
    assert_int_equal(hub_add64(&wide, 2), UINT64_MAX);
    assert_int_equal(hub_set_bits64(&wide, 6), 1);
    assert_true(hub_claim64(&wide, 7, 1));
    hub_publish64(&wide, 4);
    hub_fence(&word);
    assert_int_equal(hub_observe64(&wide), 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_published_and_observed_is_handed_over),
        cmocka_unit_test(data_behind_a_relaxed_word_is_not),
        cmocka_unit_test(data_that_is_read_before_a_relaxed_store_may_be_written_too_early),
        cmocka_unit_test(only_fences_on_both_sides_keep_a_load_behind_a_store),
        cmocka_unit_test(what_reads_and_writes_in_one_loses_nothing),
        cmocka_unit_test(who_waits_for_ever_is_told),
        cmocka_unit_test(outside_of_a_run_the_operations_are_what_they_are),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
