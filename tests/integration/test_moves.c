/* SPDX-License-Identifier: Apache-2.0 */
/* A container moves between two hosts of one process, back and forth, while four threads call it:
 * plain, nested, with a stream, and without a wait. No call is lost, and none is executed twice.
 * The number of moves is in MOVES. */
#include <pthread.h>

#include "tests/integration/hosting.h"
#include "tests/support/pause.h"

#define WANDERER MODULE("wanderer")
#define THREADS  4
#define MOVES    200
#define SECOND   UINT64_C(1000000000)

#define SERVES_NS UINT64_C(2000000) /* that the container serves between two moves */

/* An end that a thread waits for. */
struct ending {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool over;
    int code;
    uint64_t number;
};

static void open_ending(struct ending *ending)
{
    memset(ending, 0, sizeof *ending);
    pthread_mutex_init(&ending->lock, NULL);
    pthread_cond_init(&ending->changed, NULL);
}

static void close_ending(struct ending *ending)
{
    pthread_cond_destroy(&ending->changed);
    pthread_mutex_destroy(&ending->lock);
}

static void on_done(void *user, int status, const void *result)
{
    struct ending *ending = user;

    pthread_mutex_lock(&ending->lock);
    assert_false(ending->over);
    ending->over = true;
    ending->code = status;
    if (result)
        ending->number = *(const uint64_t *)result;
    pthread_cond_signal(&ending->changed);
    pthread_mutex_unlock(&ending->lock);
}

static int await(struct ending *ending)
{
    pthread_mutex_lock(&ending->lock);
    while (!ending->over)
        pthread_cond_wait(&ending->changed, &ending->lock);
    ending->over = false;
    pthread_mutex_unlock(&ending->lock);
    return ending->code;
}

/* ---- callers ---- */

struct caller {
    struct hosting *hosts;
    pthread_t thread;
    struct ending ending;
    uint32_t name;
    uint64_t count; /* calls that were answered */
    uint64_t went;  /* to the other host */
    int failure;
    const int *end;
};

static int call_plain(struct rapahub_host *host, struct caller *caller, uint64_t number,
                      uint64_t *out)
{
    const struct rapahub_call call = {
        .target = here,
        .method = caller->name == 1 ? "enter_nested(u32, u64) -> u64" : "enter(u32, u64) -> u64",
        .arguments = (const void *const[]){&caller->name, &number, NULL}};
    int r;

    if (caller->name != 3)
        return rapahub_host_call(host, &call, out);
    r = rapahub_host_call_async(host, &call, on_done, &caller->ending, NULL);
    if (r == 0)
        r = await(&caller->ending);
    *out = caller->ending.number;
    return r;
}

static int call_stream(struct rapahub_host *host, const struct caller *caller, uint64_t number,
                       uint64_t *out)
{
    uint64_t numbers[1024] = {0};
    struct rapahub_source *source;
    int r;

    numbers[1023] = number;
    r = rapahub_source_of_memory(numbers, sizeof numbers, &source);
    if (r < 0)
        return r;
    const struct rapahub_call call = {.target = here,
                                      .method = "enter_stream(u32, source) -> u64",
                                      .arguments =
                                          (const void *const[]){&caller->name, &source, NULL}};

    r = rapahub_host_call(host, &call, out);
    rapahub_source_destroy(source);
    return r;
}

/* A host that has no such container sends its callers to the other one. */
static bool is_elsewhere(int r)
{
    return r == RAPAHUB_ENOENT ||
           (r == RAPAHUB_EAPPLICATION && rapahub_last_error()->application == RAPAHUB_ENOENT);
}

static void *run(void *user)
{
    struct caller *caller = user;
    unsigned at = 0;

    while (!__atomic_load_n(caller->end, __ATOMIC_RELAXED) && caller->failure == 0) {
        struct rapahub_host *host = caller->hosts[at].host;
        uint64_t number = caller->count + 1, out = 0;
        int r = caller->name == 2 ? call_stream(host, caller, number, &out)
                                  : call_plain(host, caller, number, &out);

        if (r == 0 && out == number) {
            caller->count++;
        } else if (is_elsewhere(r)) {
            at = 1 - at;
            caller->went++;
        } else {
            caller->failure = r < 0 ? r : -1;
            print_error("caller %u: %s: %s\n", caller->name, rapahub_error_name(r),
                        rapahub_last_error()->text);
        }
    }
    return NULL;
}

/* ---- moves ---- */

static void save_state(struct rapahub_host *host, struct rapahub_sink **to)
{
    assert_done(rapahub_sink_of_memory(4096, to));
    assert_done(rapahub_host_save(host, here, *to));
}

/* Calls wait from the hold on. They go on to the other host when the container is removed here. */
static void move(struct hosting *from, struct hosting *to)
{
    const struct rapahub_container_options options = {.id = here, .pool_name = "test"};
    struct rapahub_source *source;
    struct rapahub_sink *sink;
    struct ending ending;
    const void *data;
    size_t size;

    open_ending(&ending);
    const struct rapahub_step step = {
        .target = here, .timeout_ns = 10 * SECOND, .on_done = on_done, .user = &ending};

    assert_done(rapahub_host_hold(from->host, here, true));
    assert_done(rapahub_host_drain_async(from->host, &step));
    assert_done(await(&ending));
    save_state(from->host, &sink);
    data = rapahub_sink_data(sink, &size);
    assert_done(rapahub_source_of_memory(data, size, &source));
    assert_done(rapahub_host_begin(to->host, to->guest, &options, RAPAHUB_BEGIN_INIT, source));
    assert_done(rapahub_host_remove_async(from->host, &step));
    assert_done(await(&ending));
    rapahub_source_destroy(source);
    rapahub_sink_destroy(sink);
    close_ending(&ending);
}

static unsigned moves_wanted(void)
{
    const char *text = getenv("MOVES");

    return text ? (unsigned)strtoul(text, NULL, 10) : MOVES;
}

static void open_two(struct hosting *hosts)
{
    const struct rapahub_guest_options guest = {.chimod = WANDERER};

    for (int i = 0; i < 2; i++)
        open_host(&hosts[i], (struct rapahub_host_options){.own_thread = true});
    assert_done(start(&hosts[0], WANDERER, here, NULL));
    assert_done(rapahub_host_spawn(hosts[1].host, &guest, &hosts[1].guest));
}

static void judge(struct hosting *at, const struct caller *callers)
{
    uint64_t wrong = 77, last = 0;

    assert_done(ask(at, "wrong() -> u64", NULL, &wrong));
    assert_int_equal(wrong, 0); /* lost or doubled */
    for (unsigned i = 0; i < THREADS; i++) {
        assert_int_equal(callers[i].failure, 0);
        assert_done(
            ask(at, "last(u32) -> u64", (const void *const[]){&callers[i].name, NULL}, &last));
        assert_true(last == callers[i].count);
        assert_true(callers[i].count > 0 && callers[i].went > 0);
    }
}

/* r[verify cluster.hold] r[verify cluster.hold.chain] r[verify cluster.step] */
static void no_call_is_lost_and_none_is_doubled(void **state)
{
    unsigned moves = moves_wanted();
    struct caller callers[THREADS];
    struct hosting hosts[2];
    uint64_t began, calls = 0, went = 0;
    int end = 0;

    (void)state;
    open_two(hosts);
    for (uint32_t i = 0; i < THREADS; i++) {
        callers[i] = (struct caller){.hosts = hosts, .name = i, .end = &end};
        open_ending(&callers[i].ending);
        assert_int_equal(pthread_create(&callers[i].thread, NULL, run, &callers[i]), 0);
    }
    began = now_ms();
    for (unsigned i = 0; i < moves; i++) {
        pause_ns(SERVES_NS);
        move(&hosts[i % 2], &hosts[(i + 1) % 2]);
    }
    began = now_ms() - began;
    __atomic_store_n(&end, 1, __ATOMIC_RELAXED);
    for (unsigned i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(callers[i].thread, NULL), 0);
        close_ending(&callers[i].ending);
        calls += callers[i].count;
        went += callers[i].went;
    }
    judge(&hosts[moves % 2], callers);
    print_message("%u moves in %.1f s, %llu calls, of which %llu went to the other host\n", moves,
                  (double)began / 1e3, (unsigned long long)calls, (unsigned long long)went);
    rapahub_host_destroy(hosts[1].host);
    rapahub_host_destroy(hosts[0].host);
    leak_assert_none(hosts[1].leak);
    leak_assert_none(hosts[0].leak);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_call_is_lost_and_none_is_doubled)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
