/* SPDX-License-Identifier: Apache-2.0 */
/* A second party that looks on: in order, in time or not at all, and never in the way. */
#include <errno.h>

#include "tests/integration/child.h"

#define MOST 4096

struct seen {
    struct rapahub_observation list[MOST];
    size_t count;
};

static void look(struct rapahub_observer *observer, struct seen *seen)
{
    size_t count;

    do {
        assert_done(
            rapahub_observer_read(observer, seen->list + seen->count, MOST - seen->count, &count));
        seen->count += count;
    } while (count > 0);
}

static const char *const words[] = {"lost",    "added",    "spawn",    "restart",   "attached",
                                    "ready",   "degraded", "stopping", "escalated", "exit",
                                    "backoff", "stopped",  "failed",   "closed",    "reaped"};

/* The events of one child: "spawn attached ready ". Whether it was killed because its end was first
 * seen as a hang-up, and when its memory comes back, is left out. */
static const char *story(const struct seen *seen, struct rapahub_child_id child, bool dies,
                         char *to, size_t size)
{
    size_t at = 0;

    to[0] = '\0';
    for (size_t i = 0; i < seen->count; i++)
        if (seen->list[i].child.number == child.number &&
            seen->list[i].change != RAPAHUB_CHANGE_REAPED &&
            !(seen->list[i].change == RAPAHUB_CHANGE_STOPPING && dies))
            at += (size_t)snprintf(to + at, size - at, "%s ", words[seen->list[i].change]);
    return to;
}

static const char *story_of(const struct seen *seen, struct rapahub_child_id child, char *to,
                            size_t size)
{
    return story(seen, child, false, to, size);
}

/* How often its memory came back, of which life last. */
static unsigned reaped(const struct seen *seen, uint64_t *incarnation)
{
    unsigned count = 0;

    for (size_t i = 0; i < seen->count; i++)
        if (seen->list[i].change == RAPAHUB_CHANGE_REAPED) {
            *incarnation = seen->list[i].incarnation;
            count++;
        }
    return count;
}

static struct seen *new_seen(void)
{
    struct seen *seen = calloc(1, sizeof *seen);

    assert_non_null(seen);
    return seen;
}

/* r[verify supervise.observer] */
static void a_life_is_told_step_by_step(void **state)
{
    const struct rapahub_supervision how = {.backoff_initial_ns = RAPAHUB_NONE, .restarts_max = 1};
    struct seen *seen = new_seen();
    struct rapahub_observer *observer;
    struct rapahub_child_id child;
    struct lazy lazy;
    uint64_t last = 0;
    char text[512];

    (void)state;
    open_lazy(&lazy, false);
    assert_done(rapahub_supervisor_observe(lazy.root, NULL, &observer));
    child = put(&lazy, here, how);
    pid(&lazy, here);
    die(&lazy);
    pid(&lazy, here);
    die(&lazy);
    dispatch(&lazy, 200);
    look(observer, seen);
    assert_int_equal(reaped(seen, &last), 2);
    assert_int_equal(last, status_of(&lazy, child).incarnation);
    assert_string_equal(
        story(seen, child, true, text, sizeof text),
        "added spawn attached ready exit backoff restart attached ready exit failed ");
    for (size_t i = 0; i < seen->count; i++) {
        assert_int_equal(seen->list[i].sequence, i + 1);
        assert_false(seen->list[i].overflow);
        assert_true(i == 0 || seen->list[i].time_ns >= seen->list[i - 1].time_ns);
        if (seen->list[i].change == RAPAHUB_CHANGE_EXIT)
            assert_true(seen->list[i].exit_class == RAPAHUB_EXIT_SIGNAL ||
                        seen->list[i].exit_class == RAPAHUB_EXIT_CORE);
        if (seen->list[i].change == RAPAHUB_CHANGE_SPAWN)
            assert_int_equal(seen->list[i].incarnation + 1, status_of(&lazy, child).incarnation);
    }
    rapahub_observer_close(observer);
    close_host(&lazy.on);
    free(seen);
}

/* The first observes everything, the second one subtree. r[verify supervise.observer.first] */
static void each_supervisor_has_one_observer(void **state)
{
    const struct rapahub_supervisor_options named = {.name = "below"};
    const struct rapahub_observer_options odd = {.events_max = 3};
    struct rapahub_observer *whole, *part, *second = NULL;
    struct seen *of_whole = new_seen(), *of_part = new_seen();
    struct rapahub_guest_options options = {.chimod = CALC};
    struct rapahub_child_id inside, outside;
    struct rapahub_supervisor *below;
    struct lazy lazy;
    char text[512];
    size_t count;

    (void)state;
    open_lazy(&lazy, false);
    assert_done(rapahub_supervisor_create(lazy.root, &named, &below));
    assert_refused(rapahub_supervisor_observe(lazy.root, &odd, &whole), RAPAHUB_EINVAL, "power");
    assert_done(rapahub_supervisor_observe(lazy.root, NULL, &whole));
    assert_done(rapahub_supervisor_observe(below, NULL, &part));
    assert_refused(rapahub_supervisor_observe(below, NULL, &second), -EALREADY, "first one");
    assert_done(rapahub_supervisor_add(below, &options, &inside));
    outside = put(&lazy, here, (struct rapahub_supervision){0});
    pid(&lazy, here);
    dispatch(&lazy, 100);
    look(whole, of_whole);
    look(part, of_part);
    assert_string_equal(story_of(of_part, inside, text, sizeof text),
                        "added spawn attached ready ");
    assert_string_equal(story_of(of_part, outside, text, sizeof text), "");
    assert_string_equal(story_of(of_whole, inside, text, sizeof text),
                        "added spawn attached ready ");
    assert_string_equal(story_of(of_whole, outside, text, sizeof text),
                        "added spawn attached ready ");
    rapahub_observer_close(whole);
    assert_done(rapahub_supervisor_observe(lazy.root, NULL, &second));
    assert_done(rapahub_supervisor_stop(below, 5 * SECOND));
    look(second, of_whole);
    for (count = 1; count > 0;) { /* to its very end, which is told by its descriptor, too */
        struct pollfd bell = {.fd = rapahub_observer_fd(part), .events = POLLIN};

        assert_int_equal(poll(&bell, 1, 0), 1);
        if (rapahub_observer_read(part, of_part->list + of_part->count, 1, &count) < 0)
            break;
        of_part->count += count;
    }
    assert_string_equal(story_of(of_part, inside, text, sizeof text),
                        "added spawn attached ready stopping exit stopped closed ");
    assert_refused(rapahub_observer_read(part, of_part->list, 1, &count), RAPAHUB_ECLOSED, "gone");
    rapahub_observer_close(part);
    rapahub_host_destroy(lazy.on.host); /* the observer outlives it */
    assert_done(rapahub_observer_read(second, of_whole->list, MOST, &count));
    assert_refused(rapahub_observer_read(second, of_whole->list, MOST, &count), RAPAHUB_ECLOSED,
                   "gone");
    rapahub_observer_close(second);
    rapahub_observer_close(NULL);
    leak_assert_none(lazy.on.leak);
    free(of_whole);
    free(of_part);
}

static const struct rapahub_child_status *find(const struct rapahub_child_status *list,
                                               size_t count, struct rapahub_child_id child)
{
    for (size_t i = 0; i < count; i++)
        if (list[i].child.number == child.number)
            return &list[i];
    return NULL;
}

/* Never read while guests die and come; then it says so, and the snapshot is the truth.
 * r[verify supervise.observer.overflow] r[verify supervise.observer.snapshot] */
static void one_that_never_reads_holds_up_nobody(void **state)
{
    const struct rapahub_supervision how = {.backoff_initial_ns = RAPAHUB_NONE,
                                            .restarts_max = 200};
    const struct rapahub_observer_options few = {.events_max = 32};
    struct rapahub_child_status list[8], truth;
    const struct rapahub_child_status *shown;
    struct seen *seen = new_seen();
    struct rapahub_observer *observer;
    struct rapahub_child_id child, quiet;
    struct rapahub_snapshot snapshot;
    struct lazy lazy;
    int32_t before;

    (void)state;
    open_lazy(&lazy, false);
    assert_done(rapahub_supervisor_observe(lazy.root, &few, &observer));
    child = put(&lazy, here, how);
    quiet = put(&lazy, other, how);
    before = pid(&lazy, other);
    for (int i = 0; i < 20; i++) {
        pid(&lazy, here);
        die(&lazy);
        assert_int_equal(pid(&lazy, other), before);
    }
    pid(&lazy, here);
    dispatch(&lazy, 50);
    look(observer, seen);
    assert_int_equal(seen->count, 33);
    assert_int_equal(seen->list[31].sequence, 32);
    assert_int_equal(seen->list[32].change, RAPAHUB_CHANGE_LOST);
    assert_true(seen->list[32].overflow);
    assert_int_equal(seen->list[32].dropped + 32, seen->list[32].sequence);
    assert_done(rapahub_supervisor_snapshot(lazy.root, list, 8, &snapshot));
    assert_int_equal(snapshot.sequence, seen->list[32].sequence);
    assert_int_equal(snapshot.count, 3);
    for (int i = 0; i < 2; i++) {
        truth = status_of(&lazy, i ? child : quiet);
        shown = find(list, snapshot.count, truth.child);
        assert_non_null(shown);
        assert_memory_equal(shown, &truth, sizeof truth);
        assert_string_equal(shown->state, "ready");
    }
    assert_true(find(list, 3, status_of(&lazy, child).parent)->is_supervisor);
    assert_done(rapahub_supervisor_snapshot(lazy.root, NULL, 0, &snapshot));
    assert_int_equal(snapshot.count, 3);
    seen->count = 0;
    die(&lazy);
    dispatch(&lazy, 100);
    look(observer, seen);
    assert_int_equal(seen->list[0].sequence, snapshot.sequence + 1);
    assert_false(seen->list[0].overflow);
    rapahub_observer_close(observer);
    close_host(&lazy.on);
    free(seen);
}

struct reader {
    struct rapahub_observer *observer;
    struct seen *seen;
    int code;
};

static void *read_to_the_end(void *user)
{
    struct reader *reader = user;
    struct pollfd bell = {.fd = rapahub_observer_fd(reader->observer), .events = POLLIN};
    size_t count = 0;

    while (reader->code == 0 && poll(&bell, 1, 20000) == 1) {
        reader->code =
            rapahub_observer_read(reader->observer, reader->seen->list + reader->seen->count,
                                  MOST - reader->seen->count, &count);
        reader->seen->count += reader->code == 0 ? count : 0;
    }
    rapahub_observer_close(reader->observer);
    return NULL;
}

/* On a thread of its own, after the end of the host; the followed state is the true one. */
static void it_reads_on_its_own_thread(void **state)
{
    const struct rapahub_supervision how = {.backoff_initial_ns = RAPAHUB_NONE,
                                            .restarts_max = 200};
    struct reader reader = {.seen = new_seen()};
    struct rapahub_child_id child;
    struct lazy lazy;
    pthread_t thread;
    char text[4096];

    (void)state;
    open_lazy(&lazy, true);
    assert_done(rapahub_supervisor_observe(lazy.root, NULL, &reader.observer));
    assert_int_equal(pthread_create(&thread, NULL, read_to_the_end, &reader), 0);
    child = put(&lazy, here, how);
    for (int i = 0; i < 10; i++) {
        pid(&lazy, here);
        die(&lazy);
    }
    pid(&lazy, here);
    rapahub_host_destroy(lazy.on.host);
    assert_int_equal(pthread_join(thread, NULL), 0);
    leak_assert_none(lazy.on.leak);
    assert_int_equal(reader.code, RAPAHUB_ECLOSED);
    for (size_t i = 0; i < reader.seen->count; i++)
        assert_int_equal(reader.seen->list[i].sequence, i + 1);
    story(reader.seen, child, true, text, sizeof text);
    assert_ptr_equal(strstr(text, "added spawn attached ready exit backoff "), text);
    assert_non_null(strstr(text, "ready exit stopped "));
    free(reader.seen);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_life_is_told_step_by_step),
        cmocka_unit_test(each_supervisor_has_one_observer),
        cmocka_unit_test(one_that_never_reads_holds_up_nobody),
        cmocka_unit_test(it_reads_on_its_own_thread),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
