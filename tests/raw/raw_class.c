/* SPDX-License-Identifier: Apache-2.0 */
/* raw class: offsets are those of docs/spec, section "slots of several sizes". */
#include "tests/raw/raw_class.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/raw/raw_allocator.h"
#include "tests/raw/raw_cache.h"
#include "tests/raw/raw_wait.h"
#include "tests/raw/raw_words.h"

#define MAGIC      UINT64_C(0x0154584541504152)
#define SEALS      (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)
#define INDEX_MASK 0x3fffffu

static uint64_t align64(uint64_t size)
{
    return (size + 63) & ~(uint64_t)63;
}

uint64_t raw_class_records_size(uint32_t slots)
{
    return align64((uint64_t)slots * 16);
}

uint64_t raw_class_extent_size(const struct raw_class *of)
{
    return 64 + raw_class_records_size(of->per_extent) + (uint64_t)of->per_extent * of->slot_size;
}

/* ---- extents ---- */

static bool has_header(struct raw_link *link, uint32_t c, uint32_t extent, uint8_t *memory)
{
    const struct raw_class *of = &link->classes->of[c];
    uint64_t slots = 64 + raw_class_records_size(of->per_extent);

    return raw_load64(memory, 0) == MAGIC && raw_load32(memory, 8) == c &&
           raw_load32(memory, 12) == extent && raw_load32(memory, 16) == of->per_extent &&
           raw_load32(memory, 20) == of->slot_size && raw_load64(memory, 24) == 64 &&
           raw_load64(memory, 32) == slots && raw_load64(memory, 40) == raw_class_extent_size(of);
}

int raw_class_add(struct raw_class *of, uint32_t extent, uint8_t *memory, size_t own)
{
    struct raw_extent *to = &of->extents[extent];

    to->notes = calloc(of->per_extent, sizeof(*to->notes));
    if (!to->notes)
        return -ENOMEM;
    to->memory = memory;
    to->own = own;
    return 0;
}

/* An extent in a file, or all of a memfd; NULL if it is not what it should be. */
static uint8_t *map_extent(int fd, uint64_t offset, uint64_t size)
{
    struct stat file;
    void *memory;

    if (fstat(fd, &file) < 0 || offset > (uint64_t)file.st_size ||
        size > (uint64_t)file.st_size - offset)
        return NULL;
    memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)offset);
    return memory == MAP_FAILED ? NULL : memory;
}

static uint8_t *map_sent(struct raw_link *link, struct raw_extent *at, uint64_t size)
{
    int seals;

    if (at->sent < 0)
        (void)raw_wait_hear(link);
    if (at->sent < 0)
        return NULL;
    seals = fcntl(at->sent, F_GET_SEALS);
    return seals >= 0 && (seals & SEALS) == SEALS ? map_extent(at->sent, 0, size) : NULL;
}

static bool reach(struct raw_link *link, uint32_t c, uint32_t extent)
{
    struct raw_class *of = &link->classes->of[c];
    uint64_t size = raw_class_extent_size(of);
    uint64_t offset = raw_load64(link->base, of->header + 24 + 8 * (uint64_t)extent);
    uint8_t *memory = NULL;

    if (link->host || offset == 0 || raw_load32(link->base, of->header + 8) <= extent)
        return false;
    if (offset == RAW_OWN_MEMORY)
        memory = map_sent(link, &of->extents[extent], size);
    else if (offset + size <= raw_load64(link->base, 88))
        memory = map_extent(link->file, offset, size);
    if (!memory)
        return false;
    if (has_header(link, c, extent, memory) && raw_class_add(of, extent, memory, size) == 0)
        return true;
    munmap(memory, size);
    return false;
}

void raw_class_keep(struct raw_link *link, int fd)
{
    uint64_t words[2];
    uint32_t c, extent;

    if (link->classes && pread(fd, words, sizeof(words), 0) == sizeof(words) && words[0] == MAGIC) {
        c = (uint32_t)words[1];
        extent = (uint32_t)(words[1] >> 32);
        if (c < link->classes->count && extent < 4 &&
            link->classes->of[c].extents[extent].sent < 0) {
            link->classes->of[c].extents[extent].sent = fd;
            return;
        }
    }
    close(fd);
}

/* ---- slots ---- */

static struct raw_extent *extent_of(struct raw_link *link, uint32_t ref)
{
    uint32_t c = ref >> 24, extent = ref >> 22 & 3;

    if (c >= link->classes->count || (ref & INDEX_MASK) >= link->classes->of[c].per_extent)
        return NULL;
    if (!link->classes->of[c].extents[extent].memory && !reach(link, c, extent))
        return NULL;
    return &link->classes->of[c].extents[extent];
}

uint8_t *raw_class_record(struct raw_link *link, uint32_t ref)
{
    struct raw_extent *extent = extent_of(link, ref);

    return extent ? extent->memory + 64 + 16 * (size_t)(ref & INDEX_MASK) : NULL;
}

struct raw_note *raw_class_note(struct raw_link *link, uint32_t ref)
{
    struct raw_extent *extent = extent_of(link, ref);

    return extent ? &extent->notes[ref & INDEX_MASK] : NULL;
}

uint8_t *raw_class_bytes(struct raw_link *link, uint32_t ref)
{
    const struct raw_class *of = &link->classes->of[ref >> 24];
    struct raw_extent *extent = extent_of(link, ref);

    return extent ? extent->memory + 64 + raw_class_records_size(of->per_extent) +
                        (size_t)(ref & INDEX_MASK) * of->slot_size
                  : NULL;
}

uint32_t raw_class_select(const struct raw_link *link, uint32_t size)
{
    uint32_t c = 0;

    while (c < link->classes->count && link->classes->of[c].slot_size < size)
        c++;
    return c;
}

/* ---- stacks: ref << 32 | a number that rises ---- */

void raw_class_push(struct raw_link *link, uint64_t head, uint32_t ref)
{
    uint8_t *record = raw_class_record(link, ref);
    uint64_t old;

    do {
        old = raw_load64(link->base, head);
        raw_store32(record, 12, (uint32_t)(old >> 32));
    } while (!raw_swap64(link->base, head, old, (uint64_t)ref << 32 | (uint32_t)(old + 1)));
}

int raw_class_pop(struct raw_link *link, uint64_t head, uint32_t *ref)
{
    uint8_t *record;
    uint64_t old, next;

    do {
        old = raw_load64(link->base, head);
        *ref = (uint32_t)(old >> 32);
        if (*ref == RAW_NO_SLOT)
            return -EAGAIN;
        record = raw_class_record(link, *ref);
        if (!record)
            return -EPROTO;
        next = raw_load32(record, 12);
    } while (!raw_swap64(link->base, head, old, next << 32 | (uint32_t)(old + 1)));
    return 0;
}

uint32_t raw_class_pop_all(struct raw_link *link, uint64_t head)
{
    uint64_t old;

    do {
        old = raw_load64(link->base, head);
        if (old >> 32 == RAW_NO_SLOT)
            break;
    } while (!raw_swap64(link->base, head, old, (uint64_t)RAW_NO_SLOT << 32 | (uint32_t)(old + 1)));
    return (uint32_t)(old >> 32);
}

/* ---- the contents of the segment ---- */

static int read_class(struct raw_link *link, uint32_t c, uint32_t smaller)
{
    struct raw_class *of = &link->classes->of[c];
    uint64_t first = raw_load64(link->base, of->header + 24);

    of->slot_size = raw_load32(link->base, of->header);
    of->per_extent = raw_load32(link->base, of->header + 4);
    if (of->slot_size <= smaller || of->slot_size % 64 != 0 || of->slot_size > 1u << 30 ||
        of->per_extent < 1 || of->per_extent > 1u << 20)
        return -EPROTO;
    if (first % 64 != 0 || first > link->size || raw_class_extent_size(of) > link->size - first ||
        !has_header(link, c, 0, link->base + first))
        return -EPROTO;
    return raw_class_add(of, 0, link->base + first, 0);
}

static int read_classes(struct raw_link *link, uint64_t base)
{
    uint64_t blocks = base + 64 * (uint64_t)link->classes->count;
    uint64_t block = align64(16 * (uint64_t)link->classes->count);
    uint32_t smaller = 63;
    int r = 0;

    for (uint32_t c = 0; r == 0 && c < link->classes->count; c++) {
        link->classes->of[c].header = base + 64 * (uint64_t)c;
        link->classes->of[c].block = blocks + (link->peer - 1) * block + 16 * (uint64_t)c;
        for (unsigned e = 0; e < 4; e++)
            link->classes->of[c].extents[e].sent = -1;
        r = read_class(link, c, smaller);
        smaller = link->classes->of[c].slot_size;
    }
    return r == 0 && smaller < raw_load32(link->base, 24) ? -EPROTO : r;
}

int raw_class_init(struct raw_link *link, uint32_t peers)
{
    uint64_t base = raw_load64(link->base, 80);
    uint32_t count = raw_load32(link->base, 104);
    int r;

    if (base == 0)
        return 0;
    if (count < 1 || count > 16 || base != raw_load64(link->base, 48) ||
        base != raw_load64(link->base, link->entry + 40) || link->slot_size || link->slot_count ||
        base + (64 + 64 * (uint64_t)peers) * count > link->size)
        return -EPROTO;
    link->classes = calloc(1, sizeof(*link->classes));
    if (!link->classes)
        return -ENOMEM;
    link->classes->count = count;
    r = read_classes(link, base);
    return r == 0 && link->host ? raw_allocator_stock(link) : r;
}

void raw_class_fini(struct raw_link *link)
{
    for (uint32_t c = 0; link->classes && c < link->classes->count; c++) {
        struct raw_class *of = &link->classes->of[c];

        for (struct raw_extent *at = of->extents; at < of->extents + 4; at++) {
            if (at->own)
                munmap(at->memory, at->own);
            if (at->sent > 0)
                close(at->sent);
            free(at->notes);
        }
        free(of->reserve);
    }
    free(link->classes);
    link->classes = NULL;
}

/* ---- operations of either side ---- */

int raw_class_take(struct raw_link *link, uint32_t size, uint32_t *ref, uint32_t *generation)
{
    uint8_t *record;
    int r = link->host ? raw_allocator_take(link, size, ref) : raw_cache_take(link, size, ref);

    if (r < 0)
        return r;
    record = raw_class_record(link, *ref);
    *generation = raw_load32(record, 0) + 1;
    raw_store32(record, 0, *generation);
    raw_store32(record, 4, RAW_ALLOCATED);
    return 0;
}

void raw_class_sent(struct raw_link *link, uint32_t ref)
{
    raw_store32(raw_class_record(link, ref), 4, RAW_IN_FLIGHT);
}

bool raw_class_ready(struct raw_link *link)
{
    return link->host ? raw_allocator_ready(link) : raw_cache_ready(link);
}

int raw_class_accept(struct raw_link *link, struct raw_message *message)
{
    uint8_t *record = raw_class_record(link, message->slot);
    struct raw_note *note = raw_class_note(link, message->slot);
    uint32_t owner = link->host ? link->peer : 0;

    if (!record || message->length <= 32 || message->length > raw_load32(link->base, 24) ||
        (uint64_t)message->offset + message->length >
            link->classes->of[message->slot >> 24].slot_size)
        return -EPROTO;
    if (raw_load32(record, 4) != RAW_IN_FLIGHT || raw_load32(record, 8) != owner ||
        (link->host && note->place != RAW_AWAY) ||
        (note->accepted && note->seen == message->generation))
        return -EPROTO;
    if (raw_load32(record, 0) != message->generation)
        return -EPROTO;
    note->accepted = true;
    note->seen = message->generation;
    memcpy(link->received, raw_class_bytes(link, message->slot) + message->offset, message->length);
    return raw_load32(record, 0) == message->generation ? 0 : -EPROTO;
}

int raw_class_free(struct raw_link *link, uint32_t ref)
{
    const struct raw_class *of = &link->classes->of[ref >> 24];
    uint64_t head = link->host ? of->block : of->header + 16;
    uint8_t *record = raw_class_record(link, ref);

    if (!record || raw_load32(record, 4) != RAW_IN_FLIGHT)
        return -EPROTO;
    raw_store32(record, 4, RAW_FREE);
    raw_class_push(link, head, ref);
    raw_wait_wake(link, 0x18, head);
    return 0;
}
