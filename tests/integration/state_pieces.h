/* SPDX-License-Identifier: Apache-2.0 */
/* state_pieces: a program's end of states that move piece by piece, which may be slow, fail, or
 * kill a guest; and a host with two guests of the module blob. */
#ifndef TESTS_INTEGRATION_STATE_PIECES_H
#define TESTS_INTEGRATION_STATE_PIECES_H

#include <errno.h>
#include <pthread.h>

#include "tests/integration/hosting.h"
#include "tests/support/pause.h"

#define BLOB  MODULE("blob")
#define MS    UINT64_C(1000000)
#define PIECE UINT64_C(61440)
#define HEAD  32
#define LARGE (UINT64_C(8) << 20)

static const struct rapahub_container_id there = {.pool = {2, 0}};
static const struct rapahub_supervision at_once = {.restarts_max = 256,
                                                   .backoff_initial_ns = RAPAHUB_NONE};

/* A state on its way, and the end of its step. Under the lock: `told` and `code`. */
struct move {
    struct rapahub_host *host;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned told;
    int code;
    uint8_t *bytes;
    size_t room, size, at;
    unsigned asked, ends;
    unsigned stands;  /* every so many calls it lets the state wait; 0: never */
    bool stood, left; /* it did so the last time; nobody lets it go on */
    unsigned fails;   /* with this call; 0: never */
    int killed;       /* the process that dies with this call */
    unsigned kills;
    pthread_t helper; /* lets it go on */
    bool helped;
};

UNUSED static struct move *open_move(struct hosting *on, size_t room)
{
    struct move *move = test_calloc(1, sizeof *move);

    move->host = on->host;
    move->bytes = test_calloc(1, room);
    move->room = room;
    pthread_mutex_init(&move->lock, NULL);
    pthread_cond_init(&move->changed, NULL);
    return move;
}

UNUSED static void close_move(struct move *move)
{
    pthread_cond_destroy(&move->changed);
    pthread_mutex_destroy(&move->lock);
    test_free(move->bytes);
    test_free(move);
}

UNUSED static void *let_go_on(void *user)
{
    struct move *move = user;

    pause_ns(MS / 10);
    assert_done(rapahub_host_go_on(move->host, move));
    return NULL;
}

UNUSED static void join_helper(struct move *move)
{
    if (move->helped)
        assert_int_equal(pthread_join(move->helper, NULL), 0);
    move->helped = false;
}

/* Another thread lets it go on, perhaps before the callback returns. */
UNUSED static int stand(struct move *move)
{
    if (move->left)
        return -EAGAIN;
    join_helper(move);
    assert_int_equal(pthread_create(&move->helper, NULL, let_go_on, move), 0);
    move->helped = true;
    return -EAGAIN;
}

UNUSED static int on_asked(struct move *move, size_t size)
{
    assert_true(size <= PIECE);
    assert_int_equal(move->ends, 0);
    if (move->stands > 0 && !move->stood && move->asked % move->stands == 0) {
        move->stood = true;
        return stand(move);
    }
    move->stood = false;
    move->asked++;
    if (move->killed > 0 && move->asked == move->kills)
        assert_int_equal(kill(move->killed, SIGKILL), 0);
    return move->asked == move->fails ? -EIO : 0;
}

UNUSED static int take(void *user, void *data, size_t size)
{
    struct move *move = user;
    int r = on_asked(move, size);

    if (r < 0)
        return r;
    move->ends += size == 0;
    assert_true(size <= move->room - move->size);
    if (size > 0)
        memcpy(move->bytes + move->size, data, size);
    move->size += size;
    return 0;
}

UNUSED static int give(void *user, void *data, size_t size)
{
    struct move *move = user;
    size_t left = move->size - move->at;
    int r = on_asked(move, size);

    if (r < 0)
        return r;
    size = size < left ? size : left;
    memcpy(data, move->bytes + move->at, size);
    move->at += size;
    move->ends += size == 0;
    return (int)size;
}

UNUSED static void on_done(void *user, int status, const void *result)
{
    struct move *move = user;

    (void)result;
    pthread_mutex_lock(&move->lock);
    move->told++;
    move->code = status;
    pthread_cond_signal(&move->changed);
    pthread_mutex_unlock(&move->lock);
}

UNUSED static int await(struct move *move)
{
    int code;

    pthread_mutex_lock(&move->lock);
    while (move->told == 0)
        pthread_cond_wait(&move->changed, &move->lock);
    assert_int_equal(move->told, 1);
    code = move->code;
    pthread_mutex_unlock(&move->lock);
    join_helper(move);
    return code;
}

UNUSED static void begin_save(struct move *move, struct rapahub_container_id id,
                              uint64_t timeout_ns)
{
    const struct rapahub_pieces pieces = {take, move};
    const struct rapahub_step step = {
        .target = id, .timeout_ns = timeout_ns, .on_done = on_done, .user = move, .state = &pieces};

    move->told = move->asked = move->ends = 0;
    move->size = 0;
    assert_done(rapahub_host_save_async(move->host, &step));
}

UNUSED static void begin_there(struct move *move, struct rapahub_guest_id guest,
                               uint64_t timeout_ns)
{
    const struct rapahub_container_options options = {.id = there, .pool_name = "test"};
    const struct rapahub_pieces pieces = {give, move};
    const struct rapahub_step step = {
        .timeout_ns = timeout_ns, .on_done = on_done, .user = move, .state = &pieces};

    move->told = move->asked = move->ends = 0;
    move->at = 0;
    assert_done(rapahub_host_begin_async(move->host, &step, guest, &options, RAPAHUB_BEGIN_INIT));
}

/* ---- the two guests ---- */

struct scene {
    struct hosting on; /* its guest has the container `here` */
    struct rapahub_guest_id second;
};

UNUSED static int call(struct scene *scene, struct rapahub_container_id id, const char *method,
                       const void *const *arguments, void *result)
{
    const struct rapahub_call order = {.target = id, .method = method, .arguments = arguments};

    return rapahub_host_call(scene->on.host, &order, result);
}

UNUSED static void fill(struct scene *scene, struct rapahub_container_id id, uint64_t size,
                        uint64_t seed)
{
    const void *const arguments[] = {&size, &seed, NULL};

    assert_done(call(scene, id, "fill(u64, u64) -> void", arguments, NULL));
}

UNUSED static uint64_t digest(struct scene *scene, struct rapahub_container_id id)
{
    uint64_t out = 0;

    assert_done(call(scene, id, "digest() -> u64", NULL, &out));
    return out;
}

UNUSED static void open_scene(struct scene *scene)
{
    const struct rapahub_guest_options guest = {
        .chimod = BLOB, .name = "second", .supervision = &at_once};

    open_host(&scene->on, (struct rapahub_host_options){.own_thread = true});
    assert_done(start(&scene->on, BLOB, here, &at_once));
    assert_done(rapahub_host_spawn(scene->on.host, &guest, &scene->second));
}

UNUSED static void hold(struct scene *scene, struct rapahub_container_id id, bool held)
{
    assert_done(rapahub_host_hold(scene->on.host, id, held));
}

struct present {
    const char *name;
    struct rapahub_guest_id guest;
    int32_t pid;
    bool ready;
};

UNUSED static void find(void *user, const struct rapahub_guest_status *status)
{
    struct present *present = user;

    if (strcmp(status->name, present->name) != 0)
        return;
    present->guest = status->guest;
    present->pid = status->pid;
    present->ready = !strcmp(status->state, "ready");
}

/* Waits until the guest serves. */
UNUSED static int32_t await_guest(struct scene *scene, const char *name,
                                  struct rapahub_guest_id *out)
{
    struct present present = {.name = name};

    for (int i = 0; i < 1000 && !present.ready; i++) {
        assert_done(rapahub_host_guests(scene->on.host, find, &present));
        if (!present.ready)
            pause_ns(10 * MS);
    }
    assert_true(present.ready);
    *out = present.guest;
    return present.pid;
}

#endif
