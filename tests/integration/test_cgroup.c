/* SPDX-License-Identifier: Apache-2.0 */
/* Guests with a cgroup of their own. If there can be none, that is reported, or refused; otherwise
 * everything in it is killed, and its limits hold. Tests of features that this machine cannot
 * enforce are skipped by name.
 *
 * RAPAHUB_TEST_CGROUP: folder of a cgroup v2 without processes, to make others in; default: the own
 * one.
 */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/integration/child.h"

#define NOWHERE "/nonexistent/cgroup"
#define MIB     (UINT64_C(1) << 20)

static unsigned said;

static void listen(void *user, enum rapahub_log_level level, const char *topic, const char *text)
{
    (void)user;
    (void)level;
    said += strcmp(topic, "confinement") == 0 && strstr(text, "not enforced") != NULL &&
            strstr(text, NOWHERE) != NULL && strstr(text, "option cgroup") != NULL;
}

static int spawn(struct hosting *on, const char *module, const struct rapahub_limits *limits,
                 const struct rapahub_supervision *how)
{
    const struct rapahub_guest_options guest = {
        .chimod = module, .limits = limits, .supervision = how};
    const struct rapahub_container_options container = {.id = here, .pool_name = "test"};
    int r = rapahub_host_spawn(on->host, &guest, &on->guest);

    return r == 0 ? rapahub_host_add_container(on->host, on->guest, &container) : r;
}

static void open_nowhere(struct hosting *on)
{
    open_host(on, (struct rapahub_host_options){.cgroup = NOWHERE});
    said = 0;
    rapahub_log_to(listen, NULL, RAPAHUB_LOG_WARN);
}

/* r[verify supervise.limits.cgroup] */
static void where_there_is_none_the_start_says_so_once(void **state)
{
    struct hosting on;

    (void)state;
    open_nowhere(&on);
    assert_done(spawn(&on, CALC, &(const struct rapahub_limits){.memory_max = 64 * MIB}, NULL));
    assert_int_equal(said, 1);
    assert_done(rapahub_host_kill(on.host, on.guest));
    assert_true(until(&on, &on.told.ready, 2));
    assert_int_equal(said, 1);
    close_host(&on);
}

/* r[verify supervise.limits.cgroup] */
static void where_its_limits_are_required_it_does_not_start(void **state)
{
    const struct rapahub_limits limits = {.pids_max = 64, .required = true};
    struct hosting on;

    (void)state;
    open_nowhere(&on);
    assert_true(spawn(&on, CALC, &limits, NULL) < 0);
    assert_non_null(strstr(rapahub_last_error()->text, "cannot open the cgroup " NOWHERE));
    assert_int_equal(said, 0);
    close_host(&on);
}

/* r[verify supervise.lint.kill-mode] */
static void to_kill_by_cgroup_takes_one(void **state)
{
    const struct rapahub_supervision how = {.kill_mode = RAPAHUB_KILL_CGROUP};
    struct hosting on;

    (void)state;
    open_nowhere(&on);
    assert_refused(spawn(&on, CALC, NULL, &how), -EINVAL, "RAPAHUB_KILL_CGROUP: cannot open");
    assert_string_equal(rapahub_last_error()->rule, "supervise.lint.kill-mode");
    close_host(&on);
}

static bool open_here(struct hosting *on, const char *module, const struct rapahub_limits *limits,
                      const struct rapahub_supervision *how)
{
    open_host(on, (struct rapahub_host_options){.cgroup = getenv("RAPAHUB_TEST_CGROUP")});
    if (spawn(on, module, limits, how) == 0)
        return true;
    print_message("skipped: %s\n", rapahub_last_error()->text);
    close_host(on);
    return false;
}

/* A process that made a session, and a next life in a cgroup of its own.
 * r[verify supervise.kill-mode] */
static void who_left_the_group_is_killed_by_cgroup(void **state)
{
    const struct rapahub_supervision how = {.kill_mode = RAPAHUB_KILL_CGROUP};
    struct pollfd left = {.events = POLLIN};
    struct hosting on;
    int32_t pid = 0;

    (void)state;
    if (!open_here(&on, MODULE("hog"), NULL, &how))
        skip();
    assert_done(ask(&on, "leave() -> i32", NULL, &pid));
    left.fd = (int)syscall(SYS_pidfd_open, pid, 0);
    assert_true(left.fd >= 0);
    assert_done(rapahub_host_kill(on.host, on.guest));
    assert_true(until(&on, &on.told.ready, 2));
    assert_int_equal(poll(&left, 1, 5000), 1);
    close(left.fd);
    close_host(&on);
}

/* r[verify supervise.limits.cgroup] r[verify supervise.oom] */
static void memory_beyond_its_cgroup_ends_it_as_out_of_memory(void **state)
{
    const struct rapahub_limits limits = {.memory_max = 64 * MIB, .required = true};
    const struct rapahub_supervision how = {.oom_policy = RAPAHUB_OOM_STOP};
    struct rapahub_child_id child;
    struct rapahub_report report;
    struct hosting on;

    (void)state;
    if (!open_here(&on, MODULE("hog"), &limits, &how))
        skip();
    assert_done(rapahub_child_of(on.host, on.guest, &child));
    assert_int_equal(ask(&on, "memory()", NULL, NULL), RAPAHUB_EDIED);
    assert_true(until(&on, &on.told.failed, 1));
    assert_done(rapahub_child_report(on.host, child, 0, &report));
    assert_int_equal(report.exit_class, RAPAHUB_EXIT_OOM);
    assert_string_equal(report.decision, "failed");
    close_host(&on);
}

/* The cgroups made by this test are gone. */
static void none_is_left_behind(void **state)
{
    const char *path = getenv("RAPAHUB_TEST_CGROUP");
    struct dirent *entry;
    char prefix[32];
    DIR *folder;

    (void)state;
    folder = opendir(path ? path : "/sys/fs/cgroup/unified");
    if (!folder)
        skip();
    snprintf(prefix, sizeof prefix, "rapahub-%d-", (int)getpid());
    while ((entry = readdir(folder)))
        assert_true(strncmp(entry->d_name, prefix, strlen(prefix)) != 0);
    closedir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(where_there_is_none_the_start_says_so_once),
        cmocka_unit_test(where_its_limits_are_required_it_does_not_start),
        cmocka_unit_test(to_kill_by_cgroup_takes_one),
        cmocka_unit_test(who_left_the_group_is_killed_by_cgroup),
        cmocka_unit_test(memory_beyond_its_cgroup_ends_it_as_out_of_memory),
        cmocka_unit_test(none_is_left_behind),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
