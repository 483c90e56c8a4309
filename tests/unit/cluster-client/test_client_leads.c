/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that wait for their calls and take the turns of the client meanwhile. */
#include <dirent.h>

#include "tests/unit/cluster-client/client_stage.h"

#define CALLS   400
#define THREADS 3
#define ROUNDS  60
#define TASKS   64

static int echo(struct rapahub_client *client, const char *method, uint32_t number)
{
    struct rapahub_bytes result;
    int r = call_bytes(client, method, &number, sizeof number, &result);

    return r == 0 && (result.size != sizeof number || memcmp(result.data, &number, result.size))
               ? RAPAHUB_EPROTOCOL
               : r;
}

/* ---- who is woken ---- */

/* Threads of this process. */
struct tasks {
    unsigned count;
    int all[TASKS];
};

static void list(struct tasks *tasks)
{
    DIR *folder = opendir("/proc/self/task");
    struct dirent *entry;

    tasks->count = 0;
    assert_non_null(folder);
    while ((entry = readdir(folder)))
        if (entry->d_name[0] != '.' && tasks->count < TASKS)
            tasks->all[tasks->count++] = (int)strtol(entry->d_name, NULL, 10);
    closedir(folder);
}

static bool is_in(const struct tasks *tasks, int task)
{
    for (unsigned i = 0; i < tasks->count; i++)
        if (tasks->all[i] == task)
            return true;
    return false;
}

static unsigned long sleeps_of(int task)
{
    char path[64], line[200];
    unsigned long count = 0;
    FILE *file;

    snprintf(path, sizeof path, "/proc/self/task/%d/status", task);
    file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file))
        (void)sscanf(line, "voluntary_ctxt_switches: %lu", &count);
    if (file)
        fclose(file);
    return count;
}

/* How often the threads have slept that are in one list and not in the other. */
static unsigned long sleeps_of_new(const struct tasks *now, const struct tasks *before)
{
    unsigned long count = 0;

    for (unsigned i = 0; i < now->count; i++)
        if (!is_in(before, now->all[i]))
            count += sleeps_of(now->all[i]);
    return count;
}

/* The client's thread only looks from time to time whether calls go on. */
static void a_thread_that_waits_needs_no_other_one(void **state)
{
    struct stage *stage = *state;
    struct rapahub_client *client;
    struct tasks before, now;
    unsigned long sleeps;
    uint64_t begun_ns, ms;

    list(&before);
    client = open_client(stage, 60 * HUB_SECOND);
    list(&now);
    assert_true(now.count > before.count);
    for (uint32_t i = 0; i < 10; i++)
        assert_int_equal(echo(client, "echo(bytes) -> bytes", i), 0);
    sleeps = sleeps_of_new(&now, &before);
    begun_ns = hub_clock_now();
    for (uint32_t i = 0; i < CALLS; i++)
        assert_int_equal(echo(client, "echo(bytes) -> bytes", i), 0);
    ms = (hub_clock_now() - begun_ns) / HUB_MILLISECOND; /* it looks each 2 ms */
    assert_true(sleeps_of_new(&now, &before) - sleeps < CALLS / 2 + ms);
    rapahub_client_close(client);
}

/* ---- beside callbacks ---- */

struct told {
    struct hub_a32 times, elsewhere;
    pthread_t thread;
};

static void on_echo(void *user, int status, const void *result)
{
    struct told *told = user;

    (void)result;
    if (status < 0 ||
        (hub_observe(&told->times) > 0 && !pthread_equal(told->thread, pthread_self())))
        hub_add(&told->elsewhere, 1);
    told->thread = pthread_self();
    hub_add(&told->times, 1);
}

struct caller {
    struct stage *stage;
    struct hub_a32 stop, calls;
    int failure;
    pthread_t thread;
};

static void *call_on(void *user)
{
    struct caller *caller = user;

    for (uint32_t i = 0; caller->failure == 0 && hub_observe(&caller->stop) == 0; i++) {
        caller->failure = echo(caller->stage->client,
                               i % 8 == 0 ? "late(bytes) -> bytes" : "echo(bytes) -> bytes", i);
        hub_add(&caller->calls, 1);
    }
    return NULL;
}

static void start_callers(struct stage *stage, struct caller callers[THREADS], unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        callers[i] = (struct caller){.stage = stage};
        assert_int_equal(pthread_create(&callers[i].thread, NULL, call_on, &callers[i]), 0);
    }
}

static void stop_callers(struct caller callers[THREADS], unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        hub_publish(&callers[i].stop, 1);
    for (unsigned i = 0; i < count; i++) {
        pthread_join(callers[i].thread, NULL);
        assert_int_equal(callers[i].failure, 0);
        assert_true(hub_observe(&callers[i].calls) > 0);
    }
}

static void callbacks_run_on_the_thread_of_the_client(struct stage *stage, unsigned count)
{
    const struct rapahub_bytes argument = {"abc", 3};
    const void *arguments[2];
    const struct rapahub_call call = call_of("echo(bytes) -> bytes", &argument, arguments);
    struct caller callers[THREADS];
    struct told told = {.thread = pthread_self()};

    start_callers(stage, callers, count);
    for (uint32_t i = 1; i <= ROUNDS; i++) {
        assert_int_equal(rapahub_client_call_async(stage->client, &call, on_echo, &told, NULL), 0);
        for (unsigned ms = 0; ms < SOON_MS && hub_observe(&told.times) < i; ms++)
            pause_ms(1);
        assert_int_equal(hub_observe(&told.times), i);
    }
    stop_callers(callers, count);
    assert_int_equal(hub_observe(&told.elsewhere), 0);
    for (unsigned i = 0; i < count; i++)
        assert_false(pthread_equal(told.thread, callers[i].thread));
}

static void callbacks_run_where_they_did_beside_a_thread_that_leads(void **state)
{
    callbacks_run_on_the_thread_of_the_client(*state, 1);
}

static void callbacks_run_where_they_did_beside_several_threads(void **state)
{
    callbacks_run_on_the_thread_of_the_client(*state, THREADS);
}

/* ---- a node that goes away ---- */

/* The thread that leads finds that its node is gone; that of the client looks for the next one.
 * r[verify cluster.client.again] */
static void a_call_of_a_thread_that_leads_is_sent_again(void **state)
{
    struct stage *stage = *state;
    struct caller callers[THREADS];

    start_callers(stage, callers, THREADS);
    for (uint64_t session = 51; session < 61; session++) {
        pause_ms(30);
        stop_node(stage);
        start_node(stage, session);
    }
    stop_callers(callers, THREADS);
}

/* A call that is made when the node is known to be dead is not one that may have run.
 * r[verify cluster.client.again] */
static void a_call_after_the_death_of_the_node_is_no_maybe(void **state)
{
    struct stage *stage = *state;

    for (uint64_t session = 51; session < 61; session++) {
        assert_int_equal(echo(stage->client, "echo(bytes) -> bytes", 1), 0);
        stop_node(stage); /* the thread of the client rests, and may not have seen it */
        start_node(stage, session);
        pause_ms(1);
        assert_int_equal(echo(stage->client, "echo(bytes) -> bytes", 2), 0);
        assert_int_equal(hub_observe(&stage->node.maybe), 0);
    }
}

/* ---- times ---- */

/* r[verify cluster.client.times] */
static void a_thread_that_leads_ends_its_call_in_time(void **state)
{
    struct stage *stage = *state;
    const struct rapahub_bytes argument = {"abc", 3};
    const void *arguments[2];
    struct rapahub_call call = call_of("never(bytes) -> bytes", &argument, arguments);

    call.timeout_ns = 30 * HUB_MILLISECOND;
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(echo(stage->client, "echo(bytes) -> bytes", i), 0);
        assert_int_equal(rapahub_client_call(stage->client, &call, NULL), RAPAHUB_ETIMEDOUT);
    }
    node_has(stage, 0); /* it was told to cancel them */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_thread_that_waits_needs_no_other_one),
        TEST(callbacks_run_where_they_did_beside_a_thread_that_leads),
        TEST(callbacks_run_where_they_did_beside_several_threads),
        TEST(a_call_of_a_thread_that_leads_is_sent_again),
        TEST(a_call_after_the_death_of_the_node_is_no_maybe),
        TEST(a_thread_that_leads_ends_its_call_in_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
