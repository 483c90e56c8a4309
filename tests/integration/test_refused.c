/* SPDX-License-Identifier: Apache-2.0 */
/* Guests that the host did not start and does not take, and hosts that cannot be where they want:
 * each is told why, with the rule. */
#include <fcntl.h>

#include "tests/integration/visiting.h"

static void check_refused(const char *path, const char *module, int status, const char *words)
{
    struct process_result result;
    struct anonymous_guest anonymous_guest;

    send_anonymous_guest(&anonymous_guest, path, module);
    assert_int_equal(process_finish(&anonymous_guest.process, &result), 0);
    if (result.status != status || !strstr(result.err, words))
        print_error("%d: %s", result.status, result.err);
    assert_int_equal(result.status, status);
    assert_non_null(strstr(result.err, words));
    process_result_fini(&result);
}

/* r[verify shm.guest.attach-failure] */
static void a_full_table_refuses_one_more(void **state)
{
    struct rapahub_host_options options = small;
    struct anonymous_guest anonymous_guest;
    struct hosting on;

    (void)state;
    options.guests_max = 1;
    open_host(&on, options);
    take_in(&on, &anonymous_guest);
    check_refused(rapahub_host_path(on.host), CALC, 70, "rule shm.guest.attach-failure");
    assert_done(rapahub_host_stop(on.host, on.told.guest));
    assert_int_equal(end_of(&anonymous_guest), 0);
    close_host(&on);
}

/* Found as a stranger would: by looking what the guest of another has mapped. */
static void find_segment(struct hosting *on, char *to, size_t size)
{
    char path[64], line[512], *at = NULL;
    FILE *maps;

    snprintf(path, sizeof path, "/proc/%d/maps", (int)pid_of(on));
    maps = fopen(path, "re");
    assert_non_null(maps);
    while (!at && fgets(line, sizeof line, maps))
        at = strstr(line, "/dev/shm/");
    fclose(maps);
    assert_non_null(at);
    snprintf(to, size, "%.*s", (int)strcspn(at, "\n"), at);
}

/* r[verify hub.file.lock] */
static void a_host_without_the_option_takes_nobody(void **state)
{
    const struct rapahub_guest_options trusted = {.chimod = CALC, .trust = RAPAHUB_TRUST_TRUSTED};
    const struct rapahub_container_options container = {.id = here, .pool_name = "test"};
    struct rapahub_host_options options = small;
    struct hosting on;
    char path[256];
    int64_t sum;

    (void)state;
    options.anonymous = false;
    open_host(&on, options);
    assert_null(rapahub_host_path(on.host));
    assert_done(rapahub_host_spawn(on.host, &trusted, &on.guest));
    assert_done(rapahub_host_add_container(on.host, on.guest, &container));
    find_segment(&on, path, sizeof path);
    check_refused(path, CALC, 70, "option anonymous is off");
    assert_done(add(&on, 1, 2, &sum));
    close_host(&on);
}

/* A thread of the library looks after it: a guest that says goodbye is heard. */
static void what_cannot_be_loaded_is_told_to_who_started_it(void **state)
{
    struct rapahub_host_options options = small;
    struct hosting on;

    (void)state;
    options.own_thread = true;
    open_host(&on, options);
    check_refused(rapahub_host_path(on.host), "/nowhere/module.so", 70, "cannot open");
    check_refused(rapahub_host_path(on.host), "--nothing", 64, "no module is named");
    check_refused("/nowhere/hub", CALC, 70, "cannot open the segment");
    check_refused(rapahub_host_path(on.host), MODULE("no_symbol"), 70, "RAPAHUB_ELOAD");
    close_host(&on);
    assert_int_equal(on.told.attached, 0);
}

/* Guests with and without a ticket live side by side. */
static void spawned_guests_share_the_segment_with_it(void **state)
{
    const struct rapahub_guest_options trusted = {.chimod = CALC, .trust = RAPAHUB_TRUST_TRUSTED};
    const struct rapahub_container_options other = {.id = {.pool = {9, 0}}, .pool_name = "other"};
    struct rapahub_guest_id spawned;
    struct anonymous_guest anonymous_guest;
    struct hosting on;
    int64_t sum;

    (void)state;
    open_small(&on);
    assert_done(rapahub_host_spawn(on.host, &trusted, &spawned));
    assert_done(rapahub_host_add_container(on.host, spawned, &other));
    take_in(&on, &anonymous_guest);
    assert_int_equal(on.told.guest.peer, 2);
    assert_int_equal(on.told.guest.group, spawned.group);
    assert_done(rapahub_host_kill(on.host, spawned));
    assert_true(until(&on, &on.told.ready, 2));
    assert_done(add(&on, 1, 2, &sum));
    assert_done(rapahub_host_stop(on.host, on.told.guest));
    process_kill(&anonymous_guest.process, SIGTERM);
    assert_true(until(&on, &on.told.down, 3));
    assert_int_equal(end_of(&anonymous_guest), 0);
    close_host(&on);
}

/* ---- where its segment lies ---- */

/* r[verify shm.file.create] r[verify shm.file.path] */
static void two_hosts_have_not_one_path(void **state)
{
    struct rapahub_host_options options = small;
    struct rapahub_host *second = NULL;
    struct anonymous_guest anonymous_guest;
    struct hosting on;
    char path[64];

    (void)state;
    snprintf(path, sizeof path, "/dev/shm/test-anonymous-%d", (int)getpid());
    options.path = path;
    open_host(&on, options);
    assert_string_equal(rapahub_host_path(on.host), path);
    assert_refused(rapahub_host_create(&options, &second), RAPAHUB_EEXIST, "another host's");
    assert_string_equal(rapahub_last_error()->rule, "shm.file.create");
    assert_null(second);
    take_in(&on, &anonymous_guest);
    assert_done(rapahub_host_stop(on.host, on.told.guest));
    assert_int_equal(end_of(&anonymous_guest), 0);
    close_host(&on);
    assert_int_equal(access(path, F_OK), -1);
}

/* r[verify shm.file.cleanup] */
static void a_dead_host_s_path_can_be_had_again_and_nothing_else(void **state)
{
    struct rapahub_host_options options = small;
    struct rapahub_host *host = NULL;
    struct other_host other;
    int fd;

    (void)state;
    start_other_host(&other);
    options.path = other.path;
    assert_refused(rapahub_host_create(&options, &host), RAPAHUB_EEXIST, "another host's");
    kill_other_host(&other);
    assert_done(rapahub_host_create(&options, &host));
    rapahub_host_destroy(host);
    snprintf(other.path, sizeof other.path, "/dev/shm/test-anonymous-%d", (int)getpid());
    fd = open(other.path, O_CREAT | O_RDWR | O_CLOEXEC, 0600); /* a file of another owner */
    assert_int_equal(ftruncate(fd, 4096), 0);
    close(fd);
    assert_refused(rapahub_host_create(&options, &host), RAPAHUB_EEXIST, "no segment at all");
    assert_int_equal(unlink(other.path), 0);
    options.anonymous = false;
    assert_refused(rapahub_host_create(&options, &host), RAPAHUB_EINVAL, "anonymous");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_full_table_refuses_one_more),
        cmocka_unit_test(a_host_without_the_option_takes_nobody),
        cmocka_unit_test(what_cannot_be_loaded_is_told_to_who_started_it),
        cmocka_unit_test(spawned_guests_share_the_segment_with_it),
        cmocka_unit_test(two_hosts_have_not_one_path),
        cmocka_unit_test(a_dead_host_s_path_can_be_had_again_and_nothing_else),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
