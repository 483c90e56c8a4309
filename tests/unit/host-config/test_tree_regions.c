/* SPDX-License-Identifier: Apache-2.0 */
/* Regions and roles of a tree file: what each key becomes, and each mistake with its place.
 * r[verify exp.config.regions] r[verify exp.config] */
#include <rapahub/region.h>

#include "tests/unit/host-config/tree_file.h"

/* Regions in one list, each in a line, and guests, each in a line. */
#define TREE(regions, guests) "regions:\n" regions "supervisor:\n  children:\n" guests
#define NEWS                  "  - {name: news, kind: spsc}\n"
#define WIRE                  "  - {name: wire, kind: fanout, consumers: 2}\n"
/* Its roles are in column 7 of the lines below. */
#define TRUSTED(name, roles) \
    "    - name: " name "\n      module: " MODULE "\n      trust: trusted\n      roles:\n" roles
#define ONLY "    - {name: a, module: " MODULE "}\n"

static const struct wrong wrongs[] = {
    /* the list of regions */
    {"regions: 3\n", "1:10: ", "regions: a text, where a list of regions belongs", ""},
    {"regions: [x]\n", "1:11: ", "a text, where a map with the keys of a region", ""},
    {"regions: [{kind: spsc}]\n", "1:11: ", "a region without a name; add the key name", ""},
    {TREE(NEWS NEWS, ""), "3:12: ", "'news' is the name of another region, in line 2", ""},
    {TREE("  - {name: 'a b', kind: spsc}\n", ""), "2:13: ", "name: 'a b' is no name; write letters",
     ""},
    {TREE("  - {name: n, kinds: spsc}\n", ""),
     "2:15: ", "unknown key 'kinds', did you mean 'kind'?", ""},
    {TREE("  - {name: n, strategy: spsc}\n", ""),
     "2:15: ", "'strategy' is a key of a guest or a supervisor, and this is a region; move it", ""},
    /* words and numbers of a region */
    {TREE("  - {name: n, kind: spcs}\n", ""), "2:21: ",
     "none of spsc, mpsc, fanout, fanin, sequencer, state-v1, state-latch; did you mean", ""},
    {TREE("  - {name: n, kind: spsc, profile: v1}\n", ""),
     "2:36: ", "profile: 'v1' is none of hardened", ""},
    {TREE("  - {name: n, kind: spsc, cells: 1}\n", ""), "2:34: ", "no number from 2 to 16777216",
     ""},
    {TREE("  - {name: n, kind: spsc, cells: 48}\n", ""),
     "2:34: ", "region 'n': the number of cells may not be 48: 2 to 2^24, a power of two", ""},
    {TREE("  - {name: n, cell_bytes: 100, kind: spsc}\n", ""),
     "2:27: ", "region 'n': the bytes of a cell may not be 100", ""},
    {TREE("  - {name: n, kind: spsc, file_mode: 777}\n", ""),
     "2:38: ", "file_mode: '777' is not a mode in octal, at most 660", ""},
    {TREE("  - {name: n, kind: spsc, file_mode: '6x'}\n", ""), "2:39: ", "is not a mode", ""},
    {TREE("  - {name: n, kind: fanout, detach_after: 5}\n", ""), "2:43: ", "'5' is not a duration",
     ""},
    {TREE("  - {name: n, kind: fanout, consumers: 65}\n", ""), "2:40: ", "no number from 1 to 64",
     ""},
    {TREE("  - {name: n, kind: fanout, cells: 8, credit_max: 9}\n", ""),
     "2:36: ", "the credit of a consumer may not be 9: at most the number of cells", ""},
    /* options of another kind */
    {TREE("  - {name: n, kind: spsc, consumers: 2}\n", ""),
     "2:38: ", "region 'n': consumers, mode and credit are options of regions of kind FANOUT", ""},
    {TREE("  - {name: n, kind: mpsc, producers: 2}\n", ""), "2:38: ", "kind FANIN and SEQUENCER",
     ""},
    {TREE("  - {name: n, kind: state-latch, cells: 8}\n", ""), "2:41: ", "a state has one value",
     ""},
    {TREE("  - {name: n, kind: mpsc, buffers: 3}\n", ""), "2:36: ", "STATE_V1 and STATE_LATCH", ""},
    {TREE("  - {name: n, kind: mpsc, route: true}\n", ""),
     "2:34: ", "only a region of kind fanout has a router; take it away", ""},
    {TREE("  - {name: n, kind: fanout, route: false}\n", ""),
     "2:36: ", "nobody else can route 'n', which has no name for other processes; write true", ""},
    /* stages */
    {TREE("  - {name: n, kind: sequencer, stages: 2, after: '1=0'}\n", ""),
     "2:51: ", "after: '1=0' is not like 1:0,3:1+2", ""},
    {TREE("  - {name: n, kind: sequencer, stages: 3, after: '1:2,2:1'}\n", ""),
     "2:51: ", "region 'n': stage 1 follows itself, by way of others", ""},
    {TREE("  - {name: n, kind: sequencer, stages: 2, after: '1:2'}\n", ""),
     "2:51: ", "stage 1 follows a stage that there is not: there are 2", ""},
    {TREE("  - {name: n, kind: sequencer, stages: 2, after: '2:1'}\n", ""),
     "2:51: ", "there is no stage 2, for there are 2; raise stages, or take it away", ""},
    {TREE("  - {name: n, kind: spsc, after: '1:0'}\n", ""), "2:35: ", "regions of kind SEQUENCER",
     ""},
    {TREE("  - {name: n, kind: spsc, on_death: evict}\n", ""),
     "2:37: ", "regions of kind SEQUENCER", ""},
    {TREE("  - {name: n, kind: sequencer, user_bytes: 12}\n", ""), "2:44: ", "a multiple of 8", ""},
    /* regions that are there */
    {TREE("  - name: no-such-region\n", ""), "2:11: ",
     "there is no region 'no-such-region'; give its kind, or make it: rapahub region", ""},
    {TREE("  - {name: n, cells: 8}\n", ""),
     "2:15: ", "cells: without the key kind, 'n' is a region that is there already; add kind", ""},
    /* the list of roles */
    {TREE(NEWS, "    - {name: a, module: " MODULE ", roles: in}\n"),
     "5:", "a list of roles belongs", ""},
    {TREE(NEWS, TRUSTED("a", "      - x\n")),
     "9:9: ", "a text, where a map with the keys of a role", ""},
    {TREE(NEWS, TRUSTED("a", "      - {region: news, role: consumer}\n")),
     "9:9: ", "a role without the key name; add it", "supervise.role.checked"},
    {TREE(NEWS, TRUSTED("a", "      - {name: in, role: consumer}\n")),
     "9:9: ", "a role without the key region", "supervise.role.checked"},
    {TREE(NEWS, TRUSTED("a", "      - {name: in, region: news}\n")),
     "9:9: ", "a role without the key role", "supervise.role.checked"},
    {TREE(NEWS, TRUSTED("a", "      - {name: in, region: news, role: consumr}\n")),
     "9:40: ", "none of producer, consumer, writer, reader; did you mean 'consumer'?", ""},
    {TREE(NEWS, TRUSTED("a", "      - {name: in, region: news, role: router}\n")),
     "9:40: ", "role: 'router' is none of", ""},
    {TREE(NEWS, TRUSTED("a", "      - {name: in, regin: news, role: consumer}\n")),
     "9:20: ", "unknown key 'regin', did you mean 'region'?", ""},
    {TREE(NEWS, TRUSTED("a", "      - {name: in, region: news, role: consumer, index: -1}\n")),
     "9:57: ", "index: '-1' is not a number from 0 on, or any", ""},
    {TREE(NEWS, TRUSTED("a", "      - {name: in/, region: news, role: consumer}\n")),
     "9:16: ", "name: 'in/' is no name", ""},
    {"supervisor:\n  children: []\n  roles: []\n",
     "3:3: ", "'roles' is a key of a guest, and this is a supervisor; move it", ""},
    /* roles and regions */
    {TREE(NEWS, TRUSTED("a", "      - {name: in, region: new, role: consumer}\n")),
     "9:28: ", "the file has no region 'new', did you mean 'news'?", "supervise.role.checked"},
    {TREE(NEWS, TRUSTED("a", "      - {name: in, region: olden, role: consumer}\n")), "9:28: ",
     "the file has no region 'olden'; add it to the list regions", "supervise.role.checked"},
    {TREE(NEWS, TRUSTED("a", "      - {name: in, region: news, role: writer}\n")),
     "9:40: ", "a region of the kind of 'news' has no writer; name another region, or role",
     "supervise.role.checked"},
    {TREE("  - {name: seq, kind: sequencer}\n",
          TRUSTED("a", "      - {name: in, region: seq, role: consumer}\n")),
     "9:39: ", "'seq' has no consumer", "supervise.role.checked"},
    {TREE(WIRE, TRUSTED("a", "      - {name: in, region: wire, role: consumer, index: 2}\n")),
     "9:57: ", "region 'wire' has 2 consumers; write an index below that, or any",
     "supervise.role.checked"},
    {TREE(WIRE, TRUSTED("a", "      - {name: in, region: wire, role: consumer, index: 1}\n")
                    TRUSTED("b", "      - {name: in, region: wire, role: consumer, index: 1}\n")),
     "14:57: ", "and 'a' in line 9 is that of this index already; name another index, or any",
     "supervise.role.checked"},
    {TREE(WIRE, TRUSTED("a", "      - {name: in, region: wire, role: consumer}\n"
                             "      - {name: too, region: wire, role: consumer, index: 1}\n"
                             "      - {name: more, region: wire, role: consumer}\n")),
     "11:9: ",
     "region 'wire' has 2 consumers, and 'a' in line 10 is the last already; let the region have "
     "more",
     "supervise.role.checked"},
    {TREE(NEWS, TRUSTED("a", "      - {name: out, region: news, role: producer}\n")
                    TRUSTED("b", "      - {name: out, region: news, role: producer}\n")),
     "14:9: ", "region 'news' has 1 producer, and 'a' in line 9", "supervise.role.checked"},
    {TREE(NEWS, TRUSTED("a", "      - {name: x, region: news, role: producer}\n"
                             "      - {name: x, region: news, role: consumer}\n")),
     "10:16: ", "'a' has another role 'x', in line 9; choose another", "supervise.role.checked"},
    {TREE(NEWS, TRUSTED("a", "      - {name: x, region: news, role: producer, deliver: true}\n")),
     "9:58: ", "only a consumer gets messages; take it away", "supervise.role.checked"},
    {TREE(NEWS, TRUSTED("a", "      - {name: x, region: news, role: consumer, on_full: drop}\n")),
     "9:58: ", "only a producer fills a region; take it away", "supervise.role.checked"},
    /* trust */
    {TREE(NEWS, "    - {name: a, module: " MODULE ", trust: strict,\n"
                "       roles: [{name: x, region: news, role: producer}]}\n"),
     "5:48: ",
     "'a' has roles and is not trusted, and a region is memory that guests share; write "
     "trust: trusted",
     "supervise.role.private"},
    {TREE(NEWS, "    - {name: a, module: " MODULE ",\n"
                "       roles: [{name: x, region: news, role: producer}]}\n"),
     "6:16: ", "write trust: trusted", "supervise.role.private"},
};

static void each_mistake_has_its_place_and_its_remedy(void **state)
{
    (void)state;
    assert_each_told(wrongs, sizeof wrongs / sizeof *wrongs);
}

/* ---- good files ---- */

static void each_key_of_a_region_is_an_option(void **state)
{
    const struct rapahub_region_options *o;
    struct file file;

    (void)state;
    open_good(&file,
              TREE("  - {name: wire, kind: fanout, profile: hardened, cells: 64, cell_bytes: 128,\n"
                   "     leases: 9, consumers: 3, mode: work, credit: detach, credit_max: 32,\n"
                   "     detach_after: 5s, file_mode: 640, route: true, persistent: true}\n"
                   "  - {name: board, kind: state-latch, value_bytes: 77, buffers: 4}\n"
                   "  - {name: many, kind: fanin, producers: 7}\n"
                   "  - {name: steps, kind: sequencer, ring_size: 8, user_bytes: 16, stages: 3,\n"
                   "     after: '1:0,2:0+1', on_death: freeze, freeze: 2s, producers: 2}\n"
                   "  - {name: own, kind: fanout}\n",
                   ONLY));
    assert_int_equal(file.tree.region_count, 5);
    o = &file.tree.regions[0].options.region;
    assert_string_equal(file.tree.regions[0].name, "wire");
    assert_int_equal(o->kind, RAPAHUB_REGION_FANOUT);
    assert_int_equal(o->profile, RAPAHUB_REGION_HARDENED);
    assert_int_equal(o->cells, 64);
    assert_int_equal(o->cell_bytes, 128);
    assert_int_equal(o->leases, 9);
    assert_int_equal(o->consumers, 3);
    assert_int_equal(o->mode, RAPAHUB_REGION_WORK);
    assert_int_equal(o->credit, RAPAHUB_REGION_DETACH);
    assert_int_equal(o->credit_max, 32);
    assert_int_equal(o->detach_after_ns, 5 * SECOND);
    assert_int_equal(o->file_mode, 0640);
    assert_null(o->stage_list);
    assert_true(file.tree.regions[0].options.route && file.tree.regions[0].options.persistent);
    o = &file.tree.regions[1].options.region;
    assert_int_equal(o->kind, RAPAHUB_REGION_STATE_LATCH);
    assert_int_equal(o->value_bytes, 77);
    assert_int_equal(o->buffers, 4);
    assert_int_equal(o->cells, 0);
    o = &file.tree.regions[2].options.region;
    assert_int_equal(o->producers, 7);
    assert_int_equal(o->cells, 1024); /* the defaults of `rapahub region create` */
    assert_int_equal(o->cell_bytes, 1024);
    assert_false(file.tree.regions[2].options.route || file.tree.regions[2].options.persistent);
    o = &file.tree.regions[3].options.region;
    assert_int_equal(o->ring_size, 8);
    assert_int_equal(o->user_bytes, 16);
    assert_int_equal(o->stages, 3);
    assert_int_equal(o->producers, 2);
    assert_int_equal(o->stage_list[1].after, 1);
    assert_int_equal(o->stage_list[2].after, 3);
    assert_int_equal(o->stage_list[2].on_death, RAPAHUB_STAGE_FREEZE);
    assert_int_equal(o->stage_list[2].freeze_ns, 2 * SECOND);
    assert_true(file.tree.regions[4].options.route); /* no other process can */
    close_file(&file);
}

static void each_key_of_a_role_is_a_member(void **state)
{
    const struct rapahub_role *roles;
    struct file file;

    (void)state;
    open_good(
        &file,
        TREE(WIRE NEWS,
             TRUSTED("a", "      - {name: in, region: wire, role: consumer, index: 1, deliver: "
                          "true}\n"
                          "      - {name: out, region: news, role: producer, on_full: fail}\n"
                          "      - {name: more, region: wire, role: consumer, index: any}\n")
                 TRUSTED("b", "      - {name: out, region: wire, role: producer, index: 0}\n")
                     TRUSTED("c", "      - {name: out, region: wire, role: producer}\n")));
    roles = node(&file, "a")->roles;
    assert_string_equal(roles[0].name, "in");
    assert_string_equal(roles[0].region, "wire");
    assert_int_equal(roles[0].kind, RAPAHUB_REGION_ROLE_CONSUMER);
    assert_int_equal(roles[0].index, 1);
    assert_true(roles[0].deliver);
    assert_int_equal(roles[1].kind, RAPAHUB_REGION_ROLE_PRODUCER);
    assert_int_equal(roles[1].on_full, RAPAHUB_ON_FULL_FAIL);
    assert_int_equal(roles[1].index, RAPAHUB_ROLE_ANY);
    assert_false(roles[1].deliver);
    assert_int_equal(roles[2].index, RAPAHUB_ROLE_ANY);
    assert_null(roles[3].name);
    assert_string_equal(node(&file, "b")->roles[0].name, "out"); /* of producers there are many */
    assert_null(node(&file, "b")->roles[1].name);
    close_file(&file);
}

/* ---- limits ---- */

static void too_many_are_refused(void **state)
{
    char text[8192] = "regions:\n";
    struct file file;

    (void)state;
    for (unsigned i = 0; i <= RAPAHUB_REGIONS_MAX; i++)
        snprintf(text + strlen(text), 60, "  - {name: r%u, kind: mpsc}\n", i);
    open_text(&file, text);
    assert_int_equal(file.r, RAPAHUB_ECONFIG);
    assert_non_null(strstr(rapahub_last_error()->text, ":66:5: more than 64 regions"));
    close_file(&file);
    snprintf(text, sizeof text, "%s", TREE("  - {name: r, kind: mpsc}\n", TRUSTED("a", "")));
    for (unsigned i = 0; i <= RAPAHUB_ROLES_MAX; i++)
        snprintf(text + strlen(text), 80, "      - {name: o%u, region: r, role: producer}\n", i);
    open_text(&file, text);
    assert_int_equal(file.r, RAPAHUB_ECONFIG);
    assert_non_null(strstr(rapahub_last_error()->text, ":25:9: more than 16 roles"));
    close_file(&file);
}

/* ---- regions that are there ---- */

struct standing {
    char name[64], text[512];
};

static void make_standing(struct standing *standing, uint32_t consumers)
{
    const struct rapahub_region_options options = {
        .kind = RAPAHUB_REGION_FANOUT, .profile = RAPAHUB_REGION_HARDENED, .consumers = consumers};
    struct rapahub_region *region;

    snprintf(standing->name, sizeof standing->name, "test-tree-%d", getpid());
    assert_int_equal(rapahub_region_create(standing->name, &options, &region), 0);
    assert_int_equal(rapahub_region_close(region), 0);
}

static void assert_standing_told(struct standing *standing, const char *keys, const char *index,
                                 const char *words)
{
    struct file file;

    snprintf(standing->text, sizeof standing->text,
             TREE("  - {name: %s%s}\n",
                  TRUSTED("a", "      - {name: in, region: %s, role: consumer, index: %s}\n")),
             standing->name, keys, standing->name, index);
    open_text(&file, standing->text);
    assert_int_equal(file.r, words ? RAPAHUB_ECONFIG : 0);
    if (words && !strstr(rapahub_last_error()->text, words))
        print_error("%s\n", rapahub_last_error()->text);
    assert_true(!words || strstr(rapahub_last_error()->text, words));
    close_file(&file);
}

/* Its own figures count, and not those of the file. */
static void a_region_that_stands_is_looked_at(void **state)
{
    struct standing standing;

    (void)state;
    make_standing(&standing, 2);
    assert_standing_told(&standing, "", "1", NULL);
    assert_standing_told(&standing, "", "2", "has 2 consumers; write an index below that");
    assert_standing_told(&standing, ", kind: fanout, persistent: true", "1", NULL);
    assert_standing_told(&standing, ", kind: fanout, consumers: 3, persistent: true", "2",
                         "has 2 consumers; write an index below that");
    assert_standing_told(&standing, ", kind: mpsc, persistent: true", "0",
                         "of kind fanout; write that, or rapahub region rm");
    assert_standing_told(&standing, ", kind: mpsc", "0", NULL); /* the host's own has no name */
    assert_int_equal(rapahub_region_remove(standing.name, 0), 0);
    assert_standing_told(&standing, ", kind: fanout, consumers: 3, persistent: true", "2", NULL);
    assert_standing_told(&standing, "", "0", "there is no region 'test-tree-");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_mistake_has_its_place_and_its_remedy),
        cmocka_unit_test(each_key_of_a_region_is_an_option),
        cmocka_unit_test(each_key_of_a_role_is_a_member),
        cmocka_unit_test(too_many_are_refused),
        cmocka_unit_test(a_region_that_stands_is_looked_at),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
