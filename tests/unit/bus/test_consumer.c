/* SPDX-License-Identifier: Apache-2.0 */
#include <poll.h>

#include "tests/support/pause.h"
#include "tests/unit/bus/queue_stage.h"

/* r[verify region.ack] */
static void messages_that_were_shown_and_not_done_come_again(void **state)
{
    struct rapahub_message list[CELLS + 4];
    size_t count;

    (void)state;
    for (uint64_t i = 0; i < 5; i++)
        stage_push(producer, i);
    assert_int_equal(rapahub_consumer_peek(consumer, list, CELLS + 4, 0, &count), 0);
    assert_int_equal(count, 5);
    for (uint64_t i = 0; i < 5; i++) {
        assert_int_equal(list[i].position, i);
        assert_memory_equal(list[i].data, &i, sizeof i);
    }
    assert_int_equal(rapahub_consumer_done(consumer, 6), RAPAHUB_EINVAL);
    assert_int_equal(rapahub_consumer_done(consumer, 2), 0);
    rapahub_consumer_close(consumer);
    consumer = stage_consumer(region);
    assert_int_equal(rapahub_consumer_done(consumer, 1), RAPAHUB_EINVAL);
    stage_pop(consumer, 2);
    for (uint64_t i = 5; i < 11; i++)
        stage_push(producer, i);
    assert_int_equal(rapahub_consumer_peek(consumer, list, CELLS + 4, 0, &count), 0);
    assert_int_equal(count, CELLS);
    assert_int_equal(rapahub_consumer_done(consumer, count), 0);
    assert_int_equal(rapahub_consumer_peek(consumer, list, 1, 0, &count), RAPAHUB_EEMPTY);
    assert_int_equal(count, 0);
    assert_int_equal(rapahub_consumer_peek(consumer, list, 0, 0, &count), 0);
}

static void a_message_that_is_too_long_for_its_reader_stays(void **state)
{
    struct rapahub_message message;
    uint32_t small;

    (void)state;
    stage_push(producer, 5);
    assert_int_equal(rapahub_consumer_pop(consumer, &small, sizeof small, 0, &message),
                     RAPAHUB_EMSGSIZE);
    assert_int_equal(message.size, 8);
    stage_pop(consumer, 5);
}

/* r[verify region.bound] */
static void a_wait_for_nothing_ends_at_its_deadline(void **state)
{
    uint64_t number, start = hub_clock_now();

    (void)state;
    assert_int_equal(
        rapahub_consumer_pop(consumer, &number, sizeof number, 30 * HUB_MILLISECOND, NULL),
        RAPAHUB_ETIMEDOUT);
    assert_true(hub_clock_now() - start >= 30 * HUB_MILLISECOND);
    assert_true(hub_clock_now() - start < HUB_SECOND);
}

static bool is_readable(int fd, int within_ms)
{
    struct pollfd poll_fd = {.fd = fd, .events = POLLIN};

    return poll(&poll_fd, 1, within_ms) == 1;
}

/* r[verify region.descriptor] */
static void the_descriptor_is_readable_while_there_is_something(void **state)
{
    int fd = rapahub_consumer_fd(consumer);

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(rapahub_consumer_fd(consumer), fd);
    assert_false(is_readable(fd, 20));
    for (uint64_t round = 0; round < 200; round++) {
        stage_push(producer, round);
        assert_true(is_readable(fd, 10000));
        stage_push(producer, round);
        stage_pop(consumer, round);
        assert_true(is_readable(fd, 0));
        stage_pop(consumer, round);
        while (is_readable(fd, 0))
            stage_empty(consumer); /* told of a message that was taken meanwhile */
    }
    assert_false(is_readable(fd, 20));
}

/* A message that comes between the look and the end of the rest is told as well. */
static void no_message_is_missed_by_who_goes_by_the_descriptor(void **state)
{
    int fd = rapahub_consumer_fd(consumer);
    pid_t pid = fork();
    uint64_t number = 0, expected = 0;
    siginfo_t info;
    int r;

    (void)state;
    if (pid == 0) {
        struct rapahub_region *own;
        struct rapahub_producer *other;

        if (rapahub_region_adopt(rapahub_region_fd(region), NULL, &own) < 0 ||
            rapahub_producer_open(own, NULL, &other) < 0)
            _exit(1);
        for (uint64_t i = 0; i < 20000; i++)
            if (rapahub_producer_push(other, &i, sizeof i, 20 * HUB_SECOND) < 0)
                _exit(2);
        _exit(0);
    }
    while (expected < 20000 && is_readable(fd, 10000))
        while ((r = rapahub_consumer_pop(consumer, &number, sizeof number, 0, NULL)) !=
               RAPAHUB_EEMPTY) {
            assert_int_equal(r, 0);
            assert_int_equal(number, expected++);
        }
    assert_int_equal(expected, 20000);
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED), 0);
    assert_int_equal(info.si_status, 0);
}

/* r[verify region.descriptor] r[verify region.poison] */
static void the_descriptor_tells_of_a_dead_producer_in_the_way(void **state)
{
    int fd = rapahub_consumer_fd(consumer);
    pid_t pid = stage_process(rapahub_region_fd(region), stage_claim);
    uint64_t number = 0;
    int r = RAPAHUB_EEMPTY;

    (void)state;
    stage_push(producer, 7);
    while (is_readable(fd, 20)) /* told of a message that cannot be taken yet */
        stage_empty(consumer);
    stage_kill(pid);
    for (int i = 0; i < 5 && r == RAPAHUB_EEMPTY; i++) {
        assert_true(is_readable(fd, 10000));
        r = rapahub_consumer_pop(consumer, &number, sizeof number, 0, NULL);
    }
    assert_int_equal(r, 0);
    assert_int_equal(number, 7);
}

static int visit(void *user, const struct rapahub_region_participant *who)
{
    unsigned *seen = user;

    assert_int_equal(who->pid, getpid());
    assert_true(who->alive);
    *seen += who->role == RAPAHUB_REGION_ROLE_PRODUCER ? 1 : 16;
    return 0;
}

static struct rapahub_region_report inspect(void)
{
    struct rapahub_region_report report;
    char path[64];

    snprintf(path, sizeof path, "/proc/%d/fd/%d", getpid(), rapahub_region_fd(region));
    assert_int_equal(rapahub_region_inspect(path, true, &report), -ELOOP);
    assert_int_equal(rapahub_region_inspect(stage_name(), false, &report), 0);
    return report;
}

/* r[verify region.inspect] r[verify region.action] */
static void inspection_tells_positions_participants_and_what_to_do(void **state)
{
    struct rapahub_region_report report;
    unsigned seen = 0;
    pid_t pid;

    tear_down(state);
    region = stage_create(stage_name(), RAPAHUB_REGION_MPSC, RAPAHUB_REGION_HARDENED, CELLS);
    producer = stage_producer(region);
    consumer = stage_consumer(region);
    assert_int_equal(rapahub_region_leases(stage_name(), false, visit, &seen), 0);
    assert_int_equal(seen, 17);
    for (uint64_t i = 0; i < 3; i++)
        stage_push(producer, i);
    stage_pop(consumer, 0);
    report = inspect();
    assert_int_equal(report.verdict, 0);
    assert_int_equal(report.tail, 3);
    assert_int_equal(report.head, 1);
    assert_true(report.producer && report.consumer && !report.stuck);
    assert_string_equal(report.action, "none");
    stage_pop(consumer, 1);
    stage_pop(consumer, 2);
    pid = stage_process(rapahub_region_fd(region), stage_claim);
    report = inspect();
    assert_true(report.stuck && report.blocker.known);
    assert_int_equal(report.blocker.pid, pid);
    assert_non_null(strstr(report.action, "continue or kill it"));
    stage_kill(pid);
    assert_int_equal(rapahub_region_remove(stage_name(), 0), RAPAHUB_EBUSY);
    for (uint64_t i = 0; i < CELLS - 1; i++)
        stage_push(producer, i);
    stage_empty(consumer);
    hub_publish64(&hub_ring_view_cell(&region->view, 0)->state, 1);
    assert_int_equal(inspect().verdict, RAPAHUB_ECORRUPT);
    assert_non_null(strstr(inspect().action, "recreate"));
    char path[RAPAHUB_REGION_PATH_MAX];
    assert_int_equal(hub_region_path(stage_name(), path), 0);
    unlink(path);
}

/* r[verify region.class] */
static void each_code_has_a_class(void **state)
{
    (void)state;
    assert_int_equal(rapahub_region_class(RAPAHUB_EEMPTY), RAPAHUB_REGION_CLASS_TRANSIENT);
    assert_int_equal(rapahub_region_class(RAPAHUB_EROLETAKEN), RAPAHUB_REGION_CLASS_POLICY);
    assert_int_equal(rapahub_region_class(RAPAHUB_EBADMAGIC), RAPAHUB_REGION_CLASS_INCOMPATIBLE);
    assert_int_equal(rapahub_region_class(RAPAHUB_ECAPS), RAPAHUB_REGION_CLASS_INCOMPATIBLE);
    assert_int_equal(rapahub_region_class(RAPAHUB_ETRUNCATED), RAPAHUB_REGION_CLASS_CORRUPTED);
    assert_int_equal(rapahub_region_class(RAPAHUB_EPEERDEAD), RAPAHUB_REGION_CLASS_PEER_DEAD);
    assert_int_equal(rapahub_region_class(RAPAHUB_ENOMEM), RAPAHUB_REGION_CLASS_OTHER);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {TEST(messages_that_were_shown_and_not_done_come_again),
                                       TEST(a_message_that_is_too_long_for_its_reader_stays),
                                       TEST(a_wait_for_nothing_ends_at_its_deadline),
                                       TEST(the_descriptor_is_readable_while_there_is_something),
                                       TEST(no_message_is_missed_by_who_goes_by_the_descriptor),
                                       TEST(the_descriptor_tells_of_a_dead_producer_in_the_way),
                                       TEST(inspection_tells_positions_participants_and_what_to_do),
                                       cmocka_unit_test(each_code_has_a_class)};
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}
