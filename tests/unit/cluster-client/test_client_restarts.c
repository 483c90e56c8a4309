/* SPDX-License-Identifier: Apache-2.0 */
/* A client whose node is killed again and again, as a process, while calls of several threads are
 * open. Each call ends once. RAPAHUB_TEST_KILLS says how often, RAPAHUB_TEST_SEED when. */
#include <signal.h>

#include <rapahub/client.h>

#include "hub/base/random.h"
#include "tests/support/pause.h"
#include "tests/support/process.h"
#include "tests/support/testing.h"
#include "tests/unit/cluster-client/fake_node.h"

#define KILLS   20
#define THREADS 4
#define OPEN    32 /* asynchronous calls of a thread */

static uint64_t number_of(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);

    return text ? strtoull(text, NULL, 10) : otherwise;
}

struct storm {
    char folder[64], path[96], address[104], session[32];
    uint64_t sessions;
    struct rapahub_client *client;
    struct hub_a32 stop;
    struct hub_a64 begun, ended, twice, wrong, waited;
};

struct slot {
    struct storm *storm;
    struct hub_a32 open;
};

static void on_done(void *user, int status, const void *result)
{
    struct slot *slot = user;
    const struct rapahub_bytes *bytes = result;

    hub_add64(&slot->storm->ended, 1);
    if (status != 0 || bytes->size != 3 || memcmp(bytes->data, "abc", 3) != 0)
        hub_add64(&slot->storm->wrong, 1);
    if (hub_exchange(&slot->open, 0) != 1)
        hub_add64(&slot->storm->twice, 1);
}

static struct rapahub_call call_of(const char *method, const void *const *arguments)
{
    return (struct rapahub_call){.target = FAKE_TARGET,
                                 .method = method,
                                 .arguments = arguments,
                                 .timeout_ns = 60 * HUB_SECOND};
}

static void begin(struct storm *storm, struct slot *slot, const char *method)
{
    static const struct rapahub_bytes argument = {"abc", 3};
    const void *const arguments[] = {&argument, NULL};
    const struct rapahub_call call = call_of(method, arguments);

    hub_publish(&slot->open, 1);
    hub_add64(&storm->begun, 1);
    assert_int_equal(rapahub_client_call_async(storm->client, &call, on_done, slot, NULL), 0);
}

static void wait_once(struct storm *storm)
{
    static const struct rapahub_bytes argument = {"waited for", 10};
    const void *const arguments[] = {&argument, NULL};
    const struct rapahub_call call = call_of("echo(bytes) -> bytes", arguments);
    struct rapahub_bytes result;

    if (rapahub_client_call(storm->client, &call, &result) != 0 || result.size != 10 ||
        memcmp(result.data, "waited for", 10) != 0)
        hub_add64(&storm->wrong, 1);
    hub_add64(&storm->waited, 1);
}

static void *work(void *user)
{
    struct storm *storm = user;
    static const char *const methods[] = {"echo(bytes) -> bytes", "late(bytes) -> bytes"};
    struct slot *slots = calloc(OPEN, sizeof *slots);

    for (unsigned i = 0; i < OPEN; i++)
        slots[i].storm = storm;
    for (unsigned i = 0; hub_observe(&storm->stop) == 0; i++) {
        struct slot *slot = &slots[i % OPEN];

        if (hub_observe(&slot->open) == 0)
            begin(storm, slot, methods[i % 2]);
        else
            wait_once(storm);
    }
    for (unsigned i = 0; i < OPEN; i++)
        for (unsigned ms = 0; ms < 20000 && hub_observe(&slots[i].open) != 0; ms++)
            pause_ms(1);
    for (unsigned i = 0; i < OPEN; i++)
        assert_int_equal(hub_observe(&slots[i].open), 0);
    free(slots);
    return NULL;
}

static void start(struct storm *storm, struct process *node)
{
    const char *const argv[] = {PROCESS_LIBEXEC("fake_node"), storm->path, storm->session, NULL};
    const struct process_options options = {.argv = argv, .within_ns = 600 * HUB_SECOND};

    snprintf(storm->session, sizeof storm->session, "%llu", (unsigned long long)++storm->sessions);
    assert_int_equal(process_start(&options, node), 0);
    assert_true(process_until_text(node, "serves", false, 20 * HUB_SECOND));
}

static void kill_node(struct process *node)
{
    struct process_result result;

    assert_int_equal(process_kill(node, SIGKILL), 0);
    assert_int_equal(process_finish(node, &result), 0);
    assert_int_equal(result.signal, SIGKILL);
    process_result_fini(&result);
}

/* Most kills come soon after a start, when calls are sent again. */
static void kill_at_random(struct storm *storm, struct process *node, uint64_t kills)
{
    struct hub_random random;

    hub_random_init(&random, number_of("RAPAHUB_TEST_SEED", 1));
    for (uint64_t i = 0; i < kills; i++) {
        pause_ns(hub_random_below(&random, hub_random_below(&random, 4) ? 3000000 : 60000000));
        kill_node(node);
        start(storm, node);
    }
}

static void begin_storm(struct storm *storm, struct process *node)
{
    const char *const nodes[] = {storm->address, NULL};
    const struct rapahub_client_options options = {.nodes = nodes};

    *storm = (struct storm){.sessions = 10};
    snprintf(storm->folder, sizeof storm->folder, "/tmp/rapahub-test-XXXXXX");
    assert_non_null(mkdtemp(storm->folder));
    snprintf(storm->path, sizeof storm->path, "%s/node.node", storm->folder);
    snprintf(storm->address, sizeof storm->address, "unix:%s", storm->path);
    start(storm, node);
    assert_int_equal(rapahub_client_open(&options, &storm->client), 0);
}

static void end_storm(struct storm *storm, struct process *node)
{
    rapahub_client_close(storm->client);
    kill_node(node);
    unlink(storm->path);
    rmdir(storm->folder);
}

/* r[verify cluster.client.again] r[verify cluster.call.once] */
static void each_call_ends_once_over_deaths_of_the_node(void **state)
{
    uint64_t kills = number_of("RAPAHUB_TEST_KILLS", KILLS);
    pthread_t threads[THREADS];
    struct process node;
    struct storm storm;

    (void)state;
    begin_storm(&storm, &node);
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, work, &storm), 0);
    kill_at_random(&storm, &node, kills);
    hub_publish(&storm.stop, 1);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    printf(
        "seed %llu, kills %llu: calls begun %llu, ended %llu, twice %llu, wrong %llu; waited for "
        "%llu\n",
        (unsigned long long)number_of("RAPAHUB_TEST_SEED", 1), (unsigned long long)kills,
        (unsigned long long)storm.begun.word, (unsigned long long)storm.ended.word,
        (unsigned long long)storm.twice.word, (unsigned long long)storm.wrong.word,
        (unsigned long long)storm.waited.word);
    assert_true(storm.begun.word > kills);
    assert_int_equal(storm.begun.word, storm.ended.word);
    assert_int_equal(storm.twice.word, 0);
    assert_int_equal(storm.wrong.word, 0);
    end_storm(&storm, &node);
}

/* The clocks of both go on: nothing but the call's own time ends it. */
static void a_node_that_is_stopped_for_a_while_is_waited_for(void **state)
{
    static const struct rapahub_bytes argument = {"abc", 3};
    const void *const arguments[] = {&argument, NULL};
    const struct rapahub_call call = call_of("echo(bytes) -> bytes", arguments);
    struct rapahub_bytes result;
    struct process node;
    struct storm storm;
    struct slot slot = {.storm = &storm};

    (void)state;
    begin_storm(&storm, &node);
    assert_int_equal(process_kill(&node, SIGSTOP), 0);
    begin(&storm, &slot, "echo(bytes) -> bytes");
    pause_ms(300);
    assert_int_equal(hub_observe(&slot.open), 1);
    assert_int_equal(process_kill(&node, SIGCONT), 0);
    assert_int_equal(rapahub_client_call(storm.client, &call, &result), 0);
    assert_int_equal(hub_observe(&slot.open), 0);
    end_storm(&storm, &node);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_call_ends_once_over_deaths_of_the_node),
        cmocka_unit_test(a_node_that_is_stopped_for_a_while_is_waited_for),
    };

    if (!process_possible())
        return PROCESS_SKIPPED;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
