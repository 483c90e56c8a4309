/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/fault/stage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "hub/base/clock.h"
#include "hub/base/random.h"
#include "hub/shm/doorbell.h"
#include "hub/shm/peer_table.h"
#include "hub/shm/reclaim.h"

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
void stage_let_fork(const struct hub_segment *segment)
{
    (void)madvise(segment->mapping.data, segment->mapping.size, MADV_DOFORK);
}

static int open_segment(struct stage *stage)
{
    int r = stage_slots_create(stage->memory, &stage->segment);

    if (r < 0)
        return r;
    stage_let_fork(stage->segment);
    hub_segment_view(stage->segment, 1, &stage->host.view);
    return hub_slots_init_host(&stage->host_pool, stage->segment);
}

int stage_open_side(struct stage *stage, struct side *side, enum hub_role role)
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

int stage_map_guest(struct stage *stage)
{
    char path[32];

    snprintf(path, sizeof path, "/proc/self/fd/%d", stage->segment->mapping.fd);
    return hub_segment_attach(path, stage->peer, &stage->guest.segment, &stage->guest.view);
}

static int attach_guest(struct stage *stage)
{
    struct side *guest = &stage->guest;
    int r = stage_map_guest(stage);

    if (r == 0) {
        stage_let_fork(guest->segment);
        guest->pool = &stage->guest_pool;
        r = hub_slots_init_guest(guest->pool, guest->segment, &guest->view, stage->peer);
    }
    if (r == 0)
        r = stage_open_side(stage, guest, HUB_ROLE_GUEST);
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
    hub_slots_endow(&stage->host_pool, stage->peer);
    return r == 0 ? stage_open_side(stage, &stage->host, HUB_ROLE_HOST) : r;
}

int stage_setup_segment(struct stage *stage)
{
    *stage = (struct stage){.memory = stage->memory, .size = STAGE_PAYLOAD};
    stage->host.doorbell = stage->guest.doorbell = -1;
    for (size_t i = 0; i < STAGE_PAYLOAD_MAX; i++)
        stage->payload[i] = (uint8_t)(i * 7);
    stage->payload[0] = 0; /* no metadata */
    return open_segment(stage);
}

int stage_setup_host(struct stage *stage)
{
    int r = stage_setup_segment(stage);

    return r == 0 ? open_host(stage) : r;
}

int stage_setup_pair(struct stage *stage)
{
    int r = stage_setup_host(stage);

    return r == 0 ? attach_guest(stage) : r;
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
    hub_slots_fini(&stage->guest_pool);
    hub_segment_release(&stage->guest.segment);
    memset(&stage->guest_pool, 0, sizeof stage->guest_pool);
}

void stage_drop_channels(struct stage *stage)
{
    hub_channels_drop(&stage->of_host);
    hub_channels_drop(&stage->of_guest);
}

void stage_teardown(struct stage *stage)
{
    stage_drop_channels(stage);
    hub_slot_reader_fini(&stage->reader);
    hub_responses_fini(&stage->answer);
    close_guest(stage);
    close_side(&stage->host);
    hub_slots_fini(&stage->host_pool);
    hub_segment_release(&stage->segment);
}

/* ---- conditions after a death ---- */

int stage_check_entry(struct stage *stage, struct sweep_point *point)
{
    const struct hub_peer_entry *entry = stage->host.view.entry;

    if (hub_load_relaxed(&entry->state) != HUB_PEER_EMPTY)
        return sweep_fail(point, "the entry is in state %u", hub_load_relaxed(&entry->state));
    if (hub_load_relaxed(&entry->guest_to_host_head) |
        hub_load_relaxed(&entry->guest_to_host_tail) |
        hub_load_relaxed(&entry->host_to_guest_head) | hub_load_relaxed(&entry->host_to_guest_tail))
        return sweep_fail(point, "an index is not 0");
    if (hub_load_relaxed(&entry->guest_wait) | hub_load_relaxed(&entry->host_wait))
        return sweep_fail(point, "a wait word is not 0");
    return 0;
}

/* There and back, through slots of both sides. */
static int call_guest(struct stage *stage, uint32_t size, struct sweep_point *point)
{
    const struct hub_response ok = {.kind = HUB_RESPONSE_OK};
    struct hub_call call = {.method_id = 1,
                            .payload = {.head = {stage->payload, size}},
                            .deadline_ns = HUB_NEVER,
                            .answer = &stage->answer};
    struct hub_request *request = NULL;
    uint64_t number = 0;
    int r;

    hub_responses_fini(&stage->answer);
    if (hub_calls_begin(stage->host.connection.calls, &call, &number) == 0 &&
        hub_link_sweep(stage->guest.connection.link, 8) == 1)
        request = hub_inbound_calls_next(stage->guest.connection.served, NULL, NULL);
    if (!request || hub_inbound_calls_answer(stage->guest.connection.served, request, &ok,
                                             request->arguments) < 0)
        return sweep_fail(point, "the next guest got no call of %u bytes", size);
    r = hub_calls_wait(stage->host.connection.calls, number, false);
    if (r < 0 || stage->answer.size != size + 1 ||
        memcmp(stage->answer.data + 2, stage->payload + 1, size - 1) != 0)
        return sweep_fail(point, "the next guest's answer: %d, %u bytes", r, stage->answer.size);
    return 0;
}

int stage_check_next_guest(struct stage *stage, struct sweep_point *point)
{
    uint32_t before = stage->peer, epoch = stage->epoch;
    int r;

    close_side(&stage->host);
    close_guest(stage);
    if (stage->memory == STAGE_PRIVATE_CLASSES)
        return 0;
    r = open_host(stage);
    if (r == 0)
        r = attach_guest(stage);
    if (r < 0 || stage->peer != before || stage->epoch != epoch + 1)
        return sweep_fail(point, "the next guest is peer %u epoch %u: %d", stage->peer,
                          stage->epoch, r);
    for (const uint32_t *size = stage_slots_sizes(stage->memory); *size > 0 && r == 0; size++)
        r = call_guest(stage, *size, point);
    return r;
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
    hub_reclaim_reset(stage->segment, &stage->host_pool, stage->peer);
    hub_reclaim_empty(stage->segment, stage->peer);
    return 0;
}

int stage_check_recovered(struct stage *stage, struct sweep_point *point)
{
    int r = bury(stage, point);

    if (r == 0)
        r = stage_check_entry(stage, point);
    if (r == 0)
        r = stage_slots_check(&stage->host_pool, &stage->host.view, stage->peer, point);
    if (r == 0)
        r = stage_check_next_guest(stage, point);
    return r;
}

/* ---- while it stands still ---- */

int stage_look_at_host(struct stage *stage, struct sweep_point *point)
{
    static const struct hub_message message = {HUB_REQUEST, 77, 1};
    const struct hub_parts parts = {.head = {stage->payload, STAGE_PAYLOAD}};
    uint32_t state = hub_load_relaxed(&stage->host.view.entry->state);
    int r = hub_link_sweep(stage->host.connection.link, 8);

    if (r < 0)
        return sweep_fail(point, "the host received %d", r);
    stage->arrived += (uint32_t)r;
    r = hub_link_send(stage->host.connection.link, &message, &parts, 0);
    if (r != 0 && r != RAPAHUB_EAGAIN)
        return sweep_fail(point, "the host sent %d", r);
    if (hub_load_relaxed(&stage->host.view.entry->state) != state)
        return sweep_fail(point, "the host changed the state %u of a living guest", state);
    return 0;
}

/* ---- the sweep ---- */

struct sweeping {
    const struct stage_operation *operation;
    struct stage stage;
};

static int set_up(void *user)
{
    struct sweeping *sweeping = user;

    return sweeping->operation->setup(&sweeping->stage);
}

static void operate(void *user)
{
    struct sweeping *sweeping = user;

    sweeping->operation->operation(&sweeping->stage);
}

static int look_or_check(void *user, struct sweep_point *point)
{
    struct sweeping *sweeping = user;

    return (point->stopped ? sweeping->operation->look
                           : sweeping->operation->check)(&sweeping->stage, point);
}

static void tear_down(void *user)
{
    stage_teardown(&((struct sweeping *)user)->stage);
}

uint32_t stage_stride(int argc, char **argv, uint32_t stride)
{
    if (argc == 1)
        return stride;
    return argc == 2 && strcmp(argv[1], "--every") == 0 ? 1 : 0;
}

static void print_line(const char *name, const struct sweep *sweep,
                       const struct sweep_result *result)
{
    static const char *const modes[] = {"kill", "stop, go on", "stop, kill"};

    printf("%-11s | %-32s | %5llu points | %llu failures", modes[sweep->mode], name,
           (unsigned long long)result->points, (unsigned long long)result->failures);
    if (sweep->stride > 1)
        printf(" | 1 in %llu, from %llu", (unsigned long long)sweep->stride,
               (unsigned long long)sweep->start);
    printf("\n");
}

int stage_sweep(const struct stage_operation *operation, enum sweep_mode mode, uint32_t stride)
{
    struct sweeping *sweeping = calloc(1, sizeof *sweeping);
    struct sweep sweep = {.setup = set_up,
                          .operation = operate,
                          .check = look_or_check,
                          .teardown = tear_down,
                          .user = sweeping,
                          .mode = mode,
                          .start = 1 + hub_random_nonce() % stride,
                          .stride = stride};
    struct sweep_result result = {.failures = 1};
    int r;

    if (!sweeping)
        return -1;
    sweeping->operation = operation;
    sweeping->stage.memory = operation->memory;
    r = sweep_run(&sweep, &result);
    free(sweeping);
    print_line(operation->name, &sweep, &result);
    if (r == 0 && result.failures == 0 && result.complete && result.points > 2)
        return 0;
    printf("at instruction %llu: %s\n", (unsigned long long)result.first_failure, result.text);
    return -1;
}
