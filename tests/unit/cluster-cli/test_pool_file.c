/* SPDX-License-Identifier: Apache-2.0 */
/* Pool files: what each key becomes. r[verify cluster.pool.file] */
#include "hub/wire/signature.h"
#include "tests/unit/cluster-cli/pool_folder.h"

#define SECOND UINT64_C(1000000000)

static void a_pool_of_two_keys_has_every_default(void **state)
{
    struct folder *folder = *state;
    struct cluster_pool_spec spec;

    open_good(folder, "pool_name: sums\nmodule: calc.so\n");
    spec = spec_of(folder, 0);
    assert_text(spec.name, "sums");
    assert_text(spec.module, "calc");
    assert_text(spec.version, "0.1.0");
    assert_int_equal(spec.containers, 1);
    assert_false(spec.own_guests);
    assert_int_equal(spec.durability, CLUSTER_DURABILITY_NONE);
    assert_int_equal(spec.on_daemon_death, CLUSTER_DAEMON_RESTART);
    assert_int_equal(spec.on_fence, CLUSTER_FENCE_HOLD);
    assert_int_equal(spec.copies, 0);
    assert_int_equal(spec.min_copies, 0);
    assert_false(spec.repeat_all || spec.spread_zones);
    assert_int_equal(spec.idle_to_zero_ns, 0);
    assert_text(spec.trust, "standard");
    assert_text(spec.params, "");
    assert_int_equal(spec.methods.count + spec.nodes.count + spec.not_on.count + spec.options.count,
                     0);
    close_folder(folder);
}

static void a_module_that_saves_is_durable_by_copies(void **state)
{
    struct folder *folder = *state;
    struct cluster_pool_spec spec;

    open_good(folder, "pool_name: total\nmodule: ./counter.so\n");
    spec = spec_of(folder, 0);
    assert_int_equal(spec.durability, CLUSTER_DURABILITY_CHECKPOINT);
    assert_int_equal(spec.copies, 1);
    assert_int_equal(spec.min_copies, 1);
    close_folder(folder);
}

static void the_digest_is_that_of_the_file(void **state)
{
    struct folder *folder = *state;
    struct cluster_pool_spec spec;
    char command[128], wanted[65] = "", is[65];
    FILE *from;

    open_good(folder, "pool_name: sums\nmodule: calc.so\n");
    spec = spec_of(folder, 0);
    snprintf(command, sizeof command, "sha256sum %s/calc.so", folder->path);
    from = popen(command, "r");
    assert_non_null(from);
    assert_int_equal(fread(wanted, 1, 64, from), 64);
    pclose(from);
    for (unsigned i = 0; i < 32; i++)
        snprintf(is + 2 * i, 3, "%02x", ((const uint8_t *)spec.digest.data)[i]);
    assert_string_equal(is, wanted);
    close_folder(folder);
}

static const char all_keys[] = "pool_name: 0.all-keys_\n"
                               "module: counter.so\n"
                               "containers: 4096\n"
                               "guests: own\n"
                               "durability: acked\n"
                               "copies: 3\n"
                               "min_copies: 2\n"
                               "repeat: [begun, 'params() -> string']\n"
                               "outside: [add, begun]\n"
                               "on_daemon_death: recover\n"
                               "on_fence: kill\n"
                               "idle_to_zero: 10m\n"
                               "placement: {zones: spread, nodes: [1, 7], not: [3]}\n"
                               "trust: trusted\n"
                               "params: 'in {folder}'\n";

static void each_key_is_in_the_spec(void **state)
{
    struct folder *folder = *state;
    struct cluster_pool_spec spec;
    uint32_t node;

    open_good(folder, all_keys);
    spec = spec_of(folder, 0);
    assert_text(spec.name, "0.all-keys_");
    assert_int_equal(spec.containers, 4096);
    assert_true(spec.own_guests);
    assert_int_equal(spec.durability, CLUSTER_DURABILITY_ACKED);
    assert_int_equal(spec.copies, 3);
    assert_int_equal(spec.min_copies, 2);
    assert_int_equal(spec.on_daemon_death, CLUSTER_DAEMON_RECOVER);
    assert_int_equal(spec.on_fence, CLUSTER_FENCE_KILL);
    assert_int_equal(spec.idle_to_zero_ns, 600 * SECOND);
    assert_true(spec.spread_zones);
    assert_text(spec.trust, "trusted");
    assert_text(spec.params, "in {folder}");
    assert_true(cluster_pool_spec_next_node(&spec.nodes, &node) && node == 1);
    assert_true(cluster_pool_spec_next_node(&spec.nodes, &node) && node == 7);
    assert_false(cluster_pool_spec_next_node(&spec.nodes, &node));
    assert_true(cluster_pool_spec_next_node(&spec.not_on, &node) && node == 3);
    assert_false(cluster_pool_spec_next_node(&spec.not_on, &node));
    close_folder(folder);
}

static uint64_t id_of(const char *text)
{
    struct hub_signature *signature;
    uint64_t id;

    assert_int_equal(hub_signature_parse(text, &signature), 0);
    id = signature->id;
    hub_signature_release(&signature);
    return id;
}

static void methods_are_meant_by_name_or_signature_and_once_each(void **state)
{
    struct folder *folder = *state;
    struct cluster_pool_method method;
    struct cluster_pool_spec spec;

    open_good(folder, all_keys);
    spec = spec_of(folder, 0);
    assert_int_equal(spec.methods.count, 3);
    assert_true(cluster_pool_spec_next_method(&spec.methods, &method));
    assert_true(method.id == id_of("begun() -> u32") && method.repeat && method.outside);
    assert_true(cluster_pool_spec_next_method(&spec.methods, &method));
    assert_true(method.id == id_of("params() -> string") && method.repeat && !method.outside);
    assert_true(cluster_pool_spec_next_method(&spec.methods, &method));
    assert_true(method.id == id_of("add(i64) -> i64") && !method.repeat && method.outside);
    close_folder(folder);
}

static void all_methods_may_be_meant(void **state)
{
    struct folder *folder = *state;
    struct cluster_pool_spec spec;

    open_good(folder, "pool_name: a\nmodule: calc.so\nrepeat: all\noutside: divide\n");
    spec = spec_of(folder, 0);
    assert_true(spec.repeat_all);
    assert_int_equal(spec.methods.count, 1);
    close_folder(folder);
}

static const char options_file[] = "pool_name: a\n"
                                   "module: calc.so\n"
                                   "supervise:\n"
                                   "  restart: on_failure\n"
                                   "  intensity: 5/30s\n"
                                   "  backoff: {initial: none, max: 3s, factor: 1.5,\n"
                                   "            first_immediate: false}\n"
                                   "  stop: {drain: 0}\n"
                                   "  debug: yes\n"
                                   "  watchdog_signal: SIGTERM\n"
                                   "  success_exit: [3, SIGHUP]\n"
                                   "  finish: [/bin/sh, -c, 'exit 0']\n"
                                   "  log: {ring: 64K, rate: 10}\n"
                                   "limits: {data: 64M, required: true}\n";

static const struct {
    const char *key, *word;
    uint64_t number;
} options[] = {
    {"restart", "transient", 0},
    {"intensity.max", "", 5},
    {"intensity.period", "", 30 * SECOND},
    {"backoff.initial", "none", 0},
    {"backoff.max", "", 3 * SECOND},
    {"backoff.factor", "1.5", 0},
    {"backoff.first_immediate", "false", 0},
    {"stop.drain", "none", 0},
    {"debug", "true", 0},
    {"watchdog_signal", "", 15},
    {"success_exit", "", 0x103},
    {"success_exit", "", 0x201},
    {"finish", "/bin/sh", 0},
    {"finish", "-c", 0},
    {"finish", "exit 0", 0},
    {"log.ring", "", 65536},
    {"log.rate", "", 10},
    {"limits.data", "", 64 << 20},
    {"limits.required", "true", 0},
};

static void options_of_guests_have_one_form_each(void **state)
{
    struct folder *folder = *state;
    struct cluster_pool_option option;
    struct cluster_pool_spec spec;

    open_good(folder, options_file);
    spec = spec_of(folder, 0);
    for (unsigned i = 0; i < sizeof options / sizeof *options; i++) {
        assert_true(cluster_pool_spec_next_option(&spec.options, &option));
        assert_text(option.key, options[i].key);
        assert_text(option.word, options[i].word);
        assert_int_equal(option.number, options[i].number);
    }
    assert_false(cluster_pool_spec_next_option(&spec.options, &option));
    close_folder(folder);
}

/* A budget that is none, restarts without a period, classes, one word. */
static void further_forms_of_options(void **state)
{
    static const char *const wanted[] = {"restart=signal", "restart=oom", "intensity.max=none",
                                         "stop=brutal", "intensity.period=forever"};
    struct folder *folder = *state;
    struct cluster_pool_option option;
    struct cluster_pool_spec spec;
    char is[128];

    open_good(folder,
              "- {pool_name: a, module: calc.so, supervise: {restart: [oom, signal],\n"
              "   intensity: none, stop: brutal}}\n"
              "- {pool_name: b, module: calc.so, supervise: {intensity: {period: forever}}}");
    for (unsigned pool = 0, i = 0; pool < 2; pool++) {
        spec = spec_of(folder, pool);
        for (; cluster_pool_spec_next_option(&spec.options, &option); i++) {
            snprintf(is, sizeof is, "%.*s=%.*s", (int)option.key.size, option.key.data,
                     (int)option.word.size, option.word.data);
            assert_true(i < sizeof wanted / sizeof *wanted);
            assert_string_equal(is, wanted[i]);
        }
        assert_int_equal(i, pool == 0 ? 4 : 5);
    }
    close_folder(folder);
}

static void pools_stand_in_documents_lists_and_maps(void **state)
{
    struct folder *folder = *state;

    open_good(folder, "pool_name: a\nmodule: calc.so\n"
                      "---\n"
                      "- {pool_name: b, module: calc.so}\n"
                      "- {pool_name: c, module: calc.so}\n"
                      "---\n"
                      "pools: [{pool_name: d, module: calc.so}]\n"
                      "---\n"
                      "compose: [{pool_name: e, module: calc.so}]\n");
    assert_int_equal(folder->pools.count, 5);
    for (unsigned i = 0; i < 5; i++)
        assert_text(spec_of(folder, i).name, (char[]){(char)('a' + i), '\0'});
    close_folder(folder);
}

static void each_node_may_have_a_container(void **state)
{
    struct folder *folder = *state;

    open_good(folder, "pool_name: a\nmodule: calc.so\ncontainers: each_node\n");
    assert_int_equal(spec_of(folder, 0).containers, 0);
    close_folder(folder);
}

static void a_file_of_another_runtime_is_read_and_what_is_not_kept_is_said(void **state)
{
    struct folder *folder = *state;
    char wanted[256];

    open_good(folder, "compose:\n"
                      "- mod_name: calc\n"
                      "  pool_name: sums\n"
                      "  pool_query: local\n"
                      "  pool_id: 512.0\n"
                      "  restart: true\n");
    assert_int_equal(folder->pools.count, 1);
    assert_text(folder->pools.pools[0].spec.module, "calc");
    assert_int_equal(folder->pools.notes.count, 2);
    snprintf(wanted, sizeof wanted, "%s:5: pool_id is not kept: the node gives a pool its number",
             folder->file);
    assert_string_equal(folder->pools.notes.texts[0], wanted);
    close_folder(folder);
}

static void a_pool_of_a_nodes_module_is_complete_once_that_is_known(void **state)
{
    struct folder *folder = *state;
    struct cluster_pool_module module = {
        .name = "shop", .version = "2.1", .digest = {9}, .saves = true};
    struct cluster_pool_file_pool *pool = &folder->pools.pools[0];
    struct cluster_pool_spec spec;

    open_good(folder, "pool_name: a\nmodule: shop:2.1\nrepeat: ['f() -> u8']\n");
    assert_null(pool->path);
    assert_int_equal(pool->bytes.size, 0);
    assert_text(pool->spec.module, "shop");
    assert_text(pool->spec.version, "2.1");
    assert_int_equal(cluster_pool_file_complete(&folder->pools, 0, &module), 0);
    memset(&module, 0xff, sizeof module);
    spec = spec_of(folder, 0);
    assert_text(spec.module, "shop");
    assert_text(spec.version, "2.1");
    assert_int_equal(spec.durability, CLUSTER_DURABILITY_CHECKPOINT);
    assert_int_equal(((const uint8_t *)spec.digest.data)[0], 9);
    assert_int_equal(spec.methods.count, 1);
    close_folder(folder);
}

static void a_nodes_module_may_refuse_what_the_file_says(void **state)
{
    struct folder *folder = *state;
    const struct cluster_pool_module module = {.name = "shop", .version = "2.1"};

    open_good(folder, "- {pool_name: a, module: shop, durability: acked}\n"
                      "- {pool_name: b, module: shop, repeat: get}\n");
    assert_text(folder->pools.pools[0].spec.version, "");
    assert_int_equal(cluster_pool_file_complete(&folder->pools, 0, &module), RAPAHUB_ECONFIG);
    assert_non_null(strstr(rapahub_last_error()->text,
                           "pool.yaml:1:44: durability: acked needs the callback save, which "
                           "module shop does not have; write none, or local"));
    assert_int_equal(folder->pools.pools[0].bytes.size, 0);
    assert_int_equal(cluster_pool_file_complete(&folder->pools, 1, &module), RAPAHUB_ECONFIG);
    assert_non_null(strstr(rapahub_last_error()->text,
                           "repeat: the methods of shop are known when it is loaded; write the "
                           "whole signature of 'get'"));
    close_folder(folder);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_pool_of_two_keys_has_every_default),
        TEST(a_module_that_saves_is_durable_by_copies),
        TEST(the_digest_is_that_of_the_file),
        TEST(each_key_is_in_the_spec),
        TEST(methods_are_meant_by_name_or_signature_and_once_each),
        TEST(all_methods_may_be_meant),
        TEST(options_of_guests_have_one_form_each),
        TEST(further_forms_of_options),
        TEST(pools_stand_in_documents_lists_and_maps),
        TEST(each_node_may_have_a_container),
        TEST(a_file_of_another_runtime_is_read_and_what_is_not_kept_is_said),
        TEST(a_pool_of_a_nodes_module_is_complete_once_that_is_known),
        TEST(a_nodes_module_may_refuse_what_the_file_says),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
