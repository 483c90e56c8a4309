/* SPDX-License-Identifier: Apache-2.0 */
/* A host that says anything about extents: their place in the segment's file, their content, the
 * memory it sends and its seals. A guest maps only an extent of the size and with the header that
 * its class says, and can write it up to its last byte; all else is a violation, or not there.
 *
 * Steps: a byte that chooses the step, a byte with class and extent, and the operands of the step.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "hub/shm/slot_arrivals.h"
#include "tests/fuzz/fuzz.h"

#define PAGE       4096
#define FILE_PAGES 6 /* with a part of a page after them */
#define FILE_SIZE  (FILE_PAGES * PAGE + 1000)

struct stage {
    const uint8_t *at, *end;
    struct hub_geometry geometry;
    struct hub_slot_map map;
    struct hub_slot_arrivals arrivals;
    uint8_t *segment;
    int file; /* another one than the segment: only its end is added to */
};

static void take(struct stage *stage, void *to, size_t size)
{
    size_t left = (size_t)(stage->end - stage->at), n = size < left ? size : left;

    memset(to, 0, size);
    memcpy(to, stage->at, n);
    stage->at += n;
}

static uint8_t take_byte(struct stage *stage)
{
    uint8_t byte;

    take(stage, &byte, 1);
    return byte;
}

/* The header that is right, with as many bytes changed as the input says. */
static struct hub_extent_header take_header(struct stage *stage, struct hub_extent_name name)
{
    const struct hub_size_class *of = &stage->geometry.classes.of[name.size_class];
    struct hub_extent_header header = {
        .magic = HUB_EXTENT_MAGIC,
        .size_class = name.size_class,
        .extent = name.extent,
        .slot_count = of->slots_per_extent,
        .slot_size = of->slot_size,
        .meta_offset = sizeof(header),
        .data_offset = hub_size_classes_data_offset(of),
        .size = hub_size_classes_extent_size(of),
    };

    for (uint32_t n = take_byte(stage) % 4; n > 0; n--) {
        uint8_t at = take_byte(stage);

        ((uint8_t *)&header)[at % sizeof(header)] = take_byte(stage);
    }
    return header;
}

/* Places in the file; in it, or anywhere. */
static void write_offset(struct stage *stage, struct hub_extent_name name)
{
    struct hub_a64 *offset = &stage->map.of[name.size_class].header->extent_offsets[name.extent];
    uint8_t how = take_byte(stage);
    uint64_t any;

    if (how < 0x80) {
        hub_publish64(offset, (how & 7) * (uint64_t)PAGE + (how >> 3) / 4);
    } else if (how < 0xC0) {
        hub_publish64(offset, HUB_EXTENT_OWN_MEMORY);
    } else {
        take(stage, &any, sizeof(any));
        hub_publish64(offset, any);
    }
}

static void write_file(struct stage *stage, struct hub_extent_name name)
{
    uint8_t page = take_byte(stage);
    struct hub_extent_header header = take_header(stage, name);

    FUZZ_HOLDS(pwrite(stage->file, &header, sizeof(header), page % FILE_PAGES * PAGE) ==
               sizeof(header));
}

static void send_memory(struct stage *stage, struct hub_extent_name name)
{
    static const int seals[] = {F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL, F_SEAL_SHRINK,
                                F_SEAL_GROW, 0};
    uint8_t how = take_byte(stage);
    struct hub_extent_header header = take_header(stage, name);
    off_t size = (off_t)hub_size_classes_extent_size(&stage->geometry.classes.of[name.size_class]);
    int fd = memfd_create("fuzz-extent", MFD_CLOEXEC | MFD_ALLOW_SEALING);

    FUZZ_HOLDS(fd >= 0);
    if (how & 0x80)
        size += (int8_t)(how << 1);
    FUZZ_HOLDS(ftruncate(fd, size) == 0);
    FUZZ_HOLDS(pwrite(fd, &header, sizeof(header), 0) == sizeof(header));
    FUZZ_HOLDS(fcntl(fd, F_ADD_SEALS, seals[how >> 5 & 3]) == 0);
    stage->arrivals.inbox.take(&stage->arrivals, fd);
}

static void touch(struct stage *stage, struct hub_extent_name name)
{
    const struct hub_size_class *of = &stage->geometry.classes.of[name.size_class];
    const struct hub_mapping *memory = &stage->map.of[name.size_class].memory[name.extent];
    struct hub_slot_ref first = {name.size_class, name.extent, 0};
    struct hub_slot_ref last = {name.size_class, name.extent, of->slots_per_extent - 1};
    const uint8_t *begin = hub_slot_class_data(&stage->map, hub_slot_ref_pack(first));
    struct hub_slot_meta *meta = hub_slot_class_meta(&stage->map, hub_slot_ref_pack(last));
    uint8_t *data = hub_slot_class_data(&stage->map, hub_slot_ref_pack(last));
    struct hub_extent_header header;

    memcpy(&header, memory->data, sizeof(header));
    FUZZ_HOLDS(memory->size == hub_size_classes_extent_size(of));
    FUZZ_HOLDS(hub_size_classes_check_extent(of, name, &header) == 0);
    FUZZ_HOLDS(header.data_offset == (uint64_t)(begin - memory->data));
    FUZZ_HOLDS(data + of->slot_size == memory->data + memory->size);
    hub_store_relaxed(&meta->generation, hub_load_relaxed(&meta->generation) + 1);
    memset(data, 0x5a, of->slot_size);
}

static void map(struct stage *stage, struct hub_extent_name name)
{
    struct hub_slot_ref first = {name.size_class, name.extent, 0};
    int r;

    if (hub_slot_class_has(&stage->map, hub_slot_ref_pack(first)))
        return;
    r = hub_slot_arrivals_map(&stage->arrivals, &stage->map, name, stage->file);
    FUZZ_HOLDS(r == 0 || r == -ENOENT || r == RAPAHUB_EPROTOCOL);
    FUZZ_HOLDS(hub_slot_class_has(&stage->map, hub_slot_ref_pack(first)) == (r == 0));
    if (r == 0)
        touch(stage, name);
}

static void step(struct stage *stage)
{
    uint8_t which = take_byte(stage), of = take_byte(stage);
    struct hub_extent_name name = {of % stage->map.count, (of >> 4) % HUB_EXTENTS_MAX};

    switch (which % 8) {
    case 0:
    case 1:
        write_offset(stage, name);
        break;
    case 2:
    case 3:
        write_file(stage, name);
        break;
    case 4:
    case 5:
        send_memory(stage, name);
        break;
    case 6:
        map(stage, name);
        break;
    default:
        if (of == 0)
            stage->arrivals.inbox.cut(&stage->arrivals);
        map(stage, name);
        break;
    }
}

/* Classes of 64 and of 1,024 bytes: their extents take a page, or three. */
static bool open_stage(struct stage *stage)
{
    static const struct hub_limits limits = {.payload_max = 1024,
                                             .credit_size = 256,
                                             .guests_max = 1,
                                             .ring_size = 4,
                                             .slot_size = 64,
                                             .slot_count = 4,
                                             .channels_max = 4};

    if (hub_geometry_compute(&limits, &stage->geometry) < 0)
        return false;
    stage->file = memfd_create("fuzz-segment", MFD_CLOEXEC);
    stage->segment = aligned_alloc(64, (stage->geometry.total_size + 63) & ~UINT64_C(63));
    if (!stage->segment || stage->file < 0 || ftruncate(stage->file, FILE_SIZE) < 0)
        return false;
    memset(stage->segment, 0, stage->geometry.total_size);
    hub_size_classes_format(&stage->geometry.classes, 1, stage->segment);
    hub_slot_class_init(&stage->map, &stage->geometry, stage->segment);
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct stage stage = {.at = data, .end = data + size, .file = -1};

    if (size > 256)
        return 0;
    hub_slot_arrivals_init(&stage.arrivals);
    if (open_stage(&stage))
        while (stage.at < stage.end)
            step(&stage);
    hub_slot_class_fini(&stage.map);
    hub_slot_arrivals_fini(&stage.arrivals);
    free(stage.segment);
    if (stage.file >= 0)
        close(stage.file);
    return 0;
}
