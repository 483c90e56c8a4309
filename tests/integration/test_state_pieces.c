/* SPDX-License-Identifier: Apache-2.0 */
/* States that move piece by piece and that no thread waits for, out of one process and into
 * another: of every size, with a program that is slow, fails or stops, and with guests that die. */
#include "tests/integration/state_pieces.h"

#define MANY   8
#define KILLS  40
#define LATELY 5000 /* ms within which something must happen that nobody waits for */

/* The bytes are those of a save that waits. r[verify cluster.step.state] */
static void a_state_of_any_size_moves_whole(void **state)
{
    static const uint64_t sizes[] = {0, 1, PIECE, PIECE + 1, LARGE};
    struct move *move;
    struct scene scene;

    (void)state;
    open_scene(&scene);
    move = open_move(&scene.on, HEAD + LARGE);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct rapahub_sink *sink;
        size_t size;

        fill(&scene, here, sizes[i], i);
        hold(&scene, here, true);
        move->stands = i % 2 == 0 ? 3 : 0;
        begin_save(move, here, 0);
        assert_int_equal(await(move), 0);
        assert_int_equal(move->ends, 1);
        assert_int_equal(move->size, HEAD + sizes[i]);
        assert_int_equal(move->asked, 2 + (sizes[i] + PIECE - 1) / PIECE);
        assert_done(rapahub_sink_of_memory(HEAD + LARGE, &sink));
        assert_done(rapahub_host_save(scene.on.host, here, sink));
        assert_memory_equal(rapahub_sink_data(sink, &size), move->bytes, move->size);
        assert_int_equal(size, move->size);
        rapahub_sink_destroy(sink);
        begin_there(move, scene.second, 0);
        assert_int_equal(await(move), 0);
        hold(&scene, here, false);
        assert_true(digest(&scene, there) == digest(&scene, here));
        assert_done(rapahub_host_remove_container(scene.on.host, there));
    }
    close_host(&scene.on);
    close_move(move);
}

/* All of them let their states wait now and then. r[verify cluster.step.state] */
static void many_states_move_at_a_time(void **state)
{
    struct move *moves[MANY];
    struct scene scene;

    (void)state;
    open_scene(&scene);
    for (uint32_t i = 0; i < MANY; i++) {
        const struct rapahub_container_id id = {.pool = {3, 0}, .container = i};
        const struct rapahub_container_options options = {.id = id, .pool_name = "many"};

        moves[i] = open_move(&scene.on, HEAD + 10 * PIECE);
        moves[i]->stands = 1 + i % 3;
        assert_done(rapahub_host_begin(scene.on.host, i % 2 ? scene.second : scene.on.guest,
                                       &options, RAPAHUB_BEGIN_INIT, NULL));
        fill(&scene, id, (i + 1) * PIECE, i);
        hold(&scene, id, true);
    }
    for (uint32_t i = 0; i < MANY; i++)
        begin_save(moves[i], (struct rapahub_container_id){.pool = {3, 0}, .container = i}, 0);
    for (uint32_t i = 0; i < MANY; i++) {
        assert_int_equal(await(moves[i]), 0);
        assert_int_equal(moves[i]->size, HEAD + (i + 1) * PIECE);
    }
    close_host(&scene.on);
    for (uint32_t i = 0; i < MANY; i++)
        close_move(moves[i]);
}

/* With each of its calls in turn. r[verify cluster.step.state] */
static void a_program_that_fails_leaves_the_container_as_it_was(void **state)
{
    struct move *move;
    struct scene scene;
    uint64_t before;

    (void)state;
    open_scene(&scene);
    move = open_move(&scene.on, HEAD + LARGE);
    fill(&scene, here, 3 * PIECE, 7);
    before = digest(&scene, here);
    for (move->fails = 1; move->fails <= 5; move->fails++) {
        hold(&scene, here, true);
        begin_save(move, here, 0);
        assert_int_equal(await(move), -EIO);
        hold(&scene, here, false);
        assert_true(digest(&scene, here) == before);
    }
    move->fails = 0;
    hold(&scene, here, true);
    begin_save(move, here, 0);
    assert_int_equal(await(move), 0);
    for (move->fails = 1; move->fails <= 5; move->fails++) {
        begin_there(move, scene.second, 0);
        assert_int_equal(await(move), -EIO);
        assert_int_equal(call(&scene, there, "digest() -> u64", NULL, &before), RAPAHUB_ENOENT);
    }
    move->fails = 0;
    begin_there(move, scene.second, 0);
    assert_int_equal(await(move), 0);
    close_host(&scene.on);
    close_move(move);
}

/* r[verify cluster.step.state] */
static void a_state_that_stands_still_ends_at_its_time(void **state)
{
    struct move *move;
    struct scene scene;
    uint64_t began;

    (void)state;
    open_scene(&scene);
    move = open_move(&scene.on, HEAD + LARGE);
    fill(&scene, here, 3 * PIECE, 7);
    hold(&scene, here, true);
    move->left = true;
    move->stands = 2;
    began = now_ms();
    begin_save(move, here, 100 * MS);
    assert_int_equal(await(move), RAPAHUB_ETIMEDOUT);
    assert_in_range(now_ms() - began, 99, LATELY);
    move->stands = 0;
    begin_save(move, here, 0);
    assert_int_equal(await(move), 0);
    move->stands = 2;
    began = now_ms();
    begin_there(move, scene.second, 100 * MS);
    assert_int_equal(await(move), RAPAHUB_ETIMEDOUT);
    assert_in_range(now_ms() - began, 99, LATELY);
    move->stands = 0;
    begin_there(move, scene.second, 0);
    assert_int_equal(await(move), 0);
    close_host(&scene.on);
    close_move(move);
}

static void assert_ended(const struct move *move, int r)
{
    if (r != 0 && r != RAPAHUB_EDIED)
        print_error("%s after %u pieces\n", rapahub_error_name(r), move->asked);
    assert_true(r == 0 || r == RAPAHUB_EDIED);
}

/* While its program lets the state stand, too. r[verify cluster.step.state] */
static void a_guest_that_is_killed_ends_the_save_at_once(void **state)
{
    unsigned died = 0;
    struct move *move;
    struct scene scene;
    uint64_t began;

    (void)state;
    open_scene(&scene);
    move = open_move(&scene.on, HEAD + LARGE);
    for (unsigned i = 0; i < KILLS; i++) {
        int r;

        move->killed = await_guest(&scene, "blob", &scene.on.guest);
        fill(&scene, here, 4 * PIECE, i);
        hold(&scene, here, true);
        move->kills = 1 + i % 6;
        move->stands = i % 3 == 0 ? move->kills : 0;
        move->left = true;
        if (i % 3 == 0) { /* it stands, and is killed from outside */
            move->kills = 0;
            began = now_ms();
            begin_save(move, here, 60000 * MS);
            pause_ns(2 * MS);
            assert_int_equal(kill(move->killed, SIGKILL), 0);
            assert_int_equal(await(move), RAPAHUB_EDIED);
            assert_in_range(now_ms() - began, 0, LATELY);
            died++;
        } else {
            begin_save(move, here, 60000 * MS);
            r = await(move);
            assert_ended(move, r);
            died += r == RAPAHUB_EDIED;
        }
        hold(&scene, here, false);
        while (kill(move->killed, 0) == 0)
            pause_ns(MS);
    }
    print_message("%d kills, %u saves ended with their guest\n", KILLS, died);
    assert_true(died >= KILLS / 2);
    close_host(&scene.on);
    close_move(move);
}

/* r[verify cluster.step.state] */
static void a_guest_that_is_killed_ends_the_begin_at_once(void **state)
{
    unsigned died = 0;
    struct move *move;
    struct scene scene;

    (void)state;
    open_scene(&scene);
    move = open_move(&scene.on, HEAD + LARGE);
    fill(&scene, here, 4 * PIECE, 7);
    hold(&scene, here, true);
    begin_save(move, here, 0);
    assert_int_equal(await(move), 0);
    hold(&scene, here, false);
    for (unsigned i = 0; i < KILLS; i++) {
        int r;

        move->killed = await_guest(&scene, "second", &scene.second);
        move->kills = 1 + i % 6;
        begin_there(move, scene.second, 60000 * MS);
        r = await(move);
        assert_ended(move, r);
        died += r == RAPAHUB_EDIED;
        r = rapahub_host_remove_container(scene.on.host, there);
        assert_true(r == 0 || r == RAPAHUB_ENOENT);
        while (kill(move->killed, 0) == 0)
            pause_ns(MS);
    }
    move->killed = 0;
    (void)await_guest(&scene, "second", &scene.second);
    begin_there(move, scene.second, 0);
    assert_int_equal(await(move), 0);
    assert_true(digest(&scene, there) == digest(&scene, here));
    print_message("%d kills, %u begins ended with their guest\n", KILLS, died);
    assert_true(died >= KILLS / 2);
    close_host(&scene.on);
    close_move(move);
}

/* It goes on later, and is as it was. r[verify cluster.step.state] */
static void of_a_guest_that_stands_still_the_steps_end_at_their_time(void **state)
{
    struct move *move;
    struct scene scene;
    int32_t first, second;
    uint64_t before;

    (void)state;
    open_scene(&scene);
    move = open_move(&scene.on, HEAD + LARGE);
    first = await_guest(&scene, "blob", &scene.on.guest);
    second = await_guest(&scene, "second", &scene.second);
    fill(&scene, here, 3 * PIECE, 7);
    before = digest(&scene, here);
    hold(&scene, here, true);
    for (unsigned stops = 0; stops < 3; stops++) {
        assert_int_equal(kill(first, SIGSTOP), 0);
        begin_save(move, here, 50 * MS);
        assert_int_equal(await(move), RAPAHUB_ETIMEDOUT);
        assert_int_equal(kill(first, SIGCONT), 0);
        begin_save(move, here, 0);
        assert_int_equal(await(move), 0);
        move->left = true; /* it has begun by then */
        move->stands = 2;
        begin_there(move, scene.second, 100 * MS);
        pause_ns(20 * MS);
        assert_int_equal(kill(second, SIGSTOP), 0);
        assert_int_equal(await(move), RAPAHUB_ETIMEDOUT);
        assert_int_equal(kill(second, SIGCONT), 0);
        move->stands = 0;
        begin_there(move, scene.second, 0);
        assert_int_equal(await(move), 0);
        assert_true(digest(&scene, there) == before);
        assert_done(rapahub_host_remove_container(scene.on.host, there));
    }
    hold(&scene, here, false);
    assert_true(digest(&scene, here) == before);
    close_host(&scene.on);
    close_move(move);
}

/* r[verify cluster.step.state] */
static void a_state_under_way_ends_once_with_its_host(void **state)
{
    struct move *out, *in;
    struct scene scene;

    (void)state;
    open_scene(&scene);
    out = open_move(&scene.on, HEAD + LARGE);
    in = open_move(&scene.on, HEAD + LARGE);
    hold(&scene, here, true);
    begin_save(in, here, 0);
    assert_int_equal(await(in), 0);
    out->left = in->left = true;
    out->stands = in->stands = 1;
    begin_save(out, here, 60000 * MS);
    begin_there(in, scene.second, 60000 * MS);
    pause_ns(20 * MS);
    assert_int_equal(out->told + in->told, 0);
    close_host(&scene.on);
    assert_true(out->told == 1 && in->told == 1);
    assert_true(out->code < 0 && in->code < 0);
    close_move(out);
    close_move(in);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_state_of_any_size_moves_whole),
        cmocka_unit_test(many_states_move_at_a_time),
        cmocka_unit_test(a_program_that_fails_leaves_the_container_as_it_was),
        cmocka_unit_test(a_state_that_stands_still_ends_at_its_time),
        cmocka_unit_test(a_guest_that_is_killed_ends_the_save_at_once),
        cmocka_unit_test(a_guest_that_is_killed_ends_the_begin_at_once),
        cmocka_unit_test(of_a_guest_that_stands_still_the_steps_end_at_their_time),
        cmocka_unit_test(a_state_under_way_ends_once_with_its_host),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
