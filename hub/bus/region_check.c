/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/bus/region_check.h"

#include <inttypes.h>
#include <string.h>

#include "hub/base/crc32c.h"

#define KIND(flags) ((flags)&UINT32_C(0xFF))

/* A private copy of what is there, zero where the file ends before. */
struct copy {
    union {
        struct hub_region_header header;
        uint64_t words[HUB_REGION_HEADER_BYTES / 8];
    };
    size_t length; /* the whole file */
};

static void copy_header(struct copy *copy, const void *data, size_t length)
{
    const struct hub_region_header *header = data;
    size_t bytes = length < HUB_REGION_HEADER_BYTES ? length : HUB_REGION_HEADER_BYTES;
    uint32_t initialized = length < HUB_REGION_FROZEN ? 0 : hub_observe(&header->initialized);

    memset(copy, 0, sizeof *copy);
    copy->length = length;
    hub_copy_in(copy->words, data, bytes / 8);
    copy->header.initialized.word = initialized; /* it is written last, so it is read first */
}

uint32_t hub_region_check_sum(const struct hub_region_header *header)
{
    const uint8_t *bytes = (const uint8_t *)header;
    uint32_t sum = hub_crc32c(0, bytes, 56);

    sum = hub_crc32c(sum, bytes + 68, 12);
    return hub_crc32c(sum, bytes + 104, 20);
}

/* The first 64 bytes are the same in every version. */
static int check_frozen(const struct copy *copy)
{
    const struct hub_region_header *h = &copy->header;

    if (copy->length < HUB_REGION_FROZEN)
        return rapahub_fail(RAPAHUB_ETRUNCATED, "region.order", "it has %zu bytes, at least %d",
                            copy->length, HUB_REGION_FROZEN);
    if (h->magic.word == 0)
        return rapahub_fail(RAPAHUB_ENOTINITIALIZED, "region.order", "it has no magic yet");
    if (h->magic.word != HUB_REGION_MAGIC)
        return rapahub_fail(RAPAHUB_EBADMAGIC, "region.order",
                            "it begins with %016" PRIx64 ", which is no region", h->magic.word);
    if (h->byte_order != HUB_REGION_BYTE_ORDER)
        return rapahub_fail(RAPAHUB_EBADENDIAN, "region.order", "its byte order is %08" PRIx32,
                            h->byte_order);
    if (h->flags == 0)
        return rapahub_fail(RAPAHUB_ENOTINITIALIZED, "region.order", "it has no kind yet");
    return 0;
}

bool hub_region_check_is_begun(enum hub_region_kind kind, uint32_t initialized)
{
    return initialized == HUB_REGION_INIT_DONE ||
           (kind == HUB_REGION_STATE_V1 && initialized != HUB_REGION_INIT_RETIRED);
}

/* r[impl region.init] r[impl region.init.code] */
static int check_initialized(const struct hub_region_header *h)
{
    static const char *const texts[] = {"nothing of it is initialised", "it is being initialised"};
    uint32_t state = h->initialized.word;

    if (hub_region_check_is_begun((enum hub_region_kind)h->flags, state))
        return 0;
    if (state > HUB_REGION_INIT_RETIRED)
        return rapahub_fail(RAPAHUB_ENOTINITIALIZED, "region.init.code",
                            "its state is %" PRIu32 ", which is none", state);
    return rapahub_fail(RAPAHUB_ENOTINITIALIZED, "region.init.code", "%s",
                        state == HUB_REGION_INIT_RETIRED ? "it was removed or replaced"
                                                         : texts[state]);
}

/* r[impl region.kind] */
static int check_kind(const struct hub_region_header *h, uint32_t kind)
{
    uint32_t is = KIND(h->flags);

    if (is != h->flags || !hub_region_shape_is_kind(is))
        return rapahub_fail(RAPAHUB_EBADKIND, "region.kind",
                            "its kind is %" PRIu32 ", which is not known here", h->flags);
    if (kind != 0 && kind != is)
        return rapahub_fail(RAPAHUB_EBADKIND, "region.kind",
                            "its kind is %" PRIu32 ", and %" PRIu32 " was asked for", is, kind);
    return 0;
}

/* Some capabilities ask for others. r[impl region.caps] */
static int check_caps(const struct hub_region_header *h)
{
    uint64_t unknown = h->caps_required & ~HUB_CAPS_KNOWN;
    uint64_t all = h->caps_required | h->caps_optional;
    uint64_t with_leases = HUB_CAP_POISON | HUB_CAP_BATCH_CLAIM;
    uint64_t of_fanout = HUB_CAP_CREDITS | HUB_CAP_IDEMPOTENT;
    bool latch = (h->caps_required & HUB_CAP_LATCH) != 0;

    if (unknown)
        return rapahub_fail(RAPAHUB_ECAPS, "region.caps",
                            "it needs capabilities %" PRIx64 ", not known here", unknown);
    if (h->caps_optional &
        (HUB_CAP_LEASES | with_leases | HUB_CAP_IDEMPOTENT | HUB_CAP_LATCH | HUB_CAP_WAKE_ASYM))
        return rapahub_fail(RAPAHUB_ECAPS, "region.caps", "leases and their like are no options");
    if (((h->caps_required & with_leases) && !(h->caps_required & HUB_CAP_LEASES)) ||
        ((all & of_fanout) && KIND(h->flags) != HUB_REGION_FANOUT) ||
        latch != (KIND(h->flags) == HUB_REGION_STATE_LATCH) ||
        ((h->caps_required & HUB_CAP_WAKE_ASYM) && !(all & HUB_CAP_WAKE_FUTEX)))
        return rapahub_fail(RAPAHUB_ECAPS, "region.caps",
                            "its capabilities %" PRIx64 " do not fit together", h->caps_required);
    return 0;
}

/* r[impl region.length] */
static int check_length(const struct copy *copy)
{
    const struct hub_region_header *h = &copy->header;
    uint32_t kind = KIND(h->flags);
    uint64_t least = HUB_REGION_HEADER_BYTES +
                     (hub_state_shape_is_kind(kind)  ? sizeof(struct hub_region_latch)
                      : kind == HUB_REGION_SEQUENCER ? sizeof(struct hub_region_sequencer)
                                                     : sizeof(struct hub_region_ring));

    if (h->layout_bytes < least || h->layout_bytes >= HUB_REGION_SIZE_MAX)
        return rapahub_fail(RAPAHUB_ELAYOUTBYTES, "region.length",
                            "it claims %" PRIu64 " bytes, at least %" PRIu64, h->layout_bytes,
                            least);
    if (h->layout_bytes > copy->length)
        return rapahub_fail(RAPAHUB_ETRUNCATED, "region.length",
                            "it claims %" PRIu64 " bytes and has %zu", h->layout_bytes,
                            copy->length);
    return 0;
}

static void take_header(const struct hub_region_header *h, struct hub_region_found *out)
{
    out->shape = (struct hub_region_shape){.kind = (enum hub_region_kind)KIND(h->flags),
                                           .caps_required = h->caps_required,
                                           .caps_optional = h->caps_optional,
                                           .cell_bytes = h->cell_bytes,
                                           .cell_count = h->cell_count,
                                           .lease_off = h->lease_off,
                                           .lease_count = h->lease_count,
                                           .body_off = h->body_off,
                                           .ring_off = h->body_off,
                                           .layout_bytes = h->layout_bytes};
}

static bool is_inside(const struct hub_region_shape *shape, uint32_t at, size_t size)
{
    return at % 128 == 0 && at <= shape->layout_bytes && shape->layout_bytes - at >= size;
}

struct ring_copy {
    union {
        struct hub_region_ring ring;
        uint64_t words[sizeof(struct hub_region_ring) / 8];
    };
};

/* A ring that lies inside: its numbers are copied once, and its size is that of the shape. */
static bool copy_ring(const uint8_t *data, uint32_t at, const struct hub_region_shape *shape,
                      struct ring_copy *out)
{
    hub_copy_in(out->words, (const void *)(data + at), sizeof out->words / sizeof *out->words);
    return out->ring.mask + 1 == shape->cell_count;
}

/* The places of the body, before the consumers are known. */
static bool take_fanout(const uint8_t *data, struct hub_region_shape *shape)
{
    const struct hub_fanout_shape *fanout = &shape->fanout;
    uint64_t queue = hub_cell_ring_bytes(shape->cell_count, shape->cell_bytes);

    return is_inside(shape, shape->body_off, sizeof(struct hub_region_fanout)) &&
           hub_fanout_shape_read(data + shape->body_off, shape->cell_count, &shape->fanout,
                                 &shape->ring_off) &&
           is_inside(shape, fanout->consumers_off,
                     fanout->consumers * sizeof(struct hub_region_consumer)) &&
           hub_fanout_shape_read_consumers(data, shape->cell_count, queue, &shape->fanout);
}

/* The numbers of the body; the places of its rings are checked with the first one. */
static bool take_fanin(const uint8_t *data, struct hub_region_shape *shape)
{
    union {
        struct hub_region_fanin fanin;
        uint64_t words[sizeof(struct hub_region_fanin) / 8];
    } copy;

    if (!is_inside(shape, shape->body_off, sizeof copy.fanin))
        return false;
    hub_copy_in(copy.words, (const void *)(data + shape->body_off),
                sizeof copy.words / sizeof *copy.words);
    shape->producers = copy.fanin.ring_count;
    shape->ring_off = copy.fanin.rings_off;
    return shape->producers >= 1 &&
           copy.fanin.ring_stride == hub_cell_ring_bytes(shape->cell_count, shape->cell_bytes);
}

/* Rings in a row, which lie inside: that was checked. */
static bool rings_hold(const uint8_t *data, const struct hub_region_shape *shape, uint32_t first,
                       uint32_t count)
{
    uint64_t size = hub_cell_ring_bytes(shape->cell_count, shape->cell_bytes);
    struct ring_copy copy;

    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = (uint32_t)(first + i * size);

        if (!copy_ring(data, at, shape, &copy) || copy.ring.kind != HUB_REGION_SPSC ||
            copy.ring.cells_off != at + sizeof(struct hub_region_ring) ||
            copy.ring.head_batch != shape->head_batch)
            return false;
    }
    return true;
}

static bool take_ring(const uint8_t *data, struct hub_region_shape *shape)
{
    uint32_t kind = hub_region_shape_claims(shape) ? HUB_REGION_MPSC : HUB_REGION_SPSC;
    struct ring_copy copy;

    if (!is_inside(shape, shape->ring_off, sizeof(struct hub_region_ring)) ||
        !copy_ring(data, shape->ring_off, shape, &copy))
        return false;
    shape->cells_off = copy.ring.cells_off;
    shape->head_batch = copy.ring.head_batch;
    return copy.ring.kind == kind && hub_region_shape_holds(shape);
}

static bool take_state(const uint8_t *data, struct hub_region_shape *shape)
{
    bool latch = shape->kind == HUB_REGION_STATE_LATCH;

    shape->ring_off = 0;
    return is_inside(shape, shape->body_off, sizeof(struct hub_region_latch)) &&
           hub_state_shape_read(data, shape->body_off, latch, &shape->state) &&
           hub_region_shape_holds(shape);
}

/* Stages that are frozen or evicted on their death need leases. */
static bool take_sequencer(const uint8_t *data, struct hub_region_shape *shape)
{
    bool repairs = false;

    shape->ring_off = 0;
    if (!is_inside(shape, shape->body_off, sizeof(struct hub_region_sequencer)) ||
        !hub_sequencer_shape_read(data, shape->body_off, shape->layout_bytes, &shape->sequencer))
        return false;
    for (uint32_t i = 0; i < shape->sequencer.stage_count; i++)
        repairs |= shape->sequencer.stages[i].on_death != HUB_STAGE_HOLD;
    return (!repairs || shape->lease_count > 0) && hub_region_shape_holds(shape);
}

static bool take_body(const uint8_t *data, struct hub_region_found *out)
{
    struct hub_region_shape *shape = &out->shape;

    if (hub_region_shape_is_state(shape))
        return take_state(data, shape);
    if (hub_region_shape_is_sequencer(shape))
        return take_sequencer(data, shape);
    if (shape->kind == HUB_REGION_FANOUT && !take_fanout(data, shape))
        return false;
    if (shape->kind == HUB_REGION_FANIN && !take_fanin(data, shape))
        return false;
    return take_ring(data, shape) &&
           rings_hold(data, shape, shape->fanout.queues_off, shape->fanout.consumers) &&
           rings_hold(data, shape, shape->ring_off, shape->producers);
}

static int check_geometry(const struct copy *copy, const void *data, struct hub_region_found *out)
{
    const struct hub_region_header *h = &copy->header;

    if (h->header_bytes != HUB_REGION_HEADER_BYTES)
        return rapahub_fail(RAPAHUB_ECORRUPT, "region.geometry", "its header has %" PRIu32 " bytes",
                            h->header_bytes);
    if (hub_region_check_sum(h) != h->header_crc32c)
        return rapahub_fail(RAPAHUB_ECORRUPT, "region.geometry",
                            "the checksum of its header is wrong");
    take_header(h, out);
    if (!take_body(data, out))
        return rapahub_fail(RAPAHUB_ECORRUPT, "region.geometry",
                            "its parts do not fit into its %" PRIu64 " bytes", h->layout_bytes);
    return 0;
}

static int check_version(const struct hub_region_header *h)
{
    if (h->version_major == HUB_REGION_MAJOR)
        return 0;
    return rapahub_fail(RAPAHUB_EBADVERSION, "region.order", "its version is %u.%u, not %d",
                        h->version_major, h->version_minor, HUB_REGION_MAJOR);
}

static int check_rest(const struct copy *copy, const void *data, uint32_t kind,
                      struct hub_region_found *out)
{
    int r = check_version(&copy->header);

    if (r == 0)
        r = check_kind(&copy->header, kind);
    if (r == 0)
        r = check_caps(&copy->header);
    if (r == 0)
        r = check_length(copy);
    return r == 0 ? check_geometry(copy, data, out) : r;
}

static int check(const void *data, size_t length, struct copy *copy, struct hub_region_found *out)
{
    int r;

    memset(out, 0, sizeof *out);
    copy_header(copy, data, length);
    r = check_frozen(copy);
    if (r < 0)
        return r;
    out->initialized = copy->header.initialized.word;
    out->generation = copy->header.generation.word;
    out->init_pid = copy->header.init_pid;
    out->id = copy->header.id;
    return 0;
}

int hub_region_check(const void *data, size_t length, uint32_t kind, struct hub_region_found *out)
{
    struct copy copy;
    int r = check(data, length, &copy, out);

    if (r == 0)
        r = check_initialized(&copy.header);
    return r == 0 ? check_rest(&copy, data, kind, out) : r;
}

int hub_region_check_geometry(const void *data, size_t length, struct hub_region_found *out)
{
    struct copy copy;
    int r = check(data, length, &copy, out);

    return r == 0 ? check_rest(&copy, data, 0, out) : r;
}
