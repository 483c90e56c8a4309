/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of a move, one after another, while the guest is killed or stopped at points of each:
 * 4 us apart, from its beginning until it has ended before the point. Each step and each call ends
 * once. After a kill the state that was saved begins anew; a guest that was stopped goes on. The
 * most points of a step are in RAPAHUB_TEST_POINTS. */
#include <errno.h>
#include <pthread.h>

#include <rapahub/route.h>

#include "tests/integration/hosting.h"
#include "tests/support/pause.h"

#define LEDGER     MODULE("ledger")
#define MS         UINT64_C(1000000)
#define POINT_NS   UINT64_C(4000)
#define POINTS     12
#define BEFORE     3 /* so many points after the end of a step are its last */
#define STOP_MS    2
#define TIMEOUT_NS (10000 * MS)
#define STATE_MAX  65536

/* What has been begun, and how it ended. */
struct ends {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned begun, told, twice;
    int code[2]; /* of the step, and of a call beside it */
    bool over[2];
    uint8_t bytes[STATE_MAX]; /* a state that is saved */
    size_t size, at;
};

struct end {
    struct ends *ends;
    unsigned which;
};

struct sweep {
    struct hosting on;
    struct ends ends;
    struct end each[2];
    uint8_t state[STATE_MAX]; /* with the number 1 once */
    size_t state_size;
    int32_t pid;
};

static const struct rapahub_supervision at_once = {
    .restarts_max = 256, .period_ns = 100 * MS, .backoff_initial_ns = RAPAHUB_NONE};

static void on_done(void *user, int status, const void *result)
{
    const struct end *end = user;
    struct ends *ends = end->ends;

    (void)result;
    pthread_mutex_lock(&ends->lock);
    ends->twice += ends->over[end->which];
    ends->over[end->which] = true;
    ends->code[end->which] = status;
    ends->told++;
    pthread_cond_signal(&ends->changed);
    pthread_mutex_unlock(&ends->lock);
}

static bool is_over(struct ends *ends)
{
    bool over;

    pthread_mutex_lock(&ends->lock);
    over = ends->told == ends->begun;
    pthread_mutex_unlock(&ends->lock);
    return over;
}

/* False: not in time. */
static bool await_ends(struct ends *ends)
{
    for (unsigned ms = 0; ms < 20000 && !is_over(ends); ms++)
        pause_ms(1);
    return is_over(ends);
}

static void note_begin(struct sweep *sweep, unsigned which, int r)
{
    if (r < 0) /* then it has ended */
        on_done(&sweep->each[which], r, NULL);
}

static struct rapahub_step step_of(struct sweep *sweep)
{
    sweep->ends.begun++;
    return (struct rapahub_step){
        .target = here, .timeout_ns = TIMEOUT_NS, .on_done = on_done, .user = &sweep->each[0]};
}

/* A call beside the step, which enters 2, at once or after a millisecond. */
static void call_beside(struct sweep *sweep, bool slowly)
{
    static const uint64_t number = 2;
    static const uint32_t ms = 1;
    const struct rapahub_call call = {
        .target = here,
        .method = slowly ? "enter_slowly(u64, u32) -> u32" : "enter(u64) -> u32",
        .arguments = (const void *const[]){&number, slowly ? (const void *)&ms : NULL, NULL},
        .timeout_ns = TIMEOUT_NS};

    sweep->ends.begun++;
    note_begin(sweep, 1,
               rapahub_host_call_async(sweep->on.host, &call, on_done, &sweep->each[1], NULL));
}

/* ---- the steps ---- */

static void drain(struct sweep *sweep)
{
    struct rapahub_step step = step_of(sweep);

    call_beside(sweep, true);
    assert_done(rapahub_host_hold(sweep->on.host, here, true));
    note_begin(sweep, 0, rapahub_host_drain_async(sweep->on.host, &step));
}

static void plug(struct sweep *sweep)
{
    struct rapahub_step step = step_of(sweep);

    note_begin(sweep, 0, rapahub_host_plug_async(sweep->on.host, &step, true));
}

static int take(void *user, void *data, size_t size)
{
    struct ends *ends = user;

    if (size > STATE_MAX - ends->size)
        return -EMSGSIZE;
    if (size > 0)
        memcpy(ends->bytes + ends->size, data, size);
    ends->size += size;
    return 0;
}

static void save(struct sweep *sweep)
{
    const struct rapahub_pieces pieces = {take, &sweep->ends};
    struct rapahub_step step = step_of(sweep);

    step.state = &pieces;
    assert_done(rapahub_host_hold(sweep->on.host, here, true));
    note_begin(sweep, 0, rapahub_host_save_async(sweep->on.host, &step));
}

static int give(void *user, void *data, size_t size)
{
    struct sweep *sweep = user;
    size_t left = sweep->state_size - sweep->ends.at, n = left < size ? left : size;

    if (n > 0)
        memcpy(data, sweep->state + sweep->ends.at, n);
    sweep->ends.at += n;
    return (int)n;
}

static void begin(struct sweep *sweep)
{
    const struct rapahub_container_options options = {.id = here, .pool_name = "test"};
    const struct rapahub_pieces pieces = {give, sweep};
    struct rapahub_step step = step_of(sweep);

    step.state = &pieces;
    note_begin(sweep, 0,
               rapahub_host_begin_async(sweep->on.host, &step, sweep->on.guest, &options,
                                        RAPAHUB_BEGIN_INIT));
}

/* The call was held, and is admitted. */
static void release(struct sweep *sweep)
{
    assert_done(rapahub_host_hold(sweep->on.host, here, true));
    call_beside(sweep, false);
    assert_done(rapahub_host_hold(sweep->on.host, here, false));
}

static void on_raw(void *user, const struct rapahub_raw_answer *answer)
{
    on_done(user, answer->status, NULL);
}

static uint64_t id_of(const char *signature)
{
    uint64_t id = UINT64_C(0xCBF29CE484222325); /* FNV-1a */

    for (; *signature != '\0'; signature++)
        id = (id ^ (unsigned char)*signature) * UINT64_C(0x100000001B3);
    return id;
}

static void admit(struct sweep *sweep)
{
    const struct rapahub_raw_call call = {.target = here,
                                          .method_id = id_of("enter(u64) -> u32"),
                                          .arguments = {"\2", 1},
                                          .chain = 2,
                                          .uid = {7, 1},
                                          .timeout_ns = TIMEOUT_NS};

    sweep->ends.begun++;
    note_begin(sweep, 1,
               rapahub_host_call_raw(sweep->on.host, &call, on_raw, &sweep->each[1], NULL));
}

static void remove_it(struct sweep *sweep)
{
    struct rapahub_step step = step_of(sweep);

    note_begin(sweep, 0, rapahub_host_remove_async(sweep->on.host, &step));
}

static const struct operation {
    const char *name;
    void (*run)(struct sweep *sweep);
    bool absent; /* the container is not there before */
} operations[] = {
    {"hold and drain", drain, false},    {"plug", plug, false},       {"save", save, false},
    {"begin with a state", begin, true}, {"release", release, false}, {"admit", admit, false},
    {"remove", remove_it, false}};

/* ---- a point ---- */

static void find(void *user, const struct rapahub_guest_status *status)
{
    struct sweep *sweep = user;

    sweep->on.guest = status->guest;
    sweep->pid = strcmp(status->state, "ready") == 0 ? status->pid : 0;
}

static void await_guest(struct sweep *sweep, int32_t not )
{
    sweep->pid = 0;
    for (unsigned ms = 0; ms < 20000 && (sweep->pid == 0 || sweep->pid == not ); ms++) {
        assert_done(rapahub_host_guests(sweep->on.host, find, sweep));
        if (sweep->pid == 0 || sweep->pid == not )
            pause_ms(1);
    }
    assert_true(sweep->pid != 0 && sweep->pid != not );
}

static void forget_container(struct sweep *sweep)
{
    int r = rapahub_host_remove_container(sweep->on.host, here);

    assert_true(r == 0 || r == RAPAHUB_ENOENT);
}

/* The container has the state that was saved. */
static void set_up(struct sweep *sweep, const struct operation *operation)
{
    const struct rapahub_container_options options = {.id = here, .pool_name = "test"};
    struct rapahub_source *state;

    forget_container(sweep);
    sweep->ends.begun = sweep->ends.told = 0;
    sweep->ends.over[0] = sweep->ends.over[1] = false;
    sweep->ends.code[0] = sweep->ends.code[1] = 0;
    sweep->ends.size = sweep->ends.at = 0;
    if (operation->absent)
        return;
    assert_done(rapahub_source_of_memory(sweep->state, sweep->state_size, &state));
    assert_done(
        rapahub_host_begin(sweep->on.host, sweep->on.guest, &options, RAPAHUB_BEGIN_INIT, state));
    rapahub_source_destroy(state);
}

static uint32_t count_of(struct sweep *sweep, uint64_t number)
{
    uint32_t count = 77;

    if (ask(&sweep->on, "count(u64) -> u32", (const void *const[]){&number, NULL}, &count) < 0)
        return 77;
    return count;
}

static bool may_be(int code, bool killed)
{
    return code == 0 || (killed && (code == RAPAHUB_EDIED || code == RAPAHUB_ERESTARTING ||
                                    code == RAPAHUB_ESTALE || code == RAPAHUB_ENOENT));
}

/* After a stop all is as without it. */
static const char *judge_stopped(struct sweep *sweep, const struct operation *operation)
{
    uint32_t beside = sweep->each[1].ends->over[1] ? 1 : 0;

    if (operation->run == remove_it)
        return NULL;
    assert_done(rapahub_host_hold(sweep->on.host, here, false));
    if (operation->run == plug)
        assert_done(rapahub_host_plug(sweep->on.host, here, false));
    if (count_of(sweep, 1) != 1)
        return "the state is lost";
    return count_of(sweep, 2) == beside ? NULL : "a call is lost or doubled";
}

static const char *judge(struct sweep *sweep, const struct operation *operation, bool killed)
{
    const struct ends *ends = &sweep->ends;

    if (ends->twice > 0)
        return "something ended twice";
    if (!may_be(ends->code[0], killed) || !may_be(ends->code[1], killed))
        return "something ended otherwise";
    if (operation->run == save && ends->code[0] == 0 &&
        (ends->size != sweep->state_size || memcmp(ends->bytes, sweep->state, ends->size) != 0))
        return "what was saved is another state";
    return killed ? NULL : judge_stopped(sweep, operation);
}

static void spin(uint64_t ns)
{
    struct timespec now;
    uint64_t at, end;

    clock_gettime(CLOCK_MONOTONIC, &now);
    end = (uint64_t)now.tv_sec * 1000 * MS + (uint64_t)now.tv_nsec + ns;
    do {
        clock_gettime(CLOCK_MONOTONIC, &now);
        at = (uint64_t)now.tv_sec * 1000 * MS + (uint64_t)now.tv_nsec;
    } while (at < end);
}

/* Returns what is wrong, or NULL; `before`: it had ended before the point. */
static const char *one_point(struct sweep *sweep, const struct operation *operation, bool kills,
                             unsigned point, bool *before)
{
    int32_t pid = sweep->pid;
    const char *wrong;

    set_up(sweep, operation);
    operation->run(sweep);
    spin(point * POINT_NS);
    *before = is_over(&sweep->ends);
    assert_int_equal(kill(pid, kills ? SIGKILL : SIGSTOP), 0);
    if (!kills) {
        pause_ms(STOP_MS);
        assert_int_equal(kill(pid, SIGCONT), 0);
    }
    if (!await_ends(&sweep->ends))
        return "something did not end";
    if (kills)
        await_guest(sweep, pid);
    wrong = judge(sweep, operation, kills);
    if (kills && !wrong) { /* the next life serves */
        set_up(sweep, &operations[0]);
        wrong = count_of(sweep, 1) == 1 ? NULL : "the saved state does not begin again";
    }
    return wrong;
}

static unsigned points_wanted(void)
{
    const char *text = getenv("RAPAHUB_TEST_POINTS");

    return text ? (unsigned)strtoul(text, NULL, 10) : POINTS;
}

static unsigned sweep_one(struct sweep *sweep, const struct operation *operation, bool kills)
{
    unsigned points = 0, failures = 0, in_a_row = 0;

    while (points < points_wanted() && in_a_row < BEFORE) {
        bool before = false;
        const char *wrong = one_point(sweep, operation, kills, points, &before);

        if (wrong && failures++ == 0)
            print_error("%s, point %u: %s: %d, %d\n", operation->name, points, wrong,
                        sweep->ends.code[0], sweep->ends.code[1]);
        in_a_row = before ? in_a_row + 1 : 0;
        points++;
    }
    printf("%-18s | %s | %4u points | %u failures\n", operation->name,
           kills ? "SIGKILL" : "SIGSTOP", points, failures);
    fflush(stdout);
    return failures;
}

/* ---- all ---- */

static void open_sweep(struct sweep *sweep)
{
    const struct rapahub_guest_options guest = {.chimod = LEDGER, .supervision = &at_once};
    const struct rapahub_container_options options = {.id = here, .pool_name = "test"};
    const uint64_t one = 1;
    struct rapahub_sink *to;
    const void *bytes;

    memset(sweep, 0, sizeof *sweep);
    pthread_mutex_init(&sweep->ends.lock, NULL);
    pthread_cond_init(&sweep->ends.changed, NULL);
    sweep->each[0] = (struct end){&sweep->ends, 0};
    sweep->each[1] = (struct end){&sweep->ends, 1};
    open_host(&sweep->on, (struct rapahub_host_options){.own_thread = true});
    assert_done(rapahub_host_spawn(sweep->on.host, &guest, &sweep->on.guest));
    await_guest(sweep, 0);
    assert_done(
        rapahub_host_begin(sweep->on.host, sweep->on.guest, &options, RAPAHUB_BEGIN_INIT, NULL));
    assert_done(
        ask(&sweep->on, "enter(u64) -> u32", (const void *const[]){&one, NULL}, &(uint32_t){0}));
    assert_done(rapahub_sink_of_memory(STATE_MAX, &to));
    assert_done(rapahub_host_hold(sweep->on.host, here, true));
    assert_done(rapahub_host_save(sweep->on.host, here, to));
    bytes = rapahub_sink_data(to, &sweep->state_size);
    memcpy(sweep->state, bytes, sweep->state_size);
    rapahub_sink_destroy(to);
}

static void sweep_all(bool kills)
{
    static struct sweep sweep;
    unsigned failures = 0;

    open_sweep(&sweep);
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
        failures += sweep_one(&sweep, &operations[i], kills);
    close_host(&sweep.on);
    pthread_cond_destroy(&sweep.ends.changed);
    pthread_mutex_destroy(&sweep.ends.lock);
    assert_int_equal(failures, 0);
}

/* r[verify cluster.step] r[verify cluster.step.state] r[verify cluster.hold] */
static void each_step_of_a_move_ends_once_when_its_guest_dies(void **state)
{
    (void)state;
    sweep_all(true);
}

/* r[verify cluster.step] */
static void a_guest_that_was_stopped_in_a_step_of_a_move_goes_on(void **state)
{
    (void)state;
    sweep_all(false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_step_of_a_move_ends_once_when_its_guest_dies),
        cmocka_unit_test(a_guest_that_was_stopped_in_a_step_of_a_move_goes_on),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
