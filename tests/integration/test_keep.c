/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptors that a guest gives away for its next life: what outlives what, and what a guest that
 * sends anything else gets. */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <rapahub/upgrade.h>

#include "tests/integration/child.h"

static const char *const names[] = {"listener", "pipe", NULL};
enum { LISTENER, PIPE, NOBODY };

static void open_keeper(struct hosting *on, enum rapahub_trust trust, const char *const *keep)
{
    const struct rapahub_supervision how = {.keep_fds = keep};
    const struct rapahub_guest_options guest = {
        .chimod = MODULE("keeper"), .supervision = &how, .trust = trust};
    const struct rapahub_container_options container = {.id = here, .pool_name = "test"};

    open_host(on, (struct rapahub_host_options){0});
    assert_done(rapahub_host_spawn(on->host, &guest, &on->guest));
    assert_done(rapahub_host_add_container(on->host, on->guest, &container));
}

static int32_t kept(struct hosting *on, uint32_t which)
{
    int32_t fd = 0;

    assert_done(ask(on, "kept(u32) -> i32", (const void *const[]){&which, NULL}, &fd));
    return fd;
}

static int32_t give(struct hosting *on, uint32_t which, uint32_t value)
{
    int32_t r = 0;

    assert_done(ask(on, "give(u32, u32) -> i32", (const void *const[]){&which, &value, NULL}, &r));
    return r;
}

static uint64_t value(struct hosting *on, uint32_t which)
{
    uint64_t value = 0;

    assert_done(ask(on, "value(u32) -> u64", (const void *const[]){&which, NULL}, &value));
    return value;
}

/* Another life. */
static void end_life(struct hosting *on)
{
    unsigned ready = on->told.ready;

    assert_int_equal(ask(on, "crash()", NULL, NULL), RAPAHUB_EDIED);
    assert_true(until(on, &on->told.ready, ready + 1));
}

static int connect_to_keeper(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "rapahub-keeper-%d", getpid());
    if (fd >= 0 && connect(fd, (const struct sockaddr *)&address, sizeof address) < 0) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static unsigned open_descriptors(void)
{
    DIR *folder = opendir("/proc/self/fd");
    unsigned count = 0;

    assert_non_null(folder);
    while (readdir(folder))
        count++;
    closedir(folder);
    return count;
}

/* r[verify supervise.keep.hand] */
static void a_client_in_the_queue_is_served_by_the_next_life(void **state)
{
    int32_t pid = 0, served = 0;
    struct hosting on;
    int client;

    (void)state;
    open_keeper(&on, RAPAHUB_TRUST_TRUSTED, names);
    assert_int_equal(kept(&on, LISTENER), RAPAHUB_ENOENT);
    assert_done(ask(&on, "listen()", NULL, NULL));
    assert_int_equal(ask(&on, "crash()", NULL, NULL), RAPAHUB_EDIED);
    client = connect_to_keeper(); /* only the host has it open */
    assert_true(client >= 0);
    assert_true(until(&on, &on.told.ready, 2));
    assert_true(kept(&on, LISTENER) >= 9);
    assert_done(ask(&on, "serve() -> i32", NULL, &served));
    assert_int_equal(read(client, &pid, sizeof pid), sizeof pid);
    assert_int_equal(pid, served);
    assert_int_equal(pid, pid_of(&on));
    close(client);
    end_life(&on); /* and again in each life that follows */
    assert_true(kept(&on, LISTENER) >= 9);
    close_host(&on);
}

/* r[verify supervise.keep.end] */
static void who_comes_down_with_its_supervisor_keeps_it(void **state)
{
    const struct rapahub_supervision how = {.keep_fds = names};
    const struct rapahub_guest_options options = {
        .chimod = MODULE("keeper"), .supervision = &how, .trust = RAPAHUB_TRUST_TRUSTED};
    const struct rapahub_container_options container = {.id = here, .pool_name = "test"};
    const struct rapahub_supervisor_options group = {.name = "group",
                                                     .strategy = RAPAHUB_ONE_FOR_ALL};
    const struct rapahub_guest_options sibling = {.chimod = CALC};
    struct rapahub_child_id child, other_child;
    struct rapahub_child_status status;
    struct rapahub_supervisor *root, *supervisor;
    struct hosting on;

    (void)state;
    open_host(&on, (struct rapahub_host_options){0});
    assert_done(rapahub_host_supervisor(on.host, &root));
    assert_done(rapahub_supervisor_create(root, &group, &supervisor));
    assert_done(rapahub_supervisor_add(supervisor, &options, &child));
    assert_done(rapahub_supervisor_add(supervisor, &sibling, &other_child));
    assert_done(rapahub_child_add_container(on.host, child, &container));
    assert_done(rapahub_child_start(on.host, child, 10 * SECOND));
    assert_done(rapahub_child_start(on.host, other_child, 10 * SECOND));
    assert_int_equal(give(&on, PIPE, 7), 0);
    assert_done(rapahub_child_status(on.host, child, &status));
    assert_done(rapahub_child_restart(on.host, status.parent, 10 * SECOND));
    assert_int_equal(value(&on, PIPE), 7);
    close_host(&on);
}

/* r[verify supervise.keep.hand] r[verify supervise.keep.message] */
static void the_last_one_under_a_name_counts(void **state)
{
    uint32_t which = PIPE;
    struct hosting on;
    int32_t r;

    (void)state;
    open_keeper(&on, RAPAHUB_TRUST_TRUSTED, names);
    assert_int_equal(give(&on, PIPE, 5), 0);
    assert_int_equal(give(&on, LISTENER, 6), 0);
    assert_int_equal(give(&on, PIPE, 7), 0);
    assert_int_equal(give(&on, NOBODY, 8), RAPAHUB_EINVAL);
    assert_int_equal(kept(&on, NOBODY), RAPAHUB_EINVAL);
    assert_int_equal(kept(&on, PIPE), RAPAHUB_ENOENT); /* the next life has it */
    end_life(&on);
    assert_int_equal(value(&on, PIPE), 7);
    assert_int_equal(value(&on, LISTENER), 6);
    assert_done(ask(&on, "take_back(u32) -> i32", (const void *const[]){&which, NULL}, &r));
    assert_int_equal(r, 0);
    end_life(&on);
    assert_int_equal(kept(&on, PIPE), RAPAHUB_ENOENT);
    assert_int_equal(kept(&on, LISTENER), 9);
    assert_int_equal(on.told.violation, 0);
    close_host(&on);
}

/* r[verify supervise.keep.end] */
static void a_child_that_rests_keeps_nothing(void **state)
{
    struct rapahub_child_id child;
    struct hosting on;

    (void)state;
    open_keeper(&on, RAPAHUB_TRUST_TRUSTED, names);
    assert_done(rapahub_child_of(on.host, on.guest, &child));
    assert_done(ask(&on, "listen()", NULL, NULL));
    assert_done(rapahub_child_restart(on.host, child, 10 * SECOND));
    assert_true(kept(&on, LISTENER) >= 9); /* that is no rest */
    assert_done(rapahub_child_stop(on.host, child, 10 * SECOND));
    assert_int_equal(connect_to_keeper(), -1);
    assert_done(rapahub_child_start(on.host, child, 10 * SECOND));
    assert_int_equal(kept(&on, LISTENER), RAPAHUB_ENOENT);
    assert_done(ask(&on, "listen()", NULL, NULL));
    assert_done(rapahub_child_close(on.host, child, 10 * SECOND));
    assert_int_equal(connect_to_keeper(), -1);
    close_host(&on);
}

/* r[verify supervise.keep.upgrade] */
static void the_next_version_has_them_too(void **state)
{
    const struct rapahub_upgrade_options options = {.chimod = MODULE("keeper_next")};
    struct rapahub_upgrade_result result;
    struct hosting on;

    (void)state;
    open_keeper(&on, RAPAHUB_TRUST_TRUSTED, names);
    assert_done(ask(&on, "listen()", NULL, NULL));
    assert_int_equal(give(&on, PIPE, 5), 0);
    assert_done(rapahub_host_upgrade(on.host, on.guest, &options, &result));
    assert_string_equal(result.version_after, "2.0");
    assert_true(kept(&on, LISTENER) >= 9);
    assert_int_equal(value(&on, PIPE), 5);
    end_life(&on); /* it had given another one before it took over */
    assert_true(kept(&on, LISTENER) >= 9);
    assert_int_equal(value(&on, PIPE), 77);
    close_host(&on);
}

/* r[verify supervise.keep.bounds] */
static void a_flood_costs_one_descriptor(void **state)
{
    struct hosting on;
    unsigned before;
    uint32_t sent;

    (void)state;
    open_keeper(&on, RAPAHUB_TRUST_TRUSTED, names);
    assert_int_equal(give(&on, PIPE, 5), 0);
    while (rapahub_host_dispatch(on.host, 0) > 0)
        continue;
    before = open_descriptors();
    for (unsigned i = 0; i < 20; i++) {
        assert_done(ask(&on, "flood() -> u32", NULL, &sent));
        assert_true(sent > 0); /* the earlier messages were received */
        assert_true(rapahub_host_dispatch(on.host, 10) >= 0);
        assert_in_range(open_descriptors(), before, before);
    }
    end_life(&on);
    assert_int_equal(kept(&on, PIPE), 9);
    assert_int_equal(on.told.violation, 0);
    close_host(&on);
}

/* It is killed; what it gave before is still handed on. r[verify supervise.keep.message] */
static void what_breaks_the_rule_ends_its_sender(void **state)
{
    static const struct {
        const char *name;
        uint32_t descriptors;
    } wrong[] = {{"nobody", 1}, {"pipe", 8}, {"two words", 1}};
    struct hosting on;
    unsigned before;

    (void)state;
    open_keeper(&on, RAPAHUB_TRUST_TRUSTED, names);
    assert_int_equal(give(&on, LISTENER, 3), 0);
    end_life(&on);
    before = open_descriptors();
    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const struct rapahub_string name = {wrong[i].name, strlen(wrong[i].name)};
        unsigned ready = on.told.ready;
        int r = ask(&on, "raw(string, u32)",
                    (const void *const[]){&name, &wrong[i].descriptors, NULL}, NULL);

        /* depending on the state in which its owner finds it */
        assert_true(r == 0 || r == RAPAHUB_EPROTOCOL);
        assert_true(until(&on, &on.told.violation, i + 1));
        assert_true(until(&on, &on.told.ready, ready + 1));
        assert_true(kept(&on, LISTENER) >= 9);
        assert_int_equal(kept(&on, PIPE), RAPAHUB_ENOENT);
        assert_in_range(open_descriptors(), before, before);
    }
    assert_non_null(strstr(on.told.text, "supervise.keep.message"));
    close_host(&on);
}

/* r[verify supervise.lint.keep] */
static void names_that_are_none_are_refused(void **state)
{
    static const char *const many[] = {"1",  "2",  "3",  "4",  "5",  "6",  "7",  "8",  "9",
                                       "10", "11", "12", "13", "14", "15", "16", "17", NULL};
    static const char *const none[] = {NULL}, *const twice[] = {"a", "b", "a", NULL},
                             *const colon[] = {"a:9", NULL}, *const empty[] = {"", NULL};
    const char *const *const wrong[] = {many, none, twice, colon, empty, names};
    struct hosting on;

    (void)state;
    open_host(&on, (struct rapahub_host_options){0});
    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const struct rapahub_supervision how = {.keep_fds = wrong[i]};
        const struct rapahub_guest_options guest = {
            .chimod = MODULE("keeper"),
            .supervision = &how,
            .trust = wrong[i] == names ? RAPAHUB_TRUST_STANDARD : RAPAHUB_TRUST_TRUSTED};

        assert_int_equal(rapahub_host_spawn(on.host, &guest, &on.guest), RAPAHUB_EINVAL);
        assert_string_equal(rapahub_last_error()->rule, "supervise.lint.keep");
    }
    close_host(&on);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_client_in_the_queue_is_served_by_the_next_life),
        cmocka_unit_test(who_comes_down_with_its_supervisor_keeps_it),
        cmocka_unit_test(the_last_one_under_a_name_counts),
        cmocka_unit_test(a_child_that_rests_keeps_nothing),
        cmocka_unit_test(the_next_version_has_them_too),
        cmocka_unit_test(a_flood_costs_one_descriptor),
        cmocka_unit_test(what_breaks_the_rule_ends_its_sender),
        cmocka_unit_test(names_that_are_none_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
