/* SPDX-License-Identifier: Apache-2.0 */
/* SIGKILL, SIGSTOP, and SIGSTOP with SIGKILL after each instruction of what the writer and a reader
 * of a state do, of both kinds and in both profiles. A writer that dies leaves the last version
 * whole, or the new one; of STATE_V1 it may leave none, which is told. The next writer takes over
 * without any repair, its versions go on by one, and a stopped one loses nothing. A reader that was
 * stopped while others wrote shows a whole value all the same. Of what is long one in so many
 * instructions is looked at; all of them with --every. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "hub/bus/reap.h"
#include "tests/fault/region_sweep_stage.h"
#include "tests/support/testing.h"

#define VALUE REGION_SWEEP_VALUE
#define WORDS (VALUE / 8)
#define FIRST 1 /* the version that is there before the sweep */

static const enum sweep_mode modes[] = {SWEEP_KILL, SWEEP_STOP, SWEEP_STOP_KILL};
static const char *const mode_names[] = {"kill", "stop", "stop, kill"};

struct state_sweep {
    struct region_sweep base;
    struct rapahub_writer *victim_writer, *writer;
    struct rapahub_reader *victim_reader, *reader;
    size_t words;     /* of a value */
    uint64_t written; /* the last version of the survivor */
    unsigned none;    /* points that left no value to be read */
};

struct operation {
    const char *name;
    int (*setup)(void *user);
    void (*operate)(void *user);
    int (*check)(void *user, struct sweep_point *point);
    uint32_t stride; /* one in so many instructions is looked at; a prime */
    size_t words;
};

static bool every; /* one of its instructions */

static int write_number(struct state_sweep *stage, struct rapahub_writer *writer, uint64_t number)
{
    uint64_t words[WORDS];

    for (size_t i = 0; i < stage->words; i++)
        words[i] = number;
    return rapahub_writer_write(writer, words, stage->words * sizeof *words);
}

/* Reads a value, which is whole: all of its words are one number. */
static int read_number(const struct state_sweep *stage, struct rapahub_reader *reader,
                       uint64_t *number, uint64_t *version)
{
    uint64_t words[WORDS] = {0};
    size_t size = 0;
    int r = rapahub_reader_read(reader, words, sizeof words, &size, version);

    *number = words[0];
    if (r < 0)
        return r;
    for (size_t i = 1; i < stage->words; i++)
        if (words[i] != words[0])
            return -EBADMSG; /* torn */
    return size == stage->words * sizeof *words ? 0 : -EBADMSG;
}

/* The version that is there comes from a writer which is closed. */
static int begin(struct state_sweep *stage)
{
    struct rapahub_writer *writer;

    region_sweep_stage_begin(&stage->base);
    stage->victim_writer = stage->writer = NULL;
    stage->victim_reader = stage->reader = NULL;
    stage->written = FIRST;
    if (rapahub_writer_open(stage->base.survivor, &writer) < 0 ||
        write_number(stage, writer, REGION_SWEEP_A) < 0)
        return -1;
    rapahub_writer_close(writer);
    return rapahub_reader_open(stage->base.survivor, &stage->reader);
}

static void tear_down(void *user)
{
    struct state_sweep *stage = user;

    region_sweep_stage_let_go(&stage->base);
    rapahub_writer_close(stage->victim_writer);
    rapahub_reader_close(stage->victim_reader);
    rapahub_writer_close(stage->writer);
    rapahub_reader_close(stage->reader);
    region_sweep_stage_end(&stage->base);
}

/* The next versions are those of the next writer, one by one. */
static int take_over(struct state_sweep *stage, struct sweep_point *point, uint64_t last)
{
    uint64_t number = 0, version = 0;

    if (rapahub_writer_open(stage->base.survivor, &stage->writer) < 0)
        return sweep_fail(point, "nobody can take over: %s", rapahub_last_error()->text);
    for (uint64_t next = last + 1; next < last + 6; next++) {
        if (write_number(stage, stage->writer, 100 + next) < 0)
            return sweep_fail(point, "version %u is refused", (unsigned)next);
        if (read_number(stage, stage->reader, &number, &version) < 0 || number != 100 + next ||
            version != next)
            return sweep_fail(point, "version %u is read, and was to be %u", (unsigned)version,
                              (unsigned)next);
    }
    return 0;
}

/* ---- write ---- */

static int set_up_write(void *user)
{
    struct state_sweep *stage = user;

    if (begin(stage) < 0)
        return -1;
    return rapahub_writer_open(stage->base.victim, &stage->victim_writer);
}

static void write_one(void *user)
{
    struct state_sweep *stage = user;

    stage->base.told->result =
        write_number(stage, stage->victim_writer, REGION_SWEEP_B) == 0 ? 1 : -1;
}

/* What is there: the version before or the new one, whole, at once; of STATE_V1 perhaps none. */
static int look(struct state_sweep *stage, struct sweep_point *point, uint64_t *last)
{
    bool latch = stage->base.kind == RAPAHUB_REGION_STATE_LATCH;
    uint64_t number = 0, version = 0;
    int r = read_number(stage, stage->reader, &number, &version);

    *last = FIRST;
    if (r == (point->stopped ? RAPAHUB_EWRITERBUSY : RAPAHUB_EPEERDEAD) && !latch &&
        !point->finished) {
        stage->none += !point->stopped;
        return 0;
    }
    if (r < 0)
        return sweep_fail(point, "code %d of a read", r);
    *last = version;
    if ((version != FIRST || number != REGION_SWEEP_A) &&
        (version != FIRST + 1 || number != REGION_SWEEP_B))
        return sweep_fail(point, "version %u has another value", (unsigned)version);
    return !point->finished || version == FIRST + 1
               ? 0
               : sweep_fail(point, "version %u after the end", (unsigned)version);
}

static int check_write(void *user, struct sweep_point *point)
{
    struct state_sweep *stage = user;
    struct rapahub_writer *second = NULL;
    uint64_t last;

    region_sweep_stage_let_go(&stage->base);
    if (look(stage, point, &last) < 0)
        return -1;
    if (point->stopped)
        return rapahub_writer_open(stage->base.survivor, &second) == RAPAHUB_EROLETAKEN
                   ? 0
                   : sweep_fail(point, "a stopped writer loses its role");
    return take_over(stage, point, last);
}

/* ---- read ---- */

static int set_up_read(void *user)
{
    struct state_sweep *stage = user;

    if (begin(stage) < 0 || rapahub_writer_open(stage->base.survivor, &stage->writer) < 0)
        return -1;
    return rapahub_reader_open(stage->base.victim, &stage->victim_reader);
}

static void read_one(void *user)
{
    struct state_sweep *stage = user;
    uint64_t number = 0, version = 0;
    int r = read_number(stage, stage->victim_reader, &number, &version);

    if (r == 0 && number != (version == FIRST ? REGION_SWEEP_A : 100 + version))
        r = -EBADMSG;
    stage->base.told->taken = version;
    stage->base.told->result = r == 0 ? 1 : r;
}

/* While the reader is stopped the writer comes round to its buffer. A reader that died is in the
 * way of nobody. */
static int check_read(void *user, struct sweep_point *point)
{
    struct state_sweep *stage = user;
    uint64_t number, version;
    int told = stage->base.told->result;

    region_sweep_stage_let_go(&stage->base);
    if (told < 0 || (point->finished && told != 1))
        return sweep_fail(point, "code %d of a read", told);
    for (int i = 0; i < 3; i++) {
        stage->written++;
        if (write_number(stage, stage->writer, 100 + stage->written) < 0 ||
            read_number(stage, stage->reader, &number, &version) < 0 || version != stage->written ||
            number != 100 + version)
            return sweep_fail(point, "version %u does not come", (unsigned)stage->written);
    }
    return 0;
}

/* ---- openings, and an end ---- */

static int set_up_none(void *user)
{
    return begin(user);
}

static void open_writer(void *user)
{
    struct state_sweep *stage = user;

    (void)!rapahub_writer_open(stage->base.victim, &stage->victim_writer);
}

static void open_reader(void *user)
{
    struct state_sweep *stage = user;

    (void)!rapahub_reader_open(stage->base.victim, &stage->victim_reader);
}

static void close_writer(void *user)
{
    struct state_sweep *stage = user;

    rapahub_writer_close(stage->victim_writer);
}

/* The role is to be had, with one lease, and the value is there. */
static int check_roles(void *user, struct sweep_point *point)
{
    struct state_sweep *stage = user;
    struct rapahub_region *region = stage->base.survivor;
    uint64_t number, version;
    uint32_t held = 0;

    region_sweep_stage_let_go(&stage->base);
    if (read_number(stage, stage->reader, &number, &version) < 0 || version != FIRST)
        return sweep_fail(point, "the value is lost");
    if (point->stopped)
        return 0;
    if (take_over(stage, point, FIRST) < 0)
        return -1;
    for (uint32_t i = 0; i < region->shape.lease_count; i++)
        held += hub_region_lease_state(hub_observe64(&hub_region_lease_at(region, i)->owner)) !=
                HUB_LEASE_FREE;
    return region->shape.lease_count == 0 || held == 1
               ? 0
               : sweep_fail(point, "%u leases are held", held);
}

/* ---- reap ---- */

/* A lease whose byte is not locked: that of a dead writer. */
static int set_up_reap(void *user)
{
    struct state_sweep *stage = user;
    struct rapahub_region *region;

    if (begin(stage) < 0)
        return -1;
    region = stage->base.survivor;
    if (stage->base.profile == RAPAHUB_REGION_V1)
        return 0;
    hub_publish64(&hub_region_lease_at(region, 2)->owner,
                  UINT64_C(1) << 32 | HUB_LEASE_WRITER << 8 | HUB_LEASE_HELD);
    hub_publish(region->state.writer_lease, 3);
    return 0;
}

static void reap(void *user)
{
    struct state_sweep *stage = user;

    (void)hub_reap_try(stage->base.victim);
}

static int check_reap(void *user, struct sweep_point *point)
{
    struct state_sweep *stage = user;
    struct rapahub_region *region = stage->base.survivor;

    region_sweep_stage_let_go(&stage->base);
    if (point->stopped)
        return 0;
    (void)hub_reap_try(region);
    if (hub_observe(region->state.writer_lease) != 0)
        return sweep_fail(point, "what the dead held is not free");
    return check_roles(stage, point);
}

/* ---- all of them ---- */

static const struct operation operations[] = {
    {"write", set_up_write, write_one, check_write, 1, 3},
    {"write long", set_up_write, write_one, check_write, 5, WORDS},
    {"read", set_up_read, read_one, check_read, 5, 3},
    {"read long", set_up_read, read_one, check_read, 7, WORDS},
    {"open", set_up_none, open_writer, check_roles, 53, 1},
    {"reader", set_up_none, open_reader, check_roles, 17, 1},
    {"close", set_up_write, close_writer, check_roles, 29, 1},
    {"reap", set_up_reap, reap, check_reap, 19, 1}};

static void run(const struct operation *operation, struct state_sweep *stage, unsigned mode)
{
    const struct sweep sweep = {.setup = operation->setup,
                                .operation = operation->operate,
                                .check = operation->check,
                                .teardown = tear_down,
                                .user = stage,
                                .mode = modes[mode],
                                .stride = every ? 1 : operation->stride};
    bool latch = stage->base.kind == RAPAHUB_REGION_STATE_LATCH;
    struct sweep_result result;
    int r;

    stage->words = operation->words;
    r = sweep_run(&sweep, &result);
    printf("%-10s | %-6s | %-8s | %-10s | points %5u of %5u | failures %u | no value %u\n",
           operation->name, latch ? "latch" : "v1", stage->base.profile ? "hardened" : "v1",
           mode_names[mode], (unsigned)result.points, (unsigned)result.steps,
           (unsigned)result.failures, stage->none);
    if (r < 0 || result.failures > 0)
        fail_msg("%s, step %u: %s", operation->name, (unsigned)result.first_failure, result.text);
    assert_true(result.complete && result.points > 4);
    if (latch)
        assert_int_equal(stage->none, 0);
}

/* r[verify region.state.latch] r[verify region.state.torn] r[verify region.state.writer] r[verify
 * region.state.reader] r[verify region.state] r[verify region.lease] r[verify region.role] */
static void a_death_or_a_stop_anywhere_leaves_a_whole_value(void **state)
{
    static const enum rapahub_region_kind kinds[] = {RAPAHUB_REGION_STATE_V1,
                                                     RAPAHUB_REGION_STATE_LATCH};

    (void)state;
    for (size_t o = 0; o < sizeof operations / sizeof *operations; o++)
        for (unsigned each = 0; each < 4; each++)
            for (unsigned mode = 0; mode < sizeof modes / sizeof *modes; mode++) {
                struct state_sweep stage = {
                    .base = {.kind = kinds[each / 2],
                             .profile = (enum rapahub_region_profile)(each % 2)}};

                run(&operations[o], &stage, mode);
            }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_death_or_a_stop_anywhere_leaves_a_whole_value)};

    if (argc > 1 && strcmp(argv[1], "--every") == 0)
        every = true;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
