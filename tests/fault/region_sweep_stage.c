/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/fault/region_sweep_stage.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "hub/bus/region.h"

void region_sweep_stage_begin(struct region_sweep *stage)
{
    bool state = hub_state_shape_is_kind((uint32_t)stage->kind);
    bool sequencer = stage->kind == RAPAHUB_REGION_SEQUENCER;
    const struct rapahub_region_stage list[] = {{.on_death = stage->on_death},
                                                {.after = 1, .on_death = stage->on_death}};
    const struct rapahub_region_options options = {
        .kind = stage->kind,
        .profile = stage->profile,
        .cells = state || sequencer ? 0 : REGION_SWEEP_CELLS,
        .ring_size = sequencer ? REGION_SWEEP_CELLS : 0,
        .user_bytes = sequencer ? sizeof(uint64_t) : 0,
        .stages = sequencer ? 2 : 0,
        .stage_list = sequencer ? list : NULL,
        .value_bytes = state ? REGION_SWEEP_VALUE : 0,
        .leases = !stage->profile                                     ? 0
                  : sequencer || stage->kind == RAPAHUB_REGION_FANOUT ? 8
                                                                      : 4,
        .mode = stage->mode,
        .consumers = stage->kind == RAPAHUB_REGION_FANOUT ? 2 : 0,
        .producers = stage->kind == RAPAHUB_REGION_FANIN || stage->shared ? 2 : 0};

    if (rapahub_region_create(NULL, &options, &stage->survivor) < 0 ||
        rapahub_region_adopt(rapahub_region_fd(stage->survivor), NULL, &stage->victim) < 0)
        abort();
    madvise(stage->victim->mapping.data, stage->victim->mapping.size, MADV_DOFORK);
    madvise(stage->survivor->mapping.data, stage->survivor->mapping.size, MADV_DOFORK);
    stage->told =
        mmap(NULL, sizeof *stage->told, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    stage->gone = stage->pushed_b = false;
    stage->seen_a = stage->seen_b = 0;
    stage->skipped = 0;
    stage->producer = stage->victim_producer = NULL;
    stage->consumer = stage->victim_consumer = NULL;
}

/* The handle stays usable memory: the same file, mapped through the survivor's description. */
void region_sweep_stage_let_go(struct region_sweep *stage)
{
    struct hub_mapping *mapping = &stage->victim->mapping;

    if (stage->gone)
        return;
    stage->gone = true;
    if (mmap(mapping->data, mapping->size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
             stage->survivor->mapping.fd, 0) == MAP_FAILED ||
        dup3(stage->survivor->mapping.fd, mapping->fd, O_CLOEXEC) < 0)
        abort();
}

void region_sweep_stage_end(struct region_sweep *stage)
{
    region_sweep_stage_let_go(stage);
    rapahub_producer_close(stage->victim_producer);
    rapahub_consumer_close(stage->victim_consumer);
    rapahub_producer_close(stage->producer);
    rapahub_consumer_close(stage->consumer);
    if (rapahub_region_close(stage->victim) < 0 || rapahub_region_close(stage->survivor) < 0)
        abort();
    munmap(stage->told, sizeof *stage->told);
}

int region_sweep_stage_take_over(struct region_sweep *stage)
{
    int r = 0;

    if (!stage->producer)
        r = rapahub_producer_open(stage->survivor, NULL, &stage->producer);
    if (r == 0 && !stage->consumer)
        r = rapahub_consumer_open(stage->survivor, NULL, &stage->consumer);
    return r;
}

int region_sweep_stage_drain(struct region_sweep *stage, uint64_t timeout_ns)
{
    struct rapahub_message message;
    uint64_t number;
    int r;

    while ((r = rapahub_consumer_pop(stage->consumer, &number, sizeof number, timeout_ns,
                                     &message)) == 0) {
        stage->seen_a += number == REGION_SWEEP_A;
        stage->seen_b += number == REGION_SWEEP_B;
        stage->skipped += message.skipped;
        if (message.size != sizeof number || (number != REGION_SWEEP_A && number != REGION_SWEEP_B))
            return -EBADMSG; /* torn */
        if (number == REGION_SWEEP_B)
            timeout_ns = 0; /* nothing is waited for behind it */
    }
    return r;
}

int region_sweep_stage_use_all(struct region_sweep *stage, struct sweep_point *point)
{
    uint64_t number, extra = 9;

    for (uint64_t i = 0; i < 2 * REGION_SWEEP_CELLS; i++) {
        if (rapahub_producer_push(stage->producer, &i, sizeof i, 0) < 0)
            return sweep_fail(point, "message %u of two laps is refused", (unsigned)i);
        if (i % REGION_SWEEP_CELLS < REGION_SWEEP_CELLS - 1)
            continue;
        if (rapahub_producer_push(stage->producer, &extra, sizeof extra, 0) != RAPAHUB_EFULL)
            return sweep_fail(point, "the region holds more than its cells");
        for (uint64_t j = i - (REGION_SWEEP_CELLS - 1); j <= i; j++)
            if (rapahub_consumer_pop(stage->consumer, &number, sizeof number, 0, NULL) < 0 ||
                number != j)
                return sweep_fail(point, "message %u of two laps does not come", (unsigned)j);
    }
    return rapahub_consumer_pop(stage->consumer, &number, sizeof number, 0, NULL) == RAPAHUB_EEMPTY
               ? 0
               : sweep_fail(point, "the region is not empty after two laps");
}
