/* SPDX-License-Identifier: Apache-2.0 */
/* Sockets that take 12 s to close, sent to places where they are unwanted, or where they are
 * stored: no turn of the host takes more than 100 ms because of them, both on kernels that keep
 * them away from a doorbell and on older ones, which this program pretends to run on. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/attack/longest.h"
#include "tests/support/old_kernel.h"

#define MODULE TEST_MODULES "/lingerer.so"
#define URGENT 1000
#define TRIES  5 /* for a machine that has much else to do */

static bool old_kernel;

static void pretend(bool is_old)
{
    old_kernel = is_old;
    old_kernel_pretend(is_old);
}

static bool is_new_kernel(void)
{
    int may, fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    socklen_t size = sizeof may;
    bool is = getsockopt(fd, SOL_SOCKET, OLD_KERNEL_PASSRIGHTS, &may, &size) == 0;

    close(fd);
    return is;
}

static const struct rapahub_supervision never = {.restart = RAPAHUB_RESTART_TEMPORARY};

/* The destruction of the host counts as a turn, too. */
static uint64_t end_of(struct scene *scene)
{
    uint64_t start_ms = now_ms(), span;

    for (uint64_t end = start_ms + 200; now_ms() < end;)
        take_turn(scene);
    start_ms = now_ms();
    close_scene(scene);
    span = now_ms() - start_ms;
    return span > 1000 ? span : scene->longest_ms; /* it waits for guests to go */
}

static uint64_t give_once(enum rapahub_trust trust, uint32_t how)
{
    const void *const arguments[] = {&how, NULL};
    bool refused = !old_kernel && is_new_kernel();
    struct scene scene;

    open_scene(&scene, MODULE, trust, &never, UINT64_MAX);
    begin(&scene, "give(u32) -> i32", arguments);
    for (uint64_t end = now_ms() + 5000;
         now_ms() < end && (scene.status == 1 || (!refused && scene.down == 0));)
        take_turn(&scene);
    if (refused) {
        assert_int_equal(scene.status, 0);
        assert_int_equal(scene.error, -EPERM);
        assert_int_equal(scene.violations, 0);
    } else {
        assert_int_equal(scene.violations, 1);
        assert_string_equal(scene.rule, "hub.doorbell.descriptor");
        assert_int_equal(scene.down, 1);
    }
    return end_of(&scene);
}

/* Descriptors left in the doorbell of a dead guest are closed as well. */
static uint64_t give_and_exit_once(enum rapahub_trust trust, uint32_t how)
{
    const void *const arguments[] = {&how, NULL};
    struct scene scene;

    open_scene(&scene, MODULE, trust, &never, UINT64_MAX);
    begin(&scene, "give_and_exit(u32) -> void", arguments);
    for (uint64_t end = now_ms() + 5000; now_ms() < end && (scene.status == 1 || scene.down == 0);)
        take_turn(&scene);
    assert_int_equal(scene.down, 1);
    return end_of(&scene);
}

static uint64_t keep_once(enum rapahub_trust trust, uint32_t how)
{
    static const char *const names[] = {"socket", NULL};
    const struct rapahub_supervision keeps = {.restart = RAPAHUB_RESTART_TEMPORARY,
                                              .keep_fds = names};
    struct scene scene;

    (void)how;
    open_scene(&scene, MODULE, trust, &keeps, UINT64_MAX);
    begin(&scene, "keep() -> void", NULL);
    for (uint64_t end = now_ms() + 5000; now_ms() < end && scene.status == 1;)
        take_turn(&scene);
    assert_int_equal(scene.status, 0);
    assert_int_equal(rapahub_host_kill(scene.host, scene.attacker), 0);
    for (uint64_t end = now_ms() + 5000; now_ms() < end && scene.down == 0;)
        take_turn(&scene);
    return end_of(&scene);
}

/* A turn that is long for the attack is so each time. */
static void check(uint64_t (*once)(enum rapahub_trust trust, uint32_t how),
                  enum rapahub_trust trust, uint32_t how)
{
    uint64_t longest = UINT64_MAX;

    for (int i = 0; i < TRIES && longest > TURN_MAX; i++) {
        uint64_t found = once(trust, how);

        longest = found < longest ? found : longest;
    }
    print_message("longest turn: %llu ms\n", (unsigned long long)longest);
    assert_in_range(longest, 0, TURN_MAX);
}

/* r[verify hub.doorbell.descriptor] r[verify hub.descriptor.elsewhere] */
static void a_doorbell_takes_no_descriptor(void **state)
{
    static const uint32_t hows[] = {1, 16, URGENT};

    (void)state;
    for (int old = 0; old <= 1; old++)
        for (size_t i = 0; i < sizeof hows / sizeof *hows; i++) {
            pretend(old != 0);
            check(give_once, RAPAHUB_TRUST_STANDARD, hows[i]);
            check(give_once, RAPAHUB_TRUST_TRUSTED, hows[i]);
        }
}

/* r[verify hub.descriptor.elsewhere] */
static void what_a_dead_guest_left_in_its_doorbell_holds_up_nobody(void **state)
{
    (void)state;
    pretend(true);
    check(give_and_exit_once, RAPAHUB_TRUST_STANDARD, 1);
    check(give_and_exit_once, RAPAHUB_TRUST_TRUSTED, 16);
}

/* Only trusted guests may. r[verify hub.descriptor.elsewhere] */
static void what_is_kept_holds_up_nobody(void **state)
{
    (void)state;
    pretend(false);
    check(keep_once, RAPAHUB_TRUST_TRUSTED, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_doorbell_takes_no_descriptor),
        cmocka_unit_test(what_a_dead_guest_left_in_its_doorbell_holds_up_nobody),
        cmocka_unit_test(what_is_kept_holds_up_nobody),
    };

    if (!process_possible())
        return PROCESS_SKIPPED;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
