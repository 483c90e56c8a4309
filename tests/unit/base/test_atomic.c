/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <string.h>

#include "hub/base/atomic.h"
#include "tests/support/testing.h"

#define TURNS   5000
#define LETTERS 300

static void what_is_published_is_observed(void **state)
{
    struct hub_a32 word = {0};
    struct hub_a64 wide = {0};

    (void)state;
    hub_publish(&word, 7);
    assert_int_equal(hub_observe(&word), 7);
    hub_store_relaxed(&word, 8);
    assert_int_equal(hub_load_relaxed(&word), 8);
    hub_publish64(&wide, UINT64_MAX);
    assert_true(hub_observe64(&wide) == UINT64_MAX);
    hub_store_relaxed64(&wide, UINT64_C(1) << 40);
    assert_true(hub_load_relaxed64(&wide) == UINT64_C(1) << 40);
}

static void a_claim_succeeds_only_from_the_expected_value(void **state)
{
    struct hub_a32 word = {3};

    (void)state;
    assert_false(hub_claim(&word, 2, 9));
    assert_int_equal(hub_load_relaxed(&word), 3);
    assert_true(hub_claim(&word, 3, 9));
    assert_int_equal(hub_load_relaxed(&word), 9);
}

static void each_change_returns_what_was_there_before(void **state)
{
    struct hub_a32 word = {0xf0};
    struct hub_a64 wide = {0xf0};

    (void)state;
    assert_int_equal(hub_add(&word, 0x0f), 0xf0);
    assert_int_equal(hub_clear_bits(&word, 0x0f), 0xff);
    assert_int_equal(hub_arm(&word, 0x01), 0xf0);
    assert_int_equal(hub_exchange(&word, 5), 0xf1);
    hub_fence(&word);
    assert_int_equal(hub_load_relaxed(&word), 5);
    assert_true(hub_add64(&wide, 0x0f) == 0xf0);
    assert_true(hub_set_bits64(&wide, 0x100) == 0xff);
    assert_true(hub_exchange64(&wide, 1) == 0x1ff);
    assert_true(hub_load_relaxed64(&wide) == 1);
}

static void indices_wrap_at_2_to_the_32(void **state)
{
    struct hub_a32 word = {UINT32_MAX};

    (void)state;
    assert_int_equal(hub_add(&word, 2), UINT32_MAX);
    assert_int_equal(hub_load_relaxed(&word), 1);
}

static void words_are_copied_in_and_out_in_their_order(void **state)
{
    struct hub_a64 shared[8];
    uint64_t in[8], out[8] = {0};

    (void)state;
    for (uint64_t i = 0; i < 8; i++)
        in[i] = i << 56 | i;
    hub_copy_out(shared, in, 8);
    hub_copy_in(out, shared, 8);
    assert_memory_equal(in, out, sizeof in);
}

/* Any size at any place; the bytes around it stay. */
static void bytes_are_copied_exactly(void **state)
{
    uint8_t from[64], to[66];

    (void)state;
    for (size_t i = 0; i < sizeof from; i++)
        from[i] = (uint8_t)(i + 1);
    for (size_t size = 0; size <= sizeof from; size++) {
        memset(to, 0xee, sizeof to);
        hub_atomic_copy_bytes(to + 1, from + sizeof from - size, size);
        assert_memory_equal(to + 1, from + sizeof from - size, size);
        assert_int_equal(to[0], 0xee);
        assert_int_equal(to[size + 1], 0xee);
    }
}

struct flicker {
    struct hub_a64 word;
    struct hub_a32 stop;
    uint8_t bytes[256];
};

/* Writes as a hostile peer does: all the time. */
__attribute__((no_sanitize("thread"))) static void *scribble(void *user)
{
    struct flicker *flicker = user;

    for (uint64_t turn = 0; hub_observe(&flicker->stop) == 0; turn++) {
        hub_store_relaxed64(&flicker->word, turn % 2 ? UINT64_MAX : 0);
        for (size_t i = 0; i < sizeof flicker->bytes; i++)
            ((volatile uint8_t *)flicker->bytes)[i] = (uint8_t)turn;
    }
    return NULL;
}

/* Whatever the writer does, the copy is one value and stays that value. r[verify hub.copy.once] */
static void a_copy_does_not_change_while_its_source_does(void **state)
{
    struct flicker flicker = {.stop = {0}};
    pthread_t writer;
    uint32_t torn = 0, changed = 0;

    (void)state;
    assert_int_equal(pthread_create(&writer, NULL, scribble, &flicker), 0);
    for (int i = 0; i < TURNS; i++) {
        uint64_t word;
        uint8_t once[256], again[256];

        hub_copy_in(&word, &flicker.word, 1);
        torn += word != 0 && word != UINT64_MAX;
        hub_atomic_copy_bytes(once, flicker.bytes, sizeof once);
        memcpy(again, once, sizeof again);
        hub_pause();
        changed += memcmp(again, once, sizeof again) != 0;
    }
    hub_publish(&flicker.stop, 1);
    pthread_join(writer, NULL);
    assert_int_equal(torn, 0);
    assert_int_equal(changed, 0);
}

struct counters {
    struct hub_a32 sum, claimed;
    struct hub_a64 wide;
};

static void *count(void *user)
{
    struct counters *counters = user;

    for (int i = 0; i < TURNS; i++) {
        uint32_t seen;

        hub_add(&counters->sum, 1);
        hub_add64(&counters->wide, 1);
        do
            seen = hub_load_relaxed(&counters->claimed);
        while (!hub_claim(&counters->claimed, seen, seen + 1));
    }
    return NULL;
}

static void no_change_of_several_threads_is_lost(void **state)
{
    struct counters counters = {{0}, {0}, {0}};
    pthread_t threads[4];

    (void)state;
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, count, &counters), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(hub_load_relaxed(&counters.sum), 4 * TURNS);
    assert_int_equal(hub_load_relaxed(&counters.claimed), 4 * TURNS);
    assert_true(hub_load_relaxed64(&counters.wide) == 4 * TURNS);
}

struct letter {
    struct hub_a32 written, read;
    uint64_t text;
    uint64_t wrong;
};

static void *read_letters(void *user)
{
    struct letter *letter = user;

    for (uint32_t i = 1; i <= LETTERS; i++) {
        while (hub_observe(&letter->written) != i)
            sched_yield();
        letter->wrong += letter->text != i;
        hub_publish(&letter->read, i);
    }
    return NULL;
}

/* ThreadSanitizer proves it: `text` is a plain variable. */
static void what_stands_before_a_publication_is_seen_behind_the_observation(void **state)
{
    struct letter letter = {.text = 0};
    pthread_t reader;

    (void)state;
    assert_int_equal(pthread_create(&reader, NULL, read_letters, &letter), 0);
    for (uint32_t i = 1; i <= LETTERS; i++) {
        letter.text = i;
        hub_publish(&letter.written, i);
        while (hub_observe(&letter.read) != i)
            sched_yield();
    }
    pthread_join(reader, NULL);
    assert_int_equal(letter.wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_published_is_observed),
        cmocka_unit_test(a_claim_succeeds_only_from_the_expected_value),
        cmocka_unit_test(each_change_returns_what_was_there_before),
        cmocka_unit_test(indices_wrap_at_2_to_the_32),
        cmocka_unit_test(words_are_copied_in_and_out_in_their_order),
        cmocka_unit_test(bytes_are_copied_exactly),
        cmocka_unit_test(a_copy_does_not_change_while_its_source_does),
        cmocka_unit_test(no_change_of_several_threads_is_lost),
        cmocka_unit_test(what_stands_before_a_publication_is_seen_behind_the_observation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
