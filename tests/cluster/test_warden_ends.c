/* SPDX-License-Identifier: Apache-2.0 */
/* warden_ends: rapahubd is asked to end, its warden dies, or another one has the folder. */
#include "tests/cluster/rapahubd.h"

#define RACES 200

static struct rapahubd d;

static int begin(void **state)
{
    (void)state;
    rapahubd_make(&d);
    return 0;
}

static int end(void **state)
{
    (void)state;
    rapahubd_remove(&d);
    return 0;
}

static void start(const char *fake, const char *const *options)
{
    d.process = rapahubd_start(&d, fake, NULL, options);
}

static bool is_over(void *user)
{
    return rapahubd_is_dead(*(pid_t *)user) && rapahubd_guests_are_dead(&d) &&
           rapahubd_lock_is_free(&d);
}

/* r[verify cluster.warden.death] */
static void a_daemon_without_its_warden_ends_with_its_guests(void **state)
{
    unsigned rounds = rapahubd_rounds(20);
    uint64_t longest = 0;

    (void)state;
    for (unsigned i = 0; i < rounds; i++) {
        struct process_result result;
        uint64_t killed_ns, span_ns;
        pid_t life;

        start("", NULL);
        life = rapahubd_serves(&d, 0);
        assert_true(life > 0);
        killed_ns = hub_clock_now();
        assert_int_equal(process_kill(&d.process, SIGKILL), 0);
        assert_true(process_until(is_over, &life, RAPAHUBD_WITHIN));
        span_ns = hub_clock_now() - killed_ns;
        longest = span_ns > longest ? span_ns : longest;
        assert_int_equal(process_finish(&d.process, &result), 0);
        process_result_fini(&result);
        rapahubd_expect_nothing(&d);
    }
    print_message("wardens killed | %u | longest until all is over | %.1f ms\n", rounds,
                  (double)longest / 1e6);
    assert_true(longest < HUB_SECOND);
}

/* At any moment of its start, of its life, and of a restart. r[verify cluster.warden.signals] */
static void a_signal_at_any_moment_leaves_nothing(void **state)
{
    const char *const options[] = {"--warden-reset-after=1us", NULL};
    const int numbers[] = {SIGTERM, SIGINT, SIGHUP};
    unsigned rounds = rapahubd_rounds(60);

    (void)state;
    srand(16);
    for (unsigned i = 0; i < rounds; i++) {
        struct process_result result;

        start("", options);
        if (i % 3 == 2) { /* the daemon dies a moment before */
            pid_t life = rapahubd_serves(&d, 0);

            assert_int_equal(kill(life, SIGKILL), 0);
        }
        pause_ns((uint64_t)rand() % (15 * HUB_MILLISECOND));
        assert_int_equal(process_kill(&d.process, numbers[rand() % 3]), 0);
        assert_int_equal(process_finish(&d.process, &result), 0);
        if (result.status != 0 && result.signal == 0 && result.status != 128 + SIGKILL)
            fail_msg("status %d: %s", result.status, result.err);
        process_result_fini(&result);
        rapahubd_expect_nothing(&d);
    }
}

/* r[verify cluster.warden.signals] */
static void a_node_that_does_not_end_in_order_is_ended(void **state)
{
    const char *const options[] = {"--stop-timeout=100ms", NULL};

    (void)state;
    start("deaf", options);
    assert_true(rapahubd_serves(&d, 0) > 0);
    rapahubd_end(&d, SIGTERM, 5); /* what was not saved is lost: that is no success */

    start("deaf", NULL); /* a second signal does not wait for that */
    assert_true(rapahubd_serves(&d, 0) > 0);
    assert_int_equal(process_kill(&d.process, SIGTERM), 0);
    assert_true(process_until_text(&d.process, "calls are held", true, RAPAHUBD_WITHIN));
    rapahubd_end(&d, SIGINT, 0);
}

/* Its message is told once; the service manager decides what follows. */
static void a_first_start_that_fails_is_the_last(void **state)
{
    const char *const fakes[] = {"fails", "exits"}, *said[] = {"the fake node fails", ""};
    const int statuses[] = {1, 3};

    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        struct process_result result;

        start(fakes[i], NULL);
        assert_int_equal(process_finish(&d.process, &result), 0);
        assert_int_equal(result.status, statuses[i]);
        assert_non_null(strstr(result.err, said[i]));
        process_result_fini(&result);
        rapahubd_expect_nothing(&d);
    }
}

/* r[verify cluster.warden.lock] */
static void of_two_on_one_folder_one_serves(void **state)
{
    unsigned rounds = rapahubd_rounds(RACES);

    (void)state;
    for (unsigned i = 0; i < rounds; i++) {
        struct process both[2] = {rapahubd_start(&d, "", NULL, NULL),
                                  rapahubd_start(&d, "", NULL, NULL)};
        struct process_result result;
        unsigned loser;

        while (both[0].error >= 0 && both[1].error >= 0)
            for (unsigned n = 0; n < 2; n++)
                (void)process_until_text(&both[n], "no such text", true, HUB_MILLISECOND);
        loser = both[0].error < 0 ? 0 : 1;
        assert_int_equal(process_finish(&both[loser], &result), 0);
        assert_int_equal(result.status, 75);
        assert_non_null(strstr(result.err, " already: stop that one"));
        process_result_fini(&result);
        d.process = both[1 - loser];
        assert_true(rapahubd_serves(&d, 0) > 0);
        rapahubd_end(&d, SIGTERM, 0);
        if (i % 4 == 0) { /* an empty folder is a race, too */
            rapahubd_remove(&d);
            rapahubd_make(&d);
        }
    }
}

/* r[verify cluster.warden.ends] */
static void a_client_ends_it_at_the_control_socket(void **state)
{
    const char *const argv[] = {PROCESS_RAPAHUB, "stop", "node", NULL};
    char variable[96];
    const char *const variables[] = {variable, NULL};
    const struct process_options how = {.argv = argv, .variables = variables};
    struct process_result result;

    (void)state;
    start("", NULL);
    assert_true(rapahubd_serves(&d, 0) > 0);
    snprintf(variable, sizeof variable, "XDG_RUNTIME_DIR=%s", d.root);
    assert_int_equal(process_run(&how, &result), 0);
    if (result.status != 0)
        fail_msg("rapahub stop: %s", result.err);
    process_result_fini(&result);
    assert_int_equal(process_finish(&d.process, &result), 0);
    assert_int_equal(result.status, 0);
    process_result_fini(&result);
    rapahubd_expect_nothing(&d);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(a_daemon_without_its_warden_ends_with_its_guests),
                                       TEST(a_signal_at_any_moment_leaves_nothing),
                                       TEST(a_node_that_does_not_end_in_order_is_ended),
                                       TEST(a_first_start_that_fails_is_the_last),
                                       TEST(of_two_on_one_folder_one_serves),
                                       TEST(a_client_ends_it_at_the_control_socket)};

    if (!process_possible())
        return PROCESS_SKIPPED;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
