/* SPDX-License-Identifier: Apache-2.0 */
/* Four processes over a sequencer: one reads blocks, one sums them, one compresses them beside it,
 * and one writes the compressed blocks and their sums. Each is killed five times, and started again
 * where the region says. No byte of what was written differs.
 *
 * A block is done again where its stage died in the middle: the writer puts it at its own place. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rapahub/sequencer.h>

#include "hub/base/clock.h"
#include "hub/base/crc32c.h"
#include "tests/support/testing.h"

#define BLOCK   4096
#define BLOCKS  4500
#define KILLS   5
#define WAIT    (60 * HUB_SECOND)
#define SLOWLY  (100 * HUB_MICROSECOND) /* of a block, so that kills find all at work */
#define READER  3
#define CHECKER 0
#define PACKER  1
#define WRITER  2

struct block { /* the user bytes of a position */
    uint64_t number;
    uint32_t sum, packed_size;
    uint8_t bytes[BLOCK];
    uint8_t packed[2 * BLOCK]; /* runs: a count, a byte */
};

struct row { /* a block as it was written */
    uint32_t sum, packed_size;
    uint8_t packed[2 * BLOCK];
};

static uint8_t *input;    /* BLOCKS of them */
static struct row *rows;  /* shared: the file that is written */
static uint64_t *written; /* shared */
static int region_fd;

static void pack(struct block *block)
{
    size_t size = 0;

    for (size_t i = 0; i < BLOCK;) {
        size_t run = 1;

        while (i + run < BLOCK && run < 255 && block->bytes[i + run] == block->bytes[i])
            run++;
        block->packed[size++] = (uint8_t)run;
        block->packed[size++] = block->bytes[i];
        i += run;
    }
    block->packed_size = (uint32_t)size;
}

static bool unpacks_to(const struct row *row, const uint8_t *wanted)
{
    size_t at = 0;

    for (size_t i = 0; i + 1 < row->packed_size; i += 2)
        for (unsigned run = row->packed[i]; run > 0; run--, at++)
            if (at >= BLOCK || row->packed[i + 1] != wanted[at])
                return false;
    return at == BLOCK;
}

static struct rapahub_region *attach(void)
{
    struct rapahub_region *region;

    if (rapahub_region_adopt(region_fd, NULL, &region) < 0)
        _exit(2);
    close(region_fd); /* else it would keep the locks of the parent's description */
    return region;
}

/* The single producer: a position that it had not published is claimed again, so the position says
 * which block is next. */
static void read_blocks(struct rapahub_region *region)
{
    struct rapahub_producer *producer;
    uint64_t at = 0;

    if (rapahub_producer_open(region, NULL, &producer) < 0)
        _exit(3);
    for (;;) {
        int r = rapahub_producer_claim(producer, 1, WAIT, &at);
        struct block *block = rapahub_region_user(region, at);

        if (r == RAPAHUB_EPEERDEAD)
            continue; /* the stage in the way comes again */
        if (r < 0)
            _exit(4);
        if (at >= BLOCKS)
            return;
        block->number = at;
        memcpy(block->bytes, input + at * BLOCK, BLOCK);
        if (rapahub_producer_publish(producer, at, 1) < 0)
            _exit(5);
    }
}

static void work(struct block *block, uint32_t stage)
{
    if (stage == CHECKER)
        block->sum = hub_crc32c(0, block->bytes, BLOCK);
    if (stage == PACKER)
        pack(block);
    if (stage == WRITER) {
        struct row *row = &rows[block->number];

        row->sum = block->sum;
        row->packed_size = block->packed_size;
        memcpy(row->packed, block->packed, block->packed_size);
        __atomic_store_n(written, block->number + 1, __ATOMIC_RELEASE);
    }
}

static void do_blocks(struct rapahub_region *region, uint32_t index)
{
    const struct rapahub_stage_options options = {.index = index};
    struct rapahub_stage *stage;
    uint64_t first = 0;
    uint32_t count;

    if (rapahub_stage_open(region, &options, &stage) < 0)
        _exit(3);
    while (first + 1 < BLOCKS) {
        int r = rapahub_stage_next(stage, WAIT, &first, &count);

        if (r == RAPAHUB_EPEERDEAD)
            continue;
        if (r < 0)
            _exit(4);
        work(rapahub_region_user(region, first), index);
        hub_clock_pause(SLOWLY);
        if (rapahub_stage_advance(stage, 1) < 0)
            _exit(5);
    }
}

/* The end of a process comes by itself: handles that are open keep their place. */
static pid_t start(uint32_t part)
{
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        struct rapahub_region *region = attach();

        if (part == READER)
            read_blocks(region);
        else
            do_blocks(region, part);
        _exit(0);
    }
    return pid;
}

static bool wait_for_blocks(uint64_t count)
{
    uint64_t deadline = hub_clock_after(2 * WAIT);

    while (__atomic_load_n(written, __ATOMIC_ACQUIRE) < count) {
        if (hub_clock_left(deadline) == 0)
            return false;
        hub_clock_pause(HUB_MILLISECOND);
    }
    return true;
}

static void kill_and_start(pid_t *pid, uint32_t part, unsigned *kills)
{
    int status;

    kill(*pid, SIGKILL);
    assert_int_equal(waitpid(*pid, &status, 0), *pid);
    assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
    *kills += WIFSIGNALED(status);
    *pid = start(part);
}

static struct rapahub_region *make(void)
{
    static const struct rapahub_region_stage list[] = {
        [CHECKER] = {.after = 0},
        [PACKER] = {.after = 0},
        [WRITER] = {.after = 1u << CHECKER | 1u << PACKER}};
    const struct rapahub_region_options options = {.kind = RAPAHUB_REGION_SEQUENCER,
                                                   .profile = RAPAHUB_REGION_HARDENED,
                                                   .ring_size = 16,
                                                   .user_bytes = sizeof(struct block),
                                                   .stages = 3,
                                                   .stage_list = list};
    struct rapahub_region *region = NULL;

    assert_int_equal(rapahub_region_create(NULL, &options, &region), 0);
    return region;
}

/* Blocks of runs, so that compressing them does something. */
static void make_input(void)
{
    uint32_t seed = 1;

    input = malloc((size_t)BLOCKS * BLOCK);
    assert_non_null(input);
    for (size_t i = 0; i < (size_t)BLOCKS * BLOCK; i++) {
        seed = seed * 1664525 + 1013904223;
        input[i] = i > 0 && seed >> 28 ? input[i - 1] : (uint8_t)(seed >> 16);
    }
}

static void *share(size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    assert_ptr_not_equal(memory, MAP_FAILED);
    return memory;
}

static unsigned count_differences(void)
{
    unsigned differ = 0;

    for (uint64_t i = 0; i < BLOCKS; i++)
        differ += rows[i].sum != hub_crc32c(0, input + i * BLOCK, BLOCK) ||
                  !unpacks_to(&rows[i], input + i * BLOCK);
    return differ;
}

/* r[verify region.stage] r[verify region.stage.after] r[verify region.stage.dead]
 * r[verify region.sequencer.user] */
static void each_part_is_killed_and_no_byte_differs(void **state)
{
    struct rapahub_region *region = make();
    pid_t pids[4];
    unsigned kills = 0;

    (void)state;
    make_input();
    rows = share(BLOCKS * sizeof *rows);
    written = share(sizeof *written);
    region_fd = rapahub_region_fd(region);
    for (uint32_t i = 0; i < 3; i++)
        pids[i] = start(i);
    pids[READER] = start(READER);
    for (uint64_t round = 0; round < KILLS; round++)
        for (uint32_t i = 0; i < 4; i++) {
            assert_true(wait_for_blocks(100 * (4 * round + i + 1)));
            kill_and_start(&pids[i], i, &kills);
        }
    for (uint32_t i = 0; i < 4; i++) {
        int status;

        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
    }
    printf("%d blocks of %d bytes, %u kills, %u blocks differ\n", BLOCKS, BLOCK, kills,
           count_differences());
    assert_int_equal(count_differences(), 0);
    assert_int_equal(kills, 4 * KILLS);
    munmap(rows, BLOCKS * sizeof *rows);
    munmap(written, sizeof *written);
    free(input);
    assert_int_equal(rapahub_region_close(region), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_part_is_killed_and_no_byte_differs)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
