/* SPDX-License-Identifier: Apache-2.0 */
/* Figures of a guest: counted in all its lives, shown by `rapahub stats`. */
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/integration/hosting.h"
#include "tests/support/process.h"

#define CALLS 10

struct wanted {
    const char *name;
    uint64_t value;
    unsigned seen;
};

static void look_for(void *user, const struct rapahub_figure *figure)
{
    struct wanted *wanted = user;

    if (strcmp(figure->name, wanted->name) != 0)
        return;
    wanted->seen++;
    wanted->value += figure->value;
}

static uint64_t figure_of(struct hosting *on, const char *name)
{
    struct wanted wanted = {.name = name};

    assert_done(rapahub_host_figures(on->host, on->guest, look_for, &wanted));
    assert_int_equal(wanted.seen, 1);
    return wanted.value;
}

static void call_often(struct hosting *on)
{
    int64_t sum = 0;

    for (int i = 0; i < CALLS; i++)
        assert_done(add(on, i, 1, &sum));
}

static void *read_figures(void *user)
{
    struct hosting *on = user;
    struct wanted wanted = {.name = "calls_answered"};

    if (rapahub_host_figures(on->host, on->guest, look_for, &wanted) < 0)
        return NULL;
    return wanted.seen == 1 && wanted.value >= CALLS ? on : NULL;
}

static void any_thread_reads_the_figures(void **state)
{
    struct hosting on;
    pthread_t thread;
    void *read = NULL;

    (void)state;
    open_host(&on, (struct rapahub_host_options){.own_thread = true});
    assert_done(start(&on, CALC, here, NULL));
    call_often(&on);
    assert_ptr_equal(read_figures(&on), &on);
    assert_int_equal(pthread_create(&thread, NULL, read_figures, &on), 0);
    assert_int_equal(pthread_join(thread, &read), 0);
    assert_ptr_equal(read, &on);
    close_host(&on);
}

static void what_a_guest_counted_outlives_its_process(void **state)
{
    struct hosting on;
    uint64_t sent, answered;

    (void)state;
    open_calc(&on);
    call_often(&on);
    sent = figure_of(&on, "messages_sent");
    answered = figure_of(&on, "calls_answered");
    assert_true(sent >= CALLS && answered >= CALLS);
    assert_true(figure_of(&on, "bytes_received") > CALLS);
    assert_int_equal(figure_of(&on, "calls_open"), 0);
    assert_int_equal(figure_of(&on, "slots_free"), 64 + 16 + 4);
    assert_done(rapahub_host_kill(on.host, on.guest));
    assert_true(until(&on, &on.told.ready, 2));
    on.guest = on.told.guest;
    call_often(&on);
    assert_true(figure_of(&on, "messages_sent") >= sent + CALLS);
    assert_true(figure_of(&on, "calls_answered") >= answered + CALLS);
    close_host(&on);
}

static void a_guest_that_is_unknown_has_none(void **state)
{
    struct wanted wanted = {.name = "messages_sent"};
    struct hosting on;

    (void)state;
    open_calc(&on);
    on.guest.epoch += 100;
    assert_refused(rapahub_host_figures(on.host, on.guest, look_for, &wanted), RAPAHUB_ESTALE,
                   "no such guest");
    assert_int_equal(wanted.seen, 0);
    close_host(&on);
}

/* ---- the command ---- */

struct saying {
    const char *const *argv;
    int status;
    const char *const *texts; /* all of them, on standard output or error */
};

static void assert_says(const char *variable, struct saying saying)
{
    const struct process_options options = {.argv = saying.argv,
                                            .variables = (const char *const[]){variable, NULL}};
    const char *const *texts = saying.texts;
    struct process_result result;

    assert_int_equal(process_run(&options, &result), 0);
    assert_int_equal(result.status, saying.status);
    for (; *texts; texts++) {
        if (!strstr(result.out, *texts) && !strstr(result.err, *texts))
            print_error("no '%s' in: %s%s\n", *texts, result.out, result.err);
        assert_true(strstr(result.out, *texts) || strstr(result.err, *texts));
    }
    process_result_fini(&result);
}

#define STATS(...) ((const char *const[]){PROCESS_RAPAHUB, "stats", __VA_ARGS__, NULL})
#define SAYS(argv, status, ...) \
    ((struct saying){argv, status, (const char *const[]){__VA_ARGS__, NULL}})

static void check_command(const char *where)
{
    assert_says(where, SAYS(STATS("-q"), 0, "NAME", "VIOLATIONS", "calc"));
    assert_says(where, SAYS(STATS("calc"), 0, "FIGURE", "messages_sent", "slots_free"));
    assert_says(where, SAYS(STATS("-o", "wide"), 0, "FIGURE", "calls_answered"));
    assert_says(where,
                SAYS(STATS("--json"), 0, "\"schema\": \"rapahub.stats/1\"",
                     "\"counters\": {\"messages_sent\": ", "\"gauges\": {", "\"violations\": {}"));
    assert_says(where, SAYS(STATS("nobody"), 4, "no host or guest named 'nobody'"));
}

static void the_command_shows_figures_of_running_hosts(void **state)
{
    char folder[] = "/tmp/rapahub-test-XXXXXX", variable[64], sockets[64];
    const char *const argv[] = {PROCESS_RAPAHUB, "run", CALC, NULL};
    const struct process_options options = {.argv = argv,
                                            .variables = (const char *const[]){variable, NULL}};
    struct process host;
    struct process_result result;

    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(variable, sizeof variable, "XDG_RUNTIME_DIR=%s", folder);
    assert_int_equal(process_start(&options, &host), 0);
    assert_true(process_until_text(&host, "ready", true, UINT64_C(10000000000)));
    check_command(variable);
    assert_int_equal(process_kill(&host, SIGINT), 0);
    assert_int_equal(process_finish(&host, &result), 0);
    process_result_fini(&result);
    assert_says(variable, SAYS(STATS("-q"), 0, "VIOLATIONS"));
    snprintf(sockets, sizeof sockets, "%s/rapahub", folder);
    assert_int_equal(rmdir(sockets), 0);
    assert_int_equal(rmdir(folder), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_thread_reads_the_figures),
        cmocka_unit_test(what_a_guest_counted_outlives_its_process),
        cmocka_unit_test(a_guest_that_is_unknown_has_none),
        cmocka_unit_test(the_command_shows_figures_of_running_hosts),
    };

    if (!process_possible())
        return PROCESS_SKIPPED;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
