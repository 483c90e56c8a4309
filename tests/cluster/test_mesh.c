/* SPDX-License-Identifier: Apache-2.0 */
/* Three nodes as real processes: calls between two of which none is the seat. */
#include <dirent.h>

#include "tests/cluster/mesh_stage.h"

#define KILLS 8
#define EACH  4 /* calls after each of them */

static const char on_third[] = "pools:\n  - pool_name: tally\n    module: " TEST_PREFIX
                               "/bin/counter.so\n    containers: 2\n    durability: acked\n"
                               "    placement: {nodes: [3]}\n";

/* The containers are node 3's. */
static void begin_on_third(const struct mesh *mesh)
{
    const struct node_process *first = &mesh->joined->stage->first;

    mesh_push(first, TEST_PREFIX "/bin/counter.so");
    node_process_apply(first, on_third);
    AWAIT(&mesh->joined->second, "\"owner\":3", "describe", "pool", "tally", "--json");
}

/* r[verify cluster.nodes.mesh] r[verify cluster.node.nodes] */
static void a_call_goes_from_node_to_node(void **state)
{
    struct mesh *mesh = *state;
    struct node_process *first = &mesh->joined->stage->first, *second = &mesh->joined->second;

    begin_on_third(mesh);
    mesh_await_link(second, 3, "UP");
    mesh_await_link(second, 1, "UP");
    assert_true(mesh_has_link(second, 2, "SELF"));
    mesh_await_link(&mesh->third, 2, "UP");
    assert_int_equal(joined_add(second, "tally#1.add"), 1);
    assert_int_equal(joined_add(&mesh->third, "tally#1.add"), 2);
    joined_kill(first); /* which has no part in it */
    assert_int_equal(joined_add(second, "tally#1.add"), 3);
    assert_int_equal(joined_add(second, "tally#0.add"), 1);
    joined_refuses(second, (const char *const[]){"call", "tally#1.add", "-1", NULL}, 12,
                   "is negative");
    mesh_await_link(first, 3, "UP");
    assert_int_equal(joined_add(first, "tally#1.add"), 4);
}

/* Its caller does not notice: it waits, and goes on. */
static void a_call_outlasts_the_deaths_of_both_nodes(void **state)
{
    struct mesh *mesh = *state;
    struct node_process *second = &mesh->joined->second;
    long total = 0;

    begin_on_third(mesh);
    for (unsigned i = 0; i < KILLS; i++) {
        joined_kill(i % 2 == 0 ? &mesh->third : second);
        if (i % 2 == 1)
            join_await(second);
        for (unsigned k = 0; k < EACH; k++)
            assert_int_equal(joined_add(second, "tally#0.add"), ++total);
    }
}

/* All die at once, again and again: each finds the others. */
static void links_come_back_after_a_storm(void **state)
{
    struct mesh *mesh = *state;
    struct node_process *const all[] = {&mesh->joined->stage->first, &mesh->joined->second,
                                        &mesh->third};

    for (unsigned round = 0; round < 3; round++) {
        for (unsigned i = 0; i < 3; i++)
            joined_kill(all[i]);
        for (unsigned i = 0; i < 3; i++)
            join_await(all[i]);
        for (unsigned i = 0; i < 3; i++)
            for (unsigned k = 1; k <= 3; k++)
                if (k != i + 1)
                    mesh_await_link(all[i], k, "UP");
    }
}

/* Node 2 dials node 3, which cannot dial it. */
static void a_node_that_does_not_listen_has_links(void **state)
{
    struct mesh *mesh = *state;
    struct node_process *second = &mesh->joined->second;

    node_process_end(second);
    second->option = NULL;
    node_process_begin(second);
    join_await(second);
    mesh_await_link(second, 3, "UP");
    mesh_await_link(&mesh->third, 2, "UP");
}

/* ---- modules ---- */

#define LARGE (48 << 20) /* bytes after the end of a module, which its loader does not read */

/* A module that takes a while to come. */
static void make_large(const struct mesh *mesh, char path[NODE_PROCESS_PATH + 16])
{
    char bytes[65536];
    FILE *from = fopen(TEST_PREFIX "/bin/counter.so", "re"), *to;
    size_t n;

    snprintf(path, NODE_PROCESS_PATH + 16, "%s/counter.so", mesh->third.folder);
    to = fopen(path, "we");
    assert_non_null(from);
    assert_non_null(to);
    while ((n = fread(bytes, 1, sizeof bytes, from)) > 0)
        assert_int_equal(fwrite(bytes, 1, n, to), n);
    assert_int_equal(fseek(to, LARGE, SEEK_CUR), 0);
    assert_int_equal(fputc(1, to), 1);
    fclose(from);
    assert_int_equal(fclose(to), 0);
}

/* Counts files of the third node's modules: those that come, or those that are there. */
static unsigned count_files(const struct mesh *mesh, bool coming)
{
    char path[NODE_PROCESS_PATH + 64];
    const struct dirent *entry;
    unsigned count = 0;
    DIR *folder;

    snprintf(path, sizeof path, "%s/blobs/sha256", mesh->data);
    folder = opendir(path);
    while (folder && (entry = readdir(folder)))
        count += entry->d_name[0] != '.' && (strlen(entry->d_name) != 2) == coming;
    if (folder)
        closedir(folder);
    return count;
}

static void await_fetch(const struct mesh *mesh)
{
    for (unsigned i = 0; i < 12000 && count_files(mesh, false) == 0; i++) {
        if (count_files(mesh, true) > 0)
            return;
        pause_ms(5);
    }
}

static void apply_large(const struct mesh *mesh, const char *module)
{
    char path[NODE_PROCESS_PATH + 16];
    const char *const words[] = {"apply", "--no-wait", "-f", path, NULL};
    struct process_result result;
    FILE *file;

    snprintf(path, sizeof path, "%s/pools.yaml", mesh->third.folder);
    file = fopen(path, "we");
    assert_non_null(file);
    fprintf(file,
            "pools:\n  - pool_name: tally\n    module: %s\n    containers: 2\n"
            "    durability: acked\n    placement: {nodes: [3]}\n",
            module);
    assert_int_equal(fclose(file), 0);
    if (node_process_rapahub(&mesh->joined->stage->first, words, &result) != 0)
        fail_msg("apply: %s", result.err);
    process_result_fini(&result);
}

/* Both die in the middle of it; the container waits, and begins. r[verify cluster.blobs.fetch] */
static void a_fetch_outlasts_the_deaths_of_both_nodes(void **state)
{
    struct mesh *mesh = *state;
    struct node_process *first = &mesh->joined->stage->first, *second = &mesh->joined->second;
    char path[NODE_PROCESS_PATH + 16];

    make_large(mesh, path);
    mesh_push(first, path);
    apply_large(mesh, path);
    for (unsigned i = 0; i < 4; i++) {
        await_fetch(mesh);
        joined_kill(i % 2 == 0 ? first : &mesh->third);
        join_await(i % 2 == 0 ? first : &mesh->third);
    }
    AWAIT(second, "\"state\":\"ACTIVE\",\"owner\":3", "describe", "pool", "tally", "--json");
    assert_int_equal(joined_add(second, "tally#1.add"), 1);
    assert_int_equal(count_files(mesh, false), 1);
    assert_int_equal(count_files(mesh, true), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, mesh_begin, mesh_end)
    const struct CMUnitTest tests[] = {
        TEST(a_call_goes_from_node_to_node),
        TEST(a_call_outlasts_the_deaths_of_both_nodes),
        TEST(links_come_back_after_a_storm),
        TEST(a_node_that_does_not_listen_has_links),
        TEST(a_fetch_outlasts_the_deaths_of_both_nodes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
