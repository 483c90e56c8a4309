/* SPDX-License-Identifier: Apache-2.0 */
/* The watcher is the other end of a link in this thread. */
#include <errno.h>

#include "hub/wire/lifecycle.h"
#include "hub/wire/payload.h"
#include "hub/wire/postcard.h"
#include "tests/unit/host-observe/stage.h"
#include "tests/unit/link/pair.h"

struct rig {
    struct host_observe *host;
    struct pair pair;
    struct host_life life; /* of the watcher */
    struct host_guest *watcher, *target;
    struct host_container *container;
};

static struct rig *open_rig(void)
{
    const struct hub_limits limits = pair_limits();
    struct rig *rig = test_calloc(1, sizeof *rig);

    rig->host = observe_new();
    HOST_PROCESS(rig->host)->options.call_timeout_ns = SOON;
    pair_open(&rig->pair, &limits, 0);
    rig->watcher = serving(rig->host, "watcher");
    rig->target = serving(rig->host, "target");
    rig->life.host = HOST_PROCESS(rig->host);
    rig->life.guest = rig->watcher;
    rig->life.connection.link = rig->pair.host.connection.link;
    rig->life.connection.calls = rig->pair.host.connection.calls;
    rig->watcher->life = &rig->life;
    rig->container = stage_container(rig->watcher, 0);
    host_containers_move(rig->container, HOST_CONTAINER_READY, "");
    return rig;
}

static void close_rig(struct rig *rig)
{
    rig->watcher->life = NULL;
    pair_close(&rig->pair);
    observe_free(rig->host);
    test_free(rig);
}

static int monitor(struct rig *rig, struct host_guest *watcher, struct host_guest *target)
{
    return rapahub_child_monitor(handle(rig->host), id_of(watcher), id_of(target));
}

/* How the next message to the watcher reads; false: there is none. */
struct heard {
    uint64_t handle;
    struct hub_down down;
    char name[64];
};

static bool hear(struct rig *rig, struct heard *out)
{
    const struct rapahub_type *const *types = hub_lifecycle_table[HUB_LIFECYCLE_DOWN].types;
    const struct hub_response ok = {.kind = HUB_RESPONSE_OK};
    struct hub_inbound_calls *served = rig->pair.guest.connection.served;
    struct hub_request *request;
    struct hub_reader reader;

    assert_true(hub_link_sweep(rig->pair.guest.connection.link, UINT32_MAX) >= 0);
    request = hub_inbound_calls_next(served, NULL, NULL);
    if (!request)
        return false;
    assert_int_equal(request->method_id, hub_lifecycle_id(HUB_LIFECYCLE_DOWN));
    hub_reader_init(&reader, request->arguments.data, request->arguments.size);
    hub_payload_decode(&reader, types[1], &out->handle);
    hub_payload_decode(&reader, types[2], &out->down);
    assert_int_equal(hub_postcard_end(&reader), 0);
    snprintf(out->name, sizeof out->name, "%.*s", (int)out->down.name.size, out->down.name.data);
    assert_int_equal(
        hub_inbound_calls_answer(served, request, &ok, (struct rapahub_bytes){NULL, 0}), 0);
    assert_true(hub_link_sweep(rig->pair.host.connection.link, UINT32_MAX) >= 0);
    return true;
}

static void become_ready(struct rig *rig)
{
    host_monitors_moved(rig->host, &(struct host_decision){.kind = HOST_DECISION_MOVED,
                                                           .place = rig->watcher->child.node,
                                                           .to = HOST_CHILD_READY});
}

/* r[verify supervise.monitor] */
static void a_watcher_that_serves_hears_of_each_end_at_once(void **state)
{
    struct rig *rig = open_rig();
    struct heard heard;

    (void)state;
    assert_int_equal(monitor(rig, rig->watcher, rig->target), 0);
    for (int i = 0; i < 2; i++) {
        uint64_t incarnation = rig->target->child.incarnation;

        kill_guest(rig->target);
        assert_true(hear(rig, &heard));
        assert_int_equal(heard.handle, rig->container->handle);
        assert_string_equal(heard.name, "target");
        assert_int_equal(heard.down.child, id_of(rig->target).number);
        assert_int_equal(heard.down.incarnation, incarnation);
        assert_int_equal(heard.down.class, RAPAHUB_EXIT_SIGNAL);
        assert_int_equal(heard.down.count, 1);
        assert_false(hear(rig, &heard));
        (void)host_supervisor_start(&rig->host->supervision.machine, rig->target->child.node,
                                    hub_clock_now());
        host_supervision_settle(&rig->host->supervision);
        stage_serve(rig->target);
    }
    close_rig(rig);
}

/* r[verify supervise.monitor] */
static void ends_while_it_does_not_serve_are_told_together(void **state)
{
    struct rig *rig = open_rig();
    struct heard heard;

    (void)state;
    assert_int_equal(monitor(rig, rig->watcher, rig->target), 0);
    rig->watcher->life = NULL;
    for (int i = 0; i < 3; i++) {
        kill_guest(rig->target);
        (void)host_supervisor_start(&rig->host->supervision.machine, rig->target->child.node,
                                    hub_clock_now());
        host_supervision_settle(&rig->host->supervision);
    }
    rig->watcher->life = &rig->life;
    assert_false(hear(rig, &heard));
    become_ready(rig);
    assert_true(hear(rig, &heard));
    assert_int_equal(heard.down.count, 3);
    assert_int_equal(heard.down.incarnation, rig->target->child.incarnation - 1);
    assert_false(hear(rig, &heard));
    close_rig(rig);
}

/* Neither of an end that never was, nor of one that it was told already. */
static void a_watcher_that_becomes_ready_hears_of_new_ends_only(void **state)
{
    struct rig *rig = open_rig();
    struct heard heard;

    (void)state;
    assert_int_equal(monitor(rig, rig->watcher, rig->target), 0);
    become_ready(rig);
    assert_false(hear(rig, &heard));
    kill_guest(rig->target);
    assert_true(hear(rig, &heard));
    become_ready(rig);
    assert_false(hear(rig, &heard));
    close_rig(rig);
}

static void each_of_its_containers_that_serves_hears_of_it(void **state)
{
    struct rig *rig = open_rig();
    struct host_container *plugged = stage_container(rig->watcher, 1);
    struct heard heard;

    (void)state;
    stage_container(rig->watcher, 2); /* it has not begun */
    host_containers_move(plugged, HOST_CONTAINER_READY, "");
    host_containers_move(plugged, HOST_CONTAINER_PLUGGED, "");
    assert_int_equal(monitor(rig, rig->watcher, rig->target), 0);
    kill_guest(rig->target);
    assert_true(hear(rig, &heard));
    assert_int_equal(heard.handle, rig->container->handle);
    assert_true(hear(rig, &heard));
    assert_int_equal(heard.handle, plugged->handle);
    assert_false(hear(rig, &heard));
    close_rig(rig);
}

/* A few milliseconds later, by a timer. */
static void a_watcher_without_room_for_a_message_is_told_later(void **state)
{
    struct rig *rig = open_rig();
    const struct host_decision ended = {
        .kind = HOST_DECISION_MOVED, .place = rig->target->child.node, .to = HOST_CHILD_EXITED};
    struct host_timer *again = &rig->host->monitors.again;
    struct heard heard;
    uint32_t untold = 0;

    (void)state;
    assert_int_equal(monitor(rig, rig->watcher, rig->target), 0);
    while (!host_loop_is_set(again)) { /* until its ring is full */
        host_monitors_moved(rig->host, &ended);
        untold++;
    }
    host_monitors_moved(rig->host, &ended);
    untold++;
    while (hear(rig, &heard))
        untold -= heard.down.count;
    assert_int_equal(untold, 2); /* those that found no room */
    host_loop_clear(again);
    again->on(again->user);
    assert_true(hear(rig, &heard));
    assert_int_equal(heard.down.count, 2);
    assert_false(host_loop_is_set(again));
    close_rig(rig);
}

static void a_start_that_waits_for_a_free_entry_is_no_end(void **state)
{
    struct rig *rig = open_rig();
    struct host_decision decision = {
        .kind = HOST_DECISION_MOVED, .place = rig->target->child.node, .to = HOST_CHILD_EXITED};
    struct heard heard;

    (void)state;
    assert_int_equal(monitor(rig, rig->watcher, rig->target), 0);
    rig->target->child.deferred = true;
    host_monitors_moved(rig->host, &decision);
    assert_false(hear(rig, &heard));
    rig->target->child.deferred = false;
    decision.to = HOST_CHILD_BACKOFF;
    host_monitors_moved(rig->host, &decision);
    assert_false(hear(rig, &heard));
    decision.to = HOST_CHILD_EXITED;
    host_monitors_moved(rig->host, &decision);
    assert_true(hear(rig, &heard));
    close_rig(rig);
}

static void nobody_hears_of_what_it_does_not_watch(void **state)
{
    struct rig *rig = open_rig();
    struct host_guest *other = serving(rig->host, "other");
    struct heard heard;

    (void)state;
    kill_guest(other); /* nobody watches anybody */
    assert_int_equal(monitor(rig, rig->watcher, rig->target), 0);
    host_monitors_moved(rig->host, &(struct host_decision){.kind = HOST_DECISION_MOVED,
                                                           .place = other->child.node,
                                                           .to = HOST_CHILD_EXITED});
    assert_false(hear(rig, &heard));
    assert_int_equal(
        rapahub_child_demonitor(handle(rig->host), id_of(rig->watcher), id_of(rig->target)), 0);
    kill_guest(rig->target);
    assert_false(hear(rig, &heard));
    close_rig(rig);
}

static void a_monitor_ends_when_either_is_closed(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct rig *rig = open_rig();

        assert_int_equal(monitor(rig, rig->watcher, rig->target), 0);
        assert_int_equal(monitor(rig, rig->target, rig->watcher), 0);
        assert_int_equal(rig->host->monitors.count, 2);
        rig->watcher->life = NULL;
        host_supervision_end(i == 0 ? rig->watcher : rig->target);
        assert_int_equal(rig->host->monitors.count, 0);
        assert_true(hub_list_empty(&rig->host->monitors.list));
        close_rig(rig);
    }
}

static void what_cannot_be_watched_is_refused(void **state)
{
    struct rig *rig = open_rig();
    struct rapahub_host *host = handle(rig->host);
    const struct rapahub_child_id watcher = id_of(rig->watcher), target = id_of(rig->target);
    const struct rapahub_child_id never = {99}, root = {1};

    (void)state;
    assert_int_equal(rapahub_child_monitor(host, watcher, watcher), RAPAHUB_EINVAL);
    assert_int_equal(rapahub_child_monitor(host, watcher, never), RAPAHUB_ESTALE);
    assert_int_equal(rapahub_child_monitor(host, never, target), RAPAHUB_ESTALE);
    assert_int_equal(rapahub_child_monitor(host, root, target), RAPAHUB_ESTALE); /* no guest */
    assert_int_equal(rapahub_child_demonitor(host, watcher, target), RAPAHUB_ENOENT);
    assert_int_equal(rapahub_child_monitor(host, watcher, root), 0);
    assert_int_equal(rapahub_child_monitor(host, watcher, target), 0);
    assert_int_equal(rapahub_child_monitor(host, watcher, target), -EALREADY);
    assert_int_equal(rapahub_child_demonitor(host, target, watcher), RAPAHUB_ENOENT);
    assert_int_equal(rig->host->monitors.count, 2);
    host_supervision_end(rig->target);
    assert_int_equal(rapahub_child_monitor(host, watcher, target), RAPAHUB_ESTALE);
    close_rig(rig);
}

static void a_host_has_no_more_than_1024_monitors(void **state)
{
    struct rig *rig = open_rig();

    (void)state;
    rig->host->monitors.count = 1023; /* as if others were in the list */
    assert_int_equal(monitor(rig, rig->watcher, rig->target), 0);
    assert_int_equal(monitor(rig, rig->target, rig->watcher), RAPAHUB_EFULL);
    assert_int_equal(rig->host->monitors.count, 1024);
    rig->host->monitors.count -= 1023;
    assert_int_equal(monitor(rig, rig->target, rig->watcher), 0);
    close_rig(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_watcher_that_serves_hears_of_each_end_at_once),
        cmocka_unit_test(ends_while_it_does_not_serve_are_told_together),
        cmocka_unit_test(a_watcher_that_becomes_ready_hears_of_new_ends_only),
        cmocka_unit_test(each_of_its_containers_that_serves_hears_of_it),
        cmocka_unit_test(a_watcher_without_room_for_a_message_is_told_later),
        cmocka_unit_test(a_start_that_waits_for_a_free_entry_is_no_end),
        cmocka_unit_test(nobody_hears_of_what_it_does_not_watch),
        cmocka_unit_test(a_monitor_ends_when_either_is_closed),
        cmocka_unit_test(what_cannot_be_watched_is_refused),
        cmocka_unit_test(a_host_has_no_more_than_1024_monitors),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
