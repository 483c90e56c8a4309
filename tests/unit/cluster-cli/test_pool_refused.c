/* SPDX-License-Identifier: Apache-2.0 */
/* Pool files that are refused: the place and the text. r[verify cluster.pool.file] */
#include "cluster/cli/pool/pool_keys.h"
#include "tests/unit/cluster-cli/pool_folder.h"

/* The two keys that each pool must have; others follow from the third line on. */
#define HEAD   "pool_name: a\nmodule: calc.so\n"
#define SAVES  "pool_name: a\nmodule: counter.so\n"
#define LONG64 "0123456789012345678901234567890123456789012345678901234567890123"

static const struct {
    const char *file, *text; /* the text begins with the place, behind the name of the file */
} refused[] = {
    /* the file */
    {"", " nothing, where a map with the keys of a pool belongs"},
    {"[]", " there is no pool in it"},
    {"pools: []", " there is no pool in it"},
    {"pools: 1", "1:8: pools: a text, where a list of pools belongs"},
    {"pools: [x]", "1:9: a text, where a map with the keys of a pool belongs"},
    {"pools: []\nx: 1", "2:1: 'x' beside 'pools'; put it into a pool"},
    {"{pool_name: a", "2:1: "},
    {HEAD "---\n" HEAD, "4:12: pool_name: 'a' is the name of another pool, in line 1; choose "
                        "another"},
    /* keys */
    {HEAD "contaners: 2", "3:1: unknown key 'contaners', did you mean 'containers'?"},
    {HEAD "frobnication: 2", "3:1: unknown key 'frobnication'; man rapahub-pool has those there "
                             "are"},
    {HEAD "guests: own\nguests: own", "4:1: 'guests' is said in line 3 already; take one away"},
    {HEAD "guests:", "3:1: guests has no value; write a word"},
    {HEAD "guests: [own]", "3:9: guests: a list, where a word belongs"},
    {HEAD "limits: 5", "3:9: limits: a text, where a map with limits of a guest belongs"},
    {HEAD "repeat: {a: b}", "3:9: repeat: a map, where a list of methods, or all belongs"},
    /* names */
    {"module: calc.so", "1:1: a pool without a name; write pool_name: NAME"},
    {"pool_name: a", "1:1: a pool without a module; write module: NAME, or FILE.so"},
    {"pool_name: '-a'\nmodule: calc.so", "1:13: pool_name: '-a' is no name; write letters, digits, "
                                         "'_', '-' and '.', at most 63, a letter, a digit or '_' "
                                         "first"},
    {"module: calc.so\npool_name: " LONG64, "2:12: pool_name: '" LONG64 "' is no name"},
    /* modules */
    {"pool_name: a\nmodule: 'calc:'",
     "2:10: module: 'calc:' is neither NAME, nor NAME:VERSION, nor "
     "a path"},
    {"pool_name: a\nmodule: nothing.so", "2:9: module: "},
    {"pool_name: a\nmodule: plain.so", "2:9: module: "},
    {"pool_name: a\nmodule: ./pool.yaml", "2:9: module: "},
    {"pool_name: a\nmodule: /dev/zero", "2:9: module: "},
    {"pool_name: a\nmodule: ./", "2:9: module: "},
    {"pool_name: a\nmod_name: ./calc.so", "2:11: mod_name: './calc.so' is no name of a module"},
    {HEAD "mod_name: calc", "3:11: mod_name: module says it already; take one away"},
    /* numbers */
    {HEAD "containers: 0", "3:13: containers: '0' is no number from 1 to 4096"},
    {HEAD "containers: 4097", "3:13: containers: '4097' is no number from 1 to 4096"},
    {HEAD "containers: -1", "3:13: containers: '-1' is no number from 1 to 4096"},
    {SAVES "copies: 17", "3:9: copies: '17' is no number from 1 to 16"},
    {SAVES "min_copies: 2", "3:13: min_copies: 2 is more than copies, 1"},
    {SAVES "copies: 2\nmin_copies: x", "4:13: min_copies: 'x' is no number from 1 to 16"},
    {HEAD "copies: 2", "3:9: copies: a pool of durability none has no copies; take it away"},
    {SAVES "durability: local\nmin_copies: 1", "4:13: min_copies: a pool of durability local has "
                                               "no copies; take it away"},
    {HEAD "idle_to_zero: 0s", "3:15: idle_to_zero: '0s' is not a duration, as 10m, or never"},
    /* words */
    {HEAD "guests: shard", "3:9: guests: 'shard' is none of shared, own; did you mean 'shared'?"},
    {HEAD "durability: full", "3:13: durability: 'full' is none of none, local, checkpoint, acked"},
    {HEAD "durability: acked", "3:13: durability: acked needs the callback save, which module calc "
                               "does not have; write none, or local"},
    {HEAD "durability: checkpoint", "3:13: durability: checkpoint needs the callback save"},
    {HEAD "on_daemon_death: x", "3:18: on_daemon_death: 'x' is none of restart, recover"},
    {HEAD "on_fence: x", "3:11: on_fence: 'x' is none of hold, kill"},
    {HEAD "trust: none", "3:8: trust: 'none' is none of standard, strict, trusted"},
    /* methods */
    {HEAD "repeat: [add, minus]", "3:15: repeat: calc has no method 'minus'; near: "},
    {HEAD "outside: ['add(i64) -> i64']", "3:12: outside: calc has no method 'add(i64) -> i64'"},
    {HEAD "outside: ['add(']", "3:12: outside: 'add('"},
    {HEAD "repeat: [[add]]", "3:10: repeat: not the name of a method"},
    /* placement */
    {HEAD "placement: {zone: spread}",
     "3:13: placement: unknown key 'zone', did you mean 'zones'?"},
    {HEAD "placement: {elsewhere: 1}", "3:13: placement: unknown key 'elsewhere'; there are zones, "
                                       "nodes and not"},
    {HEAD "placement: {zones: one}", "3:20: placement.zones: 'one' is none of spread"},
    {HEAD "placement: {nodes: 1}", "3:20: placement.nodes: a text, where a list of numbers of "
                                   "nodes belongs"},
    {HEAD "placement: {nodes: [0]}",
     "3:21: placement.nodes: '0' is no number from 1 to 4294967295"},
    {HEAD "placement: {nodes: [2], not: [2]}", "3:31: placement.not: node 2 is named twice; take "
                                               "one away"},
    {HEAD "placement: {nodes: [2], nodes: [3]}", "3:25: placement: 'nodes' is said twice; take one "
                                                 "away"},
    /* guests */
    {HEAD "supervise: {restrt: permanent}", "3:13: unknown key 'restrt', did you mean 'restart'?"},
    {HEAD "supervise: {module: b.so}",
     "3:13: supervise: 'module' is said of the pool; take it away "
     "here"},
    {HEAD "supervise: {start: lazy}", "3:13: supervise: 'start' is decided by the node; take it "
                                      "away"},
    {HEAD "supervise: {roles: [{name: a}]}",
     "3:20: roles: a guest of this file has no regions; take it away"},
    {HEAD "supervise: {requires: b}", "3:23: requires: a guest of this file has no siblings; take "
                                      "it away"},
    {HEAD "supervise: {intensity: 0/60s}", "3:24: intensity: 0 restarts give up at the first "
                                           "failure"},
    {HEAD "supervise: {finish: [" LONG64 "]}", "3:21: finish: a word of more than 63 bytes; write "
                                               "a shorter one"},
    {HEAD "supervise: {backoff: {initial: 5s, max: 1s}}", "3:41: supervise: backoff.max"},
    {HEAD "limits: {dta: 1G}", "3:10: unknown key 'dta', did you mean 'data'?"},
    {HEAD "limits: {data: much}", "3:16: limits.data: 'much' is not a size, as 64M"},
    /* of another runtime */
    {HEAD "pool_id: five", "3:10: pool_id: 'five' is no number of a pool, as 512.0"},
    {HEAD "pool_id: 5.", "3:10: pool_id: '5.' is no number of a pool, as 512.0"},
    {HEAD "pool_query: globl", "3:13: pool_query: 'globl' is none of local, dynamic, broadcast"},
    {HEAD "restart: false", "3:10: restart: 'false' cannot be: a node keeps a pool until it is "
                            "deleted; write true, or take it away"},
};

static void each_is_refused_with_its_place_and_a_remedy(void **state)
{
    struct folder *folder = *state;
    unsigned failed = 0;

    for (unsigned i = 0; i < sizeof refused / sizeof *refused; i++) {
        char wanted[1024];
        const char *is;

        open_text(folder, refused[i].file);
        is = rapahub_last_error()->text;
        snprintf(wanted, sizeof wanted, "%s:%s", folder->file, refused[i].text);
        if (folder->r == RAPAHUB_ECONFIG && strncmp(is, wanted, strlen(wanted)) == 0) {
            close_folder(folder);
            continue;
        }
        print_error("%s\n  is %d: %s\n  wanted: %s\n", refused[i].file, folder->r, is, wanted);
        failed++;
        close_folder(folder);
    }
    assert_int_equal(failed, 0);
}

static void write_long(char *to, size_t size, const char *key)
{
    int at = snprintf(to, size, HEAD "%s: '", key);

    memset(to + at, 'x', size - (size_t)at);
    snprintf(to + size - 2, 2, "'");
}

static void params_have_a_limit(void **state)
{
    struct folder *folder = *state;
    char *text = malloc(70000);

    assert_non_null(text);
    write_long(text, 65600, "params");
    open_text(folder, text);
    assert_int_equal(folder->r, RAPAHUB_ECONFIG);
    assert_non_null(strstr(rapahub_last_error()->text, "params: more than 64 KiB"));
    close_folder(folder);
    free(text);
}

static void pools_and_documents_have_a_limit(void **state)
{
    struct folder *folder = *state;
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);

    for (unsigned i = 0; i <= CLUSTER_POOL_FILE_POOLS; i++)
        fprintf(to, "- {pool_name: p%u, module: calc}\n", i);
    fclose(to);
    open_text(folder, text);
    assert_non_null(strstr(rapahub_last_error()->text,
                           "pool.yaml:257:3: more than 256 pools; put this one into another file"));
    close_folder(folder);
    free(text);
    to = open_memstream(&text, &size);
    for (unsigned i = 0; i <= CONFIG_YAML_DOCUMENTS; i++)
        fprintf(to, "---\npool_name: p%u\nmodule: calc\n", i);
    fclose(to);
    open_text(folder, text);
    assert_non_null(strstr(rapahub_last_error()->text, "more than 64 documents"));
    close_folder(folder);
    free(text);
}

/* The page is written by hand. */
static void the_manual_has_each_key(void **state)
{
    static char page[32768];
    FILE *from = fopen(TEST_DATA "/../../docs/man/cluster/rapahub-pool.5.scd", "re");
    const char *name;

    (void)state;
    assert_non_null(from);
    page[fread(page, 1, sizeof page - 1, from)] = '\0';
    fclose(from);
    for (unsigned i = 0; (name = cluster_pool_keys_name(i)); i++) {
        char wanted[64];

        snprintf(wanted, sizeof wanted, "*%s*", name);
        if (!strstr(page, wanted))
            fail_msg("the page has no key %s", name);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(each_is_refused_with_its_place_and_a_remedy),
        TEST(params_have_a_limit),
        TEST(pools_and_documents_have_a_limit),
        TEST(the_manual_has_each_key),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
