/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/bus/sequencer/sequencer_shape.h"

#include <inttypes.h>
#include <string.h>

#define RING_SIZE 1024
#define STAGES    1
#define FREEZE    UINT64_C(1000000000)
#define USER_UNIT 8

static int refuse(const char *what, uint64_t given, const char *allowed)
{
    return rapahub_fail(RAPAHUB_EINVAL, "region.sequencer.shape", "%s may not be %" PRIu64 ": %s",
                        what, given, allowed);
}

static uint64_t align(uint64_t offset)
{
    return (offset + HUB_SEQUENCER_ALIGN - 1) & ~(HUB_SEQUENCER_ALIGN - 1);
}

static uint64_t all_of(uint32_t stage_count)
{
    return stage_count == HUB_SEQUENCER_STAGES_MAX ? UINT64_MAX : (UINT64_C(1) << stage_count) - 1;
}

/* Takes away, again and again, the stages that follow none of the rest. The others follow
 * themselves. */
static uint64_t circle_of(const struct hub_sequencer_shape *s)
{
    uint64_t left = all_of(s->stage_count), before;

    do {
        before = left;
        for (uint32_t i = 0; i < s->stage_count; i++)
            if ((s->stages[i].after & left) == 0)
                left &= ~(UINT64_C(1) << i);
    } while (left != before);
    return left;
}

static bool stages_hold(const struct hub_sequencer_shape *s)
{
    for (uint32_t i = 0; i < s->stage_count; i++)
        if ((s->stages[i].after & ~all_of(s->stage_count)) != 0 ||
            s->stages[i].on_death > HUB_STAGE_EVICT)
            return false;
    return circle_of(s) == 0;
}

static bool numbers_hold(const struct hub_sequencer_shape *s)
{
    return s->ring_size >= HUB_SEQUENCER_RING_MIN && s->ring_size <= HUB_SEQUENCER_RING_MAX &&
           (s->ring_size & (s->ring_size - 1)) == 0 && s->stage_count >= 1 &&
           s->stage_count <= HUB_SEQUENCER_STAGES_MAX && s->user_bytes % USER_UNIT == 0 &&
           s->user_bytes <= HUB_SEQUENCER_USER_MAX;
}

static int check_numbers(const struct hub_sequencer_shape *s)
{
    if (s->stage_count > HUB_SEQUENCER_STAGES_MAX)
        return refuse("the number of stages", s->stage_count, "at most 64");
    if (s->user_bytes % USER_UNIT != 0 || s->user_bytes > HUB_SEQUENCER_USER_MAX)
        return refuse("the user bytes of a position", s->user_bytes,
                      "at most 2^24, a multiple of 8");
    return numbers_hold(s) ? 0
                           : refuse("the size of the ring", s->ring_size,
                                    "2 to 2^24 positions, a power of two");
}

static int check_stage(const struct rapahub_region_options *options,
                       const struct hub_sequencer_shape *s, uint32_t index)
{
    const struct hub_sequencer_stage *stage = &s->stages[index];

    if ((stage->after & ~all_of(s->stage_count)) != 0)
        return rapahub_fail(RAPAHUB_EINVAL, "region.stage.after",
                            "stage %" PRIu32
                            " follows a stage that there is not: there are %" PRIu32,
                            index, s->stage_count);
    if (stage->on_death > HUB_STAGE_EVICT)
        return refuse("what happens on the death of a stage", stage->on_death,
                      "HOLD, FREEZE or EVICT");
    return options->profile == RAPAHUB_REGION_HARDENED || stage->on_death == HUB_STAGE_HOLD
               ? 0
               : rapahub_fail(RAPAHUB_EINVAL, "region.stage.dead",
                              "stage %" PRIu32
                              " cannot be frozen or evicted on its death: only the "
                              "hardened profile has the leases that this needs",
                              index);
}

/* r[impl region.stage.after] */
static int check_stages(const struct rapahub_region_options *options,
                        const struct hub_sequencer_shape *s)
{
    uint64_t circle;
    int r = 0;

    for (uint32_t i = 0; i < s->stage_count && r == 0; i++)
        r = check_stage(options, s, i);
    circle = r == 0 ? circle_of(s) : 0;
    return circle == 0 ? r
                       : rapahub_fail(RAPAHUB_EINVAL, "region.stage.after",
                                      "stage %d follows itself, by way of others or at once: let "
                                      "stages follow only stages that do not wait for them",
                                      __builtin_ctzll(circle));
}

static void take_stages(const struct rapahub_region_options *options,
                        struct hub_sequencer_shape *out)
{
    for (uint32_t i = 0; i < out->stage_count && options->stage_list; i++) {
        const struct rapahub_region_stage *from = &options->stage_list[i];
        bool freezes = from->on_death == RAPAHUB_STAGE_FREEZE;

        out->stages[i] =
            (struct hub_sequencer_stage){.after = from->after,
                                         .on_death = (uint32_t)from->on_death,
                                         .freeze_ns = !freezes          ? 0
                                                      : from->freeze_ns ? from->freeze_ns
                                                                        : FREEZE};
    }
}

int hub_sequencer_shape_make(const struct rapahub_region_options *options,
                             struct hub_sequencer_shape *out)
{
    int r;

    memset(out, 0, sizeof *out);
    out->ring_size = options->ring_size ? options->ring_size : RING_SIZE;
    out->stage_count = options->stages ? options->stages : STAGES;
    out->user_bytes = options->user_bytes;
    out->avail_off = options->producers > 1; /* until its place is known */
    if (options->cells != 0 || options->cell_bytes != 0 || options->head_batch != 0)
        return rapahub_fail(RAPAHUB_EINVAL, "region.sequencer.shape",
                            "a sequencer has no cells: give `ring_size` and `user_bytes`");
    r = check_numbers(out);
    if (r < 0)
        return r;
    take_stages(options, out);
    return check_stages(options, out);
}

int hub_sequencer_shape_refuse(const struct rapahub_region_options *options)
{
    return (options->ring_size | options->stages | options->user_bytes) == 0 && !options->stage_list
               ? 0
               : rapahub_fail(RAPAHUB_EINVAL, "",
                              "the size of the ring, stages and user bytes are options of regions "
                              "of kind SEQUENCER");
}

uint64_t hub_sequencer_shape_place(uint32_t body_off, struct hub_sequencer_shape *s)
{
    uint64_t end = (uint64_t)body_off + sizeof(struct hub_region_sequencer);

    s->gates_off = (uint32_t)end;
    end += (uint64_t)s->stage_count * sizeof(struct hub_region_stage_gate);
    if (s->avail_off) {
        s->avail_off = (uint32_t)end;
        end = align(end + (uint64_t)s->ring_size * sizeof(struct hub_a64));
    }
    s->user_off = s->user_bytes ? (uint32_t)end : 0;
    return end + (uint64_t)s->ring_size * s->user_bytes;
}

/* The parts have their places by their numbers alone; so only those are allowed. */
static bool places_hold(uint32_t body_off, uint64_t layout_bytes,
                        const struct hub_sequencer_shape *s)
{
    struct hub_sequencer_shape placed = *s;

    return hub_sequencer_shape_place(body_off, &placed) <= layout_bytes &&
           placed.gates_off == s->gates_off && placed.avail_off == s->avail_off &&
           placed.user_off == s->user_off;
}

static struct hub_sequencer_stage read_stage(const uint8_t *data, uint64_t at)
{
    union {
        struct hub_region_stage_gate gate;
        uint64_t words[sizeof(struct hub_region_stage_gate) / 8];
    } copy;

    hub_copy_in(copy.words, (const void *)(data + at), sizeof copy.words / sizeof *copy.words);
    return (struct hub_sequencer_stage){
        .after = copy.gate.after, .freeze_ns = copy.gate.freeze_ns, .on_death = copy.gate.on_death};
}

bool hub_sequencer_shape_read(const uint8_t *data, uint32_t body_off, uint64_t layout_bytes,
                              struct hub_sequencer_shape *out)
{
    union {
        struct hub_region_sequencer body;
        uint64_t words[sizeof(struct hub_region_sequencer) / 8];
    } copy;

    memset(out, 0, sizeof *out);
    hub_copy_in(copy.words, (const void *)(data + body_off),
                sizeof copy.words / sizeof *copy.words);
    out->ring_size = copy.body.ring_size;
    out->stage_count = copy.body.gate_count;
    out->gates_off = copy.body.gates_off;
    out->avail_off = copy.body.avail_off;
    out->user_off = copy.body.user_off;
    out->user_bytes = copy.body.user_bytes;
    if (!numbers_hold(out) || !places_hold(body_off, layout_bytes, out))
        return false;
    for (uint32_t i = 0; i < out->stage_count; i++)
        out->stages[i] =
            read_stage(data, out->gates_off + (uint64_t)i * sizeof(struct hub_region_stage_gate));
    return stages_hold(out);
}
