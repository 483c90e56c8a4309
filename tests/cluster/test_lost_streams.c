/* SPDX-License-Identifier: Apache-2.0 */
/* What becomes of a call with a stream whose guest dies: when the method has read the stream and
 * has not returned, and when there was nothing to read yet. A row for each kind of pool, as
 * test_lost_answers has them without streams. */
#include <rapahub/error.h>

#include "tests/cluster/living.h"
#include "tests/support/process.h"

#define WORDS    "twelve bytes"
#define BEGUN_MS 300 /* within which a call has begun */

struct pouring {
    struct living *on;
    struct rapahub_container_id target;
    struct rapahub_source *from;
    struct rapahub_sink *to; /* its other end; NULL: all words are there */
    char path[128];
    int status;
};

static const char *const names[] = {[CLUSTER_DURABILITY_NONE] = "none",
                                    [CLUSTER_DURABILITY_CHECKPOINT] = "checkpoint",
                                    [CLUSTER_DURABILITY_ACKED] = "acked"};

static void *pour(void *user)
{
    struct pouring *pouring = user;
    const struct rapahub_query query = {.mode = RAPAHUB_QUERY_DIRECT};
    const struct rapahub_string path = rapahub_string_of(pouring->path);
    const uint64_t number = 1;
    const struct rapahub_call call = {
        .target = pouring->target,
        .method = "pour(source, u64, string) -> void",
        .arguments = (const void *const[]){&pouring->from, &number, &path, NULL},
        .query = &query,
        .timeout_ns = 20 * SECOND};

    pouring->status = rapahub_host_call(pouring->on->host, &call, NULL);
    return NULL;
}

static bool is_there(void *user)
{
    return access(user, F_OK) == 0;
}

static unsigned runs_of(const char *path)
{
    char text[160];
    struct stat status = {.st_size = 0};

    snprintf(text, sizeof text, "%s.ran", path);
    return stat(text, &status) == 0 ? (unsigned)status.st_size : 0;
}

static uint32_t count_of(struct living *on, struct rapahub_container_id target)
{
    const struct rapahub_query query = {.mode = RAPAHUB_QUERY_DIRECT};
    const uint64_t number = 1;
    const struct rapahub_call call = {.target = target,
                                      .method = "count(u64) -> u32",
                                      .arguments = (const void *const[]){&number, NULL},
                                      .query = &query,
                                      .timeout_ns = 20 * SECOND};
    uint32_t count = 0;

    assert_done(rapahub_host_call(on->host, &call, &count));
    return count;
}

static void begin_pool(struct living *on, uint8_t durability, bool repeat,
                       struct rapahub_pool_id *pool)
{
    uint8_t digest[CLUSTER_DIGEST_SIZE];
    struct cluster_pool_spec spec = {.name = rapahub_string_of("store"),
                                     .module = rapahub_string_of("chained"),
                                     .version = rapahub_string_of("1.0.0"),
                                     .containers = 1,
                                     .durability = durability,
                                     .repeat_all = repeat};
    uint64_t operation = 0;

    if (durability >= CLUSTER_DURABILITY_CHECKPOINT)
        spec.copies = spec.min_copies = 1;
    assert_done(living_push(on, MODULE("chained"), digest));
    spec.digest = (struct rapahub_bytes){digest, sizeof digest};
    assert_done(living_apply(on, &spec, &operation));
    assert_done(living_wait(on, operation));
    *pool = living_pool(on, "store");
}

static void print_row(const struct pouring *pouring, uint8_t durability, bool repeat,
                      uint32_t in_state)
{
    printf("%s%s, a stream%s | guest killed before its end | the caller gets %s | ran %u | in the "
           "state %" PRIu32 "\n",
           names[durability], repeat ? ", repeat" : "", pouring->to ? " without a byte" : "",
           pouring->status == 0 ? "the result" : rapahub_error_name(pouring->status),
           runs_of(pouring->path), in_state);
}

/* Begins the pool and a call of it. */
static void begin(struct pouring *pouring, uint8_t durability, bool repeat, pthread_t *thread)
{
    living_begin(pouring->on);
    begin_pool(pouring->on, durability, repeat, &pouring->target.pool);
    snprintf(pouring->path, sizeof pouring->path, "%s/at", pouring->on->folder);
    assert_int_equal(pthread_create(thread, NULL, pour, pouring), 0);
}

static void lose_one(uint8_t durability, bool repeat)
{
    struct living on;
    struct pouring pouring = {.on = &on};
    pthread_t thread;
    uint32_t in_state;

    assert_done(rapahub_source_of_memory(WORDS, strlen(WORDS), &pouring.from));
    begin(&pouring, durability, repeat, &thread);
    assert_true(process_until(is_there, pouring.path, 20 * SECOND));
    living_kill(&on);
    pthread_join(thread, NULL);
    in_state = count_of(&on, pouring.target);
    print_row(&pouring, durability, repeat, in_state);
    assert_int_equal(pouring.status, RAPAHUB_EMAYBE);
    assert_int_equal(runs_of(pouring.path), 1);
    assert_int_equal(in_state, 0);
    rapahub_source_destroy(pouring.from);
    living_end(&on);
}

/* The method waits for its first byte, and notes nothing before it has the last. The next run does
 * not wait where there is a file. */
static void lose_one_without_a_byte(uint8_t durability, bool repeat)
{
    bool again = durability == CLUSTER_DURABILITY_ACKED || repeat;
    struct living on;
    struct pouring pouring = {.on = &on};
    pthread_t thread;
    uint32_t in_state;

    assert_done(rapahub_stream_pair(&pouring.to, &pouring.from));
    begin(&pouring, durability, repeat, &thread);
    fclose(fopen(pouring.path, "we"));
    pause_ms(BEGUN_MS);
    living_kill(&on);
    pause_ms(BEGUN_MS); /* what moved bytes for the run that died has ended */
    if (again) {
        assert_done(rapahub_sink_write(pouring.to, WORDS, strlen(WORDS)));
        assert_done(rapahub_sink_end(pouring.to));
    }
    pthread_join(thread, NULL);
    in_state = count_of(&on, pouring.target);
    print_row(&pouring, durability, repeat, in_state);
    assert_int_equal(pouring.status, again ? 0 : RAPAHUB_EMAYBE);
    assert_int_equal(runs_of(pouring.path), again);
    assert_int_equal(in_state, again);
    rapahub_sink_destroy(pouring.to);
    rapahub_source_destroy(pouring.from);
    living_end(&on);
}

static void lose_all(void (*lose)(uint8_t durability, bool repeat))
{
    static const uint8_t kinds[] = {CLUSTER_DURABILITY_ACKED, CLUSTER_DURABILITY_CHECKPOINT,
                                    CLUSTER_DURABILITY_NONE};

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        for (unsigned repeat = 0; repeat < 2; repeat++)
            lose(kinds[i], repeat != 0);
}

/* r[verify cluster.node.streams] */
static void a_call_whose_stream_was_read_may_have_run(void **state)
{
    (void)state;
    lose_all(lose_one);
}

/* r[verify cluster.node.streams] */
static void a_call_whose_stream_gave_nothing_runs_again_where_it_may(void **state)
{
    (void)state;
    lose_all(lose_one_without_a_byte);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_whose_stream_was_read_may_have_run),
        cmocka_unit_test(a_call_whose_stream_gave_nothing_runs_again_where_it_may),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
