/* SPDX-License-Identifier: Apache-2.0 */
/* state_reader: the public handle of one who reads a state. It has no lease and no lock of its own,
 * and repairs nothing: a reader that dies, or is stopped, is in the way of no other. */
#include "hub/bus/handles/state_reader.h"

#include <stdlib.h>

#include "hub/base/clock.h"
#include "hub/bus/bus_wait.h"
#include "hub/bus/role.h"

struct rapahub_reader {
    struct rapahub_region *region;
    struct hub_sleep changed;
    uint64_t than; /* the version that a wait is to be later than */
    uint64_t told; /* the owner of the lease whose death was told */
    bool seen;     /* in a region without leases: there was a writer at the last look */
    bool spins;
};

int hub_state_reader_resume(struct rapahub_reader *reader, struct rapahub_region *region)
{
    int r = hub_region_current(region);

    if (!hub_region_shape_is_state(&region->shape))
        return rapahub_fail(RAPAHUB_EBADKIND, "region.kind",
                            "the region has messages, and no value: it is no state");
    if (r < 0)
        return r;
    reader->region = region;
    reader->changed = hub_region_state_changed(region);
    reader->spins = true;
    hub_region_handle_opened(region);
    return 0;
}

int rapahub_reader_open(struct rapahub_region *region, struct rapahub_reader **out)
{
    struct rapahub_reader *reader = calloc(1, sizeof *reader);
    int r;

    if (!reader)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a reader");
    r = hub_state_reader_resume(reader, region);
    if (r < 0) {
        free(reader);
        return r;
    }
    *out = reader;
    return 0;
}

/* The owner of the lease that the writer has, or had when it died; 0: none. */
static uint64_t owner_of(const struct rapahub_region *region)
{
    uint32_t lease = hub_observe(region->state.writer_lease);

    return lease == 0 || lease > region->shape.lease_count
               ? 0
               : hub_observe64(&hub_region_lease_at(region, lease - 1)->owner);
}

/* A writer that closes names its lease no more before it lets go of its lock. So a lock that is
 * free under the same owner, before and after the look at it, is that of a dead one; it stays named
 * until the next writer comes, and is told once. Without leases a writer that lets go is as good as
 * dead. r[impl region.state.wait] */
static bool writer_died(struct rapahub_reader *reader)
{
    struct rapahub_region *region = reader->region;
    uint64_t owner = owner_of(region);
    bool held = hub_role_is_held(region, HUB_LEASE_WRITER, 0), seen = reader->seen;

    if (region->shape.lease_count == 0) {
        reader->seen = held;
        return seen && !held;
    }
    if (held || owner == 0 || owner == reader->told || owner_of(region) != owner)
        return false;
    reader->told = owner;
    return true;
}

static bool is_later(const void *user)
{
    const struct rapahub_reader *reader = user;

    return hub_state_view_version(&reader->region->state) > reader->than;
}

static int look_at_writer(void *user)
{
    return writer_died(user) ? rapahub_fail(RAPAHUB_EPEERDEAD, "region.peer.dead",
                                            "the writer of the state is dead")
                             : 0;
}

/* r[impl region.state.reader] */
int rapahub_reader_read(struct rapahub_reader *reader, void *to, size_t size, size_t *out_size,
                        uint64_t *version)
{
    struct rapahub_region *region = reader->region;
    size_t got = 0;
    uint64_t at = 0;
    int r = region ? hub_region_await_open(region, 0) : hub_role_refuse_let_go("reader");

    if (r == 0)
        r = hub_state_view_read(&region->state, to, size, &got, &at);
    if (r == RAPAHUB_EWRITERBUSY && hub_state_view_is_odd(&region->state) &&
        !hub_role_is_held(region, HUB_LEASE_WRITER, 0))
        return rapahub_fail(RAPAHUB_EPEERDEAD, "region.state.reader",
                            "the writer died while it wrote: there is no value until another one "
                            "has written");
    if (out_size && (r == 0 || r == RAPAHUB_EMSGSIZE))
        *out_size = got;
    if (version && (r == 0 || r == RAPAHUB_EMSGSIZE))
        *version = at;
    return r;
}

int rapahub_reader_wait(struct rapahub_reader *reader, uint64_t version, uint64_t timeout_ns)
{
    const struct hub_bus_wait wait = {.region = reader->region,
                                      .sleep = &reader->changed,
                                      .ready = is_later,
                                      .look = look_at_writer,
                                      .user = reader,
                                      .spins = &reader->spins};
    uint64_t deadline = hub_clock_after(timeout_ns);
    int r = reader->region ? hub_region_await_open(reader->region, deadline)
                           : hub_role_refuse_let_go("reader");

    reader->than = version;
    if (r < 0)
        return r;
    if (timeout_ns == 0)
        return is_later(reader) ? 0 : RAPAHUB_ETIMEDOUT;
    return hub_bus_wait_until(&wait, deadline);
}

void hub_state_reader_let_go(struct rapahub_reader *reader)
{
    if (!reader || !reader->region)
        return;
    hub_region_handle_closed(reader->region);
    *reader = (struct rapahub_reader){.region = NULL};
}

void rapahub_reader_close(struct rapahub_reader *reader)
{
    hub_state_reader_let_go(reader);
    free(reader);
}
