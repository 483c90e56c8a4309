/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/resource.h>

#include "host/process/fd_store.h"
#include "host/process/guest.h"
#include "host/process/process.h"
#include "hub/base/closer.h"
#include "hub/shm/fd_store.h"
#include "tests/support/faults.h"
#include "tests/unit/link/pair.h"

static const char *const two_names[] = {"listener", "state", NULL};

struct rig {
    struct host_process host;
    struct pair pair;
    struct host_guest guest;
    struct host_life life;
    int end; /* the guest's end of the socket */
};

static struct rig *open_rig(void)
{
    const struct rapahub_supervision how = {.keep_fds = two_names};
    const struct hub_limits limits = pair_limits();
    struct rig *rig = test_calloc(1, sizeof *rig);

    pair_open(&rig->pair, &limits, 0);
    assert_int_equal(host_loop_init(&rig->host.owner.loop, 4), 0);
    assert_int_equal(hub_closer_create(&rig->host.closer), 0);
    assert_int_equal(host_fd_store_create(&how, rig->host.closer, &rig->guest.keep), 0);
    rig->guest.host = rig->life.host = &rig->host;
    rig->life.guest = &rig->guest;
    rig->life.loop = &rig->host.owner.loop;
    rig->life.on_keep.fd = -1;
    rig->life.connection.link = rig->pair.host.connection.link;
    assert_int_equal(host_fd_store_open(&rig->life, &rig->end), 0);
    assert_int_equal(host_fd_store_watch(&rig->life), 0);
    return rig;
}

static void close_rig(struct rig *rig)
{
    host_fd_store_close(&rig->life);
    host_fd_store_release(&rig->guest.keep);
    close(rig->end);
    hub_closer_release(&rig->host.closer);
    host_loop_fini(&rig->host.owner.loop);
    pair_close(&rig->pair);
    test_free(rig);
}

static void turn(struct rig *rig)
{
    assert_true(host_loop_turn(&rig->host.owner.loop, 1000) >= 0);
}

/* Stores a new descriptor with this number inside; -1: withdraws the stored one. */
static void give(struct rig *rig, const char *name, int number)
{
    int fd = number < 0 ? -1 : eventfd((unsigned)number, EFD_CLOEXEC);

    assert_int_equal(hub_fd_store_send(rig->end, name, fd), 0);
    if (fd >= 0)
        close(fd);
}

/* The number inside the only stored descriptor; -1: there is none. */
static int stored(const struct host_fd_store *keep)
{
    int fds[HUB_FD_STORE_NAMES_MAX];
    eventfd_t number = 0;

    if (host_fd_store_descriptors(keep, fds) == 0)
        return -1;
    assert_int_equal(eventfd_read(fds[0], &number), 0);
    assert_int_equal(eventfd_write(fds[0], number), 0);
    return (int)number;
}

static int check(const char *const *names, enum rapahub_trust trust)
{
    const struct rapahub_supervision how = {.keep_fds = names};
    const struct rapahub_guest_options options = {.supervision = &how, .trust = trust};

    return host_fd_store_check(&options);
}

/* r[verify supervise.lint.keep] */
static void names_are_checked_before_there_is_a_guest(void **state)
{
    const char *many[HUB_FD_STORE_NAMES_MAX + 2] = {NULL};
    char names[HUB_FD_STORE_NAMES_MAX + 1][16];

    (void)state;
    for (int i = 0; i < HUB_FD_STORE_NAMES_MAX; i++) {
        snprintf(names[i], sizeof names[i], "%d", i);
        many[i] = names[i];
    }
    assert_int_equal(check(NULL, RAPAHUB_TRUST_TRUSTED), 0);
    assert_int_equal(check(many, RAPAHUB_TRUST_TRUSTED), 0);
    many[HUB_FD_STORE_NAMES_MAX] = "17th";
    assert_int_equal(check(many, RAPAHUB_TRUST_TRUSTED), RAPAHUB_EINVAL);
    assert_string_equal(rapahub_last_error()->rule, "supervise.lint.keep");
    assert_int_equal(check((const char *[]){NULL}, RAPAHUB_TRUST_TRUSTED), RAPAHUB_EINVAL);
    assert_int_equal(check((const char *[]){"a", "a", NULL}, RAPAHUB_TRUST_TRUSTED),
                     RAPAHUB_EINVAL);
    assert_int_equal(check((const char *[]){"a:3", NULL}, RAPAHUB_TRUST_TRUSTED), RAPAHUB_EINVAL);
}

/* Its host would hold what it chose. r[verify supervise.lint.keep] */
static void a_guest_that_is_not_trusted_stores_nothing(void **state)
{
    (void)state;
    assert_int_equal(check(two_names, RAPAHUB_TRUST_STANDARD), RAPAHUB_EINVAL);
    assert_int_equal(check(NULL, RAPAHUB_TRUST_STANDARD), 0);
}

static void assert_arguments(const struct host_fd_store *keep, const char *first,
                             const char *second)
{
    char *arguments[HOST_FD_STORE_ARGUMENTS] = {NULL};

    assert_int_equal(host_fd_store_arguments(keep, (struct host_fd_store_numbers){5, 9}, arguments),
                     0);
    assert_string_equal(arguments[0], "--keep-fd=5");
    assert_string_equal(arguments[1], first);
    assert_string_equal(arguments[2], second);
    assert_null(arguments[3]);
    for (int i = 0; i < 3; i++)
        free(arguments[i]);
}

/* r[verify supervise.keep.hand] */
static void a_new_life_is_told_the_number_of_each_stored_descriptor(void **state)
{
    struct rig *rig = open_rig();
    int fds[HUB_FD_STORE_NAMES_MAX];

    (void)state;
    assert_arguments(rig->guest.keep, "--keep=listener", "--keep=state");
    give(rig, "state", 7);
    turn(rig);
    assert_arguments(rig->guest.keep, "--keep=listener", "--keep=state:9");
    assert_int_equal(host_fd_store_descriptors(rig->guest.keep, fds), 1);
    give(rig, "listener", 6);
    turn(rig);
    assert_arguments(rig->guest.keep, "--keep=listener:9", "--keep=state:10");
    assert_int_equal(host_fd_store_descriptors(rig->guest.keep, fds), 2);
    assert_int_equal(host_fd_store_arguments(NULL, (struct host_fd_store_numbers){5, 9}, NULL), 0);
    close_rig(rig);
}

/* r[verify supervise.keep.bounds] */
static void the_last_descriptor_of_a_name_counts_and_the_one_before_is_closed(void **state)
{
    struct rig *rig = open_rig();
    int fds[HUB_FD_STORE_NAMES_MAX], before;

    (void)state;
    give(rig, "state", 7);
    turn(rig);
    assert_int_equal(stored(rig->guest.keep), 7);
    assert_int_equal(host_fd_store_descriptors(rig->guest.keep, fds), 1);
    before = fds[0];
    give(rig, "state", 8);
    turn(rig);
    assert_int_equal(host_fd_store_descriptors(rig->guest.keep, fds), 1);
    assert_int_equal(stored(rig->guest.keep), 8);
    assert_int_equal(fcntl(before, F_GETFD), -1);
    give(rig, "state", -1);
    turn(rig);
    assert_int_equal(stored(rig->guest.keep), -1);
    assert_int_equal(fcntl(fds[0], F_GETFD), -1);
    close_rig(rig);
}

/* r[verify supervise.keep.bounds] */
static void a_name_that_was_not_agreed_ends_the_link(void **state)
{
    struct rig *rig = open_rig();

    (void)state;
    give(rig, "other", 7);
    give(rig, "state", 8);
    turn(rig);
    assert_int_equal(stored(rig->guest.keep), -1);
    assert_true(hub_link_closed(rig->life.connection.link));
    assert_string_equal(hub_link_rule(rig->life.connection.link), "supervise.keep.message");
    assert_int_equal(rig->life.on_keep.fd, -1);
    close_rig(rig);
}

static void an_end_of_the_socket_is_no_fault(void **state)
{
    struct rig *rig = open_rig();

    (void)state;
    give(rig, "state", 7);
    close(rig->end);
    rig->end = -1;
    turn(rig);
    assert_int_equal(stored(rig->guest.keep), 7);
    assert_int_equal(rig->life.on_keep.fd, -1);
    assert_false(hub_link_closed(rig->life.connection.link));
    close_rig(rig);
}

/* r[verify supervise.keep.bounds] */
static void other_work_comes_between_many_messages(void **state)
{
    struct rig *rig = open_rig();
    int turns = 0;

    (void)state;
    for (int i = 1; i <= 40; i++)
        give(rig, "state", i);
    for (; stored(rig->guest.keep) != 40 && turns < 40; turns++)
        turn(rig);
    assert_in_range(turns, 2, 4);
    for (int i = 41; i <= 80; i++)
        give(rig, "state", i);
    host_fd_store_hear(&rig->life); /* of a dead life all is taken at once */
    assert_int_equal(stored(rig->guest.keep), 80);
    close_rig(rig);
}

/* The host's standard input may be closed. */
static void the_socket_may_have_any_number(void **state)
{
    struct rig *rig = open_rig();
    struct host_loop *loop = &rig->host.owner.loop;
    int input = dup(0);

    (void)state;
    assert_true(input > 0);
    host_loop_unwatch(loop, &rig->life.on_keep);
    assert_int_equal(dup2(rig->life.on_keep.fd, 0), 0);
    close(rig->life.on_keep.fd);
    rig->life.on_keep.fd = 0;
    give(rig, "state", 7);
    host_fd_store_hear(&rig->life);
    assert_int_equal(stored(rig->guest.keep), 7);
    close_rig(rig);
    assert_int_equal(dup2(input, 0), 0);
    close(input);
}

/* From here on this process may open no more descriptors, but for `rlimit`. */
static struct rlimit use_up_numbers(void)
{
    int next = dup(0);
    struct rlimit before, none;

    assert_true(next >= 0);
    close(next);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = before;
    none.rlim_cur = (rlim_t)next;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    return before;
}

static void a_descriptor_without_a_free_number_waits_in_the_socket(void **state)
{
    struct rig *rig = open_rig();
    struct rlimit before;

    (void)state;
    give(rig, "listener", 1); /* the closer has its thread and its descriptors */
    give(rig, "listener", -1);
    turn(rig);
    give(rig, "state", 7);
    before = use_up_numbers();
    turn(rig);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(stored(rig->guest.keep), -1);
    assert_true(rig->life.on_keep.number == 0); /* the loop would come back at once */
    turn(rig);                                  /* a tenth of a second later */
    assert_int_equal(stored(rig->guest.keep), 7);
    assert_true(rig->life.on_keep.number != 0);
    close_rig(rig);
}

/* r[verify supervise.keep.end] */
static void a_stopped_child_keeps_its_names_only(void **state)
{
    struct rig *rig = open_rig();
    int fds[HUB_FD_STORE_NAMES_MAX];

    (void)state;
    give(rig, "state", 7);
    turn(rig);
    assert_int_equal(host_fd_store_descriptors(rig->guest.keep, fds), 1);
    host_fd_store_drop(rig->guest.keep);
    assert_int_equal(fcntl(fds[0], F_GETFD), -1);
    assert_arguments(rig->guest.keep, "--keep=listener", "--keep=state");
    host_fd_store_drop(NULL);
    close_rig(rig);
}

/* r[verify supervise.keep.upgrade] */
static void a_guest_gets_from_its_successor_only_what_that_has_stored_itself(void **state)
{
    struct rig *rig = open_rig(), *next = open_rig();

    (void)state;
    give(rig, "state", 7);
    turn(rig);
    host_fd_store_release(&next->guest.keep);
    assert_int_equal(host_fd_store_copy(rig->guest.keep, &next->guest.keep), 0);
    assert_int_equal(stored(next->guest.keep), 7);
    give(rig, "state", 8); /* meanwhile */
    turn(rig);
    host_fd_store_change_over(&rig->guest, &next->guest);
    assert_int_equal(stored(rig->guest.keep), 8);
    assert_int_equal(stored(next->guest.keep), 7);
    give(next, "state", 9);
    turn(next);
    host_fd_store_change_over(&rig->guest, &next->guest);
    assert_int_equal(stored(rig->guest.keep), 9);
    assert_int_equal(stored(next->guest.keep), -1);
    close_rig(next);
    close_rig(rig);
}

static void a_guest_without_names_has_no_socket(void **state)
{
    const struct rapahub_supervision none = {.keep_fds = NULL};
    struct host_fd_store *keep = NULL;
    struct rig *rig = open_rig();
    int end = -1;

    (void)state;
    assert_int_equal(host_fd_store_create(&none, rig->host.closer, &keep), 0);
    assert_int_equal(host_fd_store_copy(NULL, &keep), 0);
    assert_null(keep);
    host_fd_store_close(&rig->life);
    host_fd_store_release(&rig->guest.keep);
    assert_int_equal(host_fd_store_open(&rig->life, &end), 0);
    assert_int_equal(end, -1);
    assert_int_equal(host_fd_store_watch(&rig->life), 0);
    assert_true(rig->life.on_keep.number == 0);
    host_fd_store_hear(&rig->life);
    close_rig(rig);
}

static void without_memory_nothing_is_made(void **state)
{
    const struct rapahub_supervision how = {.keep_fds = two_names};
    struct host_fd_store *keep = NULL;
    struct rig *rig = open_rig();

    (void)state;
    faults_arm(FAULTS_calloc, 1);
    assert_int_equal(host_fd_store_create(&how, rig->host.closer, &keep), RAPAHUB_ENOMEM);
    assert_true(faults_disarm());
    assert_null(keep);
    faults_arm(FAULTS_calloc, 1);
    assert_int_equal(host_fd_store_copy(rig->guest.keep, &keep), RAPAHUB_ENOMEM);
    assert_true(faults_disarm());
    assert_null(keep);
    close_rig(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_checked_before_there_is_a_guest),
        cmocka_unit_test(a_guest_that_is_not_trusted_stores_nothing),
        cmocka_unit_test(a_new_life_is_told_the_number_of_each_stored_descriptor),
        cmocka_unit_test(the_last_descriptor_of_a_name_counts_and_the_one_before_is_closed),
        cmocka_unit_test(a_name_that_was_not_agreed_ends_the_link),
        cmocka_unit_test(an_end_of_the_socket_is_no_fault),
        cmocka_unit_test(other_work_comes_between_many_messages),
        cmocka_unit_test(the_socket_may_have_any_number),
        cmocka_unit_test(a_descriptor_without_a_free_number_waits_in_the_socket),
        cmocka_unit_test(a_stopped_child_keeps_its_names_only),
        cmocka_unit_test(a_guest_gets_from_its_successor_only_what_that_has_stored_itself),
        cmocka_unit_test(a_guest_without_names_has_no_socket),
        cmocka_unit_test(without_memory_nothing_is_made),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
