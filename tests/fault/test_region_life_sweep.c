/* SPDX-License-Identifier: Apache-2.0 */
/* SIGKILL, SIGSTOP, and SIGSTOP with SIGKILL in the middle of the creation of a region, and of what
 * makes it anew, replaces or removes it, in both profiles. A name shows a whole region or none; a
 * region that a dead process left half made is told as such, and made anew; one that is stopped
 * over it keeps it. --every looks at each instruction. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hub/base/clock.h"
#include "hub/bus/region.h"
#include "tests/support/sweep.h"
#include "tests/support/testing.h"

#define VALUE 64 /* bytes of a state for each cell of other kinds */

static uint64_t stride = 467;

struct life {
    enum rapahub_region_kind kind;
    enum rapahub_region_profile profile;
    char name[32], path[RAPAHUB_REGION_PATH_MAX];
    uint32_t *result;                 /* shared: 1, it was done; 2, it failed */
    unsigned absent, old, made, half; /* what survivors found, over all points */
};

static struct rapahub_region_options options_of(const struct life *life, uint32_t cells)
{
    bool state = life->kind == RAPAHUB_REGION_STATE_LATCH;

    return (struct rapahub_region_options){.kind = life->kind,
                                           .profile = life->profile,
                                           .cells = state ? 0 : cells,
                                           .value_bytes = state ? cells * VALUE : 0,
                                           .leases = 0,
                                           .producers = life->kind == RAPAHUB_REGION_FANIN ? 2 : 0};
}

static int create(const struct life *life, uint32_t cells)
{
    const struct rapahub_region_options options = options_of(life, cells);
    struct rapahub_region *region;
    int r = rapahub_region_create(life->name, &options, &region);

    return r < 0 ? r : rapahub_region_close(region);
}

static void tell(struct life *life, int r)
{
    *life->result = r == 0 ? 1 : 2;
}

static void tear_down(void *user)
{
    struct life *life = user;
    char second[RAPAHUB_REGION_PATH_MAX + 2];

    unlink(life->path);
    snprintf(second, sizeof second, "%s~", life->path);
    unlink(second);
}

static int set_up_none(void *user)
{
    struct life *life = user;

    tear_down(user);
    *life->result = 0;
    return 0;
}

static int set_up_one(void *user)
{
    int r = set_up_none(user);

    return r < 0 ? r : create(user, 4);
}

static void do_create(void *user)
{
    tell(user, create(user, 8));
}

static void do_renew(void *user)
{
    struct life *life = user;

    tell(life, rapahub_region_renew(life->name, 0));
}

static void do_recreate(void *user)
{
    struct life *life = user;
    const struct rapahub_region_options options = options_of(life, 8);

    tell(life, rapahub_region_recreate(life->name, &options, 0));
}

static void do_remove(void *user)
{
    struct life *life = user;

    tell(life, rapahub_region_remove(life->name, 0));
}

/* A state that serves. */
static int use_state(struct rapahub_region *region)
{
    struct rapahub_writer *writer = NULL;
    struct rapahub_reader *reader = NULL;
    uint64_t number = 0;
    int r = rapahub_writer_open(region, &writer);

    if (r == 0)
        r = rapahub_reader_open(region, &reader);
    for (uint64_t i = 1; r == 0 && i < 4; i++) {
        r = rapahub_writer_write(writer, &i, sizeof i);
        if (r == 0)
            r = rapahub_reader_read(reader, &number, sizeof number, NULL, NULL);
        if (r == 0 && number != i)
            r = -1;
    }
    rapahub_writer_close(writer);
    rapahub_reader_close(reader);
    return r;
}

/* A region with messages that serves. */
static int use_queue(struct life *life, struct rapahub_region *region)
{
    struct rapahub_producer *producer = NULL;
    struct rapahub_consumer *consumer = NULL;
    uint64_t number = 0;
    struct rapahub_router *router = NULL;
    uint32_t count;
    int r = rapahub_producer_open(region, NULL, &producer);

    if (r == 0)
        r = rapahub_consumer_open(region, NULL, &consumer);
    if (r == 0 && life->kind == RAPAHUB_REGION_FANOUT)
        r = rapahub_router_open(region, 0, &router);
    for (uint64_t i = 1; r == 0 && i < 20; i++) {
        r = rapahub_producer_push(producer, &i, sizeof i, 0);
        if (r == 0 && router)
            r = rapahub_router_run(router, 1, 0, &count);
        if (r == 0)
            r = rapahub_consumer_pop(consumer, &number, sizeof number, 0, NULL);
        if (r == 0 && number != i)
            r = -1;
    }
    rapahub_producer_close(producer);
    rapahub_router_close(router);
    rapahub_consumer_close(consumer);
    return r;
}

static int use(struct life *life, struct sweep_point *point)
{
    struct rapahub_region *region;
    int r = rapahub_region_open(life->name, NULL, &region);

    if (r < 0)
        return sweep_fail(point, "it does not open: %s", rapahub_last_error()->text);
    r = life->kind == RAPAHUB_REGION_STATE_LATCH ? use_state(region) : use_queue(life, region);
    (void)rapahub_region_close(region);
    return r == 0 ? 0 : sweep_fail(point, "it does not serve: %d", r);
}

/* While the process is stopped, nothing is taken from it, and others are told. */
static int check_stopped(struct life *life, const struct rapahub_region_report *report,
                         struct sweep_point *point)
{
    int r;

    if (report->verdict == 0)
        return 0;
    if (report->verdict != RAPAHUB_ENOTINITIALIZED || report->detail == RAPAHUB_REGION_BUSY_DEAD)
        return sweep_fail(point, "a stopped initialiser is told as %d, detail %d", report->verdict,
                          (int)report->detail);
    r = rapahub_region_renew(life->name, 0);
    return r == RAPAHUB_EBUSY || r == RAPAHUB_ESTALE
               ? 0
               : sweep_fail(point, "a stopped initialiser is taken over: %d", r);
}

static int repair(struct life *life, const struct rapahub_region_report *report,
                  struct sweep_point *point)
{
    life->half++;
    if (report->verdict != RAPAHUB_ENOTINITIALIZED || report->detail != RAPAHUB_REGION_BUSY_DEAD)
        return sweep_fail(point, "it is left as %d, detail %d", report->verdict,
                          (int)report->detail);
    if (rapahub_region_renew(life->name, 0) < 0)
        return sweep_fail(point, "it is not made anew: %s", rapahub_last_error()->text);
    return 0;
}

static int check(void *user, struct sweep_point *point)
{
    struct life *life = user;
    const struct rapahub_region_options options = options_of(life, 16);
    struct rapahub_region_report report;
    int r = rapahub_region_inspect(life->name, false, &report);

    if (r == RAPAHUB_ENOENT) {
        life->absent += !point->stopped;
        return point->stopped ? 0 : create(life, 8) == 0 ? use(life, point) : -1;
    }
    if (r < 0)
        return sweep_fail(point, "it cannot be looked at: %d", r);
    if (point->stopped)
        return check_stopped(life, &report, point);
    if (point->finished && *life->result != 1)
        return sweep_fail(point, "it failed");
    life->old += report.cells == 4 || report.value_bytes == 4 * VALUE;
    life->made += report.cells == 8 || report.value_bytes == 8 * VALUE;
    r = report.verdict == 0 ? 0 : repair(life, &report, point);
    if (r == 0)
        r = use(life, point);
    if (r == 0 && rapahub_region_recreate(life->name, &options, 0) < 0)
        r = sweep_fail(point, "it is not replaced: %s", rapahub_last_error()->text);
    return r == 0 ? use(life, point) : r;
}

static const struct {
    const char *name;
    int (*setup)(void *user);
    void (*operate)(void *user);
} operations[] = {{"create", set_up_none, do_create},
                  {"renew", set_up_one, do_renew},
                  {"recreate", set_up_one, do_recreate},
                  {"remove", set_up_one, do_remove}};

/* A region is removed, and a latch is made anew, in so few instructions that a long stride may pass
 * over them. */
static uint64_t stride_of(const struct life *life, size_t o)
{
    bool is_latch = life->kind == RAPAHUB_REGION_STATE_LATCH &&
                    life->profile == RAPAHUB_REGION_V1 && operations[o].operate == do_renew;
    uint64_t part = is_latch ? 13 : operations[o].operate == do_remove ? 3 : 1;

    return stride > part ? stride / part : stride;
}

static void run(size_t o, struct life *life, enum sweep_mode mode)
{
    static const char *const names[] = {[RAPAHUB_REGION_MPSC] = "MPSC",
                                        [RAPAHUB_REGION_FANOUT] = "FANOUT",
                                        [RAPAHUB_REGION_STATE_LATCH] = "LATCH",
                                        [RAPAHUB_REGION_FANIN] = "FANIN"};
    const struct sweep sweep = {.setup = operations[o].setup,
                                .operation = operations[o].operate,
                                .check = check,
                                .teardown = tear_down,
                                .user = life,
                                .mode = mode,
                                .stride = stride_of(life, o)};
    struct sweep_result result;
    int r = sweep_run(&sweep, &result);

    printf("%-8s | %-6s | %-8s | mode %d | points %5u of %5u | failures %u | absent %u, old %u, "
           "new %u, "
           "half made %u\n",
           operations[o].name, names[life->kind], life->profile ? "hardened" : "v1", (int)mode,
           (unsigned)result.points, (unsigned)result.steps, (unsigned)result.failures, life->absent,
           life->old, life->made, life->half);
    if (r < 0 || result.failures > 0)
        fail_msg("%s, step %u: %s", operations[o].name, (unsigned)result.first_failure,
                 result.text);
    assert_true(result.complete && result.points > 10);
    /* only what is made anew in its place is ever seen half made */
    assert_true(operations[o].operate == do_renew ? life->half > 0 || mode == SWEEP_STOP
                                                  : life->half == 0);
}

/* r[verify region.whole] r[verify region.init] r[verify region.init.proof] r[verify
 * region.init.stuck] r[verify region.exclusive] */
static void a_region_is_whole_or_told_to_be_half_made(void **state)
{
    static const enum rapahub_region_kind kinds[] = {RAPAHUB_REGION_MPSC, RAPAHUB_REGION_FANOUT,
                                                     RAPAHUB_REGION_STATE_LATCH,
                                                     RAPAHUB_REGION_FANIN};
    struct life life = {0};

    (void)state;
    snprintf(life.name, sizeof life.name, "sweep-%d", getpid());
    assert_int_equal(hub_region_path(life.name, life.path), 0);
    life.result =
        mmap(NULL, sizeof *life.result, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(life.result != MAP_FAILED);
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        for (size_t o = 0; o < sizeof operations / sizeof *operations; o++)
            for (int profile = RAPAHUB_REGION_V1; profile <= RAPAHUB_REGION_HARDENED; profile++)
                for (int mode = SWEEP_KILL; mode <= SWEEP_STOP_KILL; mode++) {
                    life.kind = kinds[k];
                    life.profile = (enum rapahub_region_profile)profile;
                    life.absent = life.old = life.made = life.half = 0;
                    run(o, &life, (enum sweep_mode)mode);
                }
    munmap(life.result, sizeof *life.result);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_region_is_whole_or_told_to_be_half_made)};

    if (argc > 1 && strcmp(argv[1], "--every") == 0)
        stride = 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
