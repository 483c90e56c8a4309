/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of containers on two nodes, as real processes: what was answered is on both, whichever of
 * them dies, and whatever one of them has lost. */
#include <dirent.h>

#include "tests/cluster/joined_stage.h"

#define CONTAINERS 4

static const char pools[] = "pools:\n  - pool_name: tally\n    module: %s\n"
                            "    containers: 4\n    durability: acked\n"
                            "    copies: 2\n    placement: {nodes: [1, 2]}\n";

static const char *const look[] = {"describe", "pool", "tally", "--json", NULL};

/* Asks until the description has this text so many times. */
static void await_times(const struct node_process *node, const char *text, unsigned times)
{
    unsigned found = 0;

    for (unsigned i = 0; i < 1200; i++) {
        struct process_result result;

        found = 0;
        if (node_process_rapahub(node, look, &result) == 0)
            for (const char *at = result.out; (at = strstr(at, text)); at++)
                found++;
        process_result_fini(&result);
        if (found == times)
            return;
        pause_ms(50);
    }
    fail_msg("'%s' is there %u times, and was to be %u times", text, found, times);
}

static void begin_pool_of(const struct joined *joined, const char *module)
{
    const struct node_process *first = &joined->stage->first;
    const char *const push[] = {"module", "push", module, NULL};
    struct process_result result;
    char text[512];

    assert_int_equal(node_process_rapahub(first, push, &result), 0);
    process_result_fini(&result);
    snprintf(text, sizeof text, pools, module);
    node_process_apply(first, text);
    await_times(first, "\"holders\":\"1,2\"", CONTAINERS);
    AWAIT(&joined->second, "\"name\":\"tally\"", "describe", "pool", "tally", "--json");
}

static void begin_pool(const struct joined *joined)
{
    begin_pool_of(joined, TEST_PREFIX "/bin/counter.so");
}

static void add_to_each(const struct node_process *node, long total)
{
    char target[32];

    for (unsigned i = 0; i < CONTAINERS; i++) {
        snprintf(target, sizeof target, "tally#%u.add", i);
        assert_int_equal(joined_add(node, target), total);
    }
}

/* Counts the files of copies of a node; removes them, if so. */
static unsigned count_copies(const char *data, bool remove)
{
    char path[NODE_PROCESS_PATH + 64];
    const struct dirent *entry;
    unsigned count = 0;
    DIR *folder;

    snprintf(path, sizeof path, "%s/copies", data);
    folder = opendir(path);
    assert_non_null(folder);
    while ((entry = readdir(folder))) {
        size_t size = strlen(entry->d_name);

        if (size < 5 || strcmp(entry->d_name + size - 5, ".copy") != 0)
            continue;
        count++;
        if (remove)
            assert_int_equal(unlinkat(dirfd(folder), entry->d_name, 0), 0);
    }
    closedir(folder);
    return count;
}

/* r[verify cluster.hold.choice] r[verify cluster.hold.name] r[verify cluster.hold.shown] */
static void both_nodes_have_each_copy(void **state)
{
    struct joined *joined = *state;
    char first[NODE_PROCESS_PATH + 16];

    begin_pool(joined);
    add_to_each(&joined->second, 1);
    AWAIT(&joined->stage->first, "\"short\":0", "get", "pools", "--json");
    snprintf(first, sizeof first, "%s/data", joined->stage->first.folder);
    assert_int_equal(count_copies(first, false), CONTAINERS);
    assert_int_equal(count_copies(joined->data, false), CONTAINERS);
}

/* The copy for the other holder is still taken when the pool is ready for calls. r[verify
 * cluster.restart.serves] */
static void a_state_that_is_saved_slowly_holds_no_call(void **state)
{
    struct joined *joined = *state;

    begin_pool_of(joined, TEST_PREFIX "/tests/modules/slow_save.so");
    add_to_each(&joined->stage->first, 1);
    add_to_each(&joined->second, 2);
}

/* A disk that has lost its copies gets them from the other holder: nothing that was answered is
 * missing. r[verify cluster.copy.own] r[verify cluster.copy.fetch] r[verify cluster.copy.seal] */
static void a_copy_that_is_lost_is_fetched(void **state)
{
    struct joined *joined = *state;

    begin_pool(joined);
    add_to_each(&joined->stage->first, 1);
    add_to_each(&joined->second, 2);
    node_process_end(&joined->second);
    assert_int_equal(count_copies(joined->data, true), CONTAINERS);
    node_process_begin(&joined->second);
    join_await(&joined->second);
    add_to_each(&joined->stage->first, 3);
    add_to_each(&joined->second, 4);
    await_times(&joined->stage->first, "\"holders\":\"1,2\"", CONTAINERS);
    assert_int_equal(count_copies(joined->data, false), CONTAINERS);
}

/* r[verify cluster.copy.named] */
static void a_holder_that_dies_and_comes_back_keeps_calls_waiting(void **state)
{
    struct joined *joined = *state;
    long total = 0;

    begin_pool(joined);
    for (unsigned i = 0; i < 3; i++) {
        add_to_each(&joined->stage->first, ++total);
        joined_kill(&joined->second);
        add_to_each(&joined->stage->first, ++total);
        joined_kill(&joined->stage->first);
        add_to_each(&joined->second, ++total);
    }
}

/* Finds a container of this node. */
static unsigned container_of(const struct node_process *node, const char *owner)
{
    struct process_result result;
    unsigned found = CONTAINERS;

    assert_int_equal(node_process_rapahub(node, look, &result), 0);
    for (unsigned i = 0; i < CONTAINERS; i++) {
        char key[32];
        const char *at, *end;

        snprintf(key, sizeof key, "\"container\":%u,", i);
        at = strstr(result.out, key);
        end = at ? strchr(at, '}') : NULL;
        at = at ? strstr(at, owner) : NULL;
        found = at && end && at < end ? i : found;
    }
    process_result_fini(&result);
    assert_true(found < CONTAINERS);
    return found;
}

/* Down to `min_copies` it is waited for no more; it gets whole copies before it counts again.
 * r[verify cluster.hold.away] r[verify cluster.hold.join] */
static void a_holder_that_has_left_is_waited_for_no_more(void **state)
{
    struct joined *joined = *state;
    const struct node_process *first = &joined->stage->first;
    char target[32];

    begin_pool(joined);
    add_to_each(first, 1);
    snprintf(target, sizeof target, "tally#%u.add", container_of(first, "\"owner\":1,"));
    node_process_end(&joined->second);
    assert_int_equal(joined_add(first, target), 2);
    AWAIT(first, "\"holders\":\"1\"", "describe", "pool", "tally", "--json");
    assert_int_equal(count_copies(joined->data, true), CONTAINERS);
    node_process_begin(&joined->second);
    await_times(first, "\"holders\":\"1,2\"", CONTAINERS);
    assert_int_equal(joined_add(first, target), 3);
    for (unsigned i = 0; i < 1200 && count_copies(joined->data, false) < CONTAINERS; i++)
        pause_ms(50); /* those of its own containers are fetched */
    assert_int_equal(count_copies(joined->data, false), CONTAINERS);
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, joined_begin, joined_end)
    const struct CMUnitTest tests[] = {
        TEST(both_nodes_have_each_copy), TEST(a_state_that_is_saved_slowly_holds_no_call),
        TEST(a_copy_that_is_lost_is_fetched), TEST(a_holder_that_has_left_is_waited_for_no_more),
        TEST(a_holder_that_dies_and_comes_back_keeps_calls_waiting)};

    if (!process_possible())
        return PROCESS_SKIPPED;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
