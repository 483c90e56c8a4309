/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/host-owner/bare.h"

#define SEEN_MAX 32

/* The linker puts it before malloc: while `refuse` is set there is no memory. */
void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);

static bool refuse;

void *__wrap_malloc(size_t size)
{
    return refuse ? NULL : __real_malloc(size);
}

struct seen {
    struct host_owner host;
    uint32_t count;
    struct rapahub_event events[SEEN_MAX]; /* their texts are gone */
    char name[1024], cause[1024], rule[1024], died[64];
    struct rapahub_guest_id dead;
    uint32_t callbacks; /* of the host, inside of the last callback */
    bool deliver, post; /* each callback does that */
};

static const struct rapahub_event plain = {
    .kind = RAPAHUB_EVENT_READY, .name = "kv", .cause = "", .rule = ""};

static void on_event(void *user, const struct rapahub_event *event)
{
    struct seen *seen = user;

    if (seen->count < SEEN_MAX)
        seen->events[seen->count] = *event;
    seen->count++;
    snprintf(seen->name, sizeof seen->name, "%s", event->name);
    snprintf(seen->cause, sizeof seen->cause, "%s", event->cause);
    snprintf(seen->rule, sizeof seen->rule, "%s", event->rule);
    seen->callbacks = seen->host.callbacks;
    if (seen->deliver)
        assert_int_equal(host_events_deliver(&seen->host), 0);
    if (seen->post && seen->count == 1)
        host_events_post(&seen->host, &plain);
}

static void on_death(void *user, struct rapahub_guest_id guest, const char *cause)
{
    struct seen *seen = user;

    seen->dead = guest;
    snprintf(seen->died, sizeof seen->died, "%s", cause);
    seen->callbacks = seen->host.callbacks;
}

static struct seen *open_seen(void)
{
    struct seen *seen = test_calloc(1, sizeof *seen);

    bare_open(&seen->host);
    seen->host.events.on_event = on_event;
    seen->host.events.user = seen;
    return seen;
}

static void close_seen(struct seen *seen)
{
    refuse = false;
    bare_close(&seen->host);
    test_free(seen);
}

static void without_a_listener_nothing_is_queued(void **state)
{
    struct seen *seen = open_seen();

    (void)state;
    seen->host.events.on_event = NULL;
    host_events_post(&seen->host, &plain);
    assert_int_equal(seen->host.events.count, 0);
    assert_int_equal(host_events_deliver(&seen->host), 0);
    close_seen(seen);
}

static void events_are_copied_and_handed_out_in_their_order(void **state)
{
    char name[] = "kv", cause[] = "signal SIGSEGV", rule[] = "shm.ring";
    struct rapahub_event event = {.kind = RAPAHUB_EVENT_DOWN,
                                  .guest = {1, 2, 3},
                                  .name = name,
                                  .cause = cause,
                                  .rule = rule,
                                  .calls_lost = 5,
                                  .uptime_ns = 6};
    struct seen *seen = open_seen();

    (void)state;
    host_events_post(&seen->host, &plain);
    host_events_post(&seen->host, &event);
    memset(name, 'x', sizeof name - 1);
    memset(cause, 'x', sizeof cause - 1);
    memset(rule, 'x', sizeof rule - 1);
    event.calls_lost = 0;
    assert_int_equal(seen->count, 0);
    assert_int_equal(host_events_deliver(&seen->host), 2);
    assert_int_equal(seen->count, 2);
    assert_int_equal(seen->events[0].kind, RAPAHUB_EVENT_READY);
    assert_int_equal(seen->events[1].kind, RAPAHUB_EVENT_DOWN);
    assert_memory_equal(&seen->events[1].guest, &event.guest, sizeof event.guest);
    assert_int_equal(seen->events[1].calls_lost, 5);
    assert_int_equal(seen->events[1].uptime_ns, 6);
    assert_string_equal(seen->name, "kv");
    assert_string_equal(seen->cause, "signal SIGSEGV");
    assert_string_equal(seen->rule, "shm.ring");
    assert_int_equal(seen->host.events.count, 0);
    assert_int_equal(host_events_deliver(&seen->host), 0);
    close_seen(seen);
}

/* r[verify shm.death.callback] */
static void a_death_is_told_to_those_who_asked_for_it(void **state)
{
    const struct rapahub_event event = {.kind = RAPAHUB_EVENT_DOWN,
                                        .guest = {1, 2, 3},
                                        .name = "kv",
                                        .cause = "exit 7",
                                        .rule = ""};
    struct seen *seen = open_seen();

    (void)state;
    seen->host.events.on_event = NULL;
    host_events_post_death(&seen->host, NULL, seen, &event);
    assert_int_equal(seen->host.events.count, 0);
    host_events_post_death(&seen->host, on_death, seen, &event);
    assert_int_equal(host_events_deliver(&seen->host), 1);
    assert_memory_equal(&seen->dead, &event.guest, sizeof event.guest);
    assert_string_equal(seen->died, "exit 7");
    assert_int_equal(seen->callbacks, 1);
    assert_int_equal(seen->host.callbacks, 0);
    close_seen(seen);
}

/* r[verify shm.death.callback-context] */
static void a_callback_is_never_inside_of_another_one(void **state)
{
    struct seen *seen = open_seen();

    (void)state;
    seen->deliver = seen->post = true;
    host_events_post(&seen->host, &plain);
    host_events_post(&seen->host, &plain);
    assert_int_equal(host_events_deliver(&seen->host), 3);
    assert_int_equal(seen->count, 3);
    assert_int_equal(seen->callbacks, 1);
    assert_int_equal(seen->host.callbacks, 0);
    assert_false(seen->host.events.delivering);
    close_seen(seen);
}

static void a_full_queue_drops_lines_of_output_and_nothing_else(void **state)
{
    const struct rapahub_event line = {
        .kind = RAPAHUB_EVENT_OUTPUT, .name = "kv", .cause = "a line", .rule = ""};
    struct seen *seen = open_seen();

    (void)state;
    for (int i = 0; i < HOST_EVENTS_MAX; i++)
        host_events_post(&seen->host, &line);
    assert_int_equal(seen->host.events.count, HOST_EVENTS_MAX);
    host_events_post(&seen->host, &line);
    assert_int_equal(seen->host.events.count, HOST_EVENTS_MAX);
    host_events_post(&seen->host, &plain);
    host_events_post_death(&seen->host, on_death, seen, &plain);
    assert_int_equal(seen->host.events.count, HOST_EVENTS_MAX + 2);
    assert_int_equal(host_events_deliver(&seen->host), HOST_EVENTS_MAX + 2);
    host_events_post(&seen->host, &line);
    assert_int_equal(seen->host.events.count, 1);
    close_seen(seen); /* with one that is never handed out */
}

static void without_memory_an_event_is_told_with_its_texts_cut(void **state)
{
    static char text[1000]; /* more than a spare place holds */
    const struct rapahub_event event = {
        .kind = RAPAHUB_EVENT_DOWN, .name = "kv", .cause = text, .rule = "shm.ring"};
    struct seen *seen = open_seen();
    size_t size;

    (void)state;
    memset(text, 'a', sizeof text - 1);
    refuse = true;
    host_events_post(&seen->host, &event);
    refuse = false;
    assert_int_equal(host_events_deliver(&seen->host), 1);
    size = strlen(seen->cause);
    assert_string_equal(seen->name, "kv");
    assert_true(size > 0 && size < HOST_EVENTS_SPARE_SIZE);
    assert_memory_equal(seen->cause, text, size);
    assert_string_equal(seen->rule, "");
    close_seen(seen);
}

static void without_memory_a_line_of_output_is_dropped(void **state)
{
    const struct rapahub_event line = {
        .kind = RAPAHUB_EVENT_OUTPUT, .name = "kv", .cause = "a line", .rule = ""};
    struct seen *seen = open_seen();

    (void)state;
    refuse = true;
    host_events_post(&seen->host, &line);
    refuse = false;
    assert_int_equal(seen->host.events.count, 0);
    assert_int_equal(seen->host.events.spare_taken, 0);
    close_seen(seen);
}

/* One more than there are is lost; told events, and dropped ones, give theirs back. */
static void the_spare_places_are_used_again(void **state)
{
    struct seen *seen = open_seen();

    (void)state;
    for (int round = 0; round < 2; round++) {
        refuse = true;
        for (int i = 0; i <= HOST_EVENTS_SPARE; i++)
            host_events_post(&seen->host, &plain);
        refuse = false;
        assert_int_equal(host_events_deliver(&seen->host), HOST_EVENTS_SPARE);
        assert_int_equal(seen->host.events.spare_taken, 0);
    }
    refuse = true;
    host_events_post(&seen->host, &plain);
    refuse = false;
    host_events_post(&seen->host, &plain);
    host_events_fini(&seen->host.events);
    assert_int_equal(seen->host.events.spare_taken, 0);
    assert_int_equal(seen->host.events.count, 0);
    assert_int_equal(host_events_deliver(&seen->host), 0);
    close_seen(seen);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_listener_nothing_is_queued),
        cmocka_unit_test(events_are_copied_and_handed_out_in_their_order),
        cmocka_unit_test(a_death_is_told_to_those_who_asked_for_it),
        cmocka_unit_test(a_callback_is_never_inside_of_another_one),
        cmocka_unit_test(a_full_queue_drops_lines_of_output_and_nothing_else),
        cmocka_unit_test(without_memory_an_event_is_told_with_its_texts_cut),
        cmocka_unit_test(without_memory_a_line_of_output_is_dropped),
        cmocka_unit_test(the_spare_places_are_used_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
