/* SPDX-License-Identifier: Apache-2.0 */
/* No command is run: an eventfd stands for its pidfd, and is readable when the command has
 * ended. */
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <rapahub/supervise.h>

#include "host/guest/exit_command.h"
#include "host/process/end.h"
#include "host/process/spawn.h"
#include "hub/base/proof.h"
#include "tests/unit/host-guest/stage.h"

#define PID 4711

static struct {
    unsigned spawns, kills;
    int failure; /* of the next spawn */
    int pidfd;   /* as the test knows it */
    char environment[512], argument[64];
    struct hub_exit exit; /* of the command */
} fake;

static void keep_own(char *const *environment)
{
    size_t size = 0;

    fake.environment[0] = '\0';
    for (; *environment; environment++)
        if (strncmp(*environment, "RAPAHUB_", 8) == 0)
            size += (size_t)snprintf(fake.environment + size, sizeof fake.environment - size,
                                     "%.100s ", *environment);
}

int __wrap_host_spawn_command(char *const *arguments, char *const *environment,
                              struct host_spawned *out);
int __wrap_host_spawn_command(char *const *arguments, char *const *environment,
                              struct host_spawned *out)
{
    fake.spawns++;
    if (fake.failure < 0)
        return rapahub_fail(fake.failure, "", "it is not there");
    keep_own(environment);
    snprintf(fake.argument, sizeof fake.argument, "%s", arguments[1]);
    fake.pidfd = eventfd(0, EFD_CLOEXEC);
    *out = (struct host_spawned){PID, fake.pidfd, ""};
    return 0;
}

static void end_command(void)
{
    assert_int_equal(eventfd_write(fake.pidfd, 1), 0);
}

int __wrap_kill(pid_t pid, int number);
int __wrap_kill(pid_t pid, int number)
{
    assert_int_equal(pid, -PID);
    assert_int_equal(number, SIGKILL);
    fake.kills++;
    end_command();
    return 0;
}

int __wrap_hub_proof_status(int pidfd, struct hub_exit *out);
int __wrap_hub_proof_status(int pidfd, struct hub_exit *out)
{
    assert_int_equal(pidfd, fake.pidfd);
    *out = fake.exit;
    return 0;
}

int __wrap_hub_proof_reap(int pidfd, struct hub_exit *out);
int __wrap_hub_proof_reap(int pidfd, struct hub_exit *out)
{
    return __wrap_hub_proof_status(pidfd, out);
}

static const char *const command[] = {"/bin/clean-up", "all", NULL};
static const struct hub_exit by_signal = {CLD_KILLED, SIGSEGV}, by_code = {CLD_EXITED, 3};

struct rig {
    struct host_supervision *host;
    struct host_guest *guest;
    struct host_life life; /* for a guest that has one */
};

static void ask_nothing(struct host_guest *guest)
{
    (void)guest;
}

static void open_rig(struct rig *rig)
{
    static struct host_supervision_hooks hooks;
    const struct rapahub_supervision how = {.restarts_max = 5, .finish = command};

    memset(&fake, 0, sizeof fake);
    memset(rig, 0, sizeof *rig);
    fake.exit = (struct hub_exit){CLD_EXITED, 0};
    rig->host = stage_new();
    hooks = stage_hooks;
    hooks.decisions.ask = ask_nothing;
    rig->host->hooks = &hooks;
    rig->guest = stage_add(rig->host, HOST_SUPERVISION_ROOT, "calc", how);
    assert_int_equal(host_exit_command_create(rig->guest, &how, &rig->guest->finish), 0);
    stage_serve(rig->guest);
}

static void close_rig(struct rig *rig)
{
    host_exit_command_release(&rig->guest->finish);
    stage_free(rig->host);
}

static bool begin(struct rig *rig, enum rapahub_exit_class class, const struct hub_exit *exit)
{
    const struct host_end end = {.class = class, .exit = exit, .cause = "", .rule = ""};

    return host_exit_command_begin(rig->guest, &end);
}

static void turn(struct rig *rig)
{
    assert_true(host_loop_turn(&HOST_OWNER(rig->host)->loop, 1000) >= 0);
}

/* r[verify supervise.finish] */
static void what_follows_is_decided_when_the_command_has_ended(void **state)
{
    struct rig rig;

    (void)state;
    open_rig(&rig);
    assert_true(begin(&rig, RAPAHUB_EXIT_SIGNAL, &by_signal));
    assert_true(host_exit_command_runs(rig.guest));
    assert_int_equal(rig.guest->state, HOST_GUEST_STOPPING);
    assert_int_equal(stage_child(rig.guest)->state, HOST_CHILD_STOPPING);
    assert_string_equal(fake.argument, "all");
    end_command();
    turn(&rig);
    assert_false(host_exit_command_runs(rig.guest));
    assert_int_equal(stage_child(rig.guest)->ended, RAPAHUB_EXIT_SIGNAL);
    assert_true(stage_child(rig.guest)->incarnation > 1); /* it starts again */
    close_rig(&rig);
}

/* r[verify supervise.finish] */
static void the_command_is_told_how_the_life_ended(void **state)
{
    struct rig rig;

    (void)state;
    setenv("RAPAHUB_CODE", "of an outer host", 1);
    open_rig(&rig);
    assert_true(begin(&rig, RAPAHUB_EXIT_SIGNAL, &by_signal));
    unsetenv("RAPAHUB_CODE");
    assert_string_equal(fake.environment,
                        "RAPAHUB_NAME=calc RAPAHUB_CLASS=signal RAPAHUB_CODE= RAPAHUB_SIGNAL=11 ");
    close_rig(&rig);
    open_rig(&rig);
    assert_true(begin(&rig, RAPAHUB_EXIT_CODE, &by_code));
    assert_string_equal(fake.environment,
                        "RAPAHUB_NAME=calc RAPAHUB_CLASS=code RAPAHUB_CODE=3 RAPAHUB_SIGNAL= ");
    close_rig(&rig);
    open_rig(&rig);
    assert_true(begin(&rig, RAPAHUB_EXIT_LOST, NULL));
    assert_string_equal(fake.environment,
                        "RAPAHUB_NAME=calc RAPAHUB_CLASS=lost RAPAHUB_CODE= RAPAHUB_SIGNAL= ");
    close_rig(&rig);
}

/* r[verify supervise.finish] */
static void a_command_may_say_that_the_guest_is_not_started_again(void **state)
{
    struct rig rig;

    (void)state;
    open_rig(&rig);
    fake.exit.status = 125;
    assert_true(begin(&rig, RAPAHUB_EXIT_SIGNAL, &by_signal));
    end_command();
    turn(&rig);
    assert_int_equal(rig.guest->state, HOST_GUEST_FAILED);
    assert_int_equal(stage_child(rig.guest)->why, HOST_FAILED_BARRED);
    close_rig(&rig);
    open_rig(&rig);
    fake.exit = (struct hub_exit){CLD_KILLED, 125};
    assert_true(begin(&rig, RAPAHUB_EXIT_SIGNAL, &by_signal));
    end_command();
    turn(&rig);
    assert_true(rig.guest->state != HOST_GUEST_FAILED);
    close_rig(&rig);
}

/* r[verify supervise.finish] */
static void a_command_that_takes_too_long_is_killed_with_all_that_it_started(void **state)
{
    struct rig rig;

    (void)state;
    open_rig(&rig);
    rig.guest->supervision.finish_timeout_ns = HUB_MILLISECOND;
    assert_true(begin(&rig, RAPAHUB_EXIT_SIGNAL, &by_signal));
    for (int i = 0; i < 10 && fake.kills == 0; i++)
        turn(&rig);
    assert_int_equal(fake.kills, 1);
    turn(&rig);
    assert_false(host_exit_command_runs(rig.guest));
    close_rig(&rig);
}

static void where_there_is_nothing_to_run_the_decision_comes_at_once(void **state)
{
    const struct rapahub_supervision none = {.restarts_max = 5};
    struct host_exit_command *finish = NULL;
    struct rig rig;

    (void)state;
    open_rig(&rig);
    assert_false(begin(&rig, RAPAHUB_EXIT_SPAWN, NULL)); /* there was no life */
    fake.failure = -ENOENT;
    assert_false(begin(&rig, RAPAHUB_EXIT_SIGNAL, &by_signal));
    assert_false(host_exit_command_runs(rig.guest));
    assert_int_equal(fake.spawns, 1);
    assert_int_equal(rig.guest->state, HOST_GUEST_READY);
    assert_int_equal(host_exit_command_create(rig.guest, &none, &finish), 0);
    assert_null(finish);
    host_exit_command_release(&finish);
    close_rig(&rig);
}

static void a_second_end_does_not_start_a_second_command(void **state)
{
    struct rig rig;

    (void)state;
    open_rig(&rig);
    assert_true(begin(&rig, RAPAHUB_EXIT_SIGNAL, &by_signal));
    assert_false(begin(&rig, RAPAHUB_EXIT_SIGNAL, &by_signal));
    assert_int_equal(fake.spawns, 1);
    close_rig(&rig);
}

/* r[verify supervise.finish] */
static void after_a_stop_that_took_all_its_time_the_command_does_not_run(void **state)
{
    struct rig rig;

    (void)state;
    open_rig(&rig);
    rig.guest->life = &rig.life;
    host_exit_command_kill(rig.guest);
    rig.guest->life = NULL;
    assert_false(begin(&rig, RAPAHUB_EXIT_STOP_TIMEOUT, &by_signal));
    assert_int_equal(fake.spawns, 0);
    assert_true(begin(&rig, RAPAHUB_EXIT_SIGNAL, &by_signal)); /* of the next life */
    host_exit_command_kill(rig.guest);
    assert_int_equal(fake.kills, 1);
    close_rig(&rig);
}

static void the_end_of_the_guest_waits_for_its_command(void **state)
{
    struct rig rig;

    (void)state;
    open_rig(&rig);
    assert_true(begin(&rig, RAPAHUB_EXIT_SIGNAL, &by_signal));
    host_exit_command_release(&rig.guest->finish);
    assert_true(fake.kills > 0);
    assert_null(rig.guest->finish);
    close_rig(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_follows_is_decided_when_the_command_has_ended),
        cmocka_unit_test(the_command_is_told_how_the_life_ended),
        cmocka_unit_test(a_command_may_say_that_the_guest_is_not_started_again),
        cmocka_unit_test(a_command_that_takes_too_long_is_killed_with_all_that_it_started),
        cmocka_unit_test(where_there_is_nothing_to_run_the_decision_comes_at_once),
        cmocka_unit_test(a_second_end_does_not_start_a_second_command),
        cmocka_unit_test(after_a_stop_that_took_all_its_time_the_command_does_not_run),
        cmocka_unit_test(the_end_of_the_guest_waits_for_its_command),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
