/* SPDX-License-Identifier: Apache-2.0 */
/* size_classes: sizes are at most 2^30, slots of an extent 2^20, classes 16, so no sum below
 * wraps. */
#include "hub/shm/size_classes.h"

#include <inttypes.h>
#include <string.h>

#include <rapahub/error.h>

#include "hub/base/check.h"
#include "hub/shm/slot_ref.h"

#define GROWTH       16 /* factor of the size, from class to class */
#define SHRINKAGE    4  /* divisor of the number, from class to class */
#define LEAST_SLOTS  4  /* for a side, in every class but the first */
#define SIZE_MIN     64
#define SIZE_MAX_OF  (UINT32_C(1) << 30)
#define HEADER_BYTES sizeof(struct hub_size_class_header)

_Static_assert(sizeof(struct hub_extent_header) % sizeof(uint64_t) == 0, "copied by words");

static uint64_t align64(uint64_t x)
{
    return (x + 63) & ~UINT64_C(63);
}

/* r[impl hub.layout.pools] */
int hub_size_classes_choose(const struct hub_size_choice *choice, struct hub_size_classes *out)
{
    uint64_t largest = align64(choice->payload_max), size = choice->slot_size;
    uint64_t count = choice->slot_count;

    *out = (struct hub_size_classes){0};
    for (;;) {
        uint64_t slots = count * (choice->guests_max + UINT64_C(1));

        if (slots > HUB_SLOTS_PER_EXTENT_MAX)
            return rapahub_fail(RAPAHUB_EINVAL, "shm.varslot.classes",
                                "slot_count is %" PRIu64 " for each of %" PRIu32
                                " guests; an extent has at most %" PRIu32 " slots",
                                count, choice->guests_max, HUB_SLOTS_PER_EXTENT_MAX);
        CHECK(out->count < HUB_CLASSES_MAX);
        out->of[out->count++] = (struct hub_size_class){
            .slot_size = (uint32_t)size, .slots_per_extent = (uint32_t)slots, .extent_count = 1};
        if (size >= choice->payload_max)
            return 0;
        size = size * GROWTH < largest ? size * GROWTH : largest;
        count = count / SHRINKAGE > LEAST_SLOTS ? count / SHRINKAGE : LEAST_SLOTS;
    }
}

static uint64_t block_size(const struct hub_size_classes *classes)
{
    return align64(classes->count * sizeof(struct hub_peer_class));
}

uint64_t hub_size_classes_head_size(const struct hub_size_classes *classes, uint32_t guests)
{
    return classes->count * HEADER_BYTES + guests * block_size(classes);
}

uint64_t hub_size_classes_data_offset(const struct hub_size_class *size_class)
{
    return sizeof(struct hub_extent_header) +
           align64(size_class->slots_per_extent * sizeof(struct hub_slot_meta));
}

uint64_t hub_size_classes_extent_size(const struct hub_size_class *size_class)
{
    return hub_size_classes_data_offset(size_class) +
           (uint64_t)size_class->slots_per_extent * size_class->slot_size;
}

uint64_t hub_size_classes_bytes(const struct hub_size_classes *classes)
{
    uint64_t sum = 0;

    for (uint32_t c = 0; c < classes->count; c++)
        sum += hub_size_classes_extent_size(&classes->of[c]);
    return sum;
}

uint64_t hub_size_classes_peer_block(const struct hub_size_classes *classes, uint32_t peer)
{
    CHECK(peer >= 1 && peer <= HUB_GUESTS_MAX);
    return classes->base + classes->count * HEADER_BYTES + (peer - 1) * block_size(classes);
}

/* r[impl shm.varslot.shared] */
uint64_t hub_size_classes_place(struct hub_size_classes *classes, uint64_t base, uint32_t guests)
{
    uint64_t at = base + hub_size_classes_head_size(classes, guests);

    classes->base = base;
    for (uint32_t c = 0; c < classes->count; c++) {
        classes->of[c].extents[0] = at;
        at = align64(at + hub_size_classes_extent_size(&classes->of[c]));
    }
    return at;
}

static int refuse(const char *what, uint32_t size_class, uint64_t value)
{
    return rapahub_fail(RAPAHUB_EFORMAT, "shm.varslot.classes",
                        "%s of size class %" PRIu32 " is %" PRIu64, what, size_class, value);
}

static int read_class(const struct hub_size_class_header *header, uint32_t c, uint32_t smaller,
                      struct hub_size_class *out)
{
    *out = (struct hub_size_class){.slot_size = header->slot_size,
                                   .slots_per_extent = header->slots_per_extent,
                                   .extent_count = hub_load_relaxed(&header->extent_count)};
    if (out->slot_size < SIZE_MIN || out->slot_size > SIZE_MAX_OF || out->slot_size % 64 != 0 ||
        out->slot_size <= smaller)
        return refuse("slot_size", c, out->slot_size);
    if (out->slots_per_extent < 1 || out->slots_per_extent > HUB_SLOTS_PER_EXTENT_MAX)
        return refuse("slots_per_extent", c, out->slots_per_extent);
    if (out->extent_count < 1 || out->extent_count > HUB_EXTENTS_MAX)
        return refuse("extent_count", c, out->extent_count);
    for (uint32_t e = 0; e < out->extent_count; e++) {
        uint64_t offset = hub_load_relaxed64(&header->extent_offsets[e]);

        out->extents[e] = offset;
        if (offset % 64 != 0 && (offset != HUB_EXTENT_OWN_MEMORY || e == 0))
            return refuse("an extent's offset", c, offset);
    }
    return 0;
}

/* r[impl shm.varslot.classes] */
int hub_size_classes_read(const struct hub_size_foreign *foreign, struct hub_size_classes *out)
{
    struct hub_size_classes classes = {.count = foreign->count, .base = foreign->base};
    uint32_t largest = 0;

    CHECK(foreign->count >= 1 && foreign->count <= HUB_CLASSES_MAX);
    for (uint32_t c = 0; c < classes.count; c++) {
        int r = read_class(&foreign->headers[c], c, largest, &classes.of[c]);

        if (r < 0)
            return r;
        largest = classes.of[c].slot_size;
    }
    if (largest < foreign->payload_max)
        return rapahub_fail(RAPAHUB_EFORMAT, "shm.varslot.classes",
                            "max_payload_size is %" PRIu32 ", the largest class has %" PRIu32,
                            foreign->payload_max, largest);
    *out = classes;
    return 0;
}

static void format_class(const struct hub_size_class *size_class, uint8_t *memory)
{
    struct hub_size_class_header *header = (struct hub_size_class_header *)(void *)memory;

    header->slot_size = size_class->slot_size;
    header->slots_per_extent = size_class->slots_per_extent;
    hub_store_relaxed(&header->extent_count, size_class->extent_count);
    hub_store_relaxed64(&header->free_head, hub_slot_ref_head(HUB_SLOT_REF_NONE, 0));
    hub_store_relaxed64(&header->extent_offsets[0], size_class->extents[0]);
}

static void format_block(const struct hub_size_classes *classes, uint8_t *memory)
{
    struct hub_peer_class *of = (struct hub_peer_class *)(void *)memory;

    for (uint32_t c = 0; c < classes->count; c++)
        hub_store_relaxed64(&of[c].free_head, hub_slot_ref_head(HUB_SLOT_REF_NONE, 0));
}

static struct hub_extent_header header_of(const struct hub_size_class *size_class,
                                          struct hub_extent_name name)
{
    return (struct hub_extent_header){
        .magic = HUB_EXTENT_MAGIC,
        .size_class = name.size_class,
        .extent = name.extent,
        .slot_count = size_class->slots_per_extent,
        .slot_size = size_class->slot_size,
        .meta_offset = sizeof(struct hub_extent_header),
        .data_offset = hub_size_classes_data_offset(size_class),
        .size = hub_size_classes_extent_size(size_class),
    };
}

void hub_size_classes_format_extent(const struct hub_size_class *size_class,
                                    struct hub_extent_name name, uint8_t *memory)
{
    const struct hub_extent_header header = header_of(size_class, name);
    struct hub_slot_meta *metas = (struct hub_slot_meta *)(void *)(memory + sizeof(header));

    memcpy(memory, &header, sizeof(header));
    for (uint32_t i = 0; i < size_class->slots_per_extent; i++)
        hub_store_relaxed(&metas[i].next_free, HUB_SLOT_REF_NONE);
}

/* r[impl shm.varslot.extent-layout] */
int hub_size_classes_check_extent(const struct hub_size_class *size_class,
                                  struct hub_extent_name name, const struct hub_extent_header *copy)
{
    struct hub_extent_header expected = header_of(size_class, name);

    if (memcmp(copy, &expected, offsetof(struct hub_extent_header, reserved)) != 0)
        return rapahub_fail(RAPAHUB_EFORMAT, "shm.varslot.extent-layout",
                            "extent %" PRIu32 " of size class %" PRIu32
                            " has another header than its class says",
                            name.extent, name.size_class);
    return 0;
}

void hub_size_classes_format(const struct hub_size_classes *classes, uint32_t guests,
                             uint8_t *segment)
{
    for (uint32_t c = 0; c < classes->count; c++) {
        const struct hub_size_class *size_class = &classes->of[c];

        format_class(size_class, segment + classes->base + c * HEADER_BYTES);
        hub_size_classes_format_extent(size_class, (struct hub_extent_name){c, 0},
                                       segment + size_class->extents[0]);
    }
    for (uint32_t peer = 1; peer <= guests; peer++)
        format_block(classes, segment + hub_size_classes_peer_block(classes, peer));
}
