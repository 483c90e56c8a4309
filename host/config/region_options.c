/* SPDX-License-Identifier: Apache-2.0 */
#include "host/config/region_options.h"

#include <stdlib.h>
#include <string.h>

#include <rapahub/roles.h>

#define CELLS 1024
#define BYTES 1024 /* a cell, a value, or a position */

static uint32_t or_default(uint32_t given, uint32_t fallback)
{
    return given ? given : fallback;
}

/* A region has cells, a value, or positions. */
void config_region_options_complete(struct rapahub_region_options *options)
{
    switch (options->kind) {
    case RAPAHUB_REGION_STATE_V1:
    case RAPAHUB_REGION_STATE_LATCH:
        options->value_bytes = or_default(options->value_bytes, BYTES);
        return;
    case RAPAHUB_REGION_SEQUENCER:
        options->ring_size = or_default(options->ring_size, CELLS);
        options->user_bytes = or_default(options->user_bytes, BYTES);
        return;
    default:
        options->cells = or_default(options->cells, CELLS);
        options->cell_bytes = or_default(options->cell_bytes, BYTES);
    }
}

static bool read_index(const char **at, uint32_t *out)
{
    char *end;
    unsigned long index;

    if (**at < '0' || **at > '9')
        return false;
    index = strtoul(*at, &end, 10);
    *at = end;
    *out = (uint32_t)index;
    return index < CONFIG_REGION_STAGES;
}

/* "3:1+2" */
static bool read_one(const char **at, struct rapahub_region_stage list[CONFIG_REGION_STAGES])
{
    uint32_t stage, other;

    if (!read_index(at, &stage) || **at != ':')
        return false;
    do {
        ++*at;
        if (!read_index(at, &other))
            return false;
        list[stage].after |= UINT64_C(1) << other;
    } while (**at == '+');
    return true;
}

bool config_region_options_after(const char *text,
                                 struct rapahub_region_stage list[CONFIG_REGION_STAGES])
{
    const char *at = text;

    while (read_one(&at, list)) {
        if (*at == '\0')
            return true;
        if (*at++ != ',')
            break;
    }
    return false;
}

uint32_t config_region_options_beyond(const struct rapahub_region_stage list[CONFIG_REGION_STAGES],
                                      uint32_t count)
{
    uint32_t stage = count;

    while (stage < CONFIG_REGION_STAGES && list[stage].after == 0)
        stage++;
    return stage < CONFIG_REGION_STAGES ? stage : CONFIG_REGION_STAGES;
}

bool config_region_options_index(const char *text, uint32_t *out)
{
    char *end;
    unsigned long index = strtoul(text, &end, 10);

    *out = RAPAHUB_ROLE_ANY;
    if (strcmp(text, "any") == 0)
        return true;
    *out = (uint32_t)index;
    return *text >= '0' && *text <= '9' && *end == '\0' && index < RAPAHUB_ROLE_ANY;
}

bool config_region_options_mode(const char *text, uint32_t *out)
{
    char *end;
    unsigned long mode = strtoul(text, &end, 8);

    *out = (uint32_t)mode;
    return *text >= '0' && *text <= '7' && *end == '\0' && mode <= 0660;
}
