/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/bus/region_shape.h"

#include <inttypes.h>
#include <string.h>

#define CELL_BYTES 64
#define CELLS      1024
#define LEASES     64
#define HEAD_BATCH 32
#define PRODUCERS  1
#define PART_ALIGN UINT64_C(128)
#define PARTS      8

struct part {
    uint64_t at, size;
};

static bool is_power_of_two(uint32_t n)
{
    return n != 0 && (n & (n - 1)) == 0;
}

static uint32_t or_default(uint32_t given, uint32_t fallback)
{
    return given ? given : fallback;
}

static int refuse(const char *what, uint32_t given, const char *allowed)
{
    return rapahub_fail(RAPAHUB_EINVAL, "", "%s may not be %" PRIu32 ": %s", what, given, allowed);
}

static bool is_zero(const uint64_t *words, size_t count)
{
    uint64_t all = 0;

    for (size_t i = 0; i < count; i++)
        all |= words[i];
    return all == 0;
}

static int check_cells(const struct rapahub_region_options *o, const struct hub_region_shape *shape)
{
    if (shape->cell_bytes < HUB_REGION_CELL_MIN || shape->cell_bytes > HUB_REGION_CELL_MAX ||
        shape->cell_bytes % HUB_REGION_CELL_MIN != 0)
        return refuse("the bytes of a cell", o->cell_bytes, "64 to 65,536, a multiple of 64");
    if (shape->cell_count < 2 || shape->cell_count > HUB_REGION_CELLS_MAX ||
        !is_power_of_two(shape->cell_count))
        return refuse("the number of cells", o->cells, "2 to 2^24, a power of two");
    return shape->head_batch <= HUB_REGION_BATCH_MAX
               ? 0
               : refuse("the batch of a head", o->head_batch, "at most 256");
}

static int check_options(const struct rapahub_region_options *o,
                         const struct hub_region_shape *shape)
{
    int r;

    if (!hub_region_shape_is_kind((uint32_t)o->kind))
        return refuse("the kind of a region", (uint32_t)o->kind,
                      "give one, SPSC, MPSC, FANOUT, FANIN, SEQUENCER, STATE_V1 or STATE_LATCH");
    if (o->profile != RAPAHUB_REGION_V1 && o->profile != RAPAHUB_REGION_HARDENED)
        return refuse("the profile of a region", (uint32_t)o->profile, "V1 or HARDENED");
    r = hub_region_shape_has_cells(shape) ? check_cells(o, shape) : 0;
    if (r < 0)
        return r;
    if (o->leases > HUB_REGION_LEASES_MAX)
        return refuse("the number of leases", o->leases, "at most 1,024");
    if (o->file_mode & ~UINT32_C(0660))
        return refuse("the mode of a file", o->file_mode, "at most 0660");
    return is_zero(o->reserved, sizeof o->reserved / sizeof *o->reserved)
               ? 0
               : rapahub_fail(RAPAHUB_EINVAL, "", "reserved options of a region must be 0");
}

static int set_producers(const struct rapahub_region_options *options,
                         struct hub_region_shape *shape)
{
    bool fanin = shape->kind == HUB_REGION_FANIN;

    if (!fanin && !hub_region_shape_is_sequencer(shape))
        return options->producers == 0 ? 0
                                       : rapahub_fail(RAPAHUB_EINVAL, "",
                                                      "the number of producers is an option of "
                                                      "regions of kind FANIN and SEQUENCER");
    if (fanin)
        shape->producers = or_default(options->producers, PRODUCERS);
    return options->producers <= HUB_REGION_RINGS_MAX
               ? 0
               : refuse("the number of producers", options->producers, "at most 255");
}

/* Each producer of FANIN has a lease, and the consumer. */
static uint32_t default_leases(const struct hub_region_shape *shape)
{
    return shape->producers < LEASES ? LEASES : shape->producers + 1;
}

/* r[impl region.profile] */
static void set_caps(const struct rapahub_region_options *options, bool light_wakes,
                     struct hub_region_shape *shape)
{
    if (shape->kind == HUB_REGION_STATE_LATCH)
        shape->caps_required = HUB_CAP_LATCH;
    if (options->profile == RAPAHUB_REGION_V1) {
        shape->caps_optional = HUB_CAP_WAKE_FUTEX;
        if (options->credit_max > 0)
            shape->caps_optional |= HUB_CAP_CREDITS;
        return;
    }
    shape->caps_required |=
        HUB_CAP_LEASES | HUB_CAP_POISON | HUB_CAP_BATCH_CLAIM | HUB_CAP_WAKE_FUTEX;
    if (light_wakes)
        shape->caps_required |= HUB_CAP_WAKE_ASYM;
    if (shape->kind == HUB_REGION_FANOUT)
        shape->caps_required |= HUB_CAP_CREDITS | HUB_CAP_IDEMPOTENT;
    shape->lease_count = or_default(options->leases, default_leases(shape));
}

static uint64_t align(uint64_t offset)
{
    return (offset + PART_ALIGN - 1) & ~(PART_ALIGN - 1);
}

static uint64_t ring_bytes(const struct hub_region_shape *shape)
{
    return hub_cell_ring_bytes(shape->cell_count, shape->cell_bytes);
}

/* Places the body after the leases. */
static void place(struct hub_region_shape *shape)
{
    struct hub_fanout_shape *fanout = &shape->fanout;
    uint64_t cells = (uint64_t)shape->cell_count * shape->cell_bytes, end;

    shape->lease_off = HUB_REGION_HEADER_BYTES;
    end = shape->lease_off + (uint64_t)shape->lease_count * sizeof(struct hub_region_lease);
    shape->body_off = (uint32_t)align(end);
    if (hub_region_shape_is_state(shape)) {
        hub_state_shape_place(shape->body_off, &shape->state);
        shape->layout_bytes = shape->body_off + hub_state_shape_bytes(&shape->state);
        return;
    }
    if (hub_region_shape_is_sequencer(shape)) {
        shape->layout_bytes = hub_sequencer_shape_place(shape->body_off, &shape->sequencer);
        return;
    }
    shape->ring_off = shape->body_off;
    if (shape->kind == HUB_REGION_FANOUT) {
        fanout->consumers_off = shape->body_off + (uint32_t)sizeof(struct hub_region_fanout);
        shape->ring_off = fanout->consumers_off +
                          fanout->consumers * (uint32_t)sizeof(struct hub_region_consumer);
    }
    if (shape->kind == HUB_REGION_FANIN)
        shape->ring_off = shape->body_off + (uint32_t)sizeof(struct hub_region_fanin);
    shape->cells_off = (uint32_t)align(shape->ring_off + sizeof(struct hub_region_ring));
    shape->layout_bytes = shape->cells_off + cells;
    if (shape->kind == HUB_REGION_FANIN)
        shape->layout_bytes += (shape->producers - 1) * ring_bytes(shape);
    if (shape->kind != HUB_REGION_FANOUT)
        return;
    end = align(shape->layout_bytes);
    fanout->queues_off = (uint32_t)end;
    shape->layout_bytes = end + fanout->consumers * ring_bytes(shape);
}

/* Sets what only some kinds have. */
static int set_kind(const struct rapahub_region_options *options, struct hub_region_shape *out)
{
    int r = out->kind == HUB_REGION_FANOUT
                ? hub_fanout_shape_make(options, out->cell_count, &out->fanout)
                : hub_fanout_shape_refuse(options);

    if (r == 0)
        r = set_producers(options, out);
    if (r == 0)
        r = hub_region_shape_is_state(out) ? hub_state_shape_make(options, &out->state)
                                           : hub_state_shape_refuse(options);
    if (r == 0)
        r = hub_region_shape_is_sequencer(out) ? hub_sequencer_shape_make(options, &out->sequencer)
                                               : hub_sequencer_shape_refuse(options);
    return r;
}

int hub_region_shape_make(const struct rapahub_region_options *options, bool light_wakes,
                          struct hub_region_shape *out)
{
    int r;

    memset(out, 0, sizeof *out);
    out->kind = (enum hub_region_kind)options->kind;
    if (hub_region_shape_has_cells(out)) {
        out->cell_bytes = or_default(options->cell_bytes, CELL_BYTES);
        out->cell_count = or_default(options->cells, CELLS);
        out->head_batch = or_default(options->head_batch, HEAD_BATCH);
    }
    r = check_options(options, out);
    if (r == 0)
        r = set_kind(options, out);
    if (r < 0)
        return r;
    set_caps(options, light_wakes, out);
    place(out);
    return out->layout_bytes < HUB_REGION_SIZE_MAX
               ? 0
               : rapahub_fail(RAPAHUB_EINVAL, "",
                              "the region would have %" PRIu64 " bytes: it has less than 4 GiB",
                              out->layout_bytes);
}

static bool is_apart(const struct part *parts, uint64_t total)
{
    for (size_t i = 0; i < PARTS; i++) {
        if (parts[i].at > total || parts[i].size > total - parts[i].at)
            return false;
        for (size_t j = 0; j < i; j++)
            if (parts[i].size > 0 && parts[j].size > 0 &&
                parts[i].at < parts[j].at + parts[j].size &&
                parts[j].at < parts[i].at + parts[i].size)
                return false;
    }
    return true;
}

static bool leases_hold(const struct hub_region_shape *s)
{
    bool leases = (s->caps_required & HUB_CAP_LEASES) != 0;

    return s->lease_count <= HUB_REGION_LEASES_MAX && leases == (s->lease_count > 0);
}

static bool numbers_hold(const struct hub_region_shape *s)
{
    return s->cell_bytes >= HUB_REGION_CELL_MIN && s->cell_bytes <= HUB_REGION_CELL_MAX &&
           s->cell_bytes % HUB_REGION_CELL_MIN == 0 && s->cell_count >= 2 &&
           s->cell_count <= HUB_REGION_CELLS_MAX && is_power_of_two(s->cell_count) &&
           leases_hold(s) && s->head_batch >= 1 && s->head_batch <= HUB_REGION_BATCH_MAX;
}

static uint64_t body_bytes(const struct hub_region_shape *s)
{
    return s->kind == HUB_REGION_FANOUT  ? sizeof(struct hub_region_fanout)
           : s->kind == HUB_REGION_FANIN ? sizeof(struct hub_region_fanin)
                                         : 0;
}

/* The kinds differ by what their bodies have. */
static bool kind_holds(const struct hub_region_shape *s)
{
    if ((s->fanout.consumers > 0) != (s->kind == HUB_REGION_FANOUT) ||
        (s->producers > 0) != (s->kind == HUB_REGION_FANIN) || s->producers > HUB_REGION_RINGS_MAX)
        return false;
    if (s->kind == HUB_REGION_FANIN)
        return s->cells_off == (uint64_t)s->ring_off + sizeof(struct hub_region_ring);
    return s->kind == HUB_REGION_FANOUT || s->ring_off == s->body_off;
}

static bool rings_hold(const struct hub_region_shape *s)
{
    const struct hub_fanout_shape *f = &s->fanout;
    uint64_t others = s->producers > 0 ? s->producers - 1 : 0;
    const struct part parts[PARTS] = {
        {0, HUB_REGION_HEADER_BYTES},
        {s->lease_off, (uint64_t)s->lease_count * sizeof(struct hub_region_lease)},
        {s->ring_off, sizeof(struct hub_region_ring)},
        {s->cells_off, (uint64_t)s->cell_count * s->cell_bytes},
        {s->body_off, body_bytes(s)},
        {f->consumers_off, (uint64_t)f->consumers * sizeof(struct hub_region_consumer)},
        {f->queues_off, f->consumers * ring_bytes(s)},
        {s->ring_off + ring_bytes(s), others * ring_bytes(s)}};

    return numbers_hold(s) && kind_holds(s) && s->lease_off % PART_ALIGN == 0 &&
           s->body_off % PART_ALIGN == 0 && s->ring_off % PART_ALIGN == 0 &&
           s->cells_off % HUB_REGION_CELL_MIN == 0 && f->consumers_off % PART_ALIGN == 0 &&
           f->queues_off % PART_ALIGN == 0 && is_apart(parts, s->layout_bytes);
}

/* The body of a region without cells, and all that belongs to it. */
static uint64_t whole_body(const struct hub_region_shape *s)
{
    struct hub_sequencer_shape placed = s->sequencer;

    return hub_region_shape_is_state(s)
               ? hub_state_shape_bytes(&s->state)
               : hub_sequencer_shape_place(s->body_off, &placed) - s->body_off;
}

/* The numbers of the body are checked where they are read. */
static bool without_cells_holds(const struct hub_region_shape *s)
{
    const struct part parts[PARTS] = {
        {0, HUB_REGION_HEADER_BYTES},
        {s->lease_off, (uint64_t)s->lease_count * sizeof(struct hub_region_lease)},
        {s->body_off, whole_body(s)}};

    return s->cell_bytes == 0 && s->cell_count == 0 && leases_hold(s) &&
           s->lease_off % PART_ALIGN == 0 && s->body_off % PART_ALIGN == 0 &&
           is_apart(parts, s->layout_bytes);
}

static uint32_t places_of_producers(const struct hub_region_shape *shape, bool *shared)
{
    *shared = hub_region_shape_claims(shape);
    return shape->kind == HUB_REGION_FANIN ? shape->producers : 1;
}

uint32_t hub_region_shape_places(const struct hub_region_shape *shape,
                                 enum rapahub_region_role role, bool *shared)
{
    *shared = role == RAPAHUB_REGION_ROLE_READER;
    if (hub_region_shape_is_state(shape))
        return role == RAPAHUB_REGION_ROLE_READER || role == RAPAHUB_REGION_ROLE_WRITER;
    if (role == RAPAHUB_REGION_ROLE_PRODUCER)
        return places_of_producers(shape, shared);
    if (role != RAPAHUB_REGION_ROLE_CONSUMER)
        return 0;
    if (shape->kind == HUB_REGION_SEQUENCER) /* its stages are opened otherwise */
        return 0;
    return shape->kind == HUB_REGION_FANOUT ? shape->fanout.consumers : 1;
}

bool hub_region_shape_holds(const struct hub_region_shape *s)
{
    return hub_region_shape_has_cells(s) ? rings_hold(s) : without_cells_holds(s);
}
