/* SPDX-License-Identifier: Apache-2.0 */
/* segment: a host writes header, offsets and bitmaps, and then the magic. A guest copies header and
 * its entry once, and uses only values that the geometry has checked. */
#include "hub/shm/segment.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "hub/base/check.h"
#include "hub/base/clock.h"
#include "hub/base/own.h"
#include "hub/shm/commit.h"
#include "hub/shm/slot_pool.h"

#define MAGIC_WAIT  (2 * HUB_SECOND)
#define MAGIC_SLICE HUB_MILLISECOND
#define WORDS_OF(x) (sizeof(x) / (sizeof(uint64_t)))

_Static_assert(sizeof(struct hub_header) % sizeof(uint64_t) == 0, "copied by words");
_Static_assert(sizeof(struct hub_peer_entry) % sizeof(uint64_t) == 0, "copied by words");

static struct hub_segment *new_segment(void)
{
    struct hub_segment *segment = calloc(1, sizeof(*segment));

    if (segment)
        hub_mapping_init(&segment->mapping);
    return segment;
}

static void *at(const struct hub_segment *segment, uint64_t offset)
{
    return segment->mapping.data + offset;
}

/* Maps the pages of a range now, so that no first call waits for them. On a kernel that cannot,
 * they are mapped at first use. Their bytes are kept. In shared memory, reading a page maps it for
 * writing too, and existing pages are mapped sixteen at a time. */
static void take_pages(const struct hub_segment *segment, uint64_t offset, uint64_t size)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), start = offset - offset % page;

    (void)madvise(at(segment, start), offset - start + size, MADV_POPULATE_READ);
}

static void take_pages_of_peer(const struct hub_segment *segment,
                               const struct hub_peer_place *place)
{
    uint64_t ring = segment->geometry.limits.ring_size * sizeof(struct hub_ring_cell);

    take_pages(segment, place->entry, sizeof(struct hub_peer_entry));
    take_pages(segment, place->guest_to_host_ring, ring);
    take_pages(segment, place->host_to_guest_ring, ring);
}

static struct hub_segment_view view_of(const struct hub_segment *segment,
                                       const struct hub_peer_place *place)
{
    return (struct hub_segment_view){
        .header = at(segment, 0),
        .entry = at(segment, place->entry),
        .guest_to_host = at(segment, place->guest_to_host_ring),
        .host_to_guest = at(segment, place->host_to_guest_ring),
        .channels = at(segment, place->channel_table),
        .host_pool = at(segment, segment->geometry.slot_region),
        .guest_pool = at(segment, place->guest_pool),
    };
}

void hub_segment_view(const struct hub_segment *segment, uint32_t peer,
                      struct hub_segment_view *out)
{
    struct hub_peer_place place;

    hub_geometry_place(&segment->geometry, peer, &place);
    *out = view_of(segment, &place);
}

static void write_header(const struct hub_segment *segment)
{
    const struct hub_geometry *geometry = &segment->geometry;
    const struct hub_limits *limits = &geometry->limits;
    const struct hub_header header = {
        .version = 1,
        .header_size = HUB_HEADER_SIZE,
        .total_size = geometry->total_size,
        .max_payload_size = limits->payload_max,
        .initial_credit = limits->credit_size,
        .max_guests = limits->guests_max,
        .ring_size = limits->ring_size,
        .peer_table_offset = HUB_HEADER_SIZE,
        .slot_region_offset = geometry->slot_region,
        .slot_size = limits->slot_size,
        .slots_per_guest = limits->slot_count,
        .max_channels = limits->channels_max,
        .heartbeat_interval = limits->heartbeat_ns,
        .var_slot_pool_offset = geometry->classes.base,
        .current_size = {geometry->classes.count ? geometry->total_size : 0},
        .var_class_count = geometry->classes.count,
    };
    uint64_t words[WORDS_OF(header)];

    memcpy(words, &header, sizeof(words));
    hub_copy_out(at(segment, 0), words, WORDS_OF(header));
}

static void write_peer(const struct hub_segment *segment, uint32_t peer)
{
    struct hub_peer_place place;
    struct hub_peer_entry entry = {0};
    uint64_t words[WORDS_OF(entry)];

    hub_geometry_place(&segment->geometry, peer, &place);
    entry.ring_offset = place.guest_to_host_ring;
    entry.slot_pool_offset = place.guest_pool;
    entry.channel_table_offset = place.channel_table;
    memcpy(words, &entry, sizeof(words));
    hub_copy_out(at(segment, place.entry), words, WORDS_OF(entry));
    if (segment->geometry.classes.count == 0)
        hub_slot_pool_format(&segment->geometry, at(segment, place.guest_pool));
    if (!segment->shared)
        take_pages_of_peer(segment, &place);
}

/* Rings and slots stay as the system provides them: zero. r[impl shm.ring.initialization]
 * r[impl shm.segment.peer-table] */
static void write_segment(const struct hub_segment *segment)
{
    const struct hub_geometry *geometry = &segment->geometry;
    struct hub_header *header = at(segment, 0);

    write_header(segment);
    for (uint32_t peer = 1; peer <= geometry->limits.guests_max; peer++)
        write_peer(segment, peer);
    if (geometry->classes.count > 0)
        hub_size_classes_format(&geometry->classes, geometry->limits.guests_max, at(segment, 0));
    else
        hub_slot_pool_format(geometry, at(segment, geometry->slot_region));
    hub_publish64(&header->magic, HUB_MAGIC);
}

static bool is_segment(const char *path)
{
    struct hub_mapping mapping;
    const struct hub_header *header;
    bool is = hub_mapping_open_apart(path, HUB_HEADER_SIZE, &mapping) == 0;

    if (!is)
        return false;
    header = (const struct hub_header *)(const void *)mapping.data;
    is = hub_load_relaxed64(&header->magic) == HUB_MAGIC;
    hub_mapping_fini(&mapping);
    return is;
}

/* r[impl shm.file.cleanup] */
static int create_at(const char *path, size_t size, struct hub_mapping *out)
{
    int r = hub_mapping_create_at(path, size, out);

    if (r != RAPAHUB_EEXIST)
        return r;
    if (is_segment(path) && hub_mapping_sweep_at(path))
        return hub_mapping_create_at(path, size, out);
    return rapahub_fail(r, "shm.file.create",
                        "'%s' is another host's, or no segment at all; it is left alone", path);
}

int hub_segment_create_from(const struct hub_geometry *geometry, bool shared, const char *path,
                            struct hub_segment **out)
{
    OWN(hub_segment) struct hub_segment *segment = new_segment();
    size_t size;
    int r;

    if (!segment)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a segment");
    segment->geometry = *geometry;
    segment->shared = shared;
    size = segment->geometry.total_size;
    if (path)
        r = create_at(path, size, &segment->mapping);
    else if (shared)
        r = hub_mapping_create_file(HUB_SEGMENT_PREFIX, size, &segment->mapping);
    else
        r = hub_mapping_create_sealed(HUB_SEGMENT_PREFIX, size, &segment->mapping);
    if (r == 0)
        r = hub_commit_shared(&segment->mapping, &segment->geometry);
    if (r < 0)
        return r;
    write_segment(segment);
    *out = TAKE(segment);
    return 0;
}

/* r[impl shm.topology.hub] r[impl shm.file.mmap-posix] */
int hub_segment_create(const struct hub_limits *limits, bool shared, struct hub_segment **out)
{
    struct hub_geometry geometry;
    int r;

    if (!shared && limits->guests_max != 1)
        return rapahub_fail(RAPAHUB_EINVAL, "shm.topology.max-guests",
                            "a private segment has one guest, not %u", limits->guests_max);
    r = hub_geometry_compute(limits, &geometry);
    return r < 0 ? r : hub_segment_create_from(&geometry, shared, NULL, out);
}

int hub_segment_create_at(const struct hub_limits *limits, const char *path,
                          struct hub_segment **out)
{
    struct hub_geometry geometry;
    int r = hub_geometry_compute(limits, &geometry);

    return r < 0 ? r : hub_segment_create_from(&geometry, true, path, out);
}

static void copy_header(const struct hub_segment *segment, struct hub_header *to)
{
    uint64_t words[WORDS_OF(*to)];

    hub_copy_in(words, at(segment, 0), WORDS_OF(*to));
    memcpy(to, words, sizeof(words));
}

static void copy_entry(const struct hub_segment *segment, uint64_t offset,
                       struct hub_peer_entry *to)
{
    uint64_t words[WORDS_OF(*to)];

    hub_copy_in(words, at(segment, offset), WORDS_OF(*to));
    memcpy(to, words, sizeof(words));
}

/* Pauses briefly until `deadline_ns`; false once it has passed. Before the magic, the host owes a
 * guest no event to wait for. */
static bool pause_until(uint64_t deadline_ns)
{
    uint64_t left = hub_clock_left(deadline_ns);

    if (left == 0)
        return false;
    hub_clock_pause(left < MAGIC_SLICE ? left : MAGIC_SLICE);
    return true;
}

typedef int open_function(const char *path, size_t least, struct hub_mapping *out);

/* Maps the file once it has a header. Only a file that is too small is opened again: it grows while
 * its host makes it. */
static int map_when_there(const char *path, open_function *map, uint64_t deadline_ns,
                          struct hub_mapping *out)
{
    for (;;) {
        int r = map(path, HUB_HEADER_SIZE, out);

        if (r != RAPAHUB_EFORMAT || !pause_until(deadline_ns))
            return r;
    }
}

/* r[impl shm.segment.magic] */
static int wait_for_magic(const struct hub_segment *segment, uint64_t deadline_ns)
{
    const struct hub_header *header = at(segment, 0);

    while (hub_observe64(&header->magic) == 0)
        if (!pause_until(deadline_ns))
            return rapahub_fail(RAPAHUB_ETIMEDOUT, "shm.segment.magic",
                                "nobody finished the segment in time");
    return 0;
}

static int check_host_is_there(const struct hub_header *header)
{
    if (hub_load_relaxed(&header->host_goodbye) != 0)
        return rapahub_fail(RAPAHUB_ECLOSED, "shm.goodbye.host", "the host is leaving");
    return 0;
}

/* Checks a private copy of the entry. r[impl shm.ring.initialization] */
static int check_rings(const struct hub_peer_entry *entry, uint32_t ring_size)
{
    uint32_t sent = hub_load_relaxed(&entry->guest_to_host_head);
    uint32_t taken = hub_load_relaxed(&entry->guest_to_host_tail);
    uint32_t waiting =
        hub_load_relaxed(&entry->host_to_guest_head) - hub_load_relaxed(&entry->host_to_guest_tail);

    if (sent != taken)
        return rapahub_fail(RAPAHUB_EFORMAT, "shm.ring.initialization",
                            "the ring to the host is not empty: head %u, tail %u", sent, taken);
    if (waiting > ring_size - 1)
        return rapahub_fail(RAPAHUB_EFORMAT, "shm.ring.initialization",
                            "%u messages cannot be in a ring of %u", waiting, ring_size);
    return 0;
}

/* The headers of the size classes lie inside the segment, as the check of the header ensured. */
static void copy_classes(const struct hub_segment *segment, struct hub_foreign *foreign)
{
    uint64_t words[WORDS_OF(foreign->classes)];
    size_t count = foreign->header.var_class_count * WORDS_OF(foreign->classes[0]);

    if (foreign->header.var_slot_pool_offset == 0)
        return;
    hub_copy_in(words, at(segment, foreign->header.var_slot_pool_offset), count);
    memcpy(foreign->classes, words, count * sizeof(words[0]));
}

static int check_extent(const struct hub_segment *segment, struct hub_extent_name name)
{
    const struct hub_size_class *size_class = &segment->geometry.classes.of[name.size_class];
    struct hub_extent_header copy;
    uint64_t words[WORDS_OF(copy)];

    if (size_class->extents[name.extent] == HUB_EXTENT_OWN_MEMORY)
        return 0;
    hub_copy_in(words, at(segment, size_class->extents[name.extent]), WORDS_OF(copy));
    memcpy(&copy, words, sizeof(copy));
    return hub_size_classes_check_extent(size_class, name, &copy);
}

static int check_extents(const struct hub_segment *segment)
{
    const struct hub_size_classes *classes = &segment->geometry.classes;

    for (uint32_t c = 0; c < classes->count; c++)
        for (uint32_t e = 0; e < classes->of[c].extent_count; e++) {
            int r = check_extent(segment, (struct hub_extent_name){c, e});

            if (r < 0)
                return r;
        }
    return 0;
}

static int check_reserved(const struct hub_peer_entry *entry)
{
    uint32_t state = hub_load_relaxed(&entry->state);

    if (state != HUB_PEER_RESERVED)
        return rapahub_fail(RAPAHUB_ESTALE, "shm.spawn.guest-init",
                            "the ticket's entry has state %u, not Reserved", state);
    return 0;
}

static int check_empty(const struct hub_peer_entry *entry)
{
    return hub_load_relaxed(&entry->state) == HUB_PEER_EMPTY ? 0 : RAPAHUB_EAGAIN;
}

/* r[impl shm.topology.peer-id] */
static int read_header(const struct hub_segment *segment, uint32_t peer,
                       struct hub_foreign *foreign)
{
    *foreign = (struct hub_foreign){.peer = peer, .file_size = segment->mapping.size};
    copy_header(segment, &foreign->header);
    return hub_geometry_check_header(&foreign->header, peer, foreign->file_size);
}

typedef int entry_check(const struct hub_peer_entry *entry);

static int read_segment(struct hub_segment *segment, uint32_t peer, entry_check *check,
                        struct hub_segment_view *view)
{
    struct hub_foreign foreign;
    struct hub_peer_place place;
    int r = read_header(segment, peer, &foreign);

    if (r < 0)
        return r;
    copy_entry(segment,
               foreign.header.peer_table_offset + (peer - 1) * sizeof(struct hub_peer_entry),
               &foreign.entry);
    copy_classes(segment, &foreign);
    r = hub_geometry_read(&foreign, &segment->geometry, &place);
    if (r == 0)
        r = check_extents(segment);
    if (r == 0)
        r = check_host_is_there(&foreign.header);
    if (r == 0)
        r = check(&foreign.entry);
    if (r == 0)
        r = check_rings(&foreign.entry, segment->geometry.limits.ring_size);
    if (r < 0)
        return r;
    take_pages_of_peer(segment, &place);
    *view = view_of(segment, &place);
    return 0;
}

static int open_until(const char *path, open_function *map, uint64_t deadline_ns,
                      struct hub_segment **out)
{
    OWN(hub_segment) struct hub_segment *segment = new_segment();
    int r;

    if (!segment)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a segment");
    r = map_when_there(path, map, deadline_ns, &segment->mapping);
    if (r == 0)
        r = wait_for_magic(segment, deadline_ns);
    if (r < 0)
        return r;
    *out = TAKE(segment);
    return 0;
}

int hub_segment_attach_until(const struct hub_segment_ticket *ticket, uint64_t deadline_ns,
                             struct hub_segment **out, struct hub_segment_view *view)
{
    OWN(hub_segment) struct hub_segment *segment = NULL;
    struct hub_segment_view found;
    int r = open_until(ticket->path, hub_mapping_open, deadline_ns, &segment);

    if (r == 0)
        r = read_segment(segment, ticket->peer, check_reserved, &found);
    if (r < 0)
        return r;
    segment->shared = segment->geometry.limits.guests_max > 1;
    *view = found;
    *out = TAKE(segment);
    return 0;
}

int hub_segment_attach(const char *path, uint32_t peer, struct hub_segment **out,
                       struct hub_segment_view *view)
{
    const struct hub_segment_ticket ticket = {.path = path, .peer = peer};

    return hub_segment_attach_until(&ticket, hub_clock_after(MAGIC_WAIT), out, view);
}

int hub_segment_open(const char *path, struct hub_segment **out)
{
    OWN(hub_segment) struct hub_segment *segment = NULL;
    struct hub_foreign foreign;
    int r = open_until(path, hub_mapping_open_apart, hub_clock_after(MAGIC_WAIT), &segment);

    if (r == 0)
        r = read_header(segment, 1, &foreign);
    if (r == 0)
        r = check_host_is_there(&foreign.header);
    if (r < 0)
        return r;
    segment->geometry.limits.guests_max = foreign.header.max_guests;
    segment->shared = true;
    *out = TAKE(segment);
    return 0;
}

int hub_segment_check_peer(struct hub_segment *segment, uint32_t peer,
                           struct hub_segment_view *view)
{
    return read_segment(segment, peer, check_empty, view);
}

/* r[impl shm.file.cleanup] */
void hub_segment_release(struct hub_segment **segment)
{
    if (!*segment)
        return;
    hub_mapping_fini(&(*segment)->mapping);
    free(*segment);
    *segment = NULL;
}
