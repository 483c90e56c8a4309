/* SPDX-License-Identifier: Apache-2.0 */
#include <rapahub/supervise.h>

#include "host/lives/printed.h"
#include "host/observe/observe.h"
#include "tests/unit/host-guest/stage.h"

#define MANY 8

static const struct rapahub_supervision manual = {
    .start = RAPAHUB_START_MANUAL, .log_ring = 4096, .log_line = 100, .log_rate = 7};

struct rig {
    struct host_observe host;
    struct host_guest *guest;
    struct host_life life;
    uint32_t events;
    char told[MANY][32];
};

static void on_event(void *user, const struct rapahub_event *event)
{
    struct rig *rig = user;

    assert_int_equal(event->kind, RAPAHUB_EVENT_OUTPUT);
    assert_string_equal(event->name, "calc");
    assert_int_equal(event->guest.peer, 3);
    assert_true(rig->events < MANY);
    snprintf(rig->told[rig->events++], sizeof rig->told[0], "%s", event->cause);
}

static struct rig *open_rig(void)
{
    struct rig *rig = test_calloc(1, sizeof *rig);
    struct host_events *events = &HOST_OWNER(&rig->host)->events;

    stage_open(&rig->host.supervision);
    host_events_init(events);
    events->on_event = on_event;
    events->user = rig;
    rig->guest = stage_add(&rig->host.supervision, HOST_SUPERVISION_ROOT, "calc", manual);
    rig->guest->id = (struct rapahub_guest_id){.group = 1, .epoch = 2, .peer = 3};
    rig->life.guest = rig->guest;
    snprintf(rig->life.name, sizeof rig->life.name, "calc");
    host_printed_begin(&rig->life);
    return rig;
}

static void close_rig(struct rig *rig)
{
    host_events_fini(&HOST_OWNER(&rig->host)->events);
    stage_close(&rig->host.supervision);
    test_free(rig);
}

static void print(struct rig *rig, const char *line)
{
    rig->life.process.output.on_line(rig->life.process.output.user, line);
}

static struct rapahub_host *handle(struct rig *rig)
{
    return (struct rapahub_host *)(void *)&rig->host;
}

static struct rapahub_child_id id_of(const struct rig *rig)
{
    return (struct rapahub_child_id){stage_child(rig->guest)->number};
}

static void a_life_prints_within_the_bounds_of_its_child(void **state)
{
    struct rig *rig = open_rig();

    (void)state;
    assert_int_equal(rig->life.process.output.line_max, 100);
    assert_int_equal(rig->life.process.output.rate, 7);
    assert_non_null(rig->life.process.output.on_line);
    assert_ptr_equal(rig->life.process.output.user, &rig->life);
    close_rig(rig);
}

/* r[verify supervise.log] */
static void a_line_is_told_and_kept(void **state)
{
    struct rig *rig = open_rig();
    char text[64];
    size_t size = 0;

    (void)state;
    print(rig, "one");
    print(rig, "two");
    assert_int_equal(rig->events, 0); /* at the end of the turn */
    assert_int_equal(host_events_deliver(HOST_OWNER(&rig->host)), 2);
    assert_string_equal(rig->told[0], "one");
    assert_string_equal(rig->told[1], "two");
    assert_int_equal(rapahub_child_log(handle(rig), id_of(rig), text, sizeof text, &size), 0);
    assert_string_equal(text, "one\ntwo\n");
    assert_int_equal(size, 8);
    close_rig(rig);
}

/* r[verify supervise.log] */
static void lines_are_kept_over_all_lives(void **state)
{
    struct rig *rig = open_rig();
    struct host_life next = rig->life;
    char text[64];

    (void)state;
    print(rig, "of the first");
    rig->life.guest = NULL;
    host_printed_begin(&next);
    next.process.output.on_line(next.process.output.user, "of the second");
    assert_int_equal(rapahub_child_log(handle(rig), id_of(rig), text, sizeof text, NULL), 0);
    assert_string_equal(text, "of the first\nof the second\n");
    close_rig(rig);
}

/* Its pipe may outlive it. */
static void a_line_of_a_life_whose_guest_is_forgotten_is_logged_only(void **state)
{
    struct rig *rig = open_rig();
    char text[64] = "x";

    (void)state;
    rig->life.guest = NULL;
    print(rig, "late");
    assert_int_equal(host_events_deliver(HOST_OWNER(&rig->host)), 0);
    assert_int_equal(rapahub_child_log(handle(rig), id_of(rig), text, sizeof text, NULL), 0);
    assert_string_equal(text, "");
    close_rig(rig);
}

static void only_the_last_whole_lines_that_fit_are_read(void **state)
{
    struct rig *rig = open_rig();
    char text[9];
    size_t size = 0;

    (void)state;
    print(rig, "one");
    print(rig, "two");
    assert_int_equal(rapahub_child_log(handle(rig), id_of(rig), text, 9, NULL), 0);
    assert_string_equal(text, "one\ntwo\n");
    assert_int_equal(rapahub_child_log(handle(rig), id_of(rig), text, 8, &size), 0);
    assert_string_equal(text, "two\n");
    assert_int_equal(size, 8); /* what is kept, not what was read */
    assert_int_equal(rapahub_child_log(handle(rig), id_of(rig), text, 1, &size), 0);
    assert_string_equal(text, "");
    close_rig(rig);
}

static void what_cannot_be_read_is_refused(void **state)
{
    struct rig *rig = open_rig();
    const struct rapahub_child_id id = id_of(rig), never = {id.number + 1};
    char text[8] = "x";
    size_t size = 77;

    (void)state;
    assert_int_equal(rapahub_child_log(handle(rig), id, text, 0, &size), RAPAHUB_EINVAL);
    assert_int_equal(rapahub_child_log(handle(rig), never, text, 8, &size), RAPAHUB_ESTALE);
    host_supervision_end(rig->guest);
    assert_int_equal(rapahub_child_log(handle(rig), id, text, 8, &size), RAPAHUB_ESTALE);
    assert_string_equal(text, "x");
    assert_int_equal(size, 77);
    close_rig(rig);
}

static void a_callback_may_read_what_was_printed(void **state)
{
    struct rig *rig = open_rig();
    char text[8];

    (void)state;
    print(rig, "one");
    HOST_OWNER(&rig->host)->callbacks = 1;
    assert_int_equal(rapahub_child_log(handle(rig), id_of(rig), text, sizeof text, NULL), 0);
    HOST_OWNER(&rig->host)->callbacks = 0;
    assert_string_equal(text, "one\n");
    close_rig(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_life_prints_within_the_bounds_of_its_child),
        cmocka_unit_test(a_line_is_told_and_kept),
        cmocka_unit_test(lines_are_kept_over_all_lives),
        cmocka_unit_test(a_line_of_a_life_whose_guest_is_forgotten_is_logged_only),
        cmocka_unit_test(only_the_last_whole_lines_that_fit_are_read),
        cmocka_unit_test(what_cannot_be_read_is_refused),
        cmocka_unit_test(a_callback_may_read_what_was_printed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
