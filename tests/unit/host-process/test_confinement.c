/* SPDX-License-Identifier: Apache-2.0 */
/* A folder of plain files stands for the kernel's, and no process is in it. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rapahub/error.h>
#include <rapahub/log.h>

#include "host/process/confinement.h"
#include "host/process/guest.h"
#include "host/process/process.h"
#include "hub/base/clock.h"
#include "tests/support/testing.h"

struct rig {
    struct host_process host;
    struct host_guest guest;
    struct host_life life;
    char path[64]; /* of the host's cgroup */
    unsigned warnings;
};

static void on_log(void *user, enum rapahub_log_level level, const char *topic, const char *text)
{
    struct rig *rig = user;

    (void)level;
    (void)text;
    rig->warnings += strcmp(topic, "confinement") == 0;
}

static struct rig *open_rig(void)
{
    struct rig *rig = test_calloc(1, sizeof *rig);

    snprintf(rig->path, sizeof rig->path, "/tmp/rapahub-confinement-XXXXXX");
    assert_non_null(mkdtemp(rig->path));
    rig->host.options.cgroup = rig->path;
    rig->guest.host = rig->life.host = &rig->host;
    rig->life.guest = &rig->guest;
    rapahub_log_to(on_log, rig, RAPAHUB_LOG_WARN);
    return rig;
}

static void close_rig(struct rig *rig)
{
    host_confinement_leave(&rig->life);
    assert_int_equal(rmdir(rig->path), 0);
    if (rig->host.has_cgroup)
        close(rig->host.cgroup);
    rapahub_log_to(NULL, NULL, RAPAHUB_LOG_WARN);
    test_free(rig);
}

static int enter(struct rig *rig)
{
    return host_confinement_enter(&rig->guest, &rig->life);
}

static void put(const struct rig *rig, const char *file, const char *text)
{
    int fd = openat(rig->life.process.cgroup.folder, file, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

static void only_a_guest_whose_options_need_a_cgroup_gets_one(void **state)
{
    struct rig *rig = open_rig();

    (void)state;
    assert_int_equal(enter(rig), 0);
    assert_false(rig->life.process.cgroup.open || rig->host.has_cgroup);
    rig->guest.supervision.oom_policy = RAPAHUB_OOM_STOP;
    assert_int_equal(enter(rig), 0);
    assert_true(rig->life.process.cgroup.open && rig->host.has_cgroup);
    assert_int_equal(faccessat(rig->host.cgroup, rig->life.process.cgroup.name, F_OK, 0), 0);
    close_rig(rig);
}

/* A host's standard input may be closed. */
static void the_folder_may_have_any_descriptor(void **state)
{
    struct rig *rig = open_rig();
    int input = dup(0);

    (void)state;
    assert_true(input > 0);
    close(0);
    rig->guest.supervision.oom_policy = RAPAHUB_OOM_STOP;
    assert_int_equal(enter(rig), 0);
    assert_true(rig->life.process.cgroup.open && rig->host.has_cgroup);
    assert_int_equal(rig->host.cgroup, 0);
    close_rig(rig);
    assert_int_equal(dup2(input, 0), 0);
    close(input);
}

/* r[verify supervise.limits.cgroup] */
static void limits_that_are_not_required_are_missed_once_in_the_log(void **state)
{
    struct rig *rig = open_rig();

    (void)state;
    rig->guest.limits.cgroup.pids_max = 12; /* no controller is there */
    assert_int_equal(enter(rig), 0);
    assert_int_equal(rig->warnings, 1);
    host_confinement_leave(&rig->life);
    assert_int_equal(enter(rig), 0);
    assert_int_equal(rig->warnings, 1);
    close_rig(rig);
}

/* r[verify supervise.limits.cgroup] */
static void a_guest_does_not_start_without_limits_that_are_required(void **state)
{
    struct rig *rig = open_rig();

    (void)state;
    rig->guest.limits.cgroup.pids_max = 12;
    rig->guest.limits.cgroup.required = true;
    assert_int_equal(enter(rig), -ENOTSUP);
    assert_int_equal(rig->warnings, 0);
    close_rig(rig);
}

/* r[verify supervise.lint.kill-mode] */
static void all_that_a_guest_started_can_be_killed_only_in_a_cgroup(void **state)
{
    struct rapahub_supervision how = {.kill_mode = RAPAHUB_KILL_CGROUP};
    struct rig *rig = open_rig();
    char nowhere[] = "/nowhere";

    (void)state;
    rig->host.options.cgroup = nowhere;
    rig->guest.supervision = how;
    assert_int_equal(host_confinement_check(&rig->host, NULL), 0);
    assert_int_equal(host_confinement_check(&rig->host, &how), RAPAHUB_EINVAL);
    assert_string_equal(rapahub_last_error()->rule, "supervise.lint.kill-mode");
    assert_true(enter(rig) < 0);
    how.kill_mode = RAPAHUB_KILL_GROUP;
    assert_int_equal(host_confinement_check(&rig->host, &how), 0);
    rig->host.options.cgroup = rig->path;
    how.kill_mode = RAPAHUB_KILL_CGROUP;
    assert_int_equal(host_confinement_check(&rig->host, &how), 0);
    assert_int_equal(enter(rig), 0);
    close_rig(rig);
}

/* A life that was ended by SIGKILL, and the kernel counted this. */
static struct rig *killed_with(const char *events)
{
    struct rig *rig = open_rig();

    rig->guest.supervision.oom_policy = RAPAHUB_OOM_KILL_GROUP;
    rig->guest.supervision.kill_mode = RAPAHUB_KILL_PROCESS;
    assert_int_equal(enter(rig), 0);
    put(rig, "memory.events", events);
    put(rig, "cgroup.kill", "");
    rig->life.exit.how = (struct hub_exit){CLD_KILLED, SIGKILL};
    hub_publish(&rig->life.exit.known, 1);
    return rig;
}

static void end_killed(struct rig *rig)
{
    unlinkat(rig->life.process.cgroup.folder, "memory.events", 0);
    unlinkat(rig->life.process.cgroup.folder, "cgroup.kill", 0);
    unlinkat(rig->life.process.cgroup.folder, "cgroup.events", 0);
    close_rig(rig);
}

/* r[verify supervise.oom] */
static void a_lack_of_memory_is_the_cause_and_takes_the_rest_of_the_cgroup(void **state)
{
    struct rig *rig = killed_with("oom_kill 1\n");

    (void)state;
    host_confinement_ended(&rig->life);
    assert_int_equal(hub_observe(&rig->life.exit.cause), HOST_CAUSE_OOM);
    assert_true(rig->life.process.purged);
    end_killed(rig);
}

/* r[verify supervise.oom] */
static void a_life_that_ended_otherwise_did_not_lack_memory(void **state)
{
    struct rig *rig = killed_with("oom_kill 0\n");

    (void)state;
    host_confinement_ended(&rig->life);
    assert_int_equal(hub_observe(&rig->life.exit.cause), HOST_CAUSE_NONE);
    assert_false(rig->life.process.purged);
    end_killed(rig);

    rig = killed_with("oom_kill 1\n"); /* another process of it was killed */
    rig->life.exit.how.status = SIGTERM;
    host_confinement_ended(&rig->life);
    assert_int_equal(hub_observe(&rig->life.exit.cause), HOST_CAUSE_NONE);
    end_killed(rig);

    rig = killed_with("oom_kill 1\n");
    rig->guest.stop.told = true; /* the host asked it to go */
    host_confinement_ended(&rig->life);
    assert_int_equal(hub_observe(&rig->life.exit.cause), HOST_CAUSE_NONE);
    end_killed(rig);
}

static void the_cause_that_was_recorded_before_the_signal_stays(void **state)
{
    struct rig *rig = killed_with("oom_kill 1\n");

    (void)state;
    hub_publish(&rig->life.exit.cause, HOST_CAUSE_WATCHDOG);
    host_confinement_ended(&rig->life);
    assert_int_equal(hub_observe(&rig->life.exit.cause), HOST_CAUSE_WATCHDOG);
    end_killed(rig);
}

/* r[verify supervise.kill-mode] */
static void killed_processes_are_waited_for_a_second_at_most(void **state)
{
    struct rig *rig = killed_with("oom_kill 0\n");

    (void)state;
    rig->guest.supervision.kill_mode = RAPAHUB_KILL_CGROUP;
    put(rig, "cgroup.events", "populated 1\n");
    rig->life.death.proven_ns = hub_clock_now();
    assert_false(host_confinement_lasts(&rig->life)); /* nothing was killed */
    host_confinement_ended(&rig->life);
    assert_true(host_confinement_lasts(&rig->life));
    put(rig, "cgroup.events", "populated 0\n");
    assert_false(host_confinement_lasts(&rig->life));
    put(rig, "cgroup.events", "populated 1\n");
    rig->life.death.proven_ns = hub_clock_now() - HUB_SECOND;
    assert_false(host_confinement_lasts(&rig->life));
    end_killed(rig);
}

static void a_cgroup_that_cannot_be_removed_is_named_in_the_log(void **state)
{
    struct rig *rig = killed_with("oom_kill 0\n");
    char name[sizeof rig->life.process.cgroup.name];

    (void)state;
    memcpy(name, rig->life.process.cgroup.name, sizeof name);
    host_confinement_leave(&rig->life); /* it is not empty */
    assert_int_equal(rig->warnings, 1);
    assert_false(rig->life.process.cgroup.open);
    host_confinement_leave(&rig->life);
    assert_int_equal(rig->warnings, 1);
    rig->life.process.cgroup.folder =
        openat(rig->host.cgroup, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    memcpy(rig->life.process.cgroup.name, name, sizeof name);
    rig->life.process.cgroup.open = true;
    end_killed(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_a_guest_whose_options_need_a_cgroup_gets_one),
        cmocka_unit_test(the_folder_may_have_any_descriptor),
        cmocka_unit_test(limits_that_are_not_required_are_missed_once_in_the_log),
        cmocka_unit_test(a_guest_does_not_start_without_limits_that_are_required),
        cmocka_unit_test(all_that_a_guest_started_can_be_killed_only_in_a_cgroup),
        cmocka_unit_test(a_lack_of_memory_is_the_cause_and_takes_the_rest_of_the_cgroup),
        cmocka_unit_test(a_life_that_ended_otherwise_did_not_lack_memory),
        cmocka_unit_test(the_cause_that_was_recorded_before_the_signal_stays),
        cmocka_unit_test(killed_processes_are_waited_for_a_second_at_most),
        cmocka_unit_test(a_cgroup_that_cannot_be_removed_is_named_in_the_log),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
