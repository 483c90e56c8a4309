/* SPDX-License-Identifier: Apache-2.0 */
/* chimods/kv is upgraded while four threads put and get: no call is lost, none is executed twice,
 * and the time a caller waits; also if the next version fails, or dies before or after the switch.
 * The witness is the log of kv, to which each executed put adds one record. */
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rapahub/supervise.h>
#include <rapahub/upgrade.h>

#include "tests/integration/hosting.h"
#include "tests/support/pause.h"
#include "tests/support/process.h"

#define KV      PROCESS_CHIMOD("kv")
#define KV_NEXT MODULE("kv_next")

#define THREADS    4
#define KEYS       16                    /* keys of each thread */
#define PUTS       (UINT64_C(1) << 18)   /* puts of each thread, at most */
#define UPGRADES   16                    /* that succeed, in one round */
#define FAILURES   8                     /* that do not */
#define KILLS      6                     /* kills after the switch */
#define BREATH_US  15000                 /* between them */
#define TIMEOUT_NS UINT64_C(20000000000) /* of each call */

#define LOG_HEAD    16 /* the value in chimods/kv/log.h */
#define RECORD_HEAD 24

enum put { PUT_NONE, PUT_ANSWERED, PUT_FAILED };

struct caller {
    struct rapahub_host *host;
    pthread_t thread;
    unsigned number;
    uint64_t count;       /* puts; each has its number as its value */
    unsigned char *puts;  /* enum put of each */
    uint64_t gets, stale; /* stale: a value was read that had not been put */
    uint64_t failed;
    int last;             /* code of the last failure */
    uint64_t newest_ns;   /* the longest call since the upgrade began */
    uint64_t known[KEYS]; /* 1 + the value there; 0: not sure */
    int *end;
};

struct round {
    struct hosting on;
    char folder[64];
    struct caller callers[THREADS];
    int end;
    uint64_t callers_ns[UPGRADES], host_ns[UPGRADES], failing_ns[FAILURES];
};

static uint64_t calls, lost, doubled, stale, failed; /* in all rounds */
static int last;                                     /* code of a failure */

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

static unsigned rounds(void)
{
    const char *text = getenv("RAPAHUB_TEST_ROUNDS");

    return text ? (unsigned)strtoul(text, NULL, 10) : 1;
}

/* ---- the callers ---- */

static int timed(struct caller *caller, const char *method, const void *const *arguments,
                 void *result)
{
    const struct rapahub_call call = {
        .target = here, .method = method, .arguments = arguments, .timeout_ns = TIMEOUT_NS};
    uint64_t began = now_ns(), lasted;
    int r = rapahub_host_call(caller->host, &call, result);

    lasted = now_ns() - began;
    if (lasted > __atomic_load_n(&caller->newest_ns, __ATOMIC_RELAXED))
        __atomic_store_n(&caller->newest_ns, lasted, __ATOMIC_RELAXED);
    if (r < 0) {
        caller->failed++;
        caller->last = r;
    }
    return r;
}

static struct rapahub_string key_of(const struct caller *caller, uint64_t put, char text[16])
{
    snprintf(text, 16, "%u-%u", caller->number, (unsigned)(put % KEYS));
    return rapahub_string_of(text);
}

/* Now and then one that is on the disk when it is answered. */
static void put(struct caller *caller)
{
    const char *method = caller->count % 256 ? "put_later(string, bytes)" : "put(string, bytes)";
    uint64_t number = caller->count++;
    char text[16];
    const struct rapahub_string key = key_of(caller, number, text);
    const struct rapahub_bytes value = {&number, sizeof number};
    int r = timed(caller, method, (const void *const[]){&key, &value, NULL}, NULL);

    caller->puts[number] = r == 0 ? PUT_ANSWERED : PUT_FAILED;
    caller->known[number % KEYS] = r == 0 ? 1 + number : 0;
}

static void get(struct caller *caller)
{
    uint64_t number = caller->gets++, found = UINT64_MAX;
    char text[16];
    const struct rapahub_string key = key_of(caller, number, text);
    struct rapahub_bytes value = {NULL, 0};

    if (caller->known[number % KEYS] == 0 ||
        timed(caller, "get(string) -> bytes", (const void *const[]){&key, NULL}, &value) < 0)
        return;
    if (value.size == sizeof found)
        memcpy(&found, value.data, sizeof found);
    caller->stale += 1 + found != caller->known[number % KEYS];
}

static void *run(void *user)
{
    struct caller *caller = user;

    while (!__atomic_load_n(caller->end, __ATOMIC_RELAXED) && caller->count < PUTS) {
        put(caller);
        if (caller->count % 2 == 0)
            get(caller);
    }
    return NULL;
}

static void begin_calls(struct round *round)
{
    round->end = 0;
    for (unsigned i = 0; i < THREADS; i++) {
        struct caller *caller = &round->callers[i];

        *caller = (struct caller){.host = round->on.host, .number = i, .end = &round->end};
        caller->puts = calloc(PUTS, 1);
        assert_non_null(caller->puts);
        assert_int_equal(pthread_create(&caller->thread, NULL, run, caller), 0);
    }
}

static void end_calls(struct round *round)
{
    __atomic_store_n(&round->end, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < THREADS; i++)
        pthread_join(round->callers[i].thread, NULL);
}

/* ---- the witness ---- */

static void *read_log(const struct round *round, size_t *size)
{
    char path[96];
    struct stat status;
    unsigned char *data;
    size_t got = 0;
    ssize_t n = 1;
    int fd;

    snprintf(path, sizeof path, "%s/log", round->folder);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(fstat(fd, &status), 0);
    data = malloc((size_t)status.st_size + 1);
    assert_non_null(data);
    while (n > 0 && got < (size_t)status.st_size) {
        n = read(fd, data + got, (size_t)status.st_size - got);
        got += n > 0 ? (size_t)n : 0;
    }
    close(fd);
    *size = got;
    return data;
}

/* Counts how often each put of a thread is in the log, and whether one came after a later one. */
static void count_records(const struct round *round, unsigned char *times, uint64_t *disordered)
{
    uint64_t next[THREADS] = {0};
    size_t size;
    unsigned char *data = read_log(round, &size);

    for (size_t at = LOG_HEAD; at + RECORD_HEAD <= size;) {
        uint32_t key_size, value_size;
        uint64_t number;
        unsigned thread;

        memcpy(&key_size, data + at + 4, sizeof key_size);
        memcpy(&value_size, data + at + 8, sizeof value_size);
        assert_int_equal(value_size, sizeof number);
        assert_true(at + RECORD_HEAD + key_size + value_size <= size);
        thread = data[at + RECORD_HEAD] - (unsigned)'0';
        memcpy(&number, data + at + RECORD_HEAD + key_size, sizeof number);
        assert_true(thread < THREADS && number < PUTS);
        times[thread * PUTS + number]++;
        *disordered += number + 1 < next[thread];
        next[thread] = number + 1;
        at += RECORD_HEAD + key_size + value_size;
    }
    free(data);
}

/* The numbers are exact: an answered put is there once, a failed one at most once. */
static void judge(struct round *round)
{
    unsigned char *times = calloc(THREADS, PUTS);
    uint64_t disordered = 0;

    assert_non_null(times);
    count_records(round, times, &disordered);
    for (unsigned i = 0; i < THREADS; i++) {
        struct caller *caller = &round->callers[i];

        for (uint64_t n = 0; n < caller->count; n++) {
            lost += caller->puts[n] == PUT_ANSWERED && times[i * PUTS + n] == 0;
            doubled += times[i * PUTS + n] > 1;
        }
        calls += caller->count + caller->gets;
        stale += caller->stale;
        failed += caller->failed;
        last = caller->failed ? caller->last : last;
        free(caller->puts);
    }
    free(times);
    assert_int_equal(disordered, 0);
}

/* ---- a round ---- */

static void open_round(struct round *round)
{
    const struct rapahub_supervision how = {.restarts_max = 256,
                                            .backoff_initial_ns = RAPAHUB_NONE,
                                            .when_down = RAPAHUB_WHEN_DOWN_WAIT};
    const struct rapahub_guest_options guest = {.chimod = KV, .name = "kv", .supervision = &how};
    struct rapahub_container_options container = {.id = here, .pool_name = "test"};
    char params[80];

    snprintf(round->folder, sizeof round->folder, "/tmp/rapahub-upgrade-XXXXXX");
    assert_non_null(mkdtemp(round->folder));
    snprintf(params, sizeof params, "dir=%s", round->folder);
    container.params = (struct rapahub_bytes){params, strlen(params)};
    open_host(&round->on, (struct rapahub_host_options){.own_thread = true});
    assert_done(rapahub_host_spawn(round->on.host, &guest, &round->on.guest));
    assert_done(rapahub_host_add_container(round->on.host, round->on.guest, &container));
    begin_calls(round);
}

static void close_round(struct round *round)
{
    static const char *const names[] = {"log", "lock"};
    char path[96];

    end_calls(round);
    close_host(&round->on);
    judge(round);
    for (size_t i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s", round->folder, names[i]);
        assert_int_equal(unlink(path), 0);
    }
    assert_int_equal(rmdir(round->folder), 0);
}

/* Returns the longest call of any thread from here on, after calls that were under way. */
static uint64_t longest(struct round *round, bool anew)
{
    uint64_t most = 0;

    for (unsigned i = 0; i < THREADS; i++) {
        uint64_t *newest = &round->callers[i].newest_ns;
        uint64_t lasted = anew ? __atomic_exchange_n(newest, 0, __ATOMIC_RELAXED)
                               : __atomic_load_n(newest, __ATOMIC_RELAXED);

        most = lasted > most ? lasted : most;
    }
    return most;
}

static int upgrade(struct round *round, const char *chimod, uint64_t *callers_ns, uint64_t *host_ns)
{
    const struct rapahub_upgrade_options options = {.chimod = chimod};
    struct rapahub_upgrade_result result;
    int r;

    pause_ns(1000 * (uint64_t)(BREATH_US));
    longest(round, true);
    r = rapahub_host_upgrade(round->on.host, round->on.guest, &options, &result);
    pause_ns(1000 * (uint64_t)(BREATH_US)); /* held calls have their answer by then */
    *callers_ns = longest(round, false);
    if (host_ns)
        *host_ns = result.blackout_ns;
    if (r == 0)
        round->on.guest = result.guest;
    return r;
}

static int by_size(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

static void print_spread(const char *what, uint64_t *ns, unsigned count)
{
    qsort(ns, count, sizeof *ns, by_size);
    print_message("  %-28s p50 %6.2f ms  p99 %6.2f ms\n", what, (double)ns[count / 2] / 1e6,
                  (double)ns[(count * 99 - 1) / 100] / 1e6);
}

static void forget(void)
{
    calls = lost = doubled = stale = failed = 0;
}

static void expect_no_failure(void)
{
    if (failed)
        print_error("%llu failed, the last with %s\n", (unsigned long long)failed,
                    rapahub_error_name(last));
    assert_int_equal(failed, 0);
    assert_int_equal(lost, 0);
    assert_int_equal(doubled, 0);
    assert_int_equal(stale, 0);
}

/* r[verify supervise.upgrade.hold] */
static void no_call_of_kv_is_lost_and_none_is_doubled(void **state)
{
    unsigned count = rounds();
    uint64_t *callers_ns = calloc(count * UPGRADES, sizeof *callers_ns);
    uint64_t *host_ns = calloc(count * UPGRADES, sizeof *host_ns);
    struct round *round = calloc(1, sizeof *round);

    (void)state;
    assert_true(callers_ns && host_ns && round);
    forget();
    for (unsigned n = 0; n < count; n++) {
        open_round(round);
        for (unsigned i = 0; i < UPGRADES; i++)
            assert_done(upgrade(round, i % 2 ? KV : KV_NEXT, &callers_ns[n * UPGRADES + i],
                                &host_ns[n * UPGRADES + i]));
        close_round(round);
    }
    print_message("kv: %u upgrades, %llu calls of %u threads: lost %llu, doubled %llu\n",
                  count * UPGRADES, (unsigned long long)calls, THREADS, (unsigned long long)lost,
                  (unsigned long long)doubled);
    print_spread("blackout, longest call", callers_ns, count * UPGRADES);
    print_spread("blackout, the host's figure", host_ns, count * UPGRADES);
    expect_no_failure();
    free(callers_ns);
    free(host_ns);
    free(round);
}

/* r[verify supervise.upgrade.rollback] */
static void a_failing_upgrade_leaves_the_running_kv_serving(void **state)
{
    static const struct {
        const char *chimod;
        int code;
    } bad[] = {{MODULE("kv_next_load_fails"), RAPAHUB_EAPPLICATION},
               {MODULE("kv_next_load_dies"), RAPAHUB_EDIED}};
    unsigned count = rounds();
    uint64_t *callers_ns = calloc(count * FAILURES, sizeof *callers_ns);
    struct round *round = calloc(1, sizeof *round);

    (void)state;
    assert_true(callers_ns && round);
    forget();
    for (unsigned n = 0; n < count; n++) {
        open_round(round);
        for (unsigned i = 0; i < FAILURES; i++)
            assert_int_equal(upgrade(round, bad[i % 2].chimod, &callers_ns[n * FAILURES + i], NULL),
                             bad[i % 2].code);
        close_round(round);
    }
    print_message("kv: %u upgrades that failed, %llu calls: lost %llu, doubled %llu, failed %llu\n",
                  count * FAILURES, (unsigned long long)calls, (unsigned long long)lost,
                  (unsigned long long)doubled, (unsigned long long)failed);
    print_spread("rolled back, longest call", callers_ns, count * FAILURES);
    expect_no_failure();
    free(callers_ns);
    free(round);
}

static void note_present(void *user, const struct rapahub_guest_status *status)
{
    struct hosting *on = user;

    if (strcmp(status->name, "kv") == 0)
        on->guest = status->guest;
}

/* After the switch it is an ordinary death: its open calls end with EDIED, at most one of each
 * thread, and the answered puts are there. */
static void a_new_kv_that_dies_behind_the_switch_is_started_again(void **state)
{
    unsigned count = rounds();
    struct round *round = calloc(1, sizeof *round);
    uint64_t longest_ns;

    (void)state;
    assert_non_null(round);
    forget();
    for (unsigned n = 0; n < count; n++) {
        open_round(round);
        for (unsigned i = 0; i < KILLS; i++) {
            assert_done(upgrade(round, i % 2 ? KV : KV_NEXT, &longest_ns, NULL));
            assert_done(rapahub_host_kill(round->on.host, round->on.guest));
            pause_ns(1000 * (uint64_t)(4 * BREATH_US));
            assert_done(ask(&round->on, "sync()", NULL, NULL)); /* waits for its next life */
            assert_done(rapahub_host_guests(round->on.host, note_present, &round->on));
        }
        close_round(round);
    }
    print_message("kv: %u killed behind the switch, %llu calls: lost %llu, doubled %llu, failed "
                  "%llu\n",
                  count * KILLS, (unsigned long long)calls, (unsigned long long)lost,
                  (unsigned long long)doubled, (unsigned long long)failed);
    assert_int_equal(lost + doubled + stale, 0);
    assert_in_range(failed, 0, (uint64_t)count * KILLS * THREADS);
    free(round);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_call_of_kv_is_lost_and_none_is_doubled),
        cmocka_unit_test(a_failing_upgrade_leaves_the_running_kv_serving),
        cmocka_unit_test(a_new_kv_that_dies_behind_the_switch_is_started_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
