/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include <unistd.h>

#include "hub/channel/pump.h"
#include "tests/support/pause.h"
#include "tests/support/testing.h"

#define PIECE  1000
#define MOST   (512U << 10)
#define WRITES 200

/* Lends as much as anybody wants, until `left` is used up. */
struct lender {
    struct rapahub_source face;
    size_t left;
};

/* Notes how much it is given at once; the write `slow_at` takes long. */
struct taker {
    struct rapahub_sink face;
    size_t sizes[WRITES];
    unsigned count, slow_at;
};

static const uint8_t bytes[8U << 20];

static ssize_t lend(struct rapahub_source *source, const void **data)
{
    *data = bytes;
    return (ssize_t)((struct lender *)source)->left;
}

static void take(struct rapahub_source *source, size_t size)
{
    ((struct lender *)source)->left -= size;
}

static int put(struct rapahub_sink *sink, const void *from, size_t size)
{
    struct taker *taker = (struct taker *)sink;

    assert_ptr_equal(from, bytes);
    assert_true(taker->count < WRITES);
    if (taker->count == taker->slow_at)
        pause_ms(20);
    taker->sizes[taker->count++] = size;
    return 0;
}

static void count(void *user)
{
    ++*(unsigned *)user;
}

/* On a busy machine an other write may have taken long as well. */
static void pieces_are_larger_while_they_move_fast(void **state)
{
    struct lender lender = {.face = {.lend = lend, .take = take}, .left = sizeof bytes};
    struct taker taker = {.face = {.write = put}, .slow_at = 12};
    struct hub_thread_pool pool;
    unsigned moved = 0, largest = 0;
    struct hub_pump *pump;
    bool at_source;
    size_t sum = 0;
    const struct hub_pump_options options = {.source = &lender.face,
                                             .sink = &taker.face,
                                             .pool = &pool,
                                             .piece = PIECE,
                                             .on_moved = count,
                                             .on_end = count,
                                             .user = &moved};

    (void)state;
    hub_thread_pool_init(&pool);
    assert_int_equal(hub_pump_start(&options, &pump), 0);
    assert_int_equal(hub_pump_join(&pump, &at_source), 0);
    hub_thread_pool_fini(&pool);
    for (unsigned i = 0; i < taker.count; i++) {
        size_t twice = i > 0 ? 2 * taker.sizes[i - 1] : PIECE;

        assert_true(taker.sizes[i] <= MOST && (taker.sizes[i] <= twice || twice > MOST));
        largest += taker.sizes[i] == MOST;
        sum += taker.sizes[i];
    }
    assert_int_equal(sum, sizeof bytes);
    assert_int_equal(taker.sizes[0], PIECE);
    assert_int_equal(taker.sizes[taker.slow_at + 1], PIECE);
    assert_true(largest > 0);
    assert_int_equal(moved, taker.count + 1); /* and the end */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_are_larger_while_they_move_fast),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
