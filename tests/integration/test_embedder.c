/* SPDX-License-Identifier: Apache-2.0 */
/* Programs that treat children their own way: they take every status, or want none to be kept. The
 * host's guests live, die and come back all the same; only how they died may be unknown. */
#include <errno.h>
#include <fcntl.h>
#include <sys/wait.h>

#include <rapahub/stream.h>

#include "tests/integration/hosting.h"

#define DEATHS 20

static const struct rapahub_supervision at_once = {.on_exhausted = RAPAHUB_EXHAUSTED_SLOW_RETRY,
                                                   .backoff_initial_ns = RAPAHUB_NONE};

static void die_often(struct hosting *on)
{
    for (unsigned n = 0; n < DEATHS; n++) {
        int32_t before = pid_of(on);

        assert_int_equal(kill(before, SIGKILL), 0);
        assert_true(until(on, &on->told.ready, n + 2));
        assert_int_not_equal(pid_of(on), before);
    }
    assert_int_equal(on->told.down, DEATHS);
}

static unsigned count_of(const char *text, const char *words)
{
    unsigned count = 0;

    for (; (text = strstr(text, words)) != NULL; text++)
        count++;
    return count;
}

static volatile sig_atomic_t taken;

/* Like programs that reap any child. */
static void take_all(int number)
{
    int kept = errno;

    (void)number;
    while (waitpid(-1, NULL, WNOHANG) > 0)
        taken++;
    errno = kept;
}

/* r[verify supervise.exit.class] r[verify hub.death.proof] */
static void a_status_that_somebody_else_took_is_unknown_and_no_more(void **state)
{
    const struct sigaction take = {.sa_handler = take_all};
    struct sigaction before;
    struct hosting on;
    unsigned killed;

    (void)state;
    open_host(&on, (struct rapahub_host_options){0});
    assert_int_equal(sigaction(SIGCHLD, &take, &before), 0);
    assert_done(start(&on, CALC, here, &at_once));
    die_often(&on);
    killed = count_of(on.told.text, "down calc signal SIGKILL");
    print_message("%d statuses taken; of %u of %d deaths it is known how\n", (int)taken, killed,
                  DEATHS);
    assert_true(taken > 0);
    assert_true(killed < DEATHS);
    close_host(&on);
    assert_int_equal(sigaction(SIGCHLD, &before, NULL), 0);
}

/* r[verify supervise.exit.class] */
static void nor_does_a_program_that_wants_no_status_lose_a_guest(void **state)
{
    const struct sigaction ignore = {.sa_handler = SIG_IGN};
    struct sigaction before;
    struct hosting on;

    (void)state;
    open_host(&on, (struct rapahub_host_options){0});
    assert_int_equal(sigaction(SIGCHLD, &ignore, &before), 0);
    assert_done(start(&on, CALC, here, &at_once));
    die_often(&on);
    close_host(&on);
    assert_int_equal(sigaction(SIGCHLD, &before, NULL), 0);
}

#define NUMBERS 256 /* no descriptor here has a higher one */

/* Counts the open descriptors without close-on-exec: a bit for each number. */
static unsigned count_inherited(bool open[NUMBERS])
{
    unsigned count = 0;

    for (int fd = 0; fd < NUMBERS; fd++) {
        int flags = fcntl(fd, F_GETFD);

        if (flags >= 0 && !(flags & FD_CLOEXEC) && !open[fd]) {
            print_message("descriptor %d is inherited\n", fd);
            count++;
        }
        open[fd] = flags >= 0;
    }
    return count;
}

/* A program that is started by exec, by a thread that knows nothing of rapahub, gets none of it. */
static void nothing_of_a_host_is_inherited(void **state)
{
    bool open[NUMBERS] = {false};
    struct rapahub_source *source, *paired;
    struct rapahub_sink *sink, *other;
    struct hosting on;

    (void)state;
    (void)count_inherited(open);
    open_host(&on, (struct rapahub_host_options){0});
    assert_int_equal(count_inherited(open), 0);
    assert_done(start(&on, CALC, here, &at_once));
    assert_int_equal(count_inherited(open), 0);
    assert_done(rapahub_source_of_fd(0, &source));
    assert_done(rapahub_sink_of_fd(1, &sink));
    assert_done(rapahub_stream_pair(&other, &paired));
    assert_int_equal(count_inherited(open), 0);
    assert_int_equal(kill(pid_of(&on), SIGKILL), 0);
    assert_true(until(&on, &on.told.ready, 2));
    assert_int_equal(count_inherited(open), 0);
    rapahub_source_destroy(source);
    rapahub_sink_destroy(sink);
    rapahub_sink_destroy(other);
    rapahub_source_destroy(paired);
    close_host(&on);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_of_a_host_is_inherited),
        cmocka_unit_test(a_status_that_somebody_else_took_is_unknown_and_no_more),
        cmocka_unit_test(nor_does_a_program_that_wants_no_status_lose_a_guest),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
