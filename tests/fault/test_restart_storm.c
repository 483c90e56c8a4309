/* SPDX-License-Identifier: Apache-2.0 */
/* Guests that die as soon as they start, for a while: the starts, their number and their times
 * follow from their policies and deaths, no start more and none less, and the host hardly works for
 * it.
 *
 * When a guest dies depends on the machine; the rest is arithmetic. So the deaths are used as they
 * were, and each start that the policy makes of them is checked: the host was told of it the first
 * time it read the clock after the moment it was due, its timer was set for no later, and as many
 * processes were made.
 *
 * RAPAHUB_TEST_SECONDS: how long; 3.
 */
#include <stdlib.h>
#include <sys/resource.h>

#include "host/supervise/backoff.h"
#include "tests/fault/recorder.h"
#include "tests/integration/child.h"

#define BURST 32 /* starts in a row, */
#define PER_S 20 /* and so many in a second after them: the host's limits */
#define LATE  (10 * MS)

enum { PARKED, ONCE, SLOW, JITTERED, FAST, CHILDREN };

static const char *const names[CHILDREN] = {"parked", "once", "slow", "jittered", "fast"};

struct storm {
    struct hosting on;
    struct rapahub_child_id children[CHILDREN];
    struct recorder_start *due; /* the starts there have to be */
    size_t due_count;
};

static uint64_t seconds(void)
{
    const char *text = getenv("RAPAHUB_TEST_SECONDS");

    return text ? strtoull(text, NULL, 0) : 3;
}

static uint64_t cpu_ms(void)
{
    struct rusage used;

    assert_int_equal(getrusage(RUSAGE_SELF, &used), 0);
    return (uint64_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000 +
           (uint64_t)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1000;
}

static void open_storm(struct storm *storm)
{
    memset(storm, 0, sizeof *storm);
    recorder_begin();
    open_host(&storm->on,
              (struct rapahub_host_options){.starts_burst = BURST, .starts_per_s = PER_S});
}

static void put_storm(struct storm *storm, unsigned which, struct rapahub_supervision how)
{
    const struct rapahub_guest_options options = {
        .chimod = MODULE("constructor_crash"), .name = names[which], .supervision = &how};
    struct rapahub_supervisor *root = NULL;

    assert_done(rapahub_host_supervisor(storm->on.host, &root));
    assert_done(rapahub_supervisor_add(root, &options, &storm->children[which]));
}

/* The last decisions are carried out, too. */
static void run_storm(struct storm *storm, uint64_t ms)
{
    const struct recorder_start *starts;
    uint64_t end = now_ms() + ms;

    while (now_ms() < end)
        assert_true(rapahub_host_dispatch(storm->on.host, 10) >= 0);
    for (end = now_ms() + 10000; recorder_starts(&starts) > recorder_spawns() && now_ms() < end;)
        assert_true(rapahub_host_dispatch(storm->on.host, 0) >= 0);
    storm->due_count = recorder_replay(&storm->due);
}

static void close_storm(struct storm *storm)
{
    free(storm->due);
    close_host(&storm->on);
}

static struct rapahub_child_status status_of_one(struct storm *storm, unsigned which)
{
    struct rapahub_child_status status;

    assert_done(rapahub_child_status(storm->on.host, storm->children[which], &status));
    return status;
}

/* ---- actual and expected starts ---- */

/* The n-th start of one child; NULL: there was none. */
static const struct recorder_start *find(const struct recorder_start *list, size_t count,
                                         uint32_t place, unsigned n)
{
    for (size_t i = 0; i < count; i++)
        if (list[i].place == place && n-- == 0)
            return &list[i];
    return NULL;
}

static unsigned count_of(const struct recorder_start *list, size_t count, uint32_t place)
{
    unsigned n = 0;

    for (size_t i = 0; i < count; i++)
        n += list[i].place == place;
    return n;
}

static unsigned starts_of(const struct storm *storm, unsigned which)
{
    return count_of(storm->due, storm->due_count, recorder_place(names[which]));
}

/* Not before it was due, and not after another reading of the clock. */
static void check_start(const struct recorder_start *was, const struct recorder_start *due)
{
    bool in_time = due->now_ns <= was->now_ns && was->before_ns < due->now_ns;
    bool by_timer = due->now_ns == was->now_ns || was->armed_ns <= due->now_ns;

    if (!in_time || !by_timer || was->death_ns != due->death_ns)
        fail_msg("started at %llu, asked before at %llu, the timer at %llu; it was due at %llu",
                 (unsigned long long)was->now_ns, (unsigned long long)was->before_ns,
                 (unsigned long long)was->armed_ns, (unsigned long long)due->now_ns);
}

static int in_order(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

/* How late the clock was looked at is the machine's affair, too, but not of half of them. */
static void check_late(uint64_t *late, size_t count)
{
    qsort(late, count, sizeof *late, in_order);
    print_message("%zu starts, %llu us behind their time, at most %llu us\n", count,
                  (unsigned long long)late[count / 2] / 1000,
                  (unsigned long long)late[count - 1] / 1000);
    assert_true(late[count / 2] < LATE);
}

/* No start more and none less, of any child, and a process for each. */
static void check_starts(const struct storm *storm)
{
    static uint64_t late[RECORDER_STARTS];
    const struct recorder_start *starts;
    size_t count = recorder_starts(&starts), looked_at = 0;

    assert_int_equal(count, storm->due_count);
    assert_int_equal(recorder_spawns(), storm->due_count);
    for (unsigned which = 0; which < CHILDREN; which++) {
        uint32_t place = recorder_place(names[which]);
        const struct recorder_start *was, *due;

        for (unsigned n = 0; (was = find(starts, count, place, n)); n++) {
            due = find(storm->due, storm->due_count, place, n);
            assert_non_null(due);
            check_start(was, due);
            late[looked_at++] = was->now_ns - due->now_ns;
        }
        assert_int_equal(count_of(starts, count, place), starts_of(storm, which));
    }
    assert_int_equal(looked_at, count);
    check_late(late, count);
}

/* ---- the arithmetic of the policies, once more ---- */

/* Twice as long each time, up to the longest; the first restart comes at once. */
static uint64_t delay_ns(unsigned n, uint64_t initial_ns, uint64_t max_ns)
{
    uint64_t delay = initial_ns;

    if (n == 1)
        return 0;
    for (; n > 2 && delay < max_ns; n--)
        delay *= 2;
    return delay < max_ns ? delay : max_ns;
}

static void check_delays(const struct storm *storm, unsigned which, uint64_t initial_ns,
                         uint64_t max_ns)
{
    const struct recorder_start *due;

    for (unsigned n = 1;
         (due = find(storm->due, storm->due_count, recorder_place(names[which]), n)); n++)
        assert_int_equal(due->now_ns, due->death_ns + delay_ns(n, initial_ns, max_ns));
}

/* From its seed; half of the delay to all of it. */
static void check_jitter(const struct storm *storm, const struct rapahub_supervision *how)
{
    uint32_t place = recorder_place(names[JITTERED]);
    struct rapahub_supervision whole = *how;
    const struct recorder_start *due;
    struct host_backoff backoff;

    whole.backoff_factor = 2;
    whole.reset_after_ns = 60 * SECOND;
    host_backoff_init(&backoff, &whole, recorder_seed(place));
    for (unsigned n = 1; (due = find(storm->due, storm->due_count, place, n)); n++) {
        uint64_t most = delay_ns(n, how->backoff_initial_ns, how->backoff_max_ns);
        uint64_t delay = due->now_ns - due->death_ns;

        assert_in_range(delay, most / 2, most);
        assert_int_equal(delay, host_backoff_next(&backoff, 0));
    }
}

/* r[verify supervise.window] r[verify supervise.exhausted] r[verify supervise.restart]
 * r[verify supervise.backoff] r[verify supervise.backoff.jitter] */
static void guests_that_die_at_once_are_started_as_often_as_their_policies_say(void **state)
{
    const struct rapahub_supervision jittered = {.on_exhausted = RAPAHUB_EXHAUSTED_SLOW_RETRY,
                                                 .restarts_max = 256,
                                                 .period_ns = SECOND,
                                                 .backoff_initial_ns = 50 * MS,
                                                 .backoff_max_ns = 400 * MS};
    static struct storm storm;
    uint64_t ms = seconds() * 1000, busy;

    (void)state;
    open_storm(&storm);
    put_storm(&storm, PARKED,
              (struct rapahub_supervision){.restarts_max = 5,
                                           .backoff_initial_ns = MS,
                                           .backoff_max_ns = 10 * MS,
                                           .jitter = RAPAHUB_JITTER_NONE});
    put_storm(&storm, ONCE, (struct rapahub_supervision){.restart = RAPAHUB_RESTART_ON_SUCCESS});
    put_storm(&storm, SLOW,
              (struct rapahub_supervision){.on_exhausted = RAPAHUB_EXHAUSTED_SLOW_RETRY,
                                           .restarts_max = 100,
                                           .backoff_initial_ns = 20 * MS,
                                           .backoff_max_ns = 160 * MS,
                                           .jitter = RAPAHUB_JITTER_NONE});
    put_storm(&storm, JITTERED, jittered);
    busy = cpu_ms();
    run_storm(&storm, ms);
    busy = cpu_ms() - busy;
    check_starts(&storm);
    assert_int_equal(starts_of(&storm, PARKED), 6);
    assert_int_equal(storm.on.told.failed, 2); /* parked, and once */
    assert_string_equal(status_of_one(&storm, PARKED).state, "failed");
    check_delays(&storm, PARKED, MS, 10 * MS);
    assert_int_equal(starts_of(&storm, ONCE), 1);
    assert_string_equal(status_of_one(&storm, ONCE).state, "stopped");
    assert_true(starts_of(&storm, SLOW) > 5);
    check_delays(&storm, SLOW, 20 * MS, 160 * MS);
    assert_true(starts_of(&storm, JITTERED) > 3);
    check_jitter(&storm, &jittered);
    print_message("%llu s: parked 6 lives, once 1, slow %u, jittered %u, and %u processes; the "
                  "host %llu ms busy\n",
                  (unsigned long long)(ms / 1000), starts_of(&storm, SLOW),
                  starts_of(&storm, JITTERED), recorder_spawns(), (unsigned long long)busy);
    assert_true(busy * 10 < ms);
    close_storm(&storm);
}

/* So many at once, then one with each token. On a machine that stands still for a while there may
 * be all tokens again: then it begins anew. */
static void check_tokens(const struct storm *storm)
{
    const uint32_t place = recorder_place(names[FAST]);
    const uint64_t each = SECOND / PER_S;
    const struct recorder_start *due;
    uint64_t full_ns = storm->due[0].now_ns;
    unsigned full = 0; /* the last start that found all tokens */

    for (unsigned n = 1; (due = find(storm->due, storm->due_count, place, n)); n++) {
        uint64_t token = n - full < BURST ? 0 : full_ns + (n - full - BURST + 1) * each;

        assert_int_equal(due->now_ns, token > due->death_ns ? token : due->death_ns);
        if (due->now_ns >= full_ns + (n - full) * each) {
            full_ns = due->now_ns;
            full = n;
        }
    }
}

/* A child without any delay, which dies faster than it may be started.
 * r[verify supervise.start.pace] */
static void starts_are_as_many_as_the_host_allows_in_a_second(void **state)
{
    static struct storm storm;
    uint64_t ms = seconds() * 1000;

    (void)state;
    open_storm(&storm);
    put_storm(&storm, FAST,
              (struct rapahub_supervision){.on_exhausted = RAPAHUB_EXHAUSTED_SLOW_RETRY,
                                           .backoff_initial_ns = RAPAHUB_NONE});
    run_storm(&storm, ms);
    check_starts(&storm);
    check_tokens(&storm);
    print_message("%u lives in %llu ms\n", starts_of(&storm, FAST), (unsigned long long)ms);
    assert_true(starts_of(&storm, FAST) > BURST);
    close_storm(&storm);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(guests_that_die_at_once_are_started_as_often_as_their_policies_say),
        cmocka_unit_test(starts_are_as_many_as_the_host_allows_in_a_second),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
