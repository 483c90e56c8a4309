/* SPDX-License-Identifier: Apache-2.0 */
/* geometry: one table of ranges for the limits of a host, another for a foreign header. No sum
 * below can wrap: the ranges keep each far under 2^63, and foreign offsets are only compared. */
#include "hub/shm/geometry.h"

#include <inttypes.h>
#include <stdbool.h>

#include <rapahub/error.h>

#include "hub/base/check.h"
#include "hub/base/clock.h"

#define TOTAL_MAX        (UINT64_C(1) << 40)
#define RING_MAX         UINT32_C(65536)
#define CHANNELS_MAX     UINT32_C(65536)
#define SLOTS_MAX        UINT32_C(65536)
#define SLOT_MAX         (UINT32_C(1) << 30)
#define CREDIT_MAX       UINT32_C(0x7FFFFFFF)
#define GENERATION_SIZE  4
#define HEARTBEAT_LEAST  (10 * HUB_MILLISECOND)
#define HEARTBEAT_SERVED HUB_MILLISECOND /* a guest would do nothing but beat */
#define HEARTBEAT_MOST   (3600 * HUB_SECOND)
#define POWER_OF_TWO     0
#define COUNT_OF(things) (sizeof(things) / sizeof((things)[0]))

struct range {
    const char *name;
    uint64_t value, least, most;
    uint32_t unit; /* the value is a multiple of it; or POWER_OF_TWO */
    const char *rule;
};

struct region {
    const char *name;
    uint64_t offset, size;
};

static uint64_t align64(uint64_t x)
{
    return (x + 63) & ~UINT64_C(63);
}

static bool fits_unit(uint64_t value, uint32_t unit)
{
    return unit == POWER_OF_TWO ? (value & (value - 1)) == 0 : value % unit == 0;
}

static int refuse_unit(const struct range *r, int code)
{
    if (r->unit == POWER_OF_TWO)
        return rapahub_fail(code, r->rule, "%s is %" PRIu64 ", no power of two", r->name, r->value);
    return rapahub_fail(code, r->rule, "%s is %" PRIu64 ", no multiple of %" PRIu32, r->name,
                        r->value, r->unit);
}

static int check_ranges(const struct range *ranges, size_t count, int code)
{
    for (size_t i = 0; i < count; i++) {
        const struct range *r = &ranges[i];

        if (r->value < r->least || r->value > r->most)
            return rapahub_fail(code, r->rule,
                                "%s is %" PRIu64 "; it may be %" PRIu64 " to %" PRIu64, r->name,
                                r->value, r->least, r->most);
        if (!fits_unit(r->value, r->unit))
            return refuse_unit(r, code);
    }
    return 0;
}

static void compute_pool(struct hub_geometry *geometry)
{
    uint64_t count = geometry->limits.slot_count;

    geometry->bitmap_size = align64(8 * ((count + 63) / 64));
    geometry->pool_size = geometry->bitmap_size + count * geometry->limits.slot_size;
}

static uint64_t rings_size(const struct hub_limits *limits)
{
    return 2 * (uint64_t)limits->ring_size * sizeof(struct hub_ring_cell);
}

static uint64_t channels_size(const struct hub_limits *limits)
{
    return (uint64_t)limits->channels_max * sizeof(struct hub_channel_entry);
}

/* r[impl shm.topology.max-guests] r[impl shm.flow.wrap-rule]
 * r[impl flow.channel.infinite-credit] */
static int check_limits(const struct hub_limits *limits)
{
    uint64_t heartbeat = limits->heartbeat_ns ? limits->heartbeat_ns : HEARTBEAT_LEAST;
    const struct range ranges[] = {
        {"guests_max", limits->guests_max, 1, HUB_GUESTS_MAX, 1, "shm.topology.max-guests"},
        {"ring_size", limits->ring_size, 4, RING_MAX, POWER_OF_TWO, "shm.ring.capacity"},
        {"credit_size", limits->credit_size, 1, CREDIT_MAX, 1, "shm.flow.wrap-rule"},
        {"channels_max", limits->channels_max, 4, CHANNELS_MAX, 1, "shm.handshake.no-negotiation"},
        {"slot_size", limits->slot_size, 64, SLOT_MAX, 64, "shm.slot.generation"},
        {"slot_count", limits->slot_count, 1, SLOTS_MAX, 1, "shm.slot.generation"},
        {"payload_max", limits->payload_max, HUB_INLINE_SIZE, SLOT_MAX, 1, "shm.slot.generation"},
        {"var_bytes_max", limits->var_bytes_max, 0, TOTAL_MAX, 1, "hub.limits"},
        {"heartbeat_ns", heartbeat, HEARTBEAT_LEAST, HEARTBEAT_MOST, 1, "shm.crash.heartbeat"},
    };

    return check_ranges(ranges, COUNT_OF(ranges), RAPAHUB_EINVAL);
}

static int place_areas(struct hub_geometry *geometry, uint64_t end_of_slots)
{
    const struct hub_limits *limits = &geometry->limits;

    geometry->guest_area = align64(end_of_slots);
    geometry->guest_stride = align64(rings_size(limits)) + align64(channels_size(limits));
    geometry->total_size = geometry->guest_area + limits->guests_max * geometry->guest_stride;
    if (geometry->total_size > TOTAL_MAX)
        return rapahub_fail(RAPAHUB_EINVAL, "shm.file.attach",
                            "the segment would be %" PRIu64 " bytes, the most are %" PRIu64,
                            geometry->total_size, TOTAL_MAX);
    return 0;
}

static uint64_t slot_region(const struct hub_limits *limits)
{
    return align64(HUB_HEADER_SIZE + limits->guests_max * sizeof(struct hub_peer_entry));
}

/* r[impl hub.layout.canonical] r[impl shm.segment.pool-size] r[impl shm.segment.slot-pools]
 * r[impl shm.slot.pool-header-size] */
static int compute_fixed(const struct hub_limits *limits, struct hub_geometry *out)
{
    struct hub_geometry geometry = {.limits = *limits, .slot_region = slot_region(limits)};
    int r;

    compute_pool(&geometry);
    r = place_areas(&geometry,
                    geometry.slot_region + (limits->guests_max + UINT64_C(1)) * geometry.pool_size);
    if (r == 0)
        *out = geometry;
    return r;
}

int hub_geometry_compute_classes(const struct hub_limits *limits,
                                 const struct hub_size_classes *classes, struct hub_geometry *out)
{
    struct hub_geometry geometry = {
        .limits = *limits, .slot_region = slot_region(limits), .classes = *classes};
    int r;

    geometry.limits.slot_size = geometry.limits.slot_count = 0;
    r = place_areas(&geometry, hub_size_classes_place(&geometry.classes, geometry.slot_region,
                                                      limits->guests_max));
    if (r == 0)
        *out = geometry;
    return r;
}

/* r[impl hub.limits] */
static int check_bytes(const struct hub_limits *limits, const struct hub_size_classes *classes)
{
    uint64_t sum = hub_size_classes_bytes(classes);

    if (limits->var_bytes_max != 0 && sum > limits->var_bytes_max)
        return rapahub_fail(RAPAHUB_EINVAL, "hub.limits",
                            "slots for messages of %" PRIu32 " bytes take %" PRIu64
                            " bytes; var_bytes_max is %" PRIu64,
                            limits->payload_max, sum, limits->var_bytes_max);
    return 0;
}

/* r[impl hub.layout.pools] */
int hub_geometry_compute(const struct hub_limits *limits, struct hub_geometry *out)
{
    const struct hub_size_choice choice = {limits->slot_size, limits->slot_count,
                                           limits->payload_max, limits->guests_max};
    struct hub_size_classes classes;
    int r = check_limits(limits);

    if (r < 0)
        return r;
    if (limits->payload_max <= limits->slot_size - GENERATION_SIZE)
        return compute_fixed(limits, out);
    r = hub_size_classes_choose(&choice, &classes);
    if (r == 0)
        r = check_bytes(limits, &classes);
    return r < 0 ? r : hub_geometry_compute_classes(limits, &classes, out);
}

/* r[impl shm.ring.layout] r[impl shm.segment.guest-rings] r[impl shm.segment.host-slots]
 * r[impl shm.segment.guest-slot-offset] */
/* r[impl shm.flow.channel-table-location] */
void hub_geometry_place(const struct hub_geometry *geometry, uint32_t peer,
                        struct hub_peer_place *out)
{
    uint64_t area = geometry->guest_area + (peer - 1) * geometry->guest_stride;

    CHECK(peer >= 1 && peer <= geometry->limits.guests_max);
    out->entry = HUB_HEADER_SIZE + (peer - 1) * sizeof(struct hub_peer_entry);
    out->guest_to_host_ring = area;
    out->host_to_guest_ring = area + rings_size(&geometry->limits) / 2;
    out->channel_table = area + rings_size(&geometry->limits);
    out->guest_pool = geometry->slot_region + peer * geometry->pool_size; /* or all of one pool */
}

static int check_identity(const struct hub_header *header, uint64_t file_size)
{
    if (hub_load_relaxed64(&header->magic) != HUB_MAGIC)
        return rapahub_fail(RAPAHUB_EFORMAT, "shm.segment.magic",
                            "this is no segment: it begins with %016" PRIx64,
                            hub_load_relaxed64(&header->magic));
    if (header->version != 1)
        return rapahub_fail(RAPAHUB_EFORMAT, "shm.segment.header",
                            "the segment has version %" PRIu32 ", this side knows 1",
                            header->version);
    if (header->header_size != HUB_HEADER_SIZE)
        return rapahub_fail(RAPAHUB_EFORMAT, "shm.segment.header-size",
                            "the segment's header has %" PRIu32 " bytes, not %d",
                            header->header_size, HUB_HEADER_SIZE);
    if (header->total_size <= HUB_HEADER_SIZE || header->total_size > TOTAL_MAX ||
        header->total_size > file_size)
        return rapahub_fail(RAPAHUB_EFORMAT, "shm.file.attach",
                            "the segment says %" PRIu64 " bytes, its file has %" PRIu64,
                            header->total_size, file_size);
    return 0;
}

static int check_topology(const struct hub_header *header, uint32_t peer)
{
    uint64_t beat = header->heartbeat_interval ? header->heartbeat_interval : HEARTBEAT_SERVED;
    const struct range ranges[] = {
        {"max_guests", header->max_guests, 1, HUB_GUESTS_MAX, 1, "shm.topology.max-guests"},
        {"the peer id", peer, 1, header->max_guests, 1, "shm.topology.max-guests"},
        {"ring_size", header->ring_size, 2, RING_MAX, POWER_OF_TWO, "shm.ring.capacity"},
        {"initial_credit", header->initial_credit, 0, CREDIT_MAX, 1, "shm.flow.wrap-rule"},
        {"max_payload_size", header->max_payload_size, 1, UINT32_MAX, 1,
         "shm.handshake.no-negotiation"},
        {"max_channels", header->max_channels, 1, CHANNELS_MAX, 1, "shm.handshake.no-negotiation"},
        {"heartbeat_interval", beat, HEARTBEAT_SERVED, UINT64_MAX, 1,
         "shm.handshake.no-negotiation"},
    };

    return check_ranges(ranges, COUNT_OF(ranges), RAPAHUB_EFORMAT);
}

static int check_class_count(const struct hub_header *header)
{
    const struct range ranges[] = {
        {"var_class_count", header->var_class_count, 1, HUB_CLASSES_MAX, 1, "shm.varslot.classes"},
        {"var_slot_pool_offset", header->var_slot_pool_offset, header->slot_region_offset,
         header->slot_region_offset, 1, "shm.varslot.classes"},
    };

    return check_ranges(ranges, COUNT_OF(ranges), RAPAHUB_EFORMAT);
}

/* Bytes 88 to 127 have a meaning only if offset 80 is not 0. There may be no slots if all payloads
 * are inline. r[impl hub.layout.reserved] */
static int check_slots(const struct hub_header *header)
{
    uint64_t payload_most = HUB_INLINE_SIZE;
    bool used = header->max_payload_size > HUB_INLINE_SIZE;

    if (header->var_slot_pool_offset != 0)
        return check_class_count(header);
    if (header->slot_size > HUB_INLINE_SIZE + GENERATION_SIZE)
        payload_most = header->slot_size - GENERATION_SIZE;
    const struct range ranges[] = {
        {"slot_size", header->slot_size, used ? 8 : 0, SLOT_MAX, 4, "shm.slot.generation"},
        {"slots_per_guest", header->slots_per_guest, used, SLOTS_MAX, 1, "shm.slot.generation"},
        {"max_payload_size", header->max_payload_size, 1, payload_most, 1, "shm.slot.generation"},
    };
    return check_ranges(ranges, COUNT_OF(ranges), RAPAHUB_EFORMAT);
}

static int check_aligned(const char *name, uint64_t offset, uint32_t unit, const char *rule)
{
    if (offset % unit != 0)
        return rapahub_fail(RAPAHUB_EFORMAT, rule, "%s is %" PRIu64 ", no multiple of %" PRIu32,
                            name, offset, unit);
    return 0;
}

static int check_inside(const struct region *region, uint64_t total_size)
{
    if (region->offset > total_size || region->size > total_size - region->offset)
        return rapahub_fail(RAPAHUB_EFORMAT, "shm.segment.header",
                            "the %s at %" PRIu64 " does not lie inside the segment", region->name,
                            region->offset);
    return 0;
}

static struct region table_region(const struct hub_header *header)
{
    return (struct region){"peer table", header->peer_table_offset,
                           header->max_guests * sizeof(struct hub_peer_entry)};
}

static struct region class_region(const struct hub_header *header)
{
    const struct hub_size_classes classes = {.count = header->var_class_count};

    return (struct region){"table of size classes", header->var_slot_pool_offset,
                           hub_size_classes_head_size(&classes, header->max_guests)};
}

/* r[impl hub.layout.validate] r[impl shm.handshake] */
int hub_geometry_check_header(const struct hub_header *header, uint32_t peer, uint64_t file_size)
{
    const struct region table = table_region(header), classes = class_region(header);
    int r = check_identity(header, file_size);

    if (r == 0)
        r = check_topology(header, peer);
    if (r == 0)
        r = check_slots(header);
    if (r == 0)
        r = check_aligned("peer_table_offset", header->peer_table_offset, sizeof(uint64_t),
                          "shm.segment.peer-table");
    if (r == 0)
        r = check_aligned("slot_region_offset", header->slot_region_offset,
                          header->var_slot_pool_offset ? 64 : sizeof(uint64_t),
                          "shm.slot.pool-layout");
    if (r == 0)
        r = check_inside(&table, header->total_size);
    if (r == 0 && header->var_slot_pool_offset != 0)
        r = check_inside(&classes, header->total_size);
    return r;
}

/* The specification says: rings begin at cache lines, all else at a multiple of its largest atomic
 * word. r[impl shm.ring.alignment] */
static int check_entry_aligned(const struct hub_peer_entry *entry)
{
    int r = check_aligned("ring_offset", entry->ring_offset, 64, "shm.ring.alignment");

    if (r == 0)
        r = check_aligned("slot_pool_offset", entry->slot_pool_offset, sizeof(uint64_t),
                          "shm.slot.pool-layout");
    if (r == 0)
        r = check_aligned("channel_table_offset", entry->channel_table_offset, sizeof(uint32_t),
                          "shm.flow.channel-table");
    return r;
}

static int check_regions(const struct region *regions, size_t count, uint64_t total_size)
{
    for (size_t i = 0; i < count; i++) {
        int r = check_inside(&regions[i], total_size);

        if (r < 0)
            return r;
    }
    for (size_t i = 0; i < count; i++)
        for (size_t j = i + 1; j < count; j++)
            if (regions[i].offset < regions[j].offset + regions[j].size &&
                regions[j].offset < regions[i].offset + regions[i].size)
                return rapahub_fail(RAPAHUB_EFORMAT, "shm.segment.header",
                                    "the %s and the %s of the segment overlap", regions[i].name,
                                    regions[j].name);
    return 0;
}

static int check_own_pool(const struct hub_peer_entry *entry, uint64_t expected)
{
    if (entry->slot_pool_offset != expected)
        return rapahub_fail(RAPAHUB_EFORMAT, "shm.segment.guest-slot-offset",
                            "slot_pool_offset is %" PRIu64 ", not %" PRIu64,
                            entry->slot_pool_offset, expected);
    return 0;
}

static int check_places(const struct hub_foreign *foreign, const struct hub_geometry *geometry)
{
    const struct hub_header *header = &foreign->header;
    const struct hub_peer_entry *entry = &foreign->entry;
    uint64_t own_pool = geometry->slot_region + foreign->peer * geometry->pool_size;
    const struct region regions[] = {
        {"header", 0, HUB_HEADER_SIZE},
        table_region(header),
        {"host's slot pool", geometry->slot_region, geometry->pool_size},
        {"guest's slot pool", entry->slot_pool_offset, geometry->pool_size},
        {"pair of rings", entry->ring_offset, rings_size(&geometry->limits)},
        {"channel table", entry->channel_table_offset, channels_size(&geometry->limits)},
    };
    int r = check_entry_aligned(entry);

    if (r < 0)
        return r;
    r = check_own_pool(entry, own_pool);
    return r < 0 ? r : check_regions(regions, COUNT_OF(regions), header->total_size);
}

#define PLACES_OF_CLASSES 5

static uint32_t add_extents(const struct hub_size_classes *classes, struct region *to)
{
    uint32_t count = 0;

    for (uint32_t c = 0; c < classes->count; c++)
        for (uint32_t e = 0; e < classes->of[c].extent_count; e++)
            if (classes->of[c].extents[e] != HUB_EXTENT_OWN_MEMORY)
                to[count++] = (struct region){"extent of a size class", classes->of[c].extents[e],
                                              hub_size_classes_extent_size(&classes->of[c])};
    return count;
}

/* Appended extents lie after total_size, but inside the file. */
static int check_class_places(const struct hub_foreign *foreign,
                              const struct hub_geometry *geometry)
{
    const struct hub_header *header = &foreign->header;
    const struct hub_peer_entry *entry = &foreign->entry;
    struct region regions[PLACES_OF_CLASSES + HUB_CLASSES_MAX * HUB_EXTENTS_MAX] = {
        {"header", 0, HUB_HEADER_SIZE},
        table_region(header),
        class_region(header),
        {"pair of rings", entry->ring_offset, rings_size(&geometry->limits)},
        {"channel table", entry->channel_table_offset, channels_size(&geometry->limits)},
    };
    uint32_t count = PLACES_OF_CLASSES;
    int r = check_entry_aligned(entry);

    if (r == 0)
        r = check_own_pool(entry, geometry->slot_region);
    if (r == 0)
        r = check_regions(regions, count, header->total_size);
    count += add_extents(&geometry->classes, &regions[count]);
    return r < 0 ? r : check_regions(regions, count, foreign->file_size);
}

static int take_classes(const struct hub_foreign *foreign, struct hub_geometry *geometry)
{
    const struct hub_size_foreign classes = {foreign->classes, foreign->header.var_class_count,
                                             foreign->header.var_slot_pool_offset,
                                             foreign->header.max_payload_size};
    int r = hub_size_classes_read(&classes, &geometry->classes);

    return r < 0 ? r : check_class_places(foreign, geometry);
}

static void take_sizes(const struct hub_header *header, struct hub_geometry *out)
{
    *out = (struct hub_geometry){
        .limits = {.payload_max = header->max_payload_size,
                   .credit_size = header->initial_credit,
                   .guests_max = header->max_guests,
                   .ring_size = header->ring_size,
                   .slot_size = header->slot_size,
                   .slot_count = header->slots_per_guest,
                   .channels_max = header->max_channels,
                   .heartbeat_ns = header->heartbeat_interval},
        .slot_region = header->slot_region_offset,
        .total_size = header->total_size,
    };
    if (header->var_slot_pool_offset == 0)
        compute_pool(out);
    else
        out->limits.slot_size = out->limits.slot_count = 0;
}

int hub_geometry_read(const struct hub_foreign *foreign, struct hub_geometry *out,
                      struct hub_peer_place *place)
{
    const struct hub_peer_entry *entry = &foreign->entry;
    struct hub_geometry geometry;
    int r = hub_geometry_check_header(&foreign->header, foreign->peer, foreign->file_size);

    if (r < 0)
        return r;
    take_sizes(&foreign->header, &geometry);
    r = foreign->header.var_slot_pool_offset == 0 ? check_places(foreign, &geometry)
                                                  : take_classes(foreign, &geometry);
    if (r < 0)
        return r;
    *out = geometry;
    *place = (struct hub_peer_place){
        .entry =
            foreign->header.peer_table_offset + (foreign->peer - 1) * sizeof(struct hub_peer_entry),
        .guest_to_host_ring = entry->ring_offset,
        .host_to_guest_ring = entry->ring_offset + rings_size(&geometry.limits) / 2,
        .channel_table = entry->channel_table_offset,
        .guest_pool = entry->slot_pool_offset,
    };
    return 0;
}
