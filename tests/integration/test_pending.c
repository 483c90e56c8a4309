/* SPDX-License-Identifier: Apache-2.0 */
/* A guest is killed with a thousand calls queued and in flight: each ends once, with its result or
 * with RAPAHUB_EDIED; none is executed twice, and no sent call by the next life. A call that was
 * not sent, because the ring had no space, goes to the next life, like any that comes while it
 * starts.
 *
 * RAPAHUB_TEST_ROUNDS: how often; 20.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/integration/child.h"

#define NUMBERS 8192 /* the same as in the module */
#define CALLS   1000 /* asynchronous calls, */
#define CALLERS 16   /* and threads that wait for one after another */
#define EACH    40
#define LONG_MS 1000 /* duration of one call, so that it is not over before its guest is */
#define RING    2048 /* more than all of them */

/* The guest's record of a call. */
struct entry {
    _Atomic uint32_t began, ended;
    _Atomic int32_t pid;
};

/* How a call ended. */
struct ended {
    _Atomic uint32_t count, result;
    _Atomic int code;
};

struct stage {
    struct hosting on;
    char path[64];
    struct entry *entries;
    struct ended calls[NUMBERS];
    struct rapahub_child_id child;
    bool sent;        /* there is room for all in the ring */
    atomic_uint done; /* asynchronous calls that are done */
};

struct asker {
    struct stage *stage;
    pthread_t thread;
    uint32_t first;
};

static unsigned rounds(void)
{
    const char *text = getenv("RAPAHUB_TEST_ROUNDS");

    return text ? (unsigned)strtoul(text, NULL, 0) : 20;
}

static void open_file(struct stage *stage)
{
    const size_t size = NUMBERS * sizeof *stage->entries;
    int fd;

    snprintf(stage->path, sizeof stage->path, "/tmp/rapahub-tally-XXXXXX");
    fd = mkstemp(stage->path);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, (off_t)size), 0);
    stage->entries = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_true(stage->entries != MAP_FAILED);
    close(fd);
}

static void open_stage(struct stage *stage, enum rapahub_trust trust)
{
    const struct rapahub_supervision how = {.restarts_max = 256,
                                            .on_exhausted = RAPAHUB_EXHAUSTED_SLOW_RETRY,
                                            .backoff_initial_ns = RAPAHUB_NONE};
    const struct rapahub_guest_options guest = {
        .chimod = MODULE("tally"), .supervision = &how, .trust = trust};
    const struct rapahub_container_options container = {
        .id = here, .pool_name = "test", .params = {stage->path, strlen(stage->path)}};

    open_host(&stage->on, (struct rapahub_host_options){.own_thread = true,
                                                        .ring_size = stage->sent ? RING : 0,
                                                        .slot_count = stage->sent ? RING : 0});
    assert_done(rapahub_host_spawn(stage->on.host, &guest, &stage->on.guest));
    assert_done(rapahub_host_add_container(stage->on.host, stage->on.guest, &container));
    assert_done(rapahub_child_of(stage->on.host, stage->on.guest, &stage->child));
}

static void close_stage(struct stage *stage)
{
    close_host(&stage->on);
    munmap(stage->entries, NUMBERS * sizeof *stage->entries);
    unlink(stage->path);
}

/* ---- calls ---- */

static void note(struct ended *ended, int code, uint32_t result)
{
    ended->code = code;
    ended->result = result;
    ended->count++;
}

struct pending {
    struct stage *stage;
    uint32_t number;
};

static void on_end(void *user, int status, const void *result)
{
    struct pending *pending = user;

    note(&pending->stage->calls[pending->number], status,
         status == 0 ? *(const uint32_t *)result : 0);
    pending->stage->done++;
}

/* None of them waits for another: what finds no room in the ring is queued. */
static unsigned begin_calls(struct stage *stage, struct pending *list)
{
    const uint32_t last = stage->sent ? CALLS - 1 : CALLS / 10;
    unsigned begun = 0;

    for (uint32_t number = 0; number < CALLS; number++) {
        const uint32_t ms = number == last ? LONG_MS : number % 50 == 0;
        const struct rapahub_call call = {.target = here,
                                          .method = "count(u32, u32) -> u32",
                                          .arguments = (const void *const[]){&number, &ms, NULL}};
        int r;

        list[number] = (struct pending){stage, number};
        r = rapahub_host_call_async(stage->on.host, &call, on_end, &list[number], NULL);
        if (r < 0)
            note(&stage->calls[number], r, 0);
        begun += r == 0;
    }
    return begun;
}

static void *call_on(void *user)
{
    struct asker *asker = user;
    struct stage *stage = asker->stage;

    for (uint32_t number = asker->first; number < asker->first + EACH; number++) {
        const uint32_t ms = number % 20 == 0;
        const struct rapahub_call call = {.target = here,
                                          .method = "count(u32, u32) -> u32",
                                          .arguments = (const void *const[]){&number, &ms, NULL}};
        uint32_t result = 0;
        int r = rapahub_host_call(stage->on.host, &call, &result);

        note(&stage->calls[number], r, result);
        if (r < 0)
            break; /* a later call belongs to another life */
    }
    return NULL;
}

/* ---- outcomes ---- */

static void check(struct stage *stage, uint32_t number, int32_t first)
{
    const struct ended *ended = &stage->calls[number];
    const struct entry *entry = &stage->entries[number];

    if (ended->count == 0) {
        assert_int_equal(entry->began, 0); /* never called */
        return;
    }
    if (ended->count != 1 || entry->began > 1)
        fail_msg("call %u ended %u times, and was executed %u times", number, ended->count,
                 entry->began);
    if (entry->began > 0 && entry->pid != first &&
        ((stage->sent && number < CALLS) || ended->code != 0))
        fail_msg("call %u was executed by another life", number);
    if (ended->code == 0 && (entry->ended != 1 || ended->result != number))
        fail_msg("call %u has a result, and was executed %u times", number, entry->ended);
    if (ended->code != 0 && ended->code != RAPAHUB_EDIED && entry->began > 0)
        fail_msg("call %u was executed, and ended with %s", number,
                 rapahub_error_name(ended->code));
}

/* The codes of calls whose guest dies; no other is allowed. */
static bool is_expected(int code)
{
    return code == 0 || code == RAPAHUB_EDIED || code == RAPAHUB_ESTALE ||
           code == RAPAHUB_ERESTARTING;
}

static int32_t pid_now(struct stage *stage)
{
    struct rapahub_child_status status = {0};

    assert_done(rapahub_child_status(stage->on.host, stage->child, &status));
    return status.pid;
}

/* The next life serves, and what it was never told of stays undone. */
static void await_next(struct stage *stage, int32_t before)
{
    const uint32_t last = NUMBERS - 1, none = 0;
    const struct rapahub_call call = {.target = here,
                                      .method = "count(u32, u32) -> u32",
                                      .arguments = (const void *const[]){&last, &none, NULL}};
    uint64_t end = now_ms() + 20000;
    uint32_t result = 0;

    while (rapahub_host_call(stage->on.host, &call, &result) < 0 && now_ms() < end)
        pause_ms(1);
    assert_int_equal(result, last);
    assert_int_not_equal(stage->entries[last].pid, before);
    pause_ms(20);
}

static void run_round(struct stage *stage, unsigned round)
{
    static struct pending list[CALLS];
    struct asker askers[CALLERS];
    unsigned begun, died = 0, good = 0;
    int32_t before = pid_now(stage);

    memset(stage->calls, 0, sizeof stage->calls);
    memset(stage->entries, 0, NUMBERS * sizeof *stage->entries);
    stage->done = 0;
    begun = begin_calls(stage, list);
    for (uint32_t i = 0; i < CALLERS; i++) {
        askers[i] = (struct asker){.stage = stage, .first = CALLS + i * EACH};
        assert_int_equal(pthread_create(&askers[i].thread, NULL, call_on, &askers[i]), 0);
    }
    pause_ms((int)round % 5);
    assert_int_equal(kill(before, SIGKILL), 0);
    for (uint32_t i = 0; i < CALLERS; i++)
        pthread_join(askers[i].thread, NULL);
    for (uint64_t end = now_ms() + 20000; stage->done < begun && now_ms() < end;)
        pause_ms(1);
    assert_int_equal(stage->done, begun);
    await_next(stage, before);
    for (uint32_t number = 0; number < CALLS + CALLERS * EACH; number++) {
        check(stage, number, before);
        if (!is_expected(stage->calls[number].code))
            fail_msg("call %u: %s", number, rapahub_error_name(stage->calls[number].code));
        died += stage->calls[number].code == RAPAHUB_EDIED;
        good += stage->calls[number].count == 1 && stage->calls[number].code == 0;
    }
    assert_true(died > 0);
    print_message("%u calls had a result, %u died with their guest\n", good, died);
}

static void run_rounds(enum rapahub_trust trust, bool sent)
{
    static struct stage stage;

    stage.sent = sent;
    open_file(&stage);
    open_stage(&stage, trust);
    for (unsigned round = 0; round < rounds(); round++)
        run_round(&stage, round);
    close_stage(&stage);
}

/* r[verify supervise.pending] */
static void calls_of_a_killed_guest_end_once_and_its_next_life_runs_none(void **state)
{
    (void)state;
    run_rounds(RAPAHUB_TRUST_STANDARD, true);
}

/* r[verify supervise.pending] */
static void nor_does_one_that_shares_its_segment(void **state)
{
    (void)state;
    run_rounds(RAPAHUB_TRUST_TRUSTED, true);
}

/* r[verify supervise.pending] */
static void those_that_were_not_sent_are_executed_once_at_most(void **state)
{
    (void)state;
    run_rounds(RAPAHUB_TRUST_STANDARD, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_of_a_killed_guest_end_once_and_its_next_life_runs_none),
        cmocka_unit_test(nor_does_one_that_shares_its_segment),
        cmocka_unit_test(those_that_were_not_sent_are_executed_once_at_most),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
