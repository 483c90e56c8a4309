/* SPDX-License-Identifier: Apache-2.0 */
/* Containers that begin with a state which comes piece by piece: they have all of it, or are not
 * there. */
#include <rapahub/error.h>

#include "host/container/state_head.h"
#include "tests/unit/host-container/moving.h"

/* Lets the embedder have a saved state of so many bytes. */
static void give(struct moving *moving, size_t size)
{
    struct host_state_head head;

    moving_fill(moving, size);
    host_state_head_make(&moving->saved, false, &head);
    memcpy(moving->bytes, &head, sizeof head);
    memcpy(moving->bytes + sizeof head, moving->state, size);
    moving->size = sizeof head + size;
}

static void begin_it(struct moving *moving, uint64_t timeout_ns)
{
    static const struct rapahub_container_options options = {.id = {{4, 5}, 6},
                                                             .pool_name = "pool"};
    const struct rapahub_pieces pieces = {moving_give, moving};
    const struct rapahub_step step = moving_step(moving, &pieces, timeout_ns);

    moving_again(moving);
    assert_int_equal(rapahub_host_begin_async(moving_handle(moving), &step,
                                              moving->answering->stage->guest.id, &options,
                                              RAPAHUB_BEGIN_RESTART),
                     0);
}

static int begin(struct moving *moving)
{
    begin_it(moving, 0);
    return moving_await(moving);
}

static struct host_container *there(const struct moving *moving)
{
    return answering_find(moving->answering, answering_id);
}

static void remove_it(struct moving *moving)
{
    assert_int_equal(rapahub_host_remove_container(moving_handle(moving), answering_id), 0);
}

/* r[verify cluster.step.state] */
static void it_has_the_state_whatever_pieces_it_comes_in(void **state)
{
    static const size_t sizes[] = {0, 1, 892, 893, 2000}, steps[] = {1, 7, 31, 32, 33, 4000};
    struct moving *moving = moving_open();

    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (size_t k = 0; k < sizeof steps / sizeof *steps; k++) {
            if (sizes[i] / steps[k] > 100)
                continue;
            give(moving, sizes[i]);
            moving->step = steps[k];
            assert_int_equal(begin(moving), 0);
            assert_true(moving->ends == 1 && moving->loads == 1 && moving->version == 3);
            assert_int_equal(moving->written_size, sizes[i]);
            assert_memory_equal(moving->written, moving->state, sizes[i]);
            assert_int_equal(there(moving)->state, HOST_CONTAINER_READY);
            remove_it(moving);
        }
    moving_close(moving);
}

/* r[verify cluster.step.state] */
static void calls_reach_it_after_the_load_and_not_before(void **state)
{
    struct moving *moving = moving_open();

    (void)state;
    give(moving, 1200);
    moving->stands = 1;
    begin_it(moving, 0);
    moving_turns(moving, 10);
    assert_string_equal(moving->log, "b");
    assert_int_equal(there(moving)->state, HOST_CONTAINER_STARTING);
    assert_int_equal(rapahub_host_go_on(moving_handle(moving), moving), 0);
    assert_int_equal(moving_await(moving), 0);
    assert_string_equal(moving->log, "bwwl");
    assert_int_equal(there(moving)->state, HOST_CONTAINER_READY);
    remove_it(moving);
    moving_close(moving);
}

static void assert_gone(struct moving *moving, int code, const char *log)
{
    assert_int_equal(begin(moving), code);
    assert_string_equal(moving->log, log);
    assert_int_equal(moving->loads, 0);
    assert_null(there(moving));
}

/* Its guest is told to end it. r[verify cluster.step.state] */
static void of_one_whose_state_is_not_whole_nothing_is_left(void **state)
{
    struct moving *moving = moving_open();

    (void)state;
    give(moving, 900);
    moving->size = MOVING_HEAD - 1;
    assert_gone(moving, RAPAHUB_ERESET, "bf");
    moving->size = MOVING_HEAD + 899;
    assert_gone(moving, RAPAHUB_ERESET, "bwwf");
    moving->size = MOVING_HEAD + 901;
    assert_gone(moving, RAPAHUB_EABI, "bwwf");
    give(moving, 900);
    moving->bytes[MOVING_HEAD + 5] ^= 1;
    assert_gone(moving, RAPAHUB_EABI, "bwwf");
    for (size_t at = 0; at < 12; at++) {
        give(moving, 900);
        moving->bytes[at] ^= 1;
        assert_gone(moving, RAPAHUB_EABI, "bf");
    }
    give(moving, 900);
    moving->bytes[20] = 1; /* 4 GiB more */
    assert_gone(moving, RAPAHUB_EMSGSIZE, "bf");
    give(moving, 900);
    moving->result = -5;
    assert_gone(moving, -5, "bf");
    moving->result = 0;
    assert_int_equal(begin(moving), 0);
    remove_it(moving);
    moving_close(moving);
}

/* r[verify cluster.step.state] */
static void what_its_guest_refuses_ends_it(void **state)
{
    struct moving *moving = moving_open();

    (void)state;
    give(moving, 900);
    moving->answering->refuses = HUB_LIFECYCLE_BEGIN;
    assert_int_equal(begin(moving), RAPAHUB_EAPPLICATION);
    assert_int_equal(moving->asked, 0);
    moving->answering->refuses = HUB_LIFECYCLE_WRITE;
    assert_gone(moving, RAPAHUB_EAPPLICATION, "bf");
    moving->answering->refuses = HUB_LIFECYCLE_LOAD;
    assert_gone(moving, RAPAHUB_EAPPLICATION, "bwwf");
    moving_close(moving);
}

/* r[verify cluster.step.state] */
static void one_whose_pieces_stand_still_ends_at_its_time(void **state)
{
    struct moving *moving = moving_open();

    (void)state;
    give(moving, 900);
    moving->stands = 1;
    begin_it(moving, 10 * HUB_MILLISECOND);
    assert_int_equal(moving_await(moving), RAPAHUB_ETIMEDOUT);
    assert_non_null(strstr(moving->text, "stood still"));
    assert_string_equal(moving->log, "bf");
    assert_null(there(moving));
    moving_close(moving);
}

/* r[verify cluster.step.state] */
static void one_whose_guest_dies_ends_at_once(void **state)
{
    struct moving *moving = moving_open();

    (void)state;
    give(moving, 900);
    moving->stands = 1;
    begin_it(moving, 0);
    moving_turns(moving, 10);
    hub_link_close(moving->answering->stage->life.connection.link, RAPAHUB_EDIED, "");
    host_changes_tell(moving->owner);
    assert_int_equal(moving_await(moving), RAPAHUB_EDIED);
    assert_null(there(moving));
    moving_close(moving);
}

static int fail_to_turn(struct host_owner *owner, uint64_t deadline_ns)
{
    (void)owner;
    (void)deadline_ns;
    return -EINVAL;
}

static void one_that_is_under_way_ends_with_its_host(void **state)
{
    static const struct host_turns none = {.until = fail_to_turn};
    struct moving *moving = moving_open();
    const struct host_turns *turns = moving->owner->turns;

    (void)state;
    give(moving, 900);
    moving->stands = 1;
    begin_it(moving, 0);
    moving_turns(moving, 10);
    moving->owner->turns = &none;
    host_detached_end_all(moving->owner);
    assert_true(moving->told == 1 && moving->code == RAPAHUB_ESTALE);
    assert_null(there(moving));
    moving->owner->turns = turns;
    moving_turns(moving, 5);
    assert_int_equal(moving->told, 1);
    moving_close(moving);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_has_the_state_whatever_pieces_it_comes_in),
        cmocka_unit_test(calls_reach_it_after_the_load_and_not_before),
        cmocka_unit_test(of_one_whose_state_is_not_whole_nothing_is_left),
        cmocka_unit_test(what_its_guest_refuses_ends_it),
        cmocka_unit_test(one_whose_pieces_stand_still_ends_at_its_time),
        cmocka_unit_test(one_whose_guest_dies_ends_at_once),
        cmocka_unit_test(one_that_is_under_way_ends_with_its_host),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
