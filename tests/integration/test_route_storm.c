/* SPDX-License-Identifier: Apache-2.0 */
/* Threads call, cancel, answer, exchange the router, hold and lease at once, while a guest that
 * calls is killed: each call ends once, and in time. The length in milliseconds is in STORM. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

#include <rapahub/route.h>

#include "tests/integration/streaming.h"
#include "tests/support/pause.h"

#define CALLER  MODULE("caller")
#define MS      UINT64_C(1000000)
#define STORM   1500
#define OPEN    32 /* calls that one thread has open at a time */
#define KEPT    4096
#define IDS     256
#define ENDS_MS 30000 /* within which each call has ended */

static const struct rapahub_container_id away = {.pool = {7, 0}};
static const struct rapahub_container_id local = {.pool = {3, 0}};

/* A call that the router has not answered yet. */
struct kept {
    struct rapahub_request_id id;
    struct rapahub_raw_stream stream; /* its first */
};

struct storm {
    struct hosting on;
    pthread_mutex_t lock;
    struct kept kept[KEPT]; /* under the lock, as the count and the seed */
    unsigned kept_count;
    uint64_t seed;
    _Atomic uint64_t ids[IDS]; /* of calls that may be open */
    atomic_bool end;
    atomic_uint begun, answered, refused, told, calls, cancels, kills, exchanges;
};

static uint32_t random_of(uint64_t *seed)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*seed >> 33);
}

/* ---- the router ---- */

static int answer(struct storm *storm, struct rapahub_request_id id, int status)
{
    const struct rapahub_raw_answer end = {.status = status, .payload = {"\2", 1}};
    int r = rapahub_host_answer_raw(storm->on.host, id, &end);

    assert_true(r == 0 || r == RAPAHUB_ESTALE);
    if (r == 0)
        storm->answered++;
    else
        storm->refused++;
    return r;
}

static bool keep(struct storm *storm, const struct rapahub_raw_call *call,
                 struct rapahub_request_id id)
{
    if (storm->kept_count == KEPT)
        return false;
    storm->kept[storm->kept_count++] = (struct kept){
        id, call->streams_count > 0 ? call->streams[0] : (struct rapahub_raw_stream){NULL, NULL}};
    return true;
}

static int begin(void *user, const struct rapahub_raw_call *call, struct rapahub_request_id id)
{
    struct storm *storm = user;
    uint32_t chance;
    bool kept = false;

    storm->begun++;
    pthread_mutex_lock(&storm->lock);
    chance = random_of(&storm->seed) % 16;
    if (chance >= 3)
        kept = keep(storm, call, id);
    pthread_mutex_unlock(&storm->lock);
    if (kept)
        return 0;
    if (chance == 0)
        return -EAGAIN;
    (void)answer(storm, id, chance == 1 ? RAPAHUB_ESTALE : 0);
    if (chance == 2)
        assert_int_equal(answer(storm, id, 0), RAPAHUB_ESTALE);
    return chance == 2 ? RAPAHUB_EBUSY : 0; /* the answer was first */
}

static void cancel(void *user, struct rapahub_request_id id)
{
    struct storm *storm = user;
    bool found = false;

    storm->told++;
    pthread_mutex_lock(&storm->lock);
    for (unsigned i = 0; i < storm->kept_count && !found; i++) {
        found = storm->kept[i].id.number == id.number && random_of(&storm->seed) % 2 == 0;
        if (found)
            storm->kept[i] = storm->kept[--storm->kept_count];
    }
    pthread_mutex_unlock(&storm->lock);
    if (found)
        assert_int_equal(answer(storm, id, 0), RAPAHUB_ESTALE);
}

static int methods(void *user, struct rapahub_container_id target,
                   void (*visit)(void *visitor, const char *signature), void *visitor)
{
    (void)user;
    (void)target;
    visit(visitor, "add(i64, i64) -> i64");
    return 0;
}

static bool take_kept(struct storm *storm, uint64_t *seed, struct kept *out)
{
    bool any;
    unsigned i;

    pthread_mutex_lock(&storm->lock);
    any = storm->kept_count > 0;
    if (any) {
        i = random_of(seed) % storm->kept_count;
        *out = storm->kept[i];
        storm->kept[i] = storm->kept[--storm->kept_count];
    }
    pthread_mutex_unlock(&storm->lock);
    return any;
}

/* A call with streams may have ended long ago. */
static void *run_answers(void *user)
{
    struct storm *storm = user;
    uint64_t seed = (uintptr_t)&seed;
    struct kept kept;
    char byte;

    while (!storm->end) {
        if (random_of(&seed) % 4 == 0 || !take_kept(storm, &seed, &kept)) {
            pause_ns(random_of(&seed) % 200000);
            continue;
        }
        if (kept.stream.source)
            (void)!rapahub_source_read(kept.stream.source, &byte, 1);
        if (kept.stream.sink)
            (void)!rapahub_sink_write(kept.stream.sink, "abc", 3);
        if (answer(storm, kept.id, random_of(&seed) % 8 == 0 ? RAPAHUB_EDIED : 0) == 0 &&
            random_of(&seed) % 4 == 0)
            assert_int_equal(answer(storm, kept.id, 0), RAPAHUB_ESTALE);
    }
    return NULL;
}

static void *run_exchange(void *user)
{
    struct storm *storm = user;
    const struct rapahub_router router = {begin, cancel, methods, storm, {0}};
    uint64_t seed = (uintptr_t)&seed;

    while (!storm->end) {
        pause_ns(random_of(&seed) % 20000000);
        if (random_of(&seed) % 3 == 0)
            assert_done(rapahub_host_set_router(storm->on.host, NULL));
        else
            assert_done(rapahub_host_set_router(storm->on.host, &router));
        storm->exchanges++;
    }
    return NULL;
}

/* ---- callers ---- */

/* A call without a wait. */
struct one {
    atomic_uint ends;
    struct rapahub_source *source;
    struct rapahub_sink *sink;
};

static void note_end(struct one *one)
{
    assert_int_equal(one->ends++, 0);
}

static void on_done(void *user, int status, const void *result)
{
    (void)status;
    (void)result;
    note_end(user);
}

static void on_raw(void *user, const struct rapahub_raw_answer *end)
{
    assert_true(end->status <= 0);
    note_end(user);
}

/* Waits until it has ended. */
static void settle(struct one *one)
{
    uint64_t end = now_ms() + ENDS_MS;

    while (one->ends == 0 && now_ms() < end)
        pause_ns(50000);
    assert_int_equal(one->ends, 1);
    rapahub_source_destroy(one->source);
    rapahub_sink_destroy(one->sink);
    one->source = NULL;
    one->sink = NULL;
}

static int call_plain(struct storm *storm, uint64_t *seed, struct one *one,
                      struct rapahub_request_id *id)
{
    const int64_t number = 3;
    const void *const arguments[] = {&number, &number, NULL};
    const struct rapahub_call call = {.target = random_of(seed) % 4 == 0 ? local : away,
                                      .method = "add(i64, i64) -> i64",
                                      .arguments = arguments,
                                      .timeout_ns = (1 + random_of(seed) % 20) * MS};

    return rapahub_host_call_async(storm->on.host, &call, on_done, one, id);
}

static int call_raw(struct storm *storm, uint64_t *seed, struct one *one,
                    struct rapahub_request_id *id)
{
    const struct rapahub_raw_call call = {.target = random_of(seed) % 2 == 0 ? local : away,
                                          .method_id = random_of(seed),
                                          .arguments = {"\6\6", 2},
                                          .chain = random_of(seed) % 4 * 2,
                                          .uid = {random_of(seed) % 2, 1},
                                          .timeout_ns = (1 + random_of(seed) % 20) * MS};

    return rapahub_host_call_raw(storm->on.host, &call, on_raw, one, id);
}

static int call_with_stream(struct storm *storm, uint64_t *seed, struct one *one,
                            struct rapahub_request_id *id)
{
    bool reads = random_of(seed) % 2 == 0;
    const void *const arguments[] = {reads ? (void *)&one->source : (void *)&one->sink, NULL};
    const struct rapahub_call call = {.target = away,
                                      .method =
                                          reads ? "drain(source) -> u64" : "feed(sink) -> u64",
                                      .arguments = arguments,
                                      .timeout_ns = (1 + random_of(seed) % 20) * MS};

    assert_done(reads ? rapahub_source_of_memory("abc", 3, &one->source)
                      : rapahub_sink_of_memory(100, &one->sink));
    return rapahub_host_call_async(storm->on.host, &call, on_done, one, id);
}

static int (*const ways[])(struct storm *storm, uint64_t *seed, struct one *one,
                           struct rapahub_request_id *id) = {call_plain, call_plain, call_raw,
                                                             call_with_stream};

static void *run_open(void *user)
{
    struct storm *storm = user;
    struct one ones[OPEN] = {{.ends = 0}};
    uint64_t seed = (uintptr_t)&seed;

    for (unsigned i = 0; i < OPEN; i++)
        ones[i].ends = 1;
    for (unsigned i = 0; !storm->end; i = (i + 1) % OPEN) {
        struct rapahub_request_id id = {0};

        settle(&ones[i]);
        ones[i].ends = 0;
        if (ways[random_of(&seed) % 4](storm, &seed, &ones[i], &id) < 0) {
            ones[i].ends = 1; /* there is no router now */
            pause_ns(100000);
            continue;
        }
        storm->ids[random_of(&seed) % IDS] = id.number;
        storm->calls++;
    }
    for (unsigned i = 0; i < OPEN; i++)
        settle(&ones[i]);
    return NULL;
}

static void *run_cancels(void *user)
{
    struct storm *storm = user;
    uint64_t seed = (uintptr_t)&seed;

    while (!storm->end) {
        struct rapahub_request_id id = {storm->ids[random_of(&seed) % IDS]};

        rapahub_host_cancel(storm->on.host, id);
        storm->cancels++;
        pause_ns(random_of(&seed) % 50000);
    }
    return NULL;
}

/* Its own calls, those of a guest, and methods that the router tells. */
static void *run_waits(void *user)
{
    struct storm *storm = user;
    const uint32_t pool = away.pool.major;
    const int64_t number = 3;
    uint64_t seed = (uintptr_t)&seed;
    unsigned i;

    for (i = 0; !storm->end; i++) {
        const struct rapahub_call own = {.target = random_of(&seed) % 4 == 0 ? local : away,
                                         .method = "add(i64, i64) -> i64",
                                         .arguments = (const void *const[]){&number, &number, NULL},
                                         .timeout_ns = (1 + random_of(&seed) % 20) * MS};
        const struct rapahub_call of_guest = {.target = here,
                                              .method = "ask(u32, i64) -> i64",
                                              .arguments =
                                                  (const void *const[]){&pool, &number, NULL},
                                              .timeout_ns = (1 + random_of(&seed) % 20) * MS};
        int64_t result = 0;

        (void)!rapahub_host_call(storm->on.host, i % 2 ? &own : &of_guest, &result);
        storm->calls++;
    }
    return NULL;
}

/* ---- the host ---- */

static void find(void *user, const struct rapahub_guest_status *status)
{
    if (!strcmp(status->name, "caller"))
        *(int32_t *)user = status->pid;
}

static void *run_changes(void *user)
{
    struct storm *storm = user;
    uint64_t seed = (uintptr_t)&seed;
    uint64_t killed = now_ms();
    int32_t pid = 0;

    while (!storm->end) {
        struct timespec now;
        uint32_t chance = random_of(&seed);

        clock_gettime(CLOCK_BOOTTIME, &now);
        rapahub_host_lease(storm->on.host, chance % 3 == 0   ? 0
                                           : chance % 3 == 1 ? UINT64_MAX
                                                             : (uint64_t)now.tv_sec * 1000 * MS +
                                                                   (uint64_t)now.tv_nsec + MS);
        assert_done(rapahub_host_hold(storm->on.host, local, chance % 2 == 0));
        pause_ns(chance % 3000000);
        if (now_ms() - killed < 400)
            continue;
        killed = now_ms();
        assert_done(rapahub_host_guests(storm->on.host, find, &pid));
        if (pid > 0 && kill(pid, SIGKILL) == 0)
            storm->kills++;
    }
    return NULL;
}

static void open_storm(struct storm *storm)
{
    static const struct rapahub_supervision at_once = {.restarts_max = 256,
                                                       .backoff_initial_ns = RAPAHUB_NONE};
    const struct rapahub_router router = {begin, cancel, methods, storm, {0}};
    const struct rapahub_container_options managed = {
        .id = local, .pool_name = "calc", .managed = true};
    const struct rapahub_guest_options calc = {.chimod = CALC};
    struct rapahub_guest_id guest;

    memset(storm, 0, sizeof *storm);
    storm->seed = (uintptr_t)storm;
    pthread_mutex_init(&storm->lock, NULL);
    open_host(&storm->on, (struct rapahub_host_options){.own_thread = true});
    assert_done(start(&storm->on, CALLER, here, &at_once));
    assert_done(rapahub_host_spawn(storm->on.host, &calc, &guest));
    assert_done(rapahub_host_begin(storm->on.host, guest, &managed, RAPAHUB_BEGIN_INIT, NULL));
    assert_done(rapahub_host_set_router(storm->on.host, &router));
}

static int take(void *user, const struct rapahub_raw_call *call, struct rapahub_request_id id)
{
    (void)user;
    (void)call;
    (void)id;
    return 0;
}

/* The host ends while a router has calls, with streams and without, and others wait for it. */
static void end_host(struct storm *storm)
{
    const struct rapahub_router silent = {.begin = take};
    struct one ones[OPEN] = {{.ends = 0}};
    uint64_t seed = 1;

    assert_done(rapahub_host_set_router(storm->on.host, &silent));
    for (unsigned i = 0; i < OPEN; i++) {
        struct rapahub_request_id id;

        if (ways[i % 4](storm, &seed, &ones[i], &id) < 0)
            ones[i].ends = 1;
    }
    close_host(&storm->on);
    for (unsigned i = 0; i < OPEN; i++)
        settle(&ones[i]);
}

static unsigned length_wanted(void)
{
    const char *text = getenv("STORM");

    return text ? (unsigned)strtoul(text, NULL, 10) : STORM;
}

/* r[verify hub.route.once] r[verify hub.route.replace] r[verify hub.route.streams] */
static void each_call_ends_once_whoever_meets_its_end(void **state)
{
    static void *(*const runs[])(void *user) = {run_open,    run_open,    run_waits,
                                                run_answers, run_answers, run_exchange,
                                                run_cancels, run_changes};
    pthread_t threads[sizeof runs / sizeof *runs];
    static struct storm storm;

    (void)state;
    open_storm(&storm);
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, runs[i], &storm), 0);
    pause_ms((int)length_wanted());
    storm.end = true;
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    print_message("%u calls, %u reached a router, %u answers, %u refused, %u told, %u cancels, "
                  "%u kills, %u exchanges\n",
                  storm.calls, storm.begun, storm.answered, storm.refused, storm.told,
                  storm.cancels, storm.kills, storm.exchanges);
    assert_true(storm.begun > 0 && storm.answered > 0 && storm.told > 0);
    end_host(&storm);
    pthread_mutex_destroy(&storm.lock);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_call_ends_once_whoever_meets_its_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
