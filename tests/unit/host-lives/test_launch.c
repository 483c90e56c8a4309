/* SPDX-License-Identifier: Apache-2.0 */
/* No process is started: the order for it is kept, and an eventfd stands for its pidfd. */
#include <pthread.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include "host/lives/launch.h"
#include "host/observe/observe.h"
#include "host/process/spawn.h"
#include "hub/shm/segment.h"
#include "tests/support/pause.h"
#include "tests/unit/host-guest/stage.h"
#include "tests/unit/link/pair.h"

static struct {
    unsigned count;
    int failure; /* of the next spawn */
    struct host_spawn_order order;
    char arguments[512], environment[512]; /* each ended by a space */
    int pidfd;
    int at_zero; /* the pidfd, if it is to be 0; else 0 */
} spawned;

static void keep_list(char *to, size_t size, char *const *list)
{
    size_t used = 0;

    to[0] = '\0';
    for (; *list && used < size; list++)
        used += (size_t)snprintf(to + used, size - used, "%.200s ", *list);
}

int __wrap_host_spawn_open(struct host_spawner **out);
int __wrap_host_spawn_open(struct host_spawner **out)
{
    *out = (struct host_spawner *)(void *)&spawned;
    return 0;
}

int __wrap_host_spawn(struct host_spawner *spawner, const struct host_spawn_order *order,
                      struct host_spawned *out);
int __wrap_host_spawn(struct host_spawner *spawner, const struct host_spawn_order *order,
                      struct host_spawned *out)
{
    assert_ptr_equal(spawner, &spawned);
    spawned.count++;
    spawned.order = *order;
    keep_list(spawned.arguments, sizeof spawned.arguments, order->arguments);
    keep_list(spawned.environment, sizeof spawned.environment, order->environment);
    if (spawned.failure < 0) {
        out->step = "exec";
        return rapahub_fail(spawned.failure, "", "no such program");
    }
    spawned.pidfd = spawned.at_zero > 0 ? dup2(spawned.at_zero, 0) : eventfd(0, EFD_CLOEXEC);
    *out = (struct host_spawned){4711, spawned.pidfd, ""};
    return 0;
}

struct rig {
    struct host_observe host;
    struct host_guest *guest;
    struct host_life *life;
};

static void ignore_event(void *life, uint32_t events)
{
    (void)life;
    (void)events;
}

static struct rig *open_rig(enum rapahub_trust trust)
{
    static char program[] = "/usr/libexec/rapahub-guest";
    static struct host_supervision_hooks hooks;
    struct rig *rig = test_calloc(1, sizeof *rig);
    struct host_process *process = HOST_PROCESS(&rig->host);

    memset(&spawned, 0, sizeof spawned);
    stage_open(&rig->host.supervision);
    hooks = stage_hooks;
    hooks.lives.on_pidfd = hooks.lives.on_bell = ignore_event;
    rig->host.supervision.hooks = &hooks;
    host_lease_init(&process->lease);
    host_futexes_init(&process->owner.futexes);
    host_zombies_open(&process->zombies, &process->owner.loop);
    process->options.limits = pair_limits();
    process->options.guest_program = program;
    rig->guest = stage_enter(&rig->host.supervision, "calc");
    rig->guest->trust = trust;
    return rig;
}

static int launch(struct rig *rig)
{
    return host_launch(rig->guest, &rig->life);
}

/* The process is dead, and its life is freed. */
static void end_life(struct rig *rig)
{
    if (rig->life)
        assert_int_equal(eventfd_write(rig->life->process.pidfd, 1), 0);
    host_life_release(&rig->life);
}

static void close_rig(struct rig *rig)
{
    struct host_process *process = HOST_PROCESS(&rig->host);

    end_life(rig);
    host_lookout_close(&process->owner.lookout);
    host_futexes_close(&process->owner.futexes);
    if (process->shared)
        host_lease_leave(&process->lease, process->shared);
    host_group_release(&process->shared);
    host_lease_fini(&process->lease);
    stage_close(&rig->host.supervision);
    test_free(rig);
}

/* r[verify shm.spawn.ticket] r[verify hub.spawn.fds] */
static void a_guest_gets_its_ticket_and_the_descriptors_of_its_own_segment(void **state)
{
    struct rig *rig = open_rig(RAPAHUB_TRUST_STANDARD);

    (void)state;
    rig->guest->totals.lives = 6;
    assert_int_equal(launch(rig), 0);
    assert_string_equal(spawned.order.program, "/usr/libexec/rapahub-guest");
    assert_non_null(strstr(spawned.arguments, "--hub-path=/proc/self/fd/3 "));
    assert_non_null(strstr(spawned.arguments, "--peer-id=1 "));
    assert_non_null(strstr(spawned.arguments, "--doorbell-fd=4 "));
    assert_int_equal(spawned.order.descriptors[3], rig->life->segment.group->segment->mapping.fd);
    assert_true(spawned.order.descriptors[4] >= 0);
    assert_int_equal(spawned.order.count, 6);
    assert_true(spawned.order.no_new_privs && !spawned.order.confined);
    assert_int_equal(rig->life->id.epoch, 7); /* the number of the life */
    assert_int_equal(rig->life->process.pid, 4711);
    assert_true(rig->life->open && rig->life->process.on_death.number != 0);
    close_rig(rig);
}

static void trusted_guests_share_a_segment_and_find_it_by_its_path(void **state)
{
    struct rig *rig = open_rig(RAPAHUB_TRUST_TRUSTED);
    struct host_group *shared;
    char path[256];

    (void)state;
    assert_int_equal(launch(rig), 0);
    shared = HOST_PROCESS(&rig->host)->shared;
    assert_ptr_equal(rig->life->segment.group, shared);
    snprintf(path, sizeof path, "--hub-path=%s ", shared->segment->mapping.path);
    assert_non_null(strstr(spawned.arguments, path));
    assert_int_equal(spawned.order.descriptors[3], -1);
    assert_false(spawned.order.no_new_privs);
    end_life(rig);
    assert_int_equal(shared->guests, 0);
    assert_int_equal(launch(rig), 0);
    assert_ptr_equal(HOST_PROCESS(&rig->host)->shared, shared);
    close_rig(rig);
}

static void the_signatures_of_a_plain_library_are_arguments(void **state)
{
    static const char *const plain[] = {"add(u32, u32) -> u32", "sub(u32, u32) -> u32"};
    struct rig *rig = open_rig(RAPAHUB_TRUST_STANDARD);

    (void)state;
    rig->guest->module.plain = calloc(3, sizeof *rig->guest->module.plain);
    for (int i = 0; i < 2; i++)
        rig->guest->module.plain[i] = strdup(plain[i]);
    assert_int_equal(launch(rig), 0);
    assert_non_null(
        strstr(spawned.arguments, "--plain=add(u32, u32) -> u32 --plain=sub(u32, u32) -> u32 "));
    close_rig(rig);
}

/* A loader reads some of them, and others name what the host has. */
static void the_environment_of_a_guest_is_chosen_by_its_trust(void **state)
{
    struct rig *rig = open_rig(RAPAHUB_TRUST_STANDARD);

    (void)state;
    setenv("LD_SECRET", "1", 1);
    setenv("RAPAHUB_SECRET", "2", 1);
    setenv("SECRET_KEY", "3", 1);
    setenv("TZ", "UTC", 1);
    assert_int_equal(launch(rig), 0);
    assert_null(strstr(spawned.environment, "SECRET"));
    assert_non_null(strstr(spawned.environment, "TZ=UTC "));
    close_rig(rig);
    rig = open_rig(RAPAHUB_TRUST_TRUSTED);
    clearenv();
    setenv("LD_SECRET", "1", 1);
    setenv("RAPAHUB_SECRET", "2", 1);
    setenv("GLIBC_TUNABLES", "5", 1);
    setenv("SECRET_KEY", "3", 1);
    assert_int_equal(launch(rig), 0);
    assert_string_equal(spawned.environment, "SECRET_KEY=3 ");
    close_rig(rig);
}

static void a_start_that_fails_leaves_no_trace_and_names_its_step(void **state)
{
    struct rig *rig = open_rig(RAPAHUB_TRUST_TRUSTED);

    (void)state;
    spawned.failure = -ENOENT;
    assert_int_equal(launch(rig), -ENOENT);
    assert_null(rig->life);
    assert_string_equal(rig->guest->failure.step, "exec"); /* the more exact one */
    assert_int_equal(HOST_PROCESS(&rig->host)->shared->guests, 0);
    spawned.failure = 0;
    assert_int_equal(launch(rig), 0); /* its entry is free again */
    assert_null(rig->guest->failure.step);
    close_rig(rig);
}

/* The process that was started in vain dies a moment after it was killed. */
static void *die_late(void *user)
{
    pause_ms(20);
    hub_publish(user, 1);
    assert_int_equal(eventfd_write(spawned.at_zero, 1), 0);
    return NULL;
}

/* Also where the descriptor of the process has the number of a closed standard input. */
static void a_process_whose_start_fails_late_is_waited_for(void **state)
{
    struct rig *rig = open_rig(RAPAHUB_TRUST_STANDARD);
    struct host_loop *loop = &HOST_OWNER(&rig->host)->loop;
    struct host_watch full[8] = {{.fd = -1}};
    struct hub_a32 dead = {0};
    int input = dup(0), count = 0;
    pthread_t thread;

    (void)state;
    assert_true(input > 0);
    for (; count < 8; count++) {
        full[count] = (struct host_watch){.fd = eventfd(0, EFD_CLOEXEC)};
        if (host_loop_watch(loop, &full[count], EPOLLIN) < 0)
            break;
    }
    spawned.at_zero = eventfd(0, EFD_CLOEXEC);
    assert_int_equal(pthread_create(&thread, NULL, die_late, &dead), 0);
    assert_true(launch(rig) < 0);
    assert_int_equal(hub_observe(&dead), 1);
    assert_null(rig->life);
    assert_string_equal(rig->guest->failure.step, "watch");
    pthread_join(thread, NULL);
    assert_int_equal(dup2(input, 0), 0);
    close(input);
    close(spawned.at_zero);
    for (int i = 0; i <= count && i < 8; i++) {
        host_loop_unwatch(loop, &full[i]);
        close(full[i].fd);
    }
    close_rig(rig);
}

static void a_full_segment_is_a_failure_of_the_step_segment(void **state)
{
    struct rig *rig = open_rig(RAPAHUB_TRUST_TRUSTED);
    struct host_life *first;

    (void)state;
    assert_int_equal(launch(rig), 0);
    first = rig->life;
    rig->life = NULL;
    assert_int_equal(launch(rig), RAPAHUB_EFULL);
    assert_string_equal(rig->guest->failure.step, "segment");
    assert_int_equal(spawned.count, 1);
    rig->life = first;
    close_rig(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_guest_gets_its_ticket_and_the_descriptors_of_its_own_segment),
        cmocka_unit_test(trusted_guests_share_a_segment_and_find_it_by_its_path),
        cmocka_unit_test(the_signatures_of_a_plain_library_are_arguments),
        cmocka_unit_test(the_environment_of_a_guest_is_chosen_by_its_trust),
        cmocka_unit_test(a_start_that_fails_leaves_no_trace_and_names_its_step),
        cmocka_unit_test(a_process_whose_start_fails_late_is_waited_for),
        cmocka_unit_test(a_full_segment_is_a_failure_of_the_step_segment),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
