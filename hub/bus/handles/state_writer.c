/* SPDX-License-Identifier: Apache-2.0 */
/* state_writer: the public handle of the one who writes a state. r[impl region.state.writer] */
#include "hub/bus/handles/state_writer.h"

#include <stdlib.h>

#include "hub/bus/role.h"

struct rapahub_writer {
    struct hub_role role;
    struct hub_state_view state;
    struct hub_sleep changed;
};

int hub_state_writer_resume(struct rapahub_writer *writer, struct rapahub_region *region)
{
    int r = hub_role_take(region, HUB_LEASE_WRITER, 0, &writer->role);

    if (r < 0) {
        *writer = (struct rapahub_writer){.role = {.region = NULL}};
        return r;
    }
    writer->state = region->state;
    writer->changed = hub_region_state_changed(region);
    return 0;
}

int rapahub_writer_open(struct rapahub_region *region, struct rapahub_writer **out)
{
    struct rapahub_writer *writer = calloc(1, sizeof *writer);
    int r;

    if (!writer)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a writer");
    r = hub_state_writer_resume(writer, region);
    if (r < 0) {
        free(writer);
        return r;
    }
    *out = writer;
    return 0;
}

int rapahub_writer_write(struct rapahub_writer *writer, const void *data, size_t size)
{
    int r = writer->role.region ? hub_state_view_write(&writer->state, data, size)
                                : hub_role_refuse_let_go("writer");

    if (r == 0)
        hub_sleep_wake(&writer->changed);
    return r;
}

void hub_state_writer_let_go(struct rapahub_writer *writer)
{
    if (!writer || !writer->role.region)
        return;
    hub_role_drop(&writer->role);
    *writer = (struct rapahub_writer){.role = {.region = NULL}};
}

void rapahub_writer_close(struct rapahub_writer *writer)
{
    hub_state_writer_let_go(writer);
    free(writer);
}
