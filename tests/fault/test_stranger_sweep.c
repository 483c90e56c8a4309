/* SPDX-License-Identifier: Apache-2.0 */
/* SIGKILL and SIGSTOP after each instruction of what a guest without a ticket does alone: to attach
 * and to detach; and of a host that gives back what a dead guest held. Wherever a guest dies, its
 * lock and its entry prove it; wherever it only stands still, nothing does. */
#include <stdio.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "hub/base/lock.h"
#include "hub/shm/anonymous.h"
#include "hub/shm/peer_table.h"
#include "hub/shm/reclaim.h"
#include "tests/fault/stage.h"
#include "tests/support/testing.h"

#define PEER   1
#define LARGE  1400 /* bytes: of the last class */
#define STRIDE 13   /* one in so many points is a stop, and of the longest operation; a prime */

static enum hub_anonymous find(const struct stage *stage)
{
    pid_t pid;

    return hub_anonymous_look(stage->segment, PEER, &pid);
}

/* The host's cleaning up after a guest that is proven gone before it was served. */
static void clear_away(struct stage *stage)
{
    hub_reclaim_reset(stage->segment, &stage->host_pool, PEER);
    (void)hub_lock_drop_peer(stage->segment->mapping.fd, PEER);
    hub_reclaim_empty(stage->segment, PEER);
}

static int check_next(struct stage *stage, struct sweep_point *point)
{
    stage->peer = PEER;
    stage->epoch = hub_load_relaxed(&stage->host.view.entry->epoch);
    if (stage_check_entry(stage, point) < 0)
        return -1;
    return stage_check_next_guest(stage, point);
}

/* ---- attach ---- */

/* The records of classes are private memory: many instructions without an effect for other
 * processes. */
static void attach(struct stage *stage)
{
    struct side *guest = &stage->guest;
    struct hub_wait wait;

    if (hub_anonymous_enter(stage->segment->mapping.path, &guest->segment, &guest->view,
                            &stage->peer) < 0)
        return;
    if (stage->memory == STAGE_POOLS &&
        hub_slots_init_guest(&stage->guest_pool, guest->segment, &guest->view, stage->peer) < 0)
        return;
    hub_wait_init(&wait, &guest->view.entry->guest_wait, &guest->view.entry->host_wait, -1, -1);
    (void)hub_peer_table_attach(guest->view.entry, &stage->epoch);
}

/* A guest that stands still holds its lock, or has not touched the entry. */
static int look_at_attaching(struct stage *stage, struct sweep_point *point)
{
    enum hub_anonymous found = find(stage);

    if (found != HUB_ANONYMOUS_NONE && found != HUB_ANONYMOUS_COMING && found != HUB_ANONYMOUS_HERE)
        return sweep_fail(point, "a living guest was found %d", (int)found);
    return 0;
}

/* However far it came: its entry is Empty, or it is proven that no guest is in it. */
static int check_attached(struct stage *stage, struct sweep_point *point)
{
    enum hub_anonymous found = find(stage);

    if (found != HUB_ANONYMOUS_NONE && found != HUB_ANONYMOUS_GONE)
        return sweep_fail(point, "a dead guest was found %d", (int)found);
    if (point->finished && found != HUB_ANONYMOUS_GONE)
        return sweep_fail(point, "one that has attached and died was found %d", (int)found);
    if (found == HUB_ANONYMOUS_GONE)
        clear_away(stage);
    return check_next(stage, point);
}

/* ---- detach ---- */

/* Attached, with a call under way in either direction. */
static int setup_attached(struct stage *stage)
{
    struct side *guest = &stage->guest, *host = &stage->host;
    int r = stage_setup_segment(stage);

    if (r == 0)
        r = hub_anonymous_enter(stage->segment->mapping.path, &guest->segment, &guest->view,
                                &stage->peer);
    if (r < 0)
        return r;
    stage_let_fork(guest->segment);
    guest->pool = &stage->guest_pool;
    host->segment = stage->segment;
    host->pool = &stage->host_pool;
    hub_slots_endow(host->pool, PEER);
    r = hub_slots_init_guest(guest->pool, guest->segment, &guest->view, stage->peer);
    stage->epoch = hub_load_relaxed(&guest->view.entry->epoch);
    if (r == 0)
        r = stage_open_side(stage, guest, HUB_ROLE_GUEST);
    if (r == 0)
        r = hub_peer_table_attach(guest->view.entry, &stage->epoch);
    return r == 0 ? stage_open_side(stage, host, HUB_ROLE_HOST) : r;
}

static int setup_detach(struct stage *stage)
{
    const struct hub_call call = {.method_id = 1,
                                  .payload = {.head = {stage->payload, STAGE_PAYLOAD}},
                                  .deadline_ns = UINT64_MAX,
                                  .answer = &stage->answer};
    int r = setup_attached(stage);

    return r == 0 ? hub_calls_begin(stage->guest.connection.calls, &call, &stage->call) : r;
}

/* All of it that touches the segment: private memory is not freed here. */
static void detach(struct stage *stage)
{
    struct side *guest = &stage->guest;

    hub_link_leave(guest->connection.link);
    hub_link_say_goodbye(guest->connection.link, "", "swept");
    hub_link_rest(guest->connection.link);
    hub_segment_release(&guest->segment);
}

/* Its sent messages are received; it gets no more work. */
static int look_at_leaving(struct stage *stage, struct sweep_point *point)
{
    static const struct hub_message message = {HUB_REQUEST, 77, 1};
    const struct hub_parts parts = {.head = {stage->payload, STAGE_PAYLOAD}};
    int r = hub_link_sweep(stage->host.connection.link, 8);

    if (r < 0)
        return sweep_fail(point, "the host received %d", r);
    r = hub_link_send(stage->host.connection.link, &message, &parts, 0);
    return r == RAPAHUB_ESTALE ? 0 : sweep_fail(point, "a guest that leaves was sent work: %d", r);
}

/* This process has its descriptor too: its lock is held however far it came. */
static int look_at_detaching(struct stage *stage, struct sweep_point *point)
{
    enum hub_anonymous found = find(stage);

    if (found != HUB_ANONYMOUS_HERE)
        return sweep_fail(point, "a living guest was found %d", (int)found);
    if (hub_observe(&stage->host.view.entry->state) == HUB_PEER_GOODBYE)
        return look_at_leaving(stage, point);
    return stage_look_at_host(stage, point);
}

/* As a fork of the guest would, this process keeps the guest's descriptors; then it releases
 * them. */
static int check_detached(struct stage *stage, struct sweep_point *point)
{
    uint32_t state = hub_load_relaxed(&stage->host.view.entry->state);

    if (point->finished && state != HUB_PEER_GOODBYE)
        return sweep_fail(point, "it has detached, and its state is %u", state);
    if (find(stage) != HUB_ANONYMOUS_HERE)
        return sweep_fail(point, "a dead guest whose lock is held was found %d", (int)find(stage));
    hub_connection_close(&stage->guest.connection);
    hub_segment_release(&stage->guest.segment);
    if (find(stage) != HUB_ANONYMOUS_GONE)
        return sweep_fail(point, "a dead guest was found %d", (int)find(stage));
    if (hub_lock_drop_peer(stage->segment->mapping.fd, PEER) < 0)
        return sweep_fail(point, "the lock cannot be dropped");
    return stage_check_recovered(stage, point);
}

/* ---- reclaim ---- */

/* It has a slot of an extent that was added, too. */
static int setup_extent(struct stage *stage)
{
    int r = setup_detach(stage);

    if (r == 0)
        r = stage_slots_grow(&stage->host_pool, LARGE);
    if (r == 0 && stage_slots_grant(&stage->host_pool, LARGE) == 0)
        r = -1;
    stage_slots_let_fork(&stage->host_pool);
    return r;
}

/* A guest that died with slots of both sides and messages in both rings; with classes it wanted
 * more. */
static int die(struct stage *stage, int r)
{
    static const struct hub_message message = {HUB_REQUEST, 9, 1};
    const struct hub_parts parts = {.head = {stage->payload, STAGE_PAYLOAD}};

    if (r == 0 && stage->memory == STAGE_CLASSES)
        stage_slots_want(&stage->host_pool, LARGE);
    if (r == 0)
        r = hub_link_send(stage->host.connection.link, &message, &parts, 0);
    if (r < 0)
        return r;
    hub_connection_close(&stage->guest.connection);
    hub_segment_release(&stage->guest.segment);
    hub_connection_close(&stage->host.connection);
    return find(stage) == HUB_ANONYMOUS_GONE ? 0 : -1;
}

static int setup_dead(struct stage *stage)
{
    return die(stage, setup_detach(stage));
}

static int setup_dead_with_extent(struct stage *stage)
{
    return die(stage, setup_extent(stage));
}

static void reclaim(struct stage *stage)
{
    clear_away(stage);
}

/* Empty comes last: a process that finds the entry Empty finds all the rest done. */
static int look_at_reclaiming(struct stage *stage, struct sweep_point *point)
{
    const struct hub_peer_entry *entry = stage->host.view.entry;

    return hub_observe(&entry->state) == HUB_PEER_EMPTY ? stage_check_entry(stage, point) : 0;
}

/* A host's thread that stopped in between begins again. Its private memory died with it here: the
 * operation is done once more in any case. */
static int check_reclaimed(struct stage *stage, struct sweep_point *point)
{
    uint32_t state = hub_observe(&stage->host.view.entry->state);

    if (look_at_reclaiming(stage, point) < 0)
        return -1;
    if (point->finished && state != HUB_PEER_EMPTY)
        return sweep_fail(point, "it is reclaimed, and its state is %u", state);
    clear_away(stage);
    if (stage_slots_check(&stage->host_pool, &stage->host.view, PEER, point) < 0)
        return -1;
    return check_next(stage, point);
}

/* ---- the sweeps ---- */

enum operation { ATTACHING, DETACHING, RECLAIMING };

static const struct stage_operation operations[] = {
    [ATTACHING] = {"attach alone", stage_setup_segment, attach, look_at_attaching, check_attached,
                   STAGE_POOLS},
    [DETACHING] = {"detach alone", setup_detach, detach, look_at_detaching, check_detached,
                   STAGE_POOLS},
    [RECLAIMING] = {"reclaim", setup_dead, reclaim, look_at_reclaiming, check_reclaimed,
                    STAGE_POOLS},
};

static const struct stage_operation with_extent = {"reclaim, an extent was added",
                                                   setup_dead_with_extent,
                                                   reclaim,
                                                   look_at_reclaiming,
                                                   check_reclaimed,
                                                   STAGE_CLASSES};

static void run(enum operation number, enum sweep_mode mode, uint32_t stride)
{
    struct stage_operation operation = operations[number];
    char name[64];

    assert_int_equal(stage_sweep(&operation, mode, stride), 0);
    snprintf(name, sizeof name, "%s, classes", operation.name);
    operation.name = name;
    operation.memory = STAGE_CLASSES;
    assert_int_equal(stage_sweep(&operation, mode, stride), 0);
}

/* r[verify shm.guest.attach] r[verify hub.file.lock] r[verify hub.death.proof] */
static void a_guest_dies_while_it_attaches_by_itself(void **state)
{
    (void)state;
    run(ATTACHING, SWEEP_KILL, 1);
}

static void a_guest_stands_still_while_it_attaches_by_itself(void **state)
{
    run(ATTACHING, SWEEP_STOP, *(uint32_t *)*state);
}

/* r[verify shm.guest.detach] r[verify hub.death.recycle] */
static void a_guest_dies_while_it_detaches(void **state)
{
    (void)state;
    run(DETACHING, SWEEP_KILL, 1);
}

static void a_guest_stands_still_while_it_detaches(void **state)
{
    run(DETACHING, SWEEP_STOP, *(uint32_t *)*state);
}

/* r[verify shm.crash.recovery] */
static void a_host_dies_while_it_reclaims(void **state)
{
    run(RECLAIMING, SWEEP_KILL, 1);
    assert_int_equal(stage_sweep(&with_extent, SWEEP_KILL, *(uint32_t *)*state), 0);
}

static void a_host_stands_still_while_it_reclaims(void **state)
{
    run(RECLAIMING, SWEEP_STOP, *(uint32_t *)*state);
    assert_int_equal(stage_sweep(&with_extent, SWEEP_STOP, *(uint32_t *)*state), 0);
}

int main(int argc, char **argv)
{
    uint32_t stride = stage_stride(argc, argv, STRIDE);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_guest_dies_while_it_attaches_by_itself),
        cmocka_unit_test_prestate(a_guest_stands_still_while_it_attaches_by_itself, &stride),
        cmocka_unit_test(a_guest_dies_while_it_detaches),
        cmocka_unit_test_prestate(a_guest_stands_still_while_it_detaches, &stride),
        cmocka_unit_test_prestate(a_host_dies_while_it_reclaims, &stride),
        cmocka_unit_test_prestate(a_host_stands_still_while_it_reclaims, &stride),
    };

    if (stride == 0)
        return 64;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
