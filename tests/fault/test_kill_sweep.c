/* SPDX-License-Identifier: Apache-2.0 */
/* SIGKILL after each instruction of an operation on shared memory; then the host recovers: slots of
 * both pools are complete, the entry is Empty, nothing is torn, the next guest in it works. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "hub/base/clock.h"
#include "hub/link/connection.h"
#include "hub/shm/doorbell.h"
#include "hub/shm/peer_table.h"
#include "hub/shm/reclaim.h"
#include "tests/support/sweep.h"
#include "tests/support/testing.h"

#define PAYLOAD 200 /* bytes: takes a slot */
#define SLOTS   4

struct side {
    struct hub_segment *segment;
    struct hub_segment_view view;
    struct hub_slot_pool *pool;
    struct hub_connection connection;
    int doorbell;
};

struct stage {
    struct hub_segment *segment; /* the host's */
    struct hub_slot_pool host_pool;
    struct hub_slot_pool guest_pool;
    struct side host, guest;
    uint32_t peer, epoch;
    uint8_t payload[PAYLOAD];
    struct hub_answer answer;
    uint64_t call;
    uint32_t slot;
    struct hub_slot_reader reader;
};

static void nothing(void *user)
{
    (void)user;
}

static void no_reason(void *user, const char *reason)
{
    (void)user;
    (void)reason;
}

/* The child must see the segment too. */
static void let_fork(const struct hub_segment *segment)
{
    (void)madvise(segment->mapping.data, segment->mapping.size, MADV_DOFORK);
}

static int open_segment(struct stage *stage)
{
    static const struct hub_limits limits = {.payload_max = 252,
                                             .credit_size = 256,
                                             .guests_max = 2,
                                             .ring_size = 4,
                                             .slot_size = 256,
                                             .slot_count = SLOTS,
                                             .channels_max = 4};
    int r = hub_segment_create(&limits, true, &stage->segment);

    if (r < 0)
        return r;
    let_fork(stage->segment);
    hub_segment_view(stage->segment, 1, &stage->host.view);
    return hub_slot_pool_init(&stage->host_pool, &stage->segment->geometry,
                              stage->host.view.host_pool, true);
}

static int open_side(struct stage *stage, struct side *side, enum hub_role role)
{
    const struct hub_link_options options = {.role = role,
                                             .segment = side->segment,
                                             .view = &side->view,
                                             .pool = side->pool,
                                             .peer = stage->peer,
                                             .epoch = stage->epoch,
                                             .doorbell = side->doorbell,
                                             .pidfd = -1};
    const struct hub_connection_events events = {nothing, nothing,   nothing, nothing,
                                                 nothing, no_reason, stage,   NULL};

    return hub_connection_open(&side->connection, &options, &events);
}

static int attach_guest(struct stage *stage)
{
    struct side *guest = &stage->guest;
    int r = hub_segment_attach(stage->segment->mapping.path, stage->peer, &guest->segment,
                               &guest->view);

    if (r == 0) {
        let_fork(guest->segment);
        guest->pool = &stage->guest_pool;
        r = hub_slot_pool_init(guest->pool, &guest->segment->geometry, guest->view.guest_pool,
                               true);
    }
    if (r == 0)
        r = open_side(stage, guest, HUB_ROLE_GUEST);
    if (r == 0)
        r = hub_peer_table_attach(guest->view.entry, &stage->epoch);
    return r;
}

static int open_host(struct stage *stage)
{
    int r = hub_peer_table_reserve(stage->segment, &stage->peer, &stage->epoch);

    if (r == 0)
        r = hub_doorbell_create(&stage->host.doorbell, &stage->guest.doorbell);
    stage->host.segment = stage->segment;
    stage->host.pool = &stage->host_pool;
    hub_segment_view(stage->segment, stage->peer, &stage->host.view);
    return r == 0 ? open_side(stage, &stage->host, HUB_ROLE_HOST) : r;
}

static int setup_segment(void *user)
{
    struct stage *stage = user;

    memset(stage, 0, sizeof *stage);
    stage->host.doorbell = stage->guest.doorbell = -1;
    for (size_t i = 0; i < PAYLOAD; i++)
        stage->payload[i] = (uint8_t)(i * 7);
    stage->payload[0] = 0; /* no metadata */
    return open_segment(stage);
}

static int setup_host(void *user)
{
    int r = setup_segment(user);

    return r == 0 ? open_host(user) : r;
}

static int setup_pair(void *user)
{
    int r = setup_host(user);

    return r == 0 ? attach_guest(user) : r;
}

static void close_side(struct side *side)
{
    hub_connection_close(&side->connection);
    if (side->doorbell >= 0)
        close(side->doorbell);
    side->doorbell = -1;
}

static void close_guest(struct stage *stage)
{
    close_side(&stage->guest);
    hub_slot_pool_fini(&stage->guest_pool);
    hub_segment_release(&stage->guest.segment);
    memset(&stage->guest_pool, 0, sizeof stage->guest_pool);
}

static void teardown(void *user)
{
    struct stage *stage = user;

    hub_slot_reader_fini(&stage->reader);
    hub_calls_answer_fini(&stage->answer);
    close_guest(stage);
    close_side(&stage->host);
    hub_slot_pool_fini(&stage->host_pool);
    hub_segment_release(&stage->segment);
}

/* ---- what must hold after a death ---- */

static int check_pools(struct stage *stage, struct sweep_point *point)
{
    const struct hub_a64 *bitmap =
        (const struct hub_a64 *)(const void *)stage->host.view.guest_pool;

    if (hub_slot_pool_free_count(&stage->host_pool) != SLOTS)
        return sweep_fail(point, "host pool: %u of %d slots",
                          hub_slot_pool_free_count(&stage->host_pool), SLOTS);
    if (hub_peek64(bitmap) != (1u << SLOTS) - 1)
        return sweep_fail(point, "guest bitmap is %llx", (unsigned long long)hub_peek64(bitmap));
    return 0;
}

static int check_entry(struct stage *stage, struct sweep_point *point)
{
    const struct hub_peer_entry *entry = stage->host.view.entry;

    if (hub_peek(&entry->state) != HUB_PEER_EMPTY)
        return sweep_fail(point, "the entry is in state %u", hub_peek(&entry->state));
    if (hub_peek(&entry->guest_to_host_head) | hub_peek(&entry->guest_to_host_tail) |
        hub_peek(&entry->host_to_guest_head) | hub_peek(&entry->host_to_guest_tail))
        return sweep_fail(point, "an index is not 0");
    if (hub_peek(&entry->guest_wait) | hub_peek(&entry->host_wait))
        return sweep_fail(point, "a wait word is not 0");
    return 0;
}

/* A call of the next guest in the same entry, there and back, through slots of both pools. */
static int check_next_guest(struct stage *stage, struct sweep_point *point)
{
    const struct hub_response ok = {.kind = HUB_RESPONSE_OK};
    struct hub_call call = {.method_id = 1,
                            .payload = {{stage->payload, PAYLOAD}, {NULL, 0}},
                            .deadline_ns = HUB_NEVER,
                            .answer = &stage->answer};
    struct hub_request *request = NULL;
    uint32_t before = stage->peer, epoch = stage->epoch;
    uint64_t number = 0;
    int r;

    close_side(&stage->host);
    close_guest(stage);
    r = open_host(stage);
    if (r == 0)
        r = attach_guest(stage);
    if (r < 0 || stage->peer != before || stage->epoch != epoch + 1)
        return sweep_fail(point, "the next guest is peer %u epoch %u: %d", stage->peer,
                          stage->epoch, r);
    if (hub_calls_begin(stage->host.connection.calls, &call, &number) == 0 &&
        hub_link_sweep(stage->guest.connection.link, 8) == 1)
        request = hub_served_next(stage->guest.connection.served, NULL, NULL);
    if (!request ||
        hub_served_answer(stage->guest.connection.served, request, &ok, request->arguments) < 0)
        return sweep_fail(point, "the next guest got no call");
    r = hub_calls_wait(stage->host.connection.calls, number, false);
    if (r < 0 || stage->answer.size != PAYLOAD + 1 ||
        memcmp(stage->answer.data + 2, stage->payload + 1, PAYLOAD - 1) != 0)
        return sweep_fail(point, "the next guest's answer: %d, %u bytes", r, stage->answer.size);
    return 0;
}

/* The host's steps on proof of death. */
static int bury(struct stage *stage, struct sweep_point *point)
{
    int cause;

    hub_link_dead(stage->host.connection.link);
    cause = hub_link_cause(stage->host.connection.link);
    if (cause != RAPAHUB_EDIED)
        return sweep_fail(point, "the link ended with %d %s", cause,
                          hub_link_rule(stage->host.connection.link));
    hub_reclaim_peer(stage->segment, &stage->host_pool, stage->peer);
    return 0;
}

static int check_recovered(void *user, struct sweep_point *point)
{
    struct stage *stage = user;
    int r = bury(stage, point);

    if (r == 0)
        r = check_entry(stage, point);
    if (r == 0)
        r = check_pools(stage, point);
    if (r == 0)
        r = check_next_guest(stage, point);
    return r;
}

/* ---- the operations ---- */

static void send_a_request(void *user)
{
    struct stage *stage = user;
    const struct hub_message message = {HUB_REQUEST, 9, 1};
    const struct hub_parts parts = {{stage->payload, PAYLOAD}, {NULL, 0}};

    (void)hub_link_send(stage->guest.connection.link, &message, &parts, 0);
}

/* What arrived is whole, or nothing arrived. */
static int check_request(void *user, struct sweep_point *point)
{
    struct stage *stage = user;
    const struct rapahub_bytes none = {NULL, 0};
    const struct hub_response ok = {.kind = HUB_RESPONSE_OK};
    struct hub_request *request;
    int n = hub_link_sweep(stage->host.connection.link, 8);

    if (n < 0 || n > 1 || (point->finished && n != 1))
        return sweep_fail(point, "%d requests arrived", n);
    request = hub_served_next(stage->host.connection.served, NULL, NULL);
    if (request && (request->id != 9 || request->arguments.size != PAYLOAD - 1 ||
                    memcmp(request->arguments.data, stage->payload + 1, PAYLOAD - 1) != 0))
        return sweep_fail(point, "the request is torn");
    if (request)
        (void)hub_served_answer(stage->host.connection.served, request, &ok, none);
    return check_recovered(stage, point);
}

/* The guest has made a call, and the host's answer waits in the ring. */
static int setup_response(void *user)
{
    struct stage *stage = user;
    const struct hub_response ok = {.kind = HUB_RESPONSE_OK};
    const struct hub_call call = {.method_id = 1,
                                  .payload = {{stage->payload, PAYLOAD}, {NULL, 0}},
                                  .deadline_ns = HUB_NEVER,
                                  .answer = &stage->answer};
    struct hub_request *request;
    int r = setup_pair(stage);

    if (r == 0)
        r = hub_calls_begin(stage->guest.connection.calls, &call, &stage->call);
    if (r < 0 || hub_link_sweep(stage->host.connection.link, 8) != 1)
        return -1;
    request = hub_served_next(stage->host.connection.served, NULL, NULL);
    return hub_served_answer(stage->host.connection.served, request, &ok, request->arguments);
}

static void take_a_response(void *user)
{
    struct stage *stage = user;

    (void)hub_calls_wait(stage->guest.connection.calls, stage->call, false);
}

/* All but what a guest writes when it attaches is done: to open a segment writes nothing. */
static int setup_attach(void *user)
{
    struct stage *stage = user;
    struct side *guest = &stage->guest;
    int r = setup_host(stage);

    if (r == 0)
        r = hub_segment_attach(stage->segment->mapping.path, stage->peer, &guest->segment,
                               &guest->view);
    if (r == 0)
        let_fork(guest->segment);
    return r;
}

static void attach(void *user)
{
    struct stage *stage = user;
    struct side *guest = &stage->guest;
    struct hub_wait wait;

    if (hub_slot_pool_init(&stage->guest_pool, &guest->segment->geometry, guest->view.guest_pool,
                           true) < 0)
        return;
    hub_wait_init(&wait, &guest->view.entry->guest_wait, &guest->view.entry->host_wait,
                  guest->doorbell, -1);
    if (hub_peer_table_attach(guest->view.entry, &stage->epoch) == 0)
        hub_wait_wake(&wait, HUB_WAIT_RX, NULL);
}

/* Reserved or Attached, nothing between. */
static int check_attached(void *user, struct sweep_point *point)
{
    struct stage *stage = user;
    uint32_t state = hub_peek(&stage->host.view.entry->state);

    if (state != HUB_PEER_RESERVED && state != HUB_PEER_ATTACHED)
        return sweep_fail(point, "the entry is in state %u", state);
    if (point->finished && state != HUB_PEER_ATTACHED)
        return sweep_fail(point, "attach finished in state %u", state);
    return check_recovered(stage, point);
}

static void reserve_a_peer(void *user)
{
    struct stage *stage = user;

    (void)hub_peer_table_reserve(stage->segment, &stage->peer, &stage->epoch);
}

/* The host died: what it leaves is Empty or Reserved, the epoch raised by at most one, and who
 * recovers the entry gets all of it back. */
static int check_reserved(void *user, struct sweep_point *point)
{
    struct stage *stage = user;
    struct hub_peer_entry *entry = stage->host.view.entry;
    uint32_t state = hub_peek(&entry->state), epoch = hub_peek(&entry->epoch);

    if ((state != HUB_PEER_EMPTY && state != HUB_PEER_RESERVED) || epoch > 1)
        return sweep_fail(point, "the entry is in state %u, epoch %u", state, epoch);
    if (point->finished && (state != HUB_PEER_RESERVED || epoch != 1))
        return sweep_fail(point, "reserve finished in state %u, epoch %u", state, epoch);
    if (state == HUB_PEER_RESERVED)
        hub_reclaim_peer(stage->segment, &stage->host_pool, 1);
    stage->epoch = hub_peek(&entry->epoch);
    stage->peer = 1;
    if (check_entry(stage, point) < 0)
        return -1;
    return check_next_guest(stage, point);
}

/* The guest holds a slot of the host. */
static int setup_slot(void *user)
{
    struct stage *stage = user;
    struct hub_descriptor descriptor = {.payload_len = PAYLOAD};
    int r = setup_pair(stage);

    if (r == 0)
        r = hub_slot_reader_init(&stage->reader, &stage->guest.segment->geometry,
                                 stage->guest.view.host_pool);
    if (r == 0)
        r = hub_slot_pool_loan(&stage->host_pool, stage->peer, &descriptor.payload_slot,
                               &descriptor.payload_generation);
    if (r == 0)
        hub_slot_pool_sent(&stage->host_pool, descriptor.payload_slot);
    stage->slot = descriptor.payload_slot;
    return r == 0 ? hub_slot_reader_check(&stage->reader, &descriptor) : r;
}

static void free_a_slot(void *user)
{
    struct stage *stage = user;

    (void)hub_slot_reader_free(&stage->reader, stage->slot);
}

static void run(struct sweep sweep, const char *name)
{
    struct stage *stage = calloc(1, sizeof *stage);
    struct sweep_result result;

    assert_non_null(stage);
    sweep.user = stage;
    sweep.teardown = teardown;
    assert_int_equal(sweep_run(&sweep, &result), 0);
    printf("kill sweep: %-16s %5llu kill points, %llu failures\n", name,
           (unsigned long long)result.points, (unsigned long long)result.failures);
    if (result.failures > 0)
        fail_msg("at instruction %d: %s", (int)result.first_failure, result.text);
    assert_true(result.complete);
    assert_true(result.points > 2);
    free(stage);
}

/* r[verify shm.ordering.ring-publish] r[verify shm.slot.allocate] r[verify shm.crash.recovery] */
static void a_guest_dies_while_it_sends_a_request(void **state)
{
    (void)state;
    run((struct sweep){.setup = setup_pair, .operation = send_a_request, .check = check_request},
        "send a request");
}

/* r[verify shm.ordering.ring-consume] r[verify shm.crash.recovery] */
static void a_guest_dies_while_it_takes_a_response(void **state)
{
    (void)state;
    run((struct sweep){.setup = setup_response,
                       .operation = take_a_response,
                       .check = check_recovered},
        "take a response");
}

/* r[verify shm.spawn.guest-init] r[verify shm.crash.recovery] */
static void a_guest_dies_while_it_attaches(void **state)
{
    (void)state;
    run((struct sweep){.setup = setup_attach, .operation = attach, .check = check_attached},
        "attach");
}

/* r[verify shm.spawn.reserved-state] */
static void a_host_dies_while_it_reserves_a_peer(void **state)
{
    (void)state;
    run((struct sweep){.setup = setup_segment,
                       .operation = reserve_a_peer,
                       .check = check_reserved},
        "reserve a peer");
}

/* r[verify shm.slot.free] r[verify shm.crash.recovery] */
static void a_guest_dies_while_it_frees_a_slot(void **state)
{
    (void)state;
    run((struct sweep){.setup = setup_slot, .operation = free_a_slot, .check = check_recovered},
        "free a slot");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_guest_dies_while_it_sends_a_request),
        cmocka_unit_test(a_guest_dies_while_it_takes_a_response),
        cmocka_unit_test(a_guest_dies_while_it_attaches),
        cmocka_unit_test(a_host_dies_while_it_reserves_a_peer),
        cmocka_unit_test(a_guest_dies_while_it_frees_a_slot),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
