/* SPDX-License-Identifier: Apache-2.0 */
/* Eight guests share one segment whose size classes grow under load, while guests are killed:
 * every call ends once, with the bytes it sent or a failure that a kill explains; and when all is
 * still, every slot is free or granted to a guest that lives.
 *
 * The seed is printed; RAPAHUB_TEST_SEED repeats a run. RAPAHUB_TEST_KILLS: how many (200). */
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/host.h>

#include "hub/base/atomic.h"
#include "hub/base/clock.h"
#include "hub/base/random.h"
#include "tests/support/leak.h"
#include "tests/support/pause.h"
#include "tests/support/process.h"
#include "tests/support/testing.h"

#define GUESTS  8
#define CALLERS 6 /* callers of each guest */
#define LARGEST 60000
#ifdef __SANITIZE_THREAD__
#define KILLS 40
#else
#define KILLS 200
#endif

RAPAHUB_STUB(bytes, bytes, bytes);

struct storm {
    struct rapahub_host *host;
    struct rapahub_guest_id guests[GUESTS];
    struct hub_a32 stop;
};

static struct rapahub_container_id container_of(uint32_t guest)
{
    return (struct rapahub_container_id){{20 + guest, 0}, 0};
}

static void be_silent(void *user, enum rapahub_log_level level, const char *topic, const char *text)
{
    (void)user;
    (void)level;
    (void)topic;
    (void)text;
}

static void check(int r)
{
    if (r < 0)
        print_error("%s: %s\n", rapahub_error_name(r), rapahub_last_error()->text);
    assert_true(r >= 0);
}

/* So few slots that the first extents cannot be enough: 256, 4,096 and 65,536 bytes. */
static void open_storm(struct storm *storm)
{
    const struct rapahub_supervision often = {.on_exhausted = RAPAHUB_EXHAUSTED_SLOW_RETRY,
                                              .backoff_initial_ns = 100000,
                                              .backoff_max_ns = 100000};
    const struct rapahub_host_options options = {.name = "growth",
                                                 .own_thread = true,
                                                 .guests_max = GUESTS,
                                                 .ring_size = 64,
                                                 .slot_size = 256,
                                                 .slot_count = 2,
                                                 .payload_max = 65536};

    check(rapahub_host_create(&options, &storm->host));
    for (uint32_t i = 0; i < GUESTS; i++) {
        char name[16];
        const struct rapahub_guest_options plugin = {.chimod = PROCESS_CHIMOD("echo"),
                                                     .name = name,
                                                     .trust = RAPAHUB_TRUST_TRUSTED,
                                                     .supervision = &often};
        const struct rapahub_container_options pool = {.id = container_of(i), .pool_name = name};

        snprintf(name, sizeof name, "echo-%u", i);
        check(rapahub_host_spawn(storm->host, &plugin, &storm->guests[i]));
        check(rapahub_host_add_container(storm->host, storm->guests[i], &pool));
    }
}

struct caller {
    struct storm *storm;
    struct rapahub_container_id target;
    uint64_t seed, begun, answered, failed, wrong;
    int strange; /* a code that no kill explains */
};

static bool is_of_a_kill(int code)
{
    return code == RAPAHUB_EDIED || code == RAPAHUB_ESTALE || code == RAPAHUB_ERESTARTING ||
           code == RAPAHUB_ECLOSED;
}

static void call_once(struct caller *caller, struct hub_random *random, uint8_t *data)
{
    size_t size = hub_random_below(random, 3) == 0 ? hub_random_below(random, LARGEST)
                                                   : hub_random_below(random, 1000);
    struct rapahub_bytes answer = {NULL, 0};
    int r;

    memset(data, (int)(caller->begun & 0xff), size);
    caller->begun++;
    r = bytes(caller->storm->host, caller->target, (struct rapahub_bytes){data, size}, &answer);
    caller->answered += r == 0;
    caller->failed += r < 0;
    caller->wrong += r == 0 && (answer.size != size || memcmp(answer.data, data, size) != 0);
    if (r < 0 && !is_of_a_kill(r))
        caller->strange = r;
}

static void *call_on(void *user)
{
    struct caller *caller = user;
    uint8_t *data = malloc(LARGEST);
    struct hub_random random;

    hub_random_init(&random, caller->seed);
    while (data && hub_observe(&caller->storm->stop) == 0)
        call_once(caller, &random, data);
    free(data);
    return NULL;
}

static uint64_t number_of(const char *variable, uint64_t otherwise)
{
    const char *text = getenv(variable);

    return text ? strtoull(text, NULL, 0) : otherwise;
}

struct pids {
    int of[GUESTS];
    struct rapahub_guest_id last;
    unsigned ready;
};

static void note_pid(void *user, const struct rapahub_guest_status *status)
{
    struct pids *pids = user;

    if (strcmp(status->state, "ready") == 0 && pids->ready < GUESTS)
        pids->of[pids->ready++] = status->pid;
    pids->last = status->guest;
}

static struct pids living(struct rapahub_host *host)
{
    struct pids pids = {.ready = 0};

    assert_int_equal(rapahub_host_guests(host, note_pid, &pids), 0);
    return pids;
}

/* Guests that stand still take no messages: the host needs the more slots. */
static void signal_all(const struct pids *pids, int signal_number)
{
    for (unsigned i = 0; i < pids->ready; i++)
        (void)kill(pids->of[i], signal_number);
}

static void kill_often(struct storm *storm, uint64_t kills, uint64_t seed)
{
    struct hub_random random;

    hub_random_init(&random, seed);
    for (uint64_t n = 0; n < kills;) {
        struct pids pids = living(storm->host);

        signal_all(&pids, SIGSTOP);
        pause_ns(hub_random_below(&random, 5 * HUB_MILLISECOND));
        if (pids.ready > 0 && kill(pids.of[hub_random_below(&random, pids.ready)], SIGKILL) == 0)
            n++;
        signal_all(&pids, SIGCONT);
        pause_ns(hub_random_below(&random, 15 * HUB_MILLISECOND));
    }
}

struct slots {
    uint64_t total, free, granted, stray;
};

static void note_figure(void *user, const struct rapahub_figure *figure)
{
    struct slots *slots = user;
    const struct {
        const char *name;
        uint64_t *to;
    } wanted[] = {{"slots_total", &slots->total},
                  {"slots_free", &slots->free},
                  {"slots_granted", &slots->granted},
                  {"stray_bits", &slots->stray}};

    for (unsigned i = 0; i < sizeof wanted / sizeof *wanted; i++)
        if (strcmp(figure->name, wanted[i].name) == 0)
            *wanted[i].to = figure->value;
}

static struct slots slots_of(struct storm *storm)
{
    struct slots slots = {.total = 0};
    struct pids pids = living(storm->host);

    if (rapahub_host_figures(storm->host, pids.last, note_figure, &slots) < 0)
        slots.total = 0; /* it died just now */
    return slots;
}

/* Counts the slots when all are back, or one was kept. */
static struct slots settle(struct storm *storm)
{
    uint64_t deadline = hub_clock_after(20 * HUB_SECOND);
    struct slots slots;

    do {
        pause_ns(10 * HUB_MILLISECOND);
        slots = slots_of(storm);
    } while ((living(storm->host).ready < GUESTS || slots.total == 0 ||
              slots.free + slots.granted < slots.total) &&
             hub_clock_left(deadline) != 0);
    return slots;
}

/* r[verify shm.varslot.extents] r[verify shm.varslot.ownership] r[verify hub.call.once] */
static void extents_grow_under_load_while_guests_are_killed(void **state)
{
    uint64_t seed = number_of("RAPAHUB_TEST_SEED", hub_random_nonce() % 1000000);
    uint64_t kills = number_of("RAPAHUB_TEST_KILLS", KILLS);
    struct caller callers[GUESTS * CALLERS], sum = {.begun = 0};
    pthread_t threads[GUESTS * CALLERS];
    struct leak *leak = leak_begin();
    struct slots before, after;
    struct storm storm = {.stop = {0}};

    (void)state;
    print_message("seed %" PRIu64 "\n", seed);
    open_storm(&storm);
    before = slots_of(&storm);
    for (uint32_t i = 0; i < GUESTS * CALLERS; i++) {
        callers[i] = (struct caller){
            .storm = &storm, .target = container_of(i % GUESTS), .seed = seed + 1 + i};
        assert_int_equal(pthread_create(&threads[i], NULL, call_on, &callers[i]), 0);
    }
    kill_often(&storm, kills, seed);
    hub_publish(&storm.stop, 1);
    for (uint32_t i = 0; i < GUESTS * CALLERS; i++) {
        pthread_join(threads[i], NULL);
        sum.begun += callers[i].begun;
        sum.answered += callers[i].answered;
        sum.failed += callers[i].failed;
        sum.wrong += callers[i].wrong;
        sum.strange = callers[i].strange ? callers[i].strange : sum.strange;
    }
    after = settle(&storm);
    print_message("%" PRIu64 " kills of 8 guests: %" PRIu64 " calls, %" PRIu64 " answered, %" PRIu64
                  " failed, %" PRIu64 " wrong; slots %" PRIu64 " grew to %" PRIu64 ": %" PRIu64
                  " free, %" PRIu64 " granted, %" PRIu64 " strays\n",
                  kills, sum.begun, sum.answered, sum.failed, sum.wrong, before.total, after.total,
                  after.free, after.granted, after.stray);
    rapahub_host_destroy(storm.host);
    assert_int_equal(sum.begun, sum.answered + sum.failed);
    assert_int_equal(sum.wrong, 0);
    if (sum.strange != 0)
        fail_msg("a call ended with %s", rapahub_error_name(sum.strange));
    assert_true(sum.answered > kills);
    assert_true(after.total > before.total);
    assert_int_equal(after.free + after.granted, after.total);
    leak_assert_none(leak);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(extents_grow_under_load_while_guests_are_killed),
    };

    rapahub_log_to(be_silent, NULL, RAPAHUB_LOG_ERROR);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
