/* SPDX-License-Identifier: Apache-2.0 */
/* States that go out of a container, and changes that go in, piece by piece: whatever the guest or
 * the embedder does, each step ends once, and the container is as it was. */
#include <rapahub/error.h>

#include "tests/unit/host-container/moving.h"

static struct moving *open_held(void)
{
    struct moving *moving = moving_open();

    assert_int_equal(rapahub_host_hold(moving_handle(moving), stage_here, true), 0);
    return moving;
}

static void begin_save_within(struct moving *moving, uint64_t timeout_ns)
{
    const struct rapahub_pieces pieces = {moving_take, moving};
    const struct rapahub_step step = moving_step(moving, &pieces, timeout_ns);

    moving_again(moving);
    moving->size = 0;
    assert_int_equal(rapahub_host_save_async(moving_handle(moving), &step), 0);
}

static int save(struct moving *moving)
{
    begin_save_within(moving, 0);
    return moving_await(moving);
}

static uint64_t number_at(const uint8_t *bytes, size_t at, size_t size)
{
    uint64_t value = 0;

    for (size_t i = 0; i < size; i++)
        value |= (uint64_t)bytes[at + i] << (8 * i);
    return value;
}

static void assert_saved(struct moving *moving, const char *magic, size_t size)
{
    assert_int_equal(moving->ends, 1);
    assert_int_equal(moving->size, MOVING_HEAD + size);
    assert_memory_equal(moving->bytes, magic, 8);
    assert_int_equal(number_at(moving->bytes, 8, 4), 1);
    assert_int_equal(number_at(moving->bytes, 12, 4), 3);
    assert_int_equal(number_at(moving->bytes, 16, 8), size);
    assert_int_equal(number_at(moving->bytes, 24, 4), moving->saved.checksum);
    assert_memory_equal(moving->bytes + MOVING_HEAD, moving->state, size);
}

/* r[verify cluster.step.state] */
static void a_state_goes_out_as_its_head_its_bytes_and_its_end(void **state)
{
    static const size_t sizes[] = {0, 1, MOVING_READ, MOVING_READ + 1, 3 * MOVING_READ - 1};
    static const char *const logs[] = {"s", "sr", "sr", "srr", "srrr"};
    struct moving *moving = open_held();

    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        moving_fill(moving, sizes[i]);
        assert_int_equal(save(moving), 0);
        assert_saved(moving, "RAPAHUBS", sizes[i]);
        assert_string_equal(moving->log, logs[i]);
        assert_int_equal(moving->was_whole, -1);
        assert_int_equal(moving->asked, 1 + strlen(logs[i])); /* head, pieces, end */
    }
    moving_close(moving);
}

/* A name that falls elsewhere than that of the test. */
static void *other_name(struct moving *moving)
{
    uint8_t *name = (uint8_t *)moving;

    for (;;) {
        uint32_t before = host_changes_of(&moving->owner->changes, moving);

        host_changes_tell_of(moving->owner, ++name);
        if (host_changes_of(&moving->owner->changes, moving) == before)
            return name;
    }
}

/* r[verify cluster.step.state] */
static void who_lets_it_wait_is_asked_again_when_it_goes_on_and_not_before(void **state)
{
    struct moving *moving = open_held();
    struct rapahub_host *host = moving_handle(moving);
    void *other = other_name(moving);

    (void)state;
    moving->stands = 1;
    begin_save_within(moving, 0);
    moving_turns(moving, 20);
    host_changes_tell(moving->owner);
    moving_turns(moving, 20);
    assert_int_equal(rapahub_host_go_on(host, other), 0);
    moving_turns(moving, 20);
    assert_true(moving->asked == 1 && moving->told == 0);
    moving->stands = 1;
    assert_int_equal(rapahub_host_go_on(host, moving), 0);
    moving_turns(moving, 20);
    assert_true(moving->asked == 2 && moving->told == 0);
    assert_int_equal(rapahub_host_go_on(host, moving), 0);
    assert_int_equal(moving_await(moving), 0);
    assert_int_equal(moving->asked, 2 + 5);
    assert_saved(moving, "RAPAHUBS", 1200);
    moving_close(moving);
}

static void go_on_at_once(struct moving *moving)
{
    assert_int_equal(rapahub_host_go_on(moving_handle(moving), moving), 0);
}

static void one_told_before_the_callback_returns_is_not_lost(void **state)
{
    struct moving *moving = open_held();

    (void)state;
    moving->in_piece = go_on_at_once;
    moving->stands = 3;
    assert_int_equal(save(moving), 0);
    assert_int_equal(moving->asked, 3 + 5);
    assert_saved(moving, "RAPAHUBS", 1200);
    moving_close(moving);
}

/* It calls a container, say; another change comes then. */
static void take_a_turn(struct moving *moving)
{
    host_changes_tell(moving->owner);
    (void)answering_until(moving->owner, 0);
}

static void a_callback_may_take_turns(void **state)
{
    struct moving *moving = open_held();

    (void)state;
    moving->in_piece = take_a_turn;
    assert_int_equal(save(moving), 0);
    assert_saved(moving, "RAPAHUBS", 1200);
    moving_close(moving);
}

/* r[verify cluster.step.state] */
static void pieces_that_stand_still_end_at_the_time(void **state)
{
    struct moving *moving = open_held();

    (void)state;
    for (unsigned stands = 0; stands < 3; stands++) {
        moving_again(moving);
        begin_save_within(moving, 10 * HUB_MILLISECOND);
        while (moving->asked < stands)
            moving_turn(moving);
        moving->stands = 1000;
        assert_int_equal(moving_await(moving), RAPAHUB_ETIMEDOUT);
        assert_non_null(strstr(moving->text, "stood still"));
        assert_int_equal(moving->answering->stage->container->state, HOST_CONTAINER_HELD);
        moving->stands = 0;
    }
    assert_int_equal(save(moving), 0);
    moving_close(moving);
}

static void the_guest_of_a_save_that_failed_forgets_its_output(void **state)
{
    struct moving *moving = open_held();

    (void)state;
    moving->result = -5;
    assert_int_equal(save(moving), -5);
    assert_string_equal(moving->log, "sr");
    moving->result = 0;
    assert_int_equal(save(moving), 0);
    assert_string_equal(moving->log, "srrr");
    moving_close(moving);
}

static void fail_by_name(struct moving *moving)
{
    moving->result = rapahub_fail(RAPAHUB_EFULL, "", "the disk of the test is full");
}

/* r[verify cluster.step.state] */
static void a_failure_of_the_callback_ends_the_step(void **state)
{
    struct moving *moving = open_held();

    (void)state;
    for (unsigned asked = 1; asked <= 5; asked++) { /* head, pieces, end */
        moving->fails = asked;
        assert_int_equal(save(moving), -5);
        assert_int_equal(moving->asked, asked);
    }
    moving->fails = 0;
    moving->in_piece = fail_by_name;
    assert_int_equal(save(moving), RAPAHUB_EFULL);
    assert_string_equal(moving->text, "the disk of the test is full");
    moving->in_piece = NULL;
    moving->result = 7; /* not all of a piece */
    assert_int_equal(save(moving), RAPAHUB_EINVAL);
    moving_close(moving);
}

/* r[verify sec.state.size] */
static void a_guest_that_gives_other_bytes_than_it_said_is_refused(void **state)
{
    struct moving *moving = open_held();

    (void)state;
    moving->saved.checksum++;
    assert_int_equal(save(moving), RAPAHUB_EABI);
    assert_int_equal(moving->ends, 0);
    moving_fill(moving, 700);
    moving->saved.size = 600;
    assert_int_equal(save(moving), RAPAHUB_EABI);
    assert_int_equal(moving->size, MOVING_HEAD + MOVING_READ);
    moving_fill(moving, 700);
    moving->saved.size = 800;
    assert_int_equal(save(moving), RAPAHUB_EABI);
    moving->saved.size = RAPAHUB_STATE_MAX + 1;
    assert_int_equal(save(moving), RAPAHUB_EMSGSIZE);
    assert_int_equal(moving->asked, 0);
    moving->answering->refuses = HUB_LIFECYCLE_SAVE;
    assert_int_equal(save(moving), RAPAHUB_EAPPLICATION);
    moving->answering->refuses = HUB_LIFECYCLE_READ;
    moving_fill(moving, 700);
    assert_int_equal(save(moving), RAPAHUB_EAPPLICATION);
    moving_close(moving);
}

/* r[verify cluster.step.state] */
static void a_step_ends_when_its_guest_dies(void **state)
{
    static const bool stands[] = {true, false}; /* at its embedder, or at an answer */

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct moving *moving = open_held();

        moving->stands = stands[i];
        moving->answering->is_mute = !stands[i];
        begin_save_within(moving, 0);
        moving_turns(moving, 5);
        assert_int_equal(moving->asked, stands[i]);
        hub_link_close(moving->answering->stage->life.connection.link, RAPAHUB_EDIED, "");
        host_changes_tell(moving->owner);
        assert_int_equal(moving_await(moving), RAPAHUB_EDIED);
        moving_close(moving);
    }
}

static int fail_to_turn(struct host_owner *owner, uint64_t deadline_ns)
{
    (void)owner;
    (void)deadline_ns;
    return -EINVAL;
}

/* An answer may still come: nobody is told of it. r[verify cluster.step.state] */
static void a_step_ends_once_with_its_host(void **state)
{
    static const struct host_turns none = {.until = fail_to_turn};
    static const bool stands[] = {true, false};

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct moving *moving = open_held();
        const struct host_turns *turns = moving->owner->turns;

        moving->stands = stands[i];
        begin_save_within(moving, 0);
        if (stands[i])
            moving_turns(moving, 5);
        moving->owner->turns = &none;
        host_detached_end_all(moving->owner);
        assert_true(moving->told == 1 && moving->code == RAPAHUB_ESTALE);
        moving->owner->turns = turns;
        moving_turns(moving, 5);
        assert_true(moving->told == 1 && moving->asked == stands[i]);
        moving_close(moving);
    }
}

/* r[verify cluster.step.state] */
static void one_state_of_a_container_moves_at_a_time(void **state)
{
    struct moving *moving = open_held(), other = {.told = 0};
    const struct rapahub_pieces pieces = {moving_take, &other};
    const struct rapahub_step step = moving_step(&other, &pieces, 0);
    struct rapahub_sink *sink;

    (void)state;
    moving->stands = 1;
    begin_save_within(moving, 0);
    moving_turns(moving, 5);
    assert_int_equal(rapahub_host_save_async(moving_handle(moving), &step), 0);
    moving_turns(moving, 5);
    assert_true(other.told == 1 && other.code == -EBUSY && other.asked == 0);
    assert_int_equal(rapahub_sink_of_memory(MOVING_MOST, &sink), 0);
    assert_int_equal(rapahub_host_save(moving_handle(moving), stage_here, sink), -EBUSY);
    assert_int_equal(rapahub_host_go_on(moving_handle(moving), moving), 0);
    assert_int_equal(moving_await(moving), 0);
    assert_saved(moving, "RAPAHUBS", 1200);
    rapahub_sink_destroy(sink);
    moving_close(moving);
}

/* ---- changes ---- */

static int save_changes(struct moving *moving)
{
    const struct rapahub_pieces pieces = {moving_take, moving};
    const struct rapahub_step step = moving_step(moving, &pieces, 0);

    moving_again(moving);
    moving->size = 0;
    assert_int_equal(rapahub_host_save_changes_async(moving_handle(moving), &step), 0);
    return moving_await(moving);
}

static int load_changes(struct moving *moving)
{
    const struct rapahub_pieces pieces = {moving_give, moving};
    const struct rapahub_step step = moving_step(moving, &pieces, 10 * HUB_MILLISECOND);

    moving_again(moving);
    assert_int_equal(rapahub_host_load_changes_async(moving_handle(moving), &step), 0);
    return moving_await(moving);
}

/* Calls go on while they are saved. r[verify hub.changes.order] */
static void changes_go_out_and_in(void **state)
{
    struct moving *moving = moving_open();

    (void)state;
    assert_int_equal(save_changes(moving), 0);
    assert_true(moving->was_whole == 0 && !moving->plugged);
    assert_string_equal(moving->log, "Srrr");
    assert_saved(moving, "RAPAHUBC", 1200);
    moving->step = 700;
    assert_int_equal(load_changes(moving), RAPAHUB_ESTATE);
    assert_int_equal(rapahub_host_hold(moving_handle(moving), stage_here, true), 0);
    assert_int_equal(load_changes(moving), 0);
    assert_string_equal(moving->log, "wwwL");
    assert_true(moving->loads == 1 && moving->version == 3);
    assert_int_equal(moving->written_size, 1200);
    assert_memory_equal(moving->written, moving->state, 1200);
    moving->whole = true;
    assert_int_equal(save_changes(moving), 0);
    assert_int_equal(moving->was_whole, 1);
    assert_saved(moving, "RAPAHUBS", 1200);
    assert_int_equal(load_changes(moving), RAPAHUB_EABI);
    assert_int_equal(moving->loads, 0);
    moving_close(moving);
}

/* r[verify cluster.step.state] */
static void of_changes_that_do_not_come_whole_the_guest_keeps_nothing(void **state)
{
    struct moving *moving = moving_open();

    (void)state;
    assert_int_equal(save_changes(moving), 0);
    assert_int_equal(rapahub_host_hold(moving_handle(moving), stage_here, true), 0);
    moving->size--;
    assert_int_equal(load_changes(moving), RAPAHUB_ERESET);
    assert_string_equal(moving->log, "wwww"); /* the first and the last one forget */
    assert_int_equal(moving->written_size, 0);
    moving->size += 2;
    assert_int_equal(load_changes(moving), RAPAHUB_EABI);
    moving->size--;
    moving->bytes[MOVING_HEAD] ^= 1;
    assert_int_equal(load_changes(moving), RAPAHUB_EABI);
    moving->bytes[MOVING_HEAD] ^= 1;
    moving->stands = 1;
    assert_int_equal(load_changes(moving), RAPAHUB_ETIMEDOUT);
    assert_int_equal(moving->loads, 0);
    moving->stands = 0;
    moving->result = MOVING_MOST; /* more than it was asked for */
    assert_int_equal(load_changes(moving), RAPAHUB_EINVAL);
    moving->result = 0;
    assert_int_equal(load_changes(moving), 0);
    moving_close(moving);
}

static void a_step_without_a_callback_or_with_one_for_nothing_is_refused(void **state)
{
    const struct rapahub_pieces none = {NULL, NULL}, some = {moving_take, NULL};
    struct moving *moving = moving_open();
    struct rapahub_host *host = moving_handle(moving);
    struct rapahub_step step = moving_step(moving, NULL, 0);

    (void)state;
    assert_int_equal(rapahub_host_save_async(host, &step), RAPAHUB_EINVAL);
    assert_int_equal(rapahub_host_save_changes_async(host, &step), RAPAHUB_EINVAL);
    assert_int_equal(rapahub_host_load_changes_async(host, &step), RAPAHUB_EINVAL);
    assert_int_equal(rapahub_host_save_async(host, NULL), RAPAHUB_EINVAL);
    step.state = &none;
    assert_int_equal(rapahub_host_save_async(host, &step), RAPAHUB_EINVAL);
    step.state = &some;
    assert_int_equal(rapahub_host_plug_async(host, &step, true), RAPAHUB_EINVAL);
    assert_int_equal(rapahub_host_drain_async(host, &step), RAPAHUB_EINVAL);
    assert_int_equal(rapahub_host_remove_async(host, &step), RAPAHUB_EINVAL);
    assert_int_equal(rapahub_host_save_async(host, &step), 0);
    assert_int_equal(moving_await(moving), RAPAHUB_ESTATE); /* it takes calls */
    assert_string_equal(moving->log, "");
    moving_close(moving);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_state_goes_out_as_its_head_its_bytes_and_its_end),
        cmocka_unit_test(who_lets_it_wait_is_asked_again_when_it_goes_on_and_not_before),
        cmocka_unit_test(one_told_before_the_callback_returns_is_not_lost),
        cmocka_unit_test(a_callback_may_take_turns),
        cmocka_unit_test(pieces_that_stand_still_end_at_the_time),
        cmocka_unit_test(the_guest_of_a_save_that_failed_forgets_its_output),
        cmocka_unit_test(a_failure_of_the_callback_ends_the_step),
        cmocka_unit_test(a_guest_that_gives_other_bytes_than_it_said_is_refused),
        cmocka_unit_test(a_step_ends_when_its_guest_dies),
        cmocka_unit_test(a_step_ends_once_with_its_host),
        cmocka_unit_test(one_state_of_a_container_moves_at_a_time),
        cmocka_unit_test(changes_go_out_and_in),
        cmocka_unit_test(of_changes_that_do_not_come_whole_the_guest_keeps_nothing),
        cmocka_unit_test(a_step_without_a_callback_or_with_one_for_nothing_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
