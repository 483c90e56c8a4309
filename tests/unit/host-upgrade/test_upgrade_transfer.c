/* SPDX-License-Identifier: Apache-2.0 */
/* Two lives, each on a link that ends in this thread. They answer one message after another, and
 * keep what they were asked, in the order in which both were. */
#include "host/call/caller.h"
#include "host/observe/observe.h"
#include "host/upgrade/upgrade_transfer.h"
#include "hub/base/crc32c.h"
#include "hub/call/call_ends.h"
#include "hub/wire/payload.h"
#include "tests/unit/host-guest/stage.h"
#include "tests/unit/link/pair.h"

#define CONTAINERS 2
#define STATE      700 /* more than one piece */
#define PIECE      500

struct side {
    struct pair pair;
    struct host_life life;
};

struct rig {
    struct host_observe host;
    struct host_guest *guest;
    struct host_container *containers[CONTAINERS];
    struct side old, new;
    struct host_upgrade upgrade;
    /* what came of the step */
    enum host_upgrade_event event;
    unsigned happened, failed, late;
    int code;
    /* what the two were asked: "B1" begin in the new one … lower case: the old one */
    char log[64];
    uint8_t state[STATE], written[STATE + PIECE];
    size_t read, moved;
    uint64_t work;
    struct hub_saved saved;
    enum hub_lifecycle_method refuses;
};

static struct rig *rig_of(struct host_upgrade *upgrade)
{
    return HUB_LIST_ITEM((struct hub_list *)(void *)upgrade, struct rig, upgrade);
}

static void happens(struct host_upgrade *upgrade, enum host_upgrade_event event)
{
    rig_of(upgrade)->event = event;
    rig_of(upgrade)->happened++;
}

static void fails(struct host_upgrade *upgrade, int code)
{
    rig_of(upgrade)->code = code;
    rig_of(upgrade)->failed++;
}

static void is_late(struct host_upgrade *upgrade)
{
    rig_of(upgrade)->late++;
}

static void open_side(struct rig *rig, struct side *side)
{
    const struct hub_limits limits = pair_limits();

    pair_open(&side->pair, &limits, 0);
    side->life.host = HOST_PROCESS(&rig->host);
    side->life.guest = rig->guest;
    side->life.connection = side->pair.host.connection;
    snprintf(side->life.name, sizeof side->life.name, "calc");
}

static void on_tick(void *user)
{
    struct host_upgrade *upgrade = user;
    void (*again)(struct host_upgrade *) = upgrade->again;

    upgrade->again = NULL;
    if (again)
        again(upgrade);
}

static struct rig *open_rig(enum host_upgrade_state state)
{
    static const struct host_upgrade_events events = {happens, fails, is_late};
    struct rig *rig = test_calloc(1, sizeof *rig);

    stage_open(&rig->host.supervision);
    HOST_PROCESS(&rig->host)->options.limits = pair_limits();
    rig->guest = stage_enter(&rig->host.supervision, "calc");
    for (uint32_t i = 0; i < CONTAINERS; i++)
        rig->containers[i] = stage_container(rig->guest, i);
    open_side(rig, &rig->old);
    open_side(rig, &rig->new);
    rig->refuses = HUB_LIFECYCLE_COUNT;
    for (size_t i = 0; i < STATE; i++)
        rig->state[i] = (uint8_t)(7 * i + 1);
    rig->saved = (struct hub_saved){
        .size = STATE, .version = 3, .checksum = hub_crc32c(0, rig->state, STATE)};
    rig->upgrade = (struct host_upgrade){.events = &events,
                                         .host = &rig->host,
                                         .guest = rig->guest,
                                         .from = &rig->old.life,
                                         .to = &rig->new.life,
                                         .state = state,
                                         .deadline_ns = hub_clock_after(SOON),
                                         .timer = {.on = on_tick, .user = &rig->upgrade}};
    assert_int_equal(host_gate_init(&rig->upgrade.holding, rig->guest), 0);
    return rig;
}

static void close_rig(struct rig *rig)
{
    assert_int_equal(rig->upgrade.awaited, 0);
    host_loop_clear(&rig->upgrade.timer);
    host_gate_fini(&rig->upgrade.holding);
    host_state_pipe_drop(&rig->upgrade.pipe);
    pair_close(&rig->old.pair);
    pair_close(&rig->new.pair);
    stage_close(&rig->host.supervision);
    test_free(rig);
}

/* ---- the two processes ---- */

static void put_result(struct rig *rig, struct hub_writer *writer, struct hub_reader *arguments,
                       enum hub_lifecycle_method method)
{
    const struct rapahub_type *const *types = hub_lifecycle_table[method].types;
    struct rapahub_bytes bytes;
    uint64_t handle, at;

    if (method == HUB_LIFECYCLE_SAVE) {
        rig->read = 0;
        hub_payload_put(writer, types[0], &rig->saved);
    } else if (method == HUB_LIFECYCLE_WORK) {
        hub_payload_put(writer, types[0], &rig->work);
        rig->work -= rig->work > 0;
    } else if (method == HUB_LIFECYCLE_READ) {
        hub_payload_decode(arguments, types[1], &handle);
        hub_payload_decode(arguments, types[2], &at);
        bytes = (struct rapahub_bytes){NULL, 0}; /* at the end it forgets */
        if (at != rig->saved.size) {
            assert_int_equal(at, rig->read);
            bytes.data = rig->state + at;
            bytes.size = STATE - at < PIECE ? STATE - at : PIECE;
            rig->read += bytes.size;
        }
        hub_payload_put(writer, types[0], &bytes);
    } else if (method == HUB_LIFECYCLE_WRITE) {
        hub_payload_decode(arguments, types[1], &handle);
        hub_payload_decode(arguments, types[2], &bytes);
        assert_true(rig->moved + bytes.size <= sizeof rig->written);
        memcpy(rig->written + rig->moved, bytes.data, bytes.size);
        rig->moved += bytes.size;
    }
}

static char letter_of(enum hub_lifecycle_method method, bool is_new)
{
    static const char letters[HUB_LIFECYCLE_COUNT] = {
        [HUB_LIFECYCLE_BEGIN] = 'b', [HUB_LIFECYCLE_WRITE] = 'w', [HUB_LIFECYCLE_LOAD] = 'l',
        [HUB_LIFECYCLE_SAVE] = 's',  [HUB_LIFECYCLE_READ] = 'r',  [HUB_LIFECYCLE_PLUG] = 'p',
        [HUB_LIFECYCLE_WORK] = 'k'};

    return (char)(letters[method] - (is_new ? 'a' - 'A' : 0));
}

static bool answer_one(struct rig *rig, struct side *side)
{
    struct hub_connection *end = &side->pair.guest.connection;
    struct hub_response response = {.kind = HUB_RESPONSE_OK};
    enum hub_lifecycle_method method;
    struct hub_request *request;
    struct hub_reader arguments;
    struct hub_writer writer;
    uint8_t body[1000];

    assert_true(hub_link_sweep(end->link, UINT32_MAX) >= 0);
    request = hub_inbound_calls_next(end->served, NULL, NULL);
    if (!request)
        return false;
    method = hub_lifecycle_of_id(request->method_id);
    rig->log[strlen(rig->log)] = letter_of(method, side == &rig->new);
    hub_reader_init(&arguments, request->arguments.data, request->arguments.size);
    hub_writer_init(&writer, body, sizeof body);
    if (method == rig->refuses)
        response = (struct hub_response){
            .kind = HUB_RESPONSE_USER, .code = -7, .text = rapahub_string_of("no")};
    else
        put_result(rig, &writer, &arguments, method);
    assert_int_equal(hub_inbound_calls_answer(end->served, request, &response,
                                              (struct rapahub_bytes){body, writer.size}),
                     0);
    assert_true(hub_link_sweep(side->life.connection.link, UINT32_MAX) >= 0);
    (void)hub_call_ends_deliver(side->life.connection.calls);
    return true;
}

/* Until neither is asked any more. */
static void answer_all(struct rig *rig)
{
    while (answer_one(rig, &rig->old) || answer_one(rig, &rig->new))
        continue;
}

/* The step waits for a change alone: no time is set at which it looks. */
static void change(struct rig *rig)
{
    assert_false(host_loop_is_set(&rig->upgrade.timer));
    assert_true(rig->upgrade.again_ns == HUB_NEVER);
    on_tick(&rig->upgrade);
}

static void tick(struct rig *rig)
{
    assert_true(host_loop_is_set(&rig->upgrade.timer));
    host_loop_clear(&rig->upgrade.timer);
    on_tick(&rig->upgrade);
}

static void assert_happened(const struct rig *rig, enum host_upgrade_event event)
{
    assert_int_equal(rig->failed + rig->late, 0);
    assert_int_equal(rig->happened, 1);
    assert_int_equal(rig->event, event);
}

/* ---- tests ---- */

static void each_container_begins_in_the_new_process(void **state)
{
    struct rig *rig = open_rig(HOST_UPGRADE_BEGINNING);

    (void)state;
    host_upgrade_transfer_begin(&rig->upgrade);
    answer_all(rig);
    assert_string_equal(rig->log, "BB");
    assert_happened(rig, HOST_UPGRADE_BEGUN);
    close_rig(rig);
}

/* r[verify supervise.upgrade.hold] */
static void a_container_that_is_plugged_already_is_not_plugged_again(void **state)
{
    struct rig *rig = open_rig(HOST_UPGRADE_HOLDING);

    (void)state;
    rig->containers[0]->plugged = true;
    host_upgrade_transfer_plug(&rig->upgrade);
    answer_all(rig);
    assert_string_equal(rig->log, "p");
    assert_happened(rig, HOST_UPGRADE_HELD);
    close_rig(rig);
}

static void containers_are_drained_when_none_has_calls_or_work_left(void **state)
{
    struct rig *rig = open_rig(HOST_UPGRADE_DRAINING);

    (void)state;
    hub_add(&rig->containers[1]->users, 1); /* a call is open */
    host_upgrade_transfer_drain(&rig->upgrade);
    answer_all(rig);
    assert_string_equal(rig->log, "");
    host_containers_drop(rig->containers[1]);
    rig->work = 1;
    change(rig);
    answer_all(rig);
    assert_string_equal(rig->log, "k");
    assert_int_equal(rig->happened, 0);
    tick(rig);
    answer_all(rig);
    assert_string_equal(rig->log, "kkk");
    assert_happened(rig, HOST_UPGRADE_DRAINED);
    assert_int_equal(rig->upgrade.at, 0);
    close_rig(rig);
}

/* r[verify supervise.upgrade.state] */
static void a_state_goes_over_piece_by_piece(void **state)
{
    struct rig *rig = open_rig(HOST_UPGRADE_SAVING);

    (void)state;
    host_upgrade_transfer_save(&rig->upgrade);
    answer_all(rig);
    assert_string_equal(rig->log, "srrWW");
    assert_happened(rig, HOST_UPGRADE_SAVED);
    assert_int_equal(rig->moved, STATE);
    assert_memory_equal(rig->written, rig->state, STATE);
    assert_true(rig->upgrade.result.state_bytes == STATE);
    close_rig(rig);
}

static void a_state_without_bytes_goes_over_too(void **state)
{
    struct rig *rig = open_rig(HOST_UPGRADE_SAVING);

    (void)state;
    rig->saved = (struct hub_saved){.version = 3};
    host_upgrade_transfer_save(&rig->upgrade);
    answer_all(rig);
    assert_string_equal(rig->log, "s");
    assert_happened(rig, HOST_UPGRADE_SAVED);
    rig->upgrade.state = HOST_UPGRADE_LOADING;
    host_upgrade_transfer_load(&rig->upgrade);
    answer_all(rig);
    assert_string_equal(rig->log, "sL");
    close_rig(rig);
}

static void a_state_that_is_not_as_it_was_announced_is_refused(void **state)
{
    struct rig *rig = open_rig(HOST_UPGRADE_SAVING);

    (void)state;
    rig->saved.checksum++;
    host_upgrade_transfer_save(&rig->upgrade);
    answer_all(rig);
    assert_true(rig->failed == 1 && rig->code == RAPAHUB_EABI && rig->happened == 0);
    close_rig(rig);
    rig = open_rig(HOST_UPGRADE_SAVING);
    rig->saved.size = PIECE + 1;
    host_upgrade_transfer_save(&rig->upgrade);
    answer_all(rig);
    assert_true(rig->failed == 1 && rig->code == RAPAHUB_EABI && rig->happened == 0);
    assert_int_equal(rig->moved, PIECE); /* nothing beyond what was announced */
    close_rig(rig);
}

/* r[verify sec.state.size] */
static void a_state_that_is_too_large_is_not_begun(void **state)
{
    struct rig *rig = open_rig(HOST_UPGRADE_SAVING);

    (void)state;
    rig->saved.size = RAPAHUB_STATE_MAX + 1;
    host_upgrade_transfer_save(&rig->upgrade);
    answer_all(rig);
    assert_string_equal(rig->log, "sr"); /* it forgets it */
    assert_true(rig->failed == 1 && rig->code == RAPAHUB_EMSGSIZE);
    close_rig(rig);
}

/* The step before a load; nothing of it is kept. */
static void move_state(struct rig *rig)
{
    rig->upgrade.state = HOST_UPGRADE_SAVING;
    rig->moved = 0;
    host_upgrade_transfer_save(&rig->upgrade);
    answer_all(rig);
    assert_int_equal(rig->event, HOST_UPGRADE_SAVED);
    rig->upgrade.state = HOST_UPGRADE_LOADING;
    rig->happened = 0;
    memset(rig->log, 0, sizeof rig->log);
}

static void containers_are_loaded_one_by_one_and_plugged_ones_stay_plugged(void **state)
{
    struct rig *rig = open_rig(HOST_UPGRADE_LOADING);

    (void)state;
    rig->containers[1]->plugged = true;
    move_state(rig);
    host_upgrade_transfer_load(&rig->upgrade);
    answer_all(rig);
    assert_string_equal(rig->log, "L");
    assert_happened(rig, HOST_UPGRADE_LOADED);
    move_state(rig);
    host_upgrade_transfer_load(&rig->upgrade);
    answer_all(rig);
    assert_string_equal(rig->log, "LP");
    assert_int_equal(rig->event, HOST_UPGRADE_LOADED_ALL);
    close_rig(rig);
}

static void a_guest_without_containers_has_nothing_to_save_or_load(void **state)
{
    struct rig *rig = open_rig(HOST_UPGRADE_SAVING);

    (void)state;
    rig->upgrade.at = CONTAINERS;
    host_upgrade_transfer_save(&rig->upgrade);
    assert_happened(rig, HOST_UPGRADE_SAVED);
    host_upgrade_transfer_load(&rig->upgrade);
    assert_int_equal(rig->event, HOST_UPGRADE_LOADED_ALL);
    answer_all(rig);
    assert_string_equal(rig->log, "");
    close_rig(rig);
}

static void a_refusal_ends_the_step(void **state)
{
    struct rig *rig = open_rig(HOST_UPGRADE_BEGINNING);

    (void)state;
    rig->refuses = HUB_LIFECYCLE_BEGIN;
    host_upgrade_transfer_begin(&rig->upgrade);
    answer_all(rig);
    assert_string_equal(rig->log, "B");
    assert_true(rig->failed == 1 && rig->code == RAPAHUB_EAPPLICATION && rig->happened == 0);
    close_rig(rig);
}

/* The step failed meanwhile, and another one is under way. */
static void an_answer_to_an_earlier_step_is_ignored(void **state)
{
    struct rig *rig = open_rig(HOST_UPGRADE_BEGINNING);

    (void)state;
    host_upgrade_transfer_begin(&rig->upgrade);
    assert_int_equal(rig->upgrade.awaited, 1);
    rig->upgrade.state = HOST_UPGRADE_CLEARING;
    answer_all(rig);
    assert_string_equal(rig->log, "B");
    assert_int_equal(rig->happened + rig->failed + rig->late, 0);
    close_rig(rig);
}

static void a_process_that_does_not_answer_in_time_makes_the_upgrade_late(void **state)
{
    struct rig *rig = open_rig(HOST_UPGRADE_BEGINNING);

    (void)state;
    rig->upgrade.hold_until_ns = hub_clock_after(HUB_MILLISECOND); /* before the deadline */
    host_upgrade_transfer_begin(&rig->upgrade);
    while (rig->late == 0 && hub_clock_left(rig->upgrade.deadline_ns) > 0)
        (void)hub_call_ends_deliver(rig->new.life.connection.calls);
    assert_int_equal(rig->late, 1);
    answer_all(rig);
    assert_int_equal(rig->happened + rig->failed, 0);
    close_rig(rig);
}

/* A container that does not answer still gets its calls. */
static void calls_come_back_to_the_old_process_whatever_it_answers(void **state)
{
    struct rig *rig = open_rig(HOST_UPGRADE_RETURNING);

    (void)state;
    rig->refuses = HUB_LIFECYCLE_PLUG;
    host_upgrade_transfer_return(&rig->upgrade);
    answer_all(rig);
    assert_string_equal(rig->log, "pp");
    assert_happened(rig, HOST_UPGRADE_RETURNED);
    close_rig(rig);
}

/* The owner has other guests. */
static void a_message_that_finds_no_space_is_sent_in_a_moment(void **state)
{
    struct rig *rig = open_rig(HOST_UPGRADE_HOLDING);
    const struct hub_message cancel = {HUB_CANCEL, 1, 0};
    const struct hub_parts none = {.loan = NULL};

    (void)state;
    while (hub_link_send(rig->old.life.connection.link, &cancel, &none, 1) == 0)
        continue;
    host_upgrade_transfer_plug(&rig->upgrade);
    assert_int_equal(rig->upgrade.awaited + rig->failed, 0);
    answer_all(rig); /* the old process takes what it has */
    tick(rig);
    answer_all(rig);
    assert_string_equal(rig->log, "pp");
    assert_happened(rig, HOST_UPGRADE_HELD);
    close_rig(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_container_begins_in_the_new_process),
        cmocka_unit_test(a_container_that_is_plugged_already_is_not_plugged_again),
        cmocka_unit_test(containers_are_drained_when_none_has_calls_or_work_left),
        cmocka_unit_test(a_state_goes_over_piece_by_piece),
        cmocka_unit_test(a_state_without_bytes_goes_over_too),
        cmocka_unit_test(a_state_that_is_not_as_it_was_announced_is_refused),
        cmocka_unit_test(a_state_that_is_too_large_is_not_begun),
        cmocka_unit_test(containers_are_loaded_one_by_one_and_plugged_ones_stay_plugged),
        cmocka_unit_test(a_guest_without_containers_has_nothing_to_save_or_load),
        cmocka_unit_test(a_refusal_ends_the_step),
        cmocka_unit_test(an_answer_to_an_earlier_step_is_ignored),
        cmocka_unit_test(a_process_that_does_not_answer_in_time_makes_the_upgrade_late),
        cmocka_unit_test(calls_come_back_to_the_old_process_whatever_it_answers),
        cmocka_unit_test(a_message_that_finds_no_space_is_sent_in_a_moment),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
