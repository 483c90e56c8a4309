/* SPDX-License-Identifier: Apache-2.0 */
/* state_stage: regions of kind STATE_V1 and STATE_LATCH for tests. */
#ifndef TESTS_UNIT_BUS_STATE_STAGE_H
#define TESTS_UNIT_BUS_STATE_STAGE_H

#include "tests/unit/bus/region_stage.h"

#define STATE_BYTES 256

static const enum rapahub_region_kind state_kinds[] = {RAPAHUB_REGION_STATE_V1,
                                                       RAPAHUB_REGION_STATE_LATCH};

static inline struct rapahub_region *state_stage_create(const char *name,
                                                        enum rapahub_region_kind kind,
                                                        enum rapahub_region_profile profile)
{
    const struct rapahub_region_options options = {
        .kind = kind, .profile = profile, .value_bytes = STATE_BYTES};
    struct rapahub_region *region = NULL;

    assert_int_equal(rapahub_region_create(name, &options, &region), 0);
    return region;
}

static inline struct rapahub_writer *state_stage_writer(struct rapahub_region *region)
{
    struct rapahub_writer *writer = NULL;

    assert_int_equal(rapahub_writer_open(region, &writer), 0);
    return writer;
}

static inline struct rapahub_reader *state_stage_reader(struct rapahub_region *region)
{
    struct rapahub_reader *reader = NULL;

    assert_int_equal(rapahub_reader_open(region, &reader), 0);
    return reader;
}

static inline void state_stage_write(struct rapahub_writer *writer, uint64_t number)
{
    assert_int_equal(rapahub_writer_write(writer, &number, sizeof number), 0);
}

/* The last value is this one, of this version. */
static inline void state_stage_read(struct rapahub_reader *reader, uint64_t number,
                                    uint64_t version)
{
    uint64_t got = 0, at = 0;
    size_t size = 0;

    assert_int_equal(rapahub_reader_read(reader, &got, sizeof got, &size, &at), 0);
    assert_int_equal(size, sizeof got);
    assert_int_equal(got, number);
    assert_int_equal(at, version);
}

/* A writer gets as far as half of a version, as one does that dies there. */
static inline void state_stage_begin_version(struct rapahub_region *region)
{
    struct rapahub_writer *writer;
    struct hub_state_view *state = &region->state;

    if (rapahub_writer_open(region, &writer) < 0)
        _exit(2);
    if (state->latch) {
        uint64_t latest = hub_observe64(&state->of_latch.body->latest);
        uint32_t next = ((uint32_t)(latest & 0xFF) + 1) % state->of_latch.count;
        struct hub_region_buffer *buffer =
            (void *)(state->of_latch.buffers + (size_t)next * state->of_latch.stride);

        hub_publish64(&buffer->seq, 2 * ((latest >> 8) + 1) - 1);
        memset(buffer + 1, 0x55, STATE_BYTES / 2);
    } else {
        hub_publish64(&state->of_parity.body->seq, hub_observe64(&state->of_parity.body->seq) | 1);
        memset(state->of_parity.value, 0x55, STATE_BYTES / 2);
    }
}

#endif
