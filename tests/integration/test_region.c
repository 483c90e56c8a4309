/* SPDX-License-Identifier: Apache-2.0 */
/* An event region between a host, its plugin, and programs that are neither: each may be killed. */
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rapahub/region.h>

#include "tests/integration/hosting.h"
#include "tests/support/pause.h"
#include "tests/support/process.h"

#define SECOND UINT64_C(1000000000)
#define CELLS  64
#define JOBS   200

static char name[RAPAHUB_REGION_NAME_MAX + 1], path[RAPAHUB_REGION_PATH_MAX];

static struct rapahub_region *make(enum rapahub_region_kind kind)
{
    const struct rapahub_region_options options = {
        .kind = kind, .profile = RAPAHUB_REGION_HARDENED, .cells = CELLS};
    struct rapahub_region *region;

    snprintf(name, sizeof name, "integration-%d", getpid());
    snprintf(path, sizeof path, "/dev/shm/rapahub.region-%u-%s", getuid(), name);
    assert_done(rapahub_region_create(name, &options, &region));
    return region;
}

static int publish(struct hosting *on, uint64_t number, int32_t *pid)
{
    return ask(on, "publish(u64) -> i32", (const void *const[]){&number, NULL}, pid);
}

static void add_publisher(struct hosting *on)
{
    const struct rapahub_guest_options guest = {.chimod = MODULE("publisher")};
    const struct rapahub_container_options container = {
        .id = here, .pool_name = "test", .params = {name, strlen(name)}};

    open_host(on, (struct rapahub_host_options){0});
    assert_done(rapahub_host_spawn(on->host, &guest, &on->guest));
    assert_done(rapahub_host_add_container(on->host, on->guest, &container));
}

static void expect(struct rapahub_consumer *consumer, uint64_t number)
{
    uint64_t got = 0;

    assert_done(rapahub_consumer_pop(consumer, &got, sizeof got, SECOND, NULL));
    assert_int_equal(got, number);
}

/* The message that the plugin published before its death is there, and its next life goes on. */
static void a_plugin_publishes_over_its_death(void **state)
{
    struct rapahub_region *region = make(RAPAHUB_REGION_SPSC);
    struct rapahub_consumer *consumer;
    struct hosting on;
    int32_t pid = 0, next = 0;

    (void)state;
    assert_done(rapahub_consumer_open(region, NULL, &consumer));
    add_publisher(&on);
    for (uint64_t life = 0; life < 3; life++) {
        for (uint64_t i = 0; i < 10; i++)
            assert_done(publish(&on, 10 * life + i, &pid));
        assert_int_not_equal(pid, next);
        next = pid;
        kill(pid, SIGKILL);
        assert_true(until(&on, &on.told.ready, (unsigned)life + 2));
    }
    for (uint64_t i = 0; i < 30; i++)
        expect(consumer, i);
    close_host(&on);
    rapahub_consumer_close(consumer);
    assert_done(rapahub_region_close(region));
    assert_done(rapahub_region_remove(name, SECOND));
}

static int rapahub(const char *verb, const char *input, char *out, size_t size)
{
    const char *const argv[] = {PROCESS_RAPAHUB, "region", verb, name, NULL};
    const struct process_options options = {.argv = argv, .input = input};
    struct process_result result;
    int status;

    assert_int_equal(process_run(&options, &result), 0);
    if (out)
        snprintf(out, size, "%s", result.status == 0 ? result.out : result.err);
    status = result.status;
    process_result_fini(&result);
    return status;
}

static void programs_publish_and_take_lines(void **state)
{
    struct rapahub_region *region = make(RAPAHUB_REGION_MPSC);
    struct rapahub_producer *producer;
    char text[1024];

    (void)state;
    assert_done(rapahub_producer_open(region, NULL, &producer));
    assert_done(rapahub_producer_push(producer, "from a program", 14, 0));
    assert_int_equal(rapahub("publish", "one\ntwo", NULL, 0), 0);
    assert_int_equal(rapahub("tail", "", text, sizeof text), 0);
    assert_string_equal(text, "from a program\none\ntwo\n");
    assert_int_equal(rapahub("tail", "", text, sizeof text), 0);
    assert_string_equal(text, "");
    assert_int_equal(rapahub("rm", "", text, sizeof text), 75);
    assert_non_null(strstr(text, "lease 0 is of pid"));
    rapahub_producer_close(producer);
    assert_done(rapahub_region_close(region));
    assert_int_equal(rapahub("rm", "", text, sizeof text), 0);
    assert_int_equal(rapahub("inspect", "", text, sizeof text), 3);
}

static bool has_last_line(const char *text, const char *line)
{
    size_t size = strlen(text), last = strlen(line);

    return size > last && strcmp(text + size - last, line) == 0;
}

static void damage(size_t at, const void *bytes, size_t size)
{
    FILE *file = fopen(path, "r+");

    assert_non_null(file);
    assert_int_equal(fseek(file, (long)at, SEEK_SET), 0);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    fclose(file);
}

/* Each fault names what is wrong and the command that carries the remedy out; that command works.
 * r[verify region.action] r[verify region.class] */
static void each_fault_of_a_file_has_its_action(void **state)
{
    static const struct {
        size_t at, size;
        const char *bytes, *verdict, *class;
    } faults[] = {
        {56, 4, "\1\0\0\0", "is not initialised", "transient"},
        {8, 1, "\2", "another version", "incompatible"},
        {12, 4, "\1\2\3\4", "another byte order", "incompatible"},
        {16, 1, "\7", "another kind", "incompatible"},
        {24, 8, "\377\377\377\377\377\377\377\377", "cannot keep", "incompatible"},
        {0, 1, "x", "no event region", "incompatible"},
        {40, 8, "\1\0\0\0\0\0\0\0", "smaller than its own parts", "corrupted"},
        {40, 8, "\0\0\0\1\0\0\0\0", "cut", "corrupted"},
        {108, 4, "\0\0\1\0", "damaged", "corrupted"},
    };
    char text[4096];

    (void)state;
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        const char *const argv[] = {PROCESS_RAPAHUB, "region", "recreate", name,
                                    "--kind",        "spsc",   NULL};
        struct process_result result;

        assert_done(rapahub_region_close(make(RAPAHUB_REGION_MPSC)));
        damage(faults[i].at, faults[i].bytes, faults[i].size);
        assert_int_equal(rapahub("inspect", "", text, sizeof text), 11);
        assert_int_equal(
            process_run_argv((const char *[]){PROCESS_RAPAHUB, "region", "inspect", name, NULL},
                             &result),
            0);
        if (!strstr(result.out, faults[i].verdict) || !strstr(result.out, faults[i].class))
            print_error("%zu: %s", i, result.out);
        assert_non_null(strstr(result.out, faults[i].verdict));
        assert_non_null(strstr(result.out, faults[i].class));
        assert_non_null(strstr(result.out, "action: recreate"));
        process_result_fini(&result);
        assert_int_equal(process_run_argv(argv, &result), 0);
        assert_int_equal(result.status, 0);
        process_result_fini(&result);
        assert_int_equal(rapahub("inspect", "", text, sizeof text), 0);
        assert_true(has_last_line(text, "action: none\n"));
        assert_int_equal(rapahub("rm", "", text, sizeof text), 0);
    }
}

static void a_follower_ends_with_a_signal_and_leaves_the_rest(void **state)
{
    struct rapahub_region *region = make(RAPAHUB_REGION_MPSC);
    const char *const argv[] = {PROCESS_RAPAHUB, "region", "tail", name, "-f", NULL};
    const struct process_options options = {.argv = argv, .within_ns = 20 * SECOND};
    struct process process;
    struct process_result result;
    char text[256];

    (void)state;
    assert_int_equal(process_start(&options, &process), 0);
    assert_int_equal(rapahub("publish", "one\n", NULL, 0), 0);
    assert_true(process_until_text(&process, "one\n", false, 10 * SECOND));
    assert_int_equal(rapahub("tail", "", text, sizeof text), 6);
    assert_non_null(strstr(text, "consumer that lives"));
    assert_int_equal(process_kill(&process, SIGTERM), 0);
    assert_int_equal(process_finish(&process, &result), 0);
    assert_int_equal(result.status, 0);
    assert_string_equal(result.out, "one\n");
    process_result_fini(&result);
    assert_int_equal(rapahub("publish", "two\n", NULL, 0), 0);
    assert_int_equal(rapahub("tail", "", text, sizeof text), 0);
    assert_string_equal(text, "two\n");
    assert_done(rapahub_region_close(region));
    assert_int_equal(rapahub("rm", "", text, sizeof text), 0);
}

/* Three workers and a router from the shell, each killed again and again: each job comes once.
 * r[verify region.router.once] r[verify region.subscribe] */
static void workers_and_a_router_that_are_killed_lose_no_job(void **state)
{
    const struct rapahub_region_options options = {.kind = RAPAHUB_REGION_FANOUT,
                                                   .profile = RAPAHUB_REGION_HARDENED,
                                                   .cells = CELLS,
                                                   .consumers = 2,
                                                   .mode = RAPAHUB_REGION_WORK,
                                                   .credit = RAPAHUB_REGION_PARK,
                                                   .credit_max = 4};
    const char *const route[] = {PROCESS_RAPAHUB, "region", "route", name, "--standby", NULL};
    const struct process_options router = {.argv = route, .within_ns = 60 * SECOND};
    struct rapahub_region *region;
    struct rapahub_producer *producer;
    struct rapahub_consumer *consumers[2];
    unsigned seen[JOBS] = {0};
    uint64_t number, published = 0, taken = 0;
    unsigned tries = 0;

    (void)state;
    snprintf(name, sizeof name, "integration-%d", getpid());
    assert_done(rapahub_region_create(name, &options, &region));
    assert_done(rapahub_producer_open(region, NULL, &producer));
    for (uint32_t i = 0; i < 2; i++)
        assert_done(rapahub_consumer_open(region, &(struct rapahub_consumer_options){.index = i},
                                          &consumers[i]));
    while (taken < JOBS) {
        struct process process;
        struct process_result result;

        assert_int_equal(process_start(&router, &process), 0);
        for (uint64_t end = taken + 40; taken < end && taken < JOBS;) {
            assert_true(tries++ < 40000); /* of 1 ms or 2, where nothing comes */
            if (published < JOBS &&
                rapahub_producer_push(producer, &published, sizeof published, 0) == 0)
                published++;
            for (uint32_t i = 0; i < 2; i++)
                if (rapahub_consumer_pop(consumers[i], &number, sizeof number, SECOND / 1000,
                                         NULL) == 0) {
                    assert_true(number < JOBS);
                    seen[number]++;
                    taken++;
                }
        }
        assert_int_equal(process_kill(&process, SIGKILL), 0);
        assert_int_equal(process_finish(&process, &result), 0);
        process_result_fini(&result);
    }
    for (unsigned i = 0; i < JOBS; i++)
        assert_int_equal(seen[i], 1);
    for (uint32_t i = 0; i < 2; i++)
        rapahub_consumer_close(consumers[i]);
    rapahub_producer_close(producer);
    assert_done(rapahub_region_close(region));
    assert_done(rapahub_region_remove(name, SECOND));
}

static int region_command(const char *verb, const char *more, char *out, size_t size)
{
    const char *const argv[] = {PROCESS_RAPAHUB, "region", verb, name, more, NULL};
    struct process_result result;
    int status;

    assert_int_equal(process_run_argv(argv, &result), 0);
    snprintf(out, size, "%s", result.status == 0 || result.status == 11 ? result.out : result.err);
    status = result.status;
    process_result_fini(&result);
    return status;
}

/* r[verify region.action] r[verify region.detach] */
static void a_fan_out_is_run_from_the_shell(void **state)
{
    const char *const create[] = {PROCESS_RAPAHUB, "region",      "create", name, "--kind",
                                  "fanout",        "--consumers", "2",      NULL};
    const char *const route[] = {PROCESS_RAPAHUB, "region", "route", name, NULL};
    const struct process_options router = {.argv = route, .within_ns = 60 * SECOND};
    struct rapahub_region *region;
    struct rapahub_consumer *consumer;
    struct process process;
    struct process_result result;
    char text[8192];
    uint64_t bytes[8];

    (void)state;
    snprintf(name, sizeof name, "integration-%d", getpid());
    assert_int_equal(process_run_argv(create, &result), 0);
    assert_int_equal(result.status, 0);
    process_result_fini(&result);
    assert_done(rapahub_region_open(name, NULL, &region));
    assert_done(rapahub_consumer_open(region, NULL, &consumer));
    assert_int_equal(rapahub("publish", "one\ntwo\n", NULL, 0), 0);
    assert_int_equal(region_command("inspect", NULL, text, sizeof text), 11);
    assert_non_null(strstr(text, "action: restart the router: rapahub region route "));
    assert_int_equal(process_start(&router, &process), 0);
    assert_done(rapahub_consumer_pop(consumer, bytes, sizeof bytes, 10 * SECOND, NULL));
    assert_done(rapahub_consumer_pop(consumer, bytes, sizeof bytes, 10 * SECOND, NULL));
    assert_int_equal(region_command("route", NULL, text, sizeof text), 6);
    assert_non_null(strstr(text, "router that lives"));
    assert_int_equal(region_command("inspect", NULL, text, sizeof text), 0);
    assert_non_null(strstr(text, "router       held; broadcast, drop; routed 2, dropped 0"));
    assert_int_equal(region_command("detach", "2", text, sizeof text), 2);
    assert_int_equal(region_command("detach", "x", text, sizeof text), 2);
    assert_int_equal(region_command("detach", "0", text, sizeof text), 0);
    assert_int_equal(rapahub("publish", "three\n", NULL, 0), 0);
    assert_int_equal(rapahub_consumer_pop(consumer, bytes, sizeof bytes, SECOND / 20, NULL),
                     -ETIMEDOUT);
    assert_int_equal(region_command("admit", "0", text, sizeof text), 0);
    assert_int_equal(rapahub("publish", "four\n", NULL, 0), 0);
    assert_done(rapahub_consumer_pop(consumer, bytes, sizeof bytes, 10 * SECOND, NULL));
    assert_memory_equal(bytes, "four", 4);
    assert_int_equal(process_kill(&process, SIGTERM), 0);
    assert_int_equal(process_finish(&process, &result), 0);
    assert_int_equal(result.status, 0);
    process_result_fini(&result);
    assert_int_equal(region_command("tail", "--consumer=0", text, sizeof text), 6);
    assert_int_equal(region_command("tail", "--consumer=1", text, sizeof text), 0);
    assert_int_equal(region_command("tail", "--consumer=2", text, sizeof text), 2);
    assert_int_equal(region_command("tail", "--consumer=x", text, sizeof text), 2);
    rapahub_consumer_close(consumer);
    assert_done(rapahub_region_close(region));
    assert_int_equal(rapahub("rm", "", text, sizeof text), 0);
}

/* Each producer has a ring of its own, so a full one is in the way of no other. */
static void a_fan_in_is_run_from_the_shell(void **state)
{
    const char *const create[] = {PROCESS_RAPAHUB, "region", "create",          name,
                                  "--kind",        "fanin",  "--producers",     "2",
                                  "--cells",       "2",      "--cell-bytes=64", NULL};
    const char *const first[] = {PROCESS_RAPAHUB, "region",         "publish", name,
                                 "--index=0",     "--on-full=drop", NULL};
    const struct process_options options = {.argv = first, .input = "one\ntwo\nthree\n"};
    struct rapahub_region *region;
    struct rapahub_producer *producer;
    struct process_result result;
    char text[8192];

    (void)state;
    snprintf(name, sizeof name, "integration-%d", getpid());
    assert_int_equal(process_run_argv(create, &result), 0);
    assert_int_equal(result.status, 0);
    process_result_fini(&result);
    assert_int_equal(process_run(&options, &result), 0);
    assert_int_equal(result.status, 0);
    assert_non_null(strstr(result.err, "1 messages were dropped"));
    process_result_fini(&result);
    assert_int_equal(region_command("inspect", NULL, text, sizeof text), 11);
    assert_non_null(strstr(text, "messages     2, in 2 rings: 2 published, 0 taken"));
    assert_non_null(strstr(text, "producer 0   free, 2 of 2 messages, from position 0 to 2"));
    assert_non_null(
        strstr(text, "action: the ring of producer 0 is full: start the consumer again"));
    assert_int_equal(region_command("stat", NULL, text, sizeof text), 0);
    assert_non_null(strstr(text, "depth 2 of 4"));
    assert_int_equal(region_command("publish", "--index=2", text, sizeof text), 2);
    assert_non_null(strstr(text, "no producer 2: it has 2"));
    assert_int_equal(region_command("publish", "--index=x", text, sizeof text), 2);
    assert_done(rapahub_region_open(name, NULL, &region));
    assert_done(rapahub_producer_open(region, NULL, &producer)); /* the first one is held now */
    assert_int_equal(region_command("publish", "--index=0", text, sizeof text), 6);
    assert_int_equal(rapahub("publish", "four\n", NULL, 0), 0);
    assert_int_equal(region_command("tail", "--position", text, sizeof text), 0);
    assert_string_equal(text, "0:0 one\n0:1 two\n1:0 four\n");
    assert_int_equal(rapahub("publish", "five\n", NULL, 0), 0);
    assert_int_equal(region_command("tail", "--output=json", text, sizeof text), 0);
    assert_non_null(strstr(text, "\"position\": 1"));
    assert_non_null(strstr(text, "\"producer\": 1"));
    assert_int_equal(region_command("inspect", "--output=json", text, sizeof text), 0);
    assert_non_null(strstr(text, "\"rings\": [{\"producer\": 0, \"held\": true, \"depth\": 0"));
    assert_int_equal(region_command("route", NULL, text, sizeof text), 8);
    rapahub_producer_close(producer);
    assert_done(rapahub_region_close(region));
    assert_int_equal(rapahub("rm", "", text, sizeof text), 0);
}

/* Returns the status; `text` gets what it writes as an error. */
static int create_sequencer(const char *after, char *text, size_t size)
{
    const char *const argv[] = {PROCESS_RAPAHUB, "region", "create",  name,  "--kind", "sequencer",
                                "--stages",      "2",      "--after", after, NULL};
    struct process_result result;
    int status;

    assert_int_equal(process_run_argv(argv, &result), 0);
    snprintf(text, size, "%s", result.err);
    status = result.status;
    process_result_fini(&result);
    return status;
}

/* A stage that there is not follows nothing, so it is not passed over. */
static void a_sequencer_has_the_stages_that_it_names(void **state)
{
    char text[8192];

    (void)state;
    snprintf(name, sizeof name, "integration-%d", getpid());
    assert_int_equal(create_sequencer("3:0", text, sizeof text), 2);
    assert_non_null(strstr(text, "--after: there is no stage 3, for there are 2; raise --stages, "
                                 "or take it away"));
    assert_int_equal(create_sequencer("1:x", text, sizeof text), 2);
    assert_int_equal(create_sequencer("1:0", text, sizeof text), 0);
    assert_int_equal(rapahub("rm", "", text, sizeof text), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plugin_publishes_over_its_death),
        cmocka_unit_test(programs_publish_and_take_lines),
        cmocka_unit_test(each_fault_of_a_file_has_its_action),
        cmocka_unit_test(a_follower_ends_with_a_signal_and_leaves_the_rest),
        cmocka_unit_test(workers_and_a_router_that_are_killed_lose_no_job),
        cmocka_unit_test(a_fan_out_is_run_from_the_shell),
        cmocka_unit_test(a_fan_in_is_run_from_the_shell),
        cmocka_unit_test(a_sequencer_has_the_stages_that_it_names)};

    return process_possible() ? cmocka_run_group_tests(tests, NULL, NULL) : PROCESS_SKIPPED;
}
