/* SPDX-License-Identifier: Apache-2.0 */
/* The command that runs after each end of a guest: when, with which arguments, for how long at
 * most, and the effect of its status. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "tests/integration/child.h"

#define SHELL(text)                 \
    (const char *const[])           \
    {                               \
        "/bin/sh", "-c", text, NULL \
    }

static void open_with(struct hosting *on, struct rapahub_supervision how)
{
    open_host(on, (struct rapahub_host_options){0});
    assert_done(start(on, CALC, here, &how));
}

static struct rapahub_child_status status_now(struct hosting *on)
{
    struct rapahub_child_status status;
    struct rapahub_child_id child;

    assert_done(rapahub_child_of(on->host, on->guest, &child));
    assert_done(rapahub_child_status(on->host, child, &status));
    return status;
}

static void read_line(const char *path, char *to, size_t size)
{
    FILE *file = fopen(path, "r");

    to[0] = '\0';
    if (file && !fgets(to, (int)size, file))
        to[0] = '\0';
    if (file)
        fclose(file);
    (void)unlink(path);
}

/* r[verify supervise.finish] */
static void it_runs_behind_an_end_and_knows_which(void **state)
{
    char command[256], path[64], line[128];
    struct hosting on;

    (void)state;
    snprintf(path, sizeof path, "/tmp/rapahub-finish-%d", (int)getpid());
    snprintf(command, sizeof command,
             "echo \"$RAPAHUB_NAME $RAPAHUB_CLASS <$RAPAHUB_CODE> <$RAPAHUB_SIGNAL>\" > %s", path);
    open_with(&on, (struct rapahub_supervision){.finish = SHELL(command)});
    kill(pid_of(&on), SIGKILL);
    assert_true(until(&on, &on.told.ready, 2));
    read_line(path, line, sizeof line);
    assert_string_equal(line, "calc signal <> <9>\n");
    assert_done(rapahub_host_stop(on.host, on.told.guest));
    read_line(path, line, sizeof line);
    assert_string_equal(line, "calc clean <0> <>\n");
    close_host(&on);
}

/* The embedder's own descriptors stay its own, also where they are not closed by an execve.
 * r[verify supervise.finish] */
static void it_inherits_no_descriptor(void **state)
{
    int kept = fcntl(STDERR_FILENO, F_DUPFD, STDERR_FILENO + 1);
    char command[256], path[64], line[128];
    struct hosting on;

    (void)state;
    assert_true(kept > STDERR_FILENO);
    snprintf(path, sizeof path, "/tmp/rapahub-finish-%d", (int)getpid());
    snprintf(command, sizeof command,
             "if [ -e /proc/$$/fd/%d ]; then echo open; else echo closed; fi > %s", kept, path);
    open_with(&on, (struct rapahub_supervision){.finish = SHELL(command)});
    kill(pid_of(&on), SIGKILL);
    assert_true(until(&on, &on.told.ready, 2));
    read_line(path, line, sizeof line);
    assert_string_equal(line, "closed\n");
    close_host(&on);
    close(kept);
}

/* r[verify supervise.finish] r[verify supervise.exit.class] */
static void a_status_that_counts_as_success_is_told_as_clean(void **state)
{
    static const uint16_t three[] = {RAPAHUB_STATUS(3), 0};
    const int32_t status = 3;
    char command[256], path[64], line[128];
    struct hosting on;

    (void)state;
    snprintf(path, sizeof path, "/tmp/rapahub-finish-%d", (int)getpid());
    snprintf(command, sizeof command, "echo \"$RAPAHUB_CLASS <$RAPAHUB_CODE>\" > %s", path);
    open_with(&on, (struct rapahub_supervision){.finish = SHELL(command), .success_exit = three});
    assert_int_equal(ask(&on, "leave(i32)", (const void *const[]){&status, NULL}, NULL),
                     RAPAHUB_EDIED);
    assert_true(until(&on, &on.told.ready, 2));
    read_line(path, line, sizeof line);
    assert_string_equal(line, "clean <3>\n");
    close_host(&on);
}

/* Neither the owner nor another guest waits for it; a call to its own child does.
 * r[verify supervise.finish] */
static void nobody_but_its_child_waits_for_it(void **state)
{
    const struct rapahub_guest_options options = {.chimod = CALC, .name = "second"};
    const struct rapahub_container_options container = {.id = other, .pool_name = "test"};
    struct rapahub_guest_id second;
    struct hosting on;
    uint64_t begun;
    int32_t before;
    unsigned calls = 0;

    (void)state;
    open_with(&on, (struct rapahub_supervision){.finish = SHELL("sleep 2")});
    assert_done(rapahub_host_spawn(on.host, &options, &second));
    assert_done(rapahub_host_add_container(on.host, second, &container));
    before = pid_of(&on);
    begun = now_ms();
    kill(before, SIGKILL);
    assert_true(until(&on, &on.told.down, 1));
    assert_true(now_ms() - begun < 1300);
    for (; now_ms() - begun < 1600; calls++) {
        const struct rapahub_call call = {.target = other, .method = "pid() -> i32"};
        int32_t pid;

        assert_done(rapahub_host_call(on.host, &call, &pid));
        assert_true(rapahub_host_dispatch(on.host, 0) >= 0);
    }
    assert_true(calls > 10);
    assert_string_equal(status_now(&on).state, "stopping");
    assert_int_not_equal(pid_of(&on), before); /* waits until it is there again */
    assert_true(now_ms() - begun >= 1950);
    close_host(&on);
}

/* With what it has started. r[verify supervise.finish] */
static void one_that_takes_too_long_is_killed(void **state)
{
    struct hosting on;
    uint64_t begun;

    (void)state;
    open_with(&on, (struct rapahub_supervision){.finish = SHELL("sleep 1000 & sleep 1000"),
                                                .finish_timeout_ns = 200 * MS});
    begun = now_ms();
    kill(pid_of(&on), SIGKILL);
    assert_true(until(&on, &on.told.ready, 2));
    assert_in_range(now_ms() - begun, 200, 3000);
    close_host(&on);
}

/* r[verify supervise.finish] r[verify supervise.failed.told] */
static void status_125_says_not_again(void **state)
{
    struct hosting on;

    (void)state;
    open_with(&on, (struct rapahub_supervision){.finish = SHELL("exit 125")});
    kill(pid_of(&on), SIGKILL);
    assert_true(until(&on, &on.told.failed, 1));
    assert_string_equal(status_now(&on).state, "failed");
    assert_non_null(strstr(on.told.text, "failed calc signal SIGKILL, and its finish command ended "
                                         "with status 125; "));
    assert_int_equal(on.told.restarts_max, 0); /* no budget is used up */
    assert_int_equal(on.told.restart, 0);
    assert_int_equal(on.told.ready, 1);
    close_host(&on);
    open_with(&on, (struct rapahub_supervision){.finish = SHELL("exit 124")});
    kill(pid_of(&on), SIGKILL);
    assert_true(until(&on, &on.told.ready, 2));
    close_host(&on);
}

/* The caller that stopped the child wants the next step. r[verify supervise.finish] */
static void one_that_was_asked_to_go_has_not_failed(void **state)
{
    struct rapahub_child_id child;
    struct hosting on;

    (void)state;
    open_with(&on, (struct rapahub_supervision){.finish = SHELL("exit 125")});
    assert_done(rapahub_child_of(on.host, on.guest, &child));
    assert_done(rapahub_child_restart(on.host, child, 10 * SECOND));
    assert_int_equal(on.told.ready, 2);
    assert_done(rapahub_child_stop(on.host, child, 10 * SECOND));
    assert_string_equal(status_now(&on).state, "stopped");
    close_host(&on);
}

/* r[verify supervise.finish] */
static void one_that_cannot_be_started_changes_nothing(void **state)
{
    struct hosting on;

    (void)state;
    open_with(&on, (struct rapahub_supervision){
                       .finish = (const char *const[]){"/nowhere/command", NULL}});
    kill(pid_of(&on), SIGKILL);
    assert_true(until(&on, &on.told.ready, 2));
    close_host(&on);
}

/* It does not outlast the time that its supervisor has to stop, nor its host.
 * r[verify supervise.finish] */
static void the_end_of_the_time_to_stop_ends_it(void **state)
{
    const struct rapahub_supervision how = {.finish = SHELL("sleep 1000"),
                                            .finish_timeout_ns = 3600 * SECOND};
    const struct rapahub_supervisor_options group = {.name = "group"};
    const struct rapahub_guest_options options = {.chimod = CALC, .supervision = &how};
    struct rapahub_supervisor *root, *supervisor;
    struct rapahub_child_id child;
    struct hosting on;
    uint64_t begun;

    (void)state;
    open_host(&on, (struct rapahub_host_options){0});
    assert_done(rapahub_host_supervisor(on.host, &root));
    assert_done(rapahub_supervisor_create(root, &group, &supervisor));
    assert_done(rapahub_supervisor_add(supervisor, &options, &child));
    assert_done(rapahub_child_start(on.host, child, 10 * SECOND));
    begun = now_ms();
    assert_done(rapahub_supervisor_stop(supervisor, 500 * MS));
    assert_in_range(now_ms() - begun, 400, 5000);
    close_host(&on);
}

/* The time was over before its guest had gone: no other time begins then.
 * r[verify supervise.finish] */
static void nothing_begins_behind_the_end_of_that_time(void **state)
{
    const struct rapahub_supervision how = {.finish = SHELL("sleep 1000"),
                                            .finish_timeout_ns = 3600 * SECOND,
                                            .goodbye_ns = 60 * SECOND};
    const struct rapahub_supervisor_options group = {.name = "group"};
    const struct rapahub_guest_options options = {.chimod = CALC, .supervision = &how};
    struct rapahub_supervisor *root, *supervisor;
    struct rapahub_child_status status;
    struct rapahub_child_id child;
    struct hosting on;
    uint64_t begun;

    (void)state;
    open_host(&on, (struct rapahub_host_options){.heartbeat_ns = UINT64_MAX});
    assert_done(rapahub_host_supervisor(on.host, &root));
    assert_done(rapahub_supervisor_create(root, &group, &supervisor));
    assert_done(rapahub_supervisor_add(supervisor, &options, &child));
    assert_done(rapahub_child_start(on.host, child, 10 * SECOND));
    assert_done(rapahub_child_status(on.host, child, &status));
    kill(status.pid, SIGSTOP); /* it does not hear that it shall go */
    begun = now_ms();
    assert_done(rapahub_supervisor_stop(supervisor, 500 * MS));
    assert_in_range(now_ms() - begun, 400, 5000);
    close_host(&on);
}

/* r[verify supervise.finish] */
static void a_stop_meanwhile_is_one(void **state)
{
    struct hosting on;

    (void)state;
    open_with(&on, (struct rapahub_supervision){.finish = SHELL("sleep 1")});
    kill(pid_of(&on), SIGKILL);
    assert_true(until(&on, &on.told.down, 1));
    assert_done(rapahub_host_stop(on.host, on.guest));
    for (uint64_t end = now_ms() + 300; now_ms() < end;)
        assert_true(rapahub_host_dispatch(on.host, 10) >= 0);
    assert_int_equal(on.told.ready, 1);
    close_host(&on);
}

/* r[verify supervise.lint.finish] */
static void a_command_that_is_none_is_refused(void **state)
{
    const char *many[66];
    const struct rapahub_supervision wrong[] = {
        {.finish = (const char *const[]){NULL}},
        {.finish = (const char *const[]){"true", NULL}},
        {.finish = many},
        {.finish = SHELL("true"), .finish_timeout_ns = 1},
    };
    struct hosting on;

    (void)state;
    for (unsigned i = 0; i < 65; i++)
        many[i] = "/bin/true";
    many[65] = NULL;
    open_host(&on, (struct rapahub_host_options){0});
    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(start(&on, CALC, here, &wrong[i]), RAPAHUB_EINVAL);
        assert_string_equal(rapahub_last_error()->rule, "supervise.lint.finish");
    }
    close_host(&on);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_runs_behind_an_end_and_knows_which),
        cmocka_unit_test(it_inherits_no_descriptor),
        cmocka_unit_test(a_status_that_counts_as_success_is_told_as_clean),
        cmocka_unit_test(nobody_but_its_child_waits_for_it),
        cmocka_unit_test(one_that_takes_too_long_is_killed),
        cmocka_unit_test(status_125_says_not_again),
        cmocka_unit_test(one_that_was_asked_to_go_has_not_failed),
        cmocka_unit_test(one_that_cannot_be_started_changes_nothing),
        cmocka_unit_test(the_end_of_the_time_to_stop_ends_it),
        cmocka_unit_test(nothing_begins_behind_the_end_of_that_time),
        cmocka_unit_test(a_stop_meanwhile_is_one),
        cmocka_unit_test(a_command_that_is_none_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
