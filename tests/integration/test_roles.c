/* SPDX-License-Identifier: Apache-2.0 */
/* Roles of guests in regions of their host: had before the container begins, given back after a
 * death, lost by a guest that does not come again. */
#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "tests/integration/linking.h"

static const struct rapahub_role producer[] = {
    {.name = "out", .region = "news", .kind = RAPAHUB_REGION_ROLE_PRODUCER}, {.name = NULL}};
static const struct rapahub_role consumer[] = {
    {.name = "in", .region = "news", .kind = RAPAHUB_REGION_ROLE_CONSUMER}, {.name = NULL}};

static void open_news_with(struct hosting *on, enum rapahub_region_kind kind,
                           struct rapahub_host_options how)
{
    const struct rapahub_host_region_options options = {.region = {.kind = kind, .cells = 64},
                                                        .route = kind == RAPAHUB_REGION_FANOUT};

    open_host(on, how);
    make_region(on, "news", options);
}

static void open_news(struct hosting *on, enum rapahub_region_kind kind)
{
    open_news_with(on, kind, (struct rapahub_host_options){0});
}

/* r[verify supervise.role.grant] r[verify supervise.role.holder] r[verify supervise.role.region] */
static void a_guest_pushes_and_another_one_pops(void **state)
{
    struct rapahub_guest_id one, two;
    struct hosting on;

    (void)state;
    open_news(&on, RAPAHUB_REGION_SPSC);
    assert_done(start_with(&on, 1, "writer", producer, &one));
    assert_done(start_with(&on, 2, "reader", consumer, &two));
    for (uint64_t i = 0; i < 100; i++) {
        assert_done(push_to(&on, 1, i));
        assert_int_equal(number_of(&on, 2, "pop() -> i64"), i);
    }
    assert_listed(&on, "news", "writer out 0 active; reader in 0 active; ");
    close_host(&on);
}

/* r[verify supervise.role.ready] */
static void nothing_is_given_before_ready(void **state)
{
    struct rapahub_guest_id one, two;
    struct hosting on;
    int32_t at_init = 0;

    (void)state;
    open_news(&on, RAPAHUB_REGION_SPSC);
    assert_done(start_with(&on, 1, "writer", producer, &one));
    assert_done(push_to(&on, 1, 7));
    assert_done(start_with(&on, 2, "reader", consumer, &two));
    assert_done(ask_of(&on, 2, "at_init() -> i32", NULL, &at_init));
    assert_int_equal(at_init, RAPAHUB_EEMPTY);
    assert_int_equal(number_of(&on, 2, "pop() -> i64"), 7);
    close_host(&on);
}

/* r[verify supervise.role.again] r[verify supervise.role.kept] r[verify supervise.role.suspended]
 */
static void each_side_comes_back_with_its_role(void **state)
{
    struct rapahub_guest_id one, two;
    struct hosting on;
    uint64_t next = 0, sent = 0;

    (void)state;
    open_news(&on, RAPAHUB_REGION_FANOUT);
    assert_done(start_with(&on, 2, "reader", consumer, &two));
    assert_done(start_with(&on, 1, "writer", producer, &one));
    for (unsigned round = 0; round < 10; round++) {
        for (unsigned i = 0; i < 3; i++)
            assert_done(push_to(&on, 1, sent++));
        end_life_of(&on, 2);
        end_life_of(&on, 1);
        assert_done(push_to(&on, 1, sent++));
        while (next < sent)
            assert_int_equal(number_of(&on, 2, "pop() -> i64"), next++);
        assert_int_equal(number_of(&on, 2, "index_of() -> i64"), 0);
        assert_listed(&on, "news", "reader in 0 active; writer out 0 active; ");
    }
    close_host(&on);
}

/* r[verify supervise.role.again] */
static void a_state_has_its_writer_again(void **state)
{
    static const struct rapahub_role roles[] = {
        {.name = "board", .region = "board", .kind = RAPAHUB_REGION_ROLE_WRITER},
        {.name = "view", .region = "board", .kind = RAPAHUB_REGION_ROLE_READER},
        {.name = NULL}};
    struct rapahub_guest_id one;
    struct hosting on;
    uint64_t value;

    (void)state;
    open_host(&on, (struct rapahub_host_options){0});
    make_region(
        &on, "board",
        (struct rapahub_host_region_options){.region = {.kind = RAPAHUB_REGION_STATE_LATCH}});
    assert_done(start_with(&on, 1, "board", roles, &one));
    assert_int_equal(number_of(&on, 1, "get() -> i64"), RAPAHUB_EEMPTY);
    for (value = 1; value < 6; value++) {
        assert_done(ask_of(&on, 1, "set(u64)", (const void *const[]){&value, NULL}, NULL));
        end_life_of(&on, 1);
        assert_int_equal(number_of(&on, 1, "get() -> i64"), value);
    }
    close_host(&on);
}

/* r[verify supervise.role.grant] */
static void any_is_the_first_free_index_in_all_lives(void **state)
{
    static const struct rapahub_role any[] = {{.name = "in",
                                               .region = "news",
                                               .kind = RAPAHUB_REGION_ROLE_CONSUMER,
                                               .index = RAPAHUB_ROLE_ANY},
                                              {.name = NULL}};
    struct rapahub_guest_id guest;
    struct hosting on;

    (void)state;
    open_host(&on, (struct rapahub_host_options){0});
    make_region(&on, "news",
                (struct rapahub_host_region_options){
                    .region = {.kind = RAPAHUB_REGION_FANOUT, .consumers = 3}, .route = true});
    assert_done(start_with(&on, 1, "first", consumer, &guest));
    assert_done(start_with(&on, 2, "second", any, &guest));
    assert_done(start_with(&on, 3, "third", any, &guest));
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(number_of(&on, 2, "index_of() -> i64"), 1);
        assert_int_equal(number_of(&on, 3, "index_of() -> i64"), 2);
        end_life_of(&on, i % 2 ? 2 : 3);
    }
    assert_refused(start_with(&on, 4, "fourth", any, &guest), RAPAHUB_EROLETAKEN, "no index left");
    close_host(&on);
}

static int note_subscribed(void *user, const struct rapahub_region_queue *queue)
{
    *(int *)user = queue->subscribed;
    return 0;
}

static bool is_subscribed(const char *region)
{
    int subscribed = -1;

    assert_done(rapahub_region_queues(region, false, note_subscribed, &subscribed));
    return subscribed == 1;
}

/* r[verify supervise.role.gone] r[verify supervise.role.region] */
static void a_guest_that_is_stopped_loses_its_subscription(void **state)
{
    struct rapahub_host_region_options options = {
        .region = {.kind = RAPAHUB_REGION_FANOUT, .cells = 64}, .route = true, .persistent = true};
    struct rapahub_role in = {.name = "in", .kind = RAPAHUB_REGION_ROLE_CONSUMER};
    struct rapahub_guest_id guest;
    struct hosting on;
    char name[64];

    (void)state;
    snprintf(name, sizeof name, "test-roles-%d", getpid());
    in.region = name;
    open_host(&on, (struct rapahub_host_options){0});
    make_region(&on, name, options);
    assert_done(
        start_with(&on, 2, "reader", (const struct rapahub_role[]){in, {.name = NULL}}, &guest));
    assert_true(is_subscribed(name));
    end_life_of(&on, 2);
    assert_true(is_subscribed(name));
    assert_done(rapahub_host_stop(on.host, on.told.guest));
    assert_false(is_subscribed(name));
    assert_listed(&on, name, "");
    assert_done(
        start_with(&on, 3, "other", (const struct rapahub_role[]){in, {.name = NULL}}, &guest));
    assert_true(is_subscribed(name));
    close_host(&on);
    assert_false(is_subscribed(name));
    assert_done(rapahub_region_remove(name, 0));
}

/* A role that a guest cannot have: the start says why. r[verify supervise.role.checked] */
static void a_role_that_cannot_be_is_refused(void **state)
{
    static const struct {
        struct rapahub_role role;
        int code;
        const char *words;
    } cases[] = {
        {{.name = "out", .region = "olds", .kind = RAPAHUB_REGION_ROLE_PRODUCER},
         RAPAHUB_ENOENT,
         "no region 'olds'"},
        {{.name = "out", .region = "news", .kind = RAPAHUB_REGION_ROLE_WRITER},
         RAPAHUB_EBADKIND,
         "has no writer"},
        {{.name = "out", .region = "news", .kind = RAPAHUB_REGION_ROLE_ROUTER},
         RAPAHUB_EINVAL,
         "is of kind"},
        {{.name = "out", .region = "news", .kind = RAPAHUB_REGION_ROLE_CONSUMER, .index = 1},
         RAPAHUB_EINVAL,
         "wants index 1"},
        {{.name = "out", .region = "news", .kind = RAPAHUB_REGION_ROLE_PRODUCER},
         RAPAHUB_EROLETAKEN,
         "already"},
        {{.name = "a b", .region = "news", .kind = RAPAHUB_REGION_ROLE_PRODUCER},
         RAPAHUB_EINVAL,
         "no name of a role"},
        {{.name = "out", .kind = RAPAHUB_REGION_ROLE_PRODUCER}, RAPAHUB_EINVAL, "names no region"},
    };
    struct rapahub_guest_id guest;
    struct hosting on;

    (void)state;
    open_news(&on, RAPAHUB_REGION_SPSC);
    assert_done(start_with(&on, 1, "writer", producer, &guest));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct rapahub_role roles[] = {cases[i].role, {.name = NULL}};

        assert_refused(start_with(&on, 2, "other", roles, &guest), cases[i].code, cases[i].words);
    }
    assert_listed(&on, "news", "writer out 0 active; ");
    close_host(&on);
}

/* r[verify supervise.role.private] */
static void a_guest_that_is_not_trusted_has_no_role(void **state)
{
    const struct rapahub_container_options container = {
        .id = here, .pool_name = "test", .roles = producer};
    const struct rapahub_guest_options options = {.chimod = LINKS, .container = &container};
    struct rapahub_guest_id guest;
    struct hosting on;

    (void)state;
    open_news(&on, RAPAHUB_REGION_SPSC);
    assert_refused(rapahub_host_spawn(on.host, &options, &guest), RAPAHUB_ENOTSUP,
                   "start it with trust 'trusted'");
    assert_done(start(&on, LINKS, here, NULL));
    assert_refused(rapahub_host_add_container(
                       on.host, on.guest,
                       &(struct rapahub_container_options){
                           .id = container_of(9), .pool_name = "test", .roles = producer}),
                   RAPAHUB_ENOTSUP, "start it with trust 'trusted'");
    close_host(&on);
}

/* Another process has the role: the start fails, with its class and its step, and what stood before
 * stands. r[verify supervise.role.again] */
static void a_link_that_fails_is_a_failure_of_the_start(void **state)
{
    struct rapahub_consumer *taken;
    struct rapahub_guest_id guest;
    struct rapahub_region *region;
    struct hosting on;

    (void)state;
    open_host(&on, (struct rapahub_host_options){0});
    region = make_region(
        &on, "news", (struct rapahub_host_region_options){.region = {.kind = RAPAHUB_REGION_SPSC}});
    assert_done(rapahub_consumer_open(region, NULL, &taken));
    assert_refused(start_with(&on, 2, "reader", consumer, &guest), RAPAHUB_EROLETAKEN,
                   "consumer that lives");
    rapahub_consumer_close(taken);
    assert_done(start_with(&on, 2, "reader", consumer, &guest));
    close_host(&on);
}

/* Between two lives another process takes the role, which is free at once. r[verify
 * supervise.role.again] r[verify supervise.role.suspended] r[verify supervise.exit.class] */
static void a_life_whose_link_fails_leaves_what_stood(void **state)
{
    const struct rapahub_supervision slow = {.restarts_max = 1000,
                                             .period_ns = RAPAHUB_FOREVER,
                                             .backoff_initial_ns = UINT64_C(300000000),
                                             .backoff_max_ns = UINT64_C(300000000),
                                             .backoff_first = true};
    struct rapahub_role roles[] = {{.name = "in", .kind = RAPAHUB_REGION_ROLE_CONSUMER},
                                   {.name = NULL}};
    const struct rapahub_container_options container = {
        .id = container_of(2), .pool_name = "test", .roles = roles};
    const struct rapahub_guest_options options = {.chimod = LINKS,
                                                  .name = "reader",
                                                  .trust = RAPAHUB_TRUST_TRUSTED,
                                                  .supervision = &slow,
                                                  .container = &container};
    struct rapahub_consumer *taken;
    struct rapahub_guest_id guest;
    struct rapahub_child_id child;
    struct rapahub_report report;
    struct rapahub_region_report seen;
    struct rapahub_region *region;
    struct hosting on;
    char news[64];

    (void)state;
    snprintf(news, sizeof news, "test-link-%d", getpid());
    roles[0].region = news;
    open_host(&on, (struct rapahub_host_options){0});
    region = make_region(&on, news,
                         (struct rapahub_host_region_options){
                             .region = {.kind = RAPAHUB_REGION_SPSC}, .persistent = true});
    assert_done(rapahub_host_spawn(on.host, &options, &guest));
    assert_int_equal(ask_of(&on, 2, "crash()", NULL, NULL), RAPAHUB_EDIED);
    assert_true(until(&on, &on.told.down, 1));
    assert_done(rapahub_region_inspect(news, false, &seen));
    assert_int_equal(seen.reaped, 1); /* by the host, before another one needs it */
    assert_done(rapahub_consumer_open(region, NULL, &taken));
    assert_listed(&on, news, "reader in 0 suspended; ");
    assert_true(until(&on, &on.told.down, 2));
    assert_non_null(strstr(on.told.text, "consumer that lives"));
    assert_done(rapahub_child_of(on.host, on.told.guest, &child));
    assert_done(rapahub_child_report(on.host, child, 0, &report));
    assert_int_equal(report.exit_class, RAPAHUB_EXIT_LINK);
    assert_string_equal(report.step, "link");
    assert_int_equal(report.failure, RAPAHUB_EROLETAKEN);
    assert_listed(&on, news, "reader in 0 suspended; ");
    rapahub_consumer_close(taken);
    assert_true(until(&on, &on.told.ready, 2));
    assert_listed(&on, news, "reader in 0 active; ");
    close_host(&on);
    assert_done(rapahub_region_remove(news, 0));
}

/* A container that comes to a guest that runs. r[verify supervise.role.grant] */
static void a_container_that_is_added_has_its_roles(void **state)
{
    const struct rapahub_container_options container = {
        .id = container_of(5), .pool_name = "test", .roles = consumer};
    struct rapahub_guest_id guest;
    struct hosting on;

    (void)state;
    open_news(&on, RAPAHUB_REGION_SPSC);
    assert_done(start_with(&on, 1, "writer", producer, &guest));
    assert_done(push_to(&on, 1, 1));
    assert_done(rapahub_host_add_container(on.host, guest, &container));
    assert_int_equal(number_of(&on, 5, "pop() -> i64"), 1);
    assert_done(push_to(&on, 1, 2));
    end_life_of(&on, 1);
    assert_int_equal(number_of(&on, 5, "pop() -> i64"), 2);
    assert_done(rapahub_host_remove_container(on.host, container_of(5)));
    assert_listed(&on, "news", "writer out 0 active; ");
    assert_done(rapahub_host_add_container(on.host, on.told.guest, &container));
    assert_done(push_to(&on, 1, 3));
    assert_int_equal(number_of(&on, 5, "pop() -> i64"), 3);
    close_host(&on);
}

/* A guest that is stopped drops the message of its role, which came too late, and not the region.
 * r[verify supervise.role.holder] */
static void a_role_that_came_too_late_is_free_again(void **state)
{
    const struct rapahub_container_options container = {
        .id = container_of(5), .pool_name = "test", .roles = consumer};
    struct rapahub_guest_id guest;
    struct hosting on;
    uint64_t end;
    int32_t pid = 0;
    int r;

    (void)state;
    open_news_with(&on, RAPAHUB_REGION_SPSC,
                   (struct rapahub_host_options){.call_timeout_ns = UINT64_C(1000000000),
                                                 .heartbeat_ns = UINT64_MAX});
    assert_done(start_with(&on, 1, "writer", producer, &guest));
    assert_done(ask_of(&on, 1, "pid() -> i32", NULL, &pid));
    assert_int_equal(kill(pid, SIGSTOP), 0);
    assert_int_equal(rapahub_host_add_container(on.host, guest, &container), RAPAHUB_ETIMEDOUT);
    assert_int_equal(kill(pid, SIGCONT), 0);
    end = now_ms() + 10000;
    while ((r = rapahub_host_add_container(on.host, guest, &container)) < 0 && now_ms() < end)
        assert_true(rapahub_host_dispatch(on.host, 1) >= 0);
    assert_done(r);
    assert_done(push_to(&on, 1, 1));
    assert_int_equal(number_of(&on, 5, "pop() -> i64"), 1);
    close_host(&on);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_guest_pushes_and_another_one_pops),
        cmocka_unit_test(nothing_is_given_before_ready),
        cmocka_unit_test(each_side_comes_back_with_its_role),
        cmocka_unit_test(a_state_has_its_writer_again),
        cmocka_unit_test(any_is_the_first_free_index_in_all_lives),
        cmocka_unit_test(a_guest_that_is_stopped_loses_its_subscription),
        cmocka_unit_test(a_role_that_cannot_be_is_refused),
        cmocka_unit_test(a_guest_that_is_not_trusted_has_no_role),
        cmocka_unit_test(a_link_that_fails_is_a_failure_of_the_start),
        cmocka_unit_test(a_life_whose_link_fails_leaves_what_stood),
        cmocka_unit_test(a_container_that_is_added_has_its_roles),
        cmocka_unit_test(a_role_that_came_too_late_is_free_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
