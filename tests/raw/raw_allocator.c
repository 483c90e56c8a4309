/* SPDX-License-Identifier: Apache-2.0 */
/* raw allocator: the reserve is private, and what is in it is in no stack. */
#include "tests/raw/raw_allocator.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/raw/raw_class.h"
#include "tests/raw/raw_wait.h"
#include "tests/raw/raw_words.h"

#define PAGE UINT64_C(4096)

void raw_allocator_format(uint8_t *memory, const struct raw_extent_name *name)
{
    uint64_t records = raw_class_records_size(name->slots);

    memcpy(memory, "RAPAEXT\x01", 8);
    raw_store32(memory, 8, name->size_class);
    raw_store32(memory, 12, name->extent);
    raw_store32(memory, 16, name->slots);
    raw_store32(memory, 20, name->slot_size);
    raw_store64(memory, 24, 64);
    raw_store64(memory, 32, 64 + records);
    raw_store64(memory, 40, 64 + records + (uint64_t)name->slots * name->slot_size);
    for (uint32_t i = 0; i < name->slots; i++)
        raw_store32(memory, 64 + 16 * (uint64_t)i + 12, RAW_NO_SLOT);
}

static void put(struct raw_link *link, uint32_t ref)
{
    struct raw_class *of = &link->classes->of[ref >> 24];
    uint8_t *record = raw_class_record(link, ref);

    raw_store32(record, 4, RAW_FREE);
    raw_store32(record, 8, 0);
    raw_class_note(link, ref)->place = RAW_OURS;
    of->reserve[of->in_reserve++] = ref;
}

static int stock(struct raw_link *link, uint32_t c, uint32_t extent)
{
    struct raw_class *of = &link->classes->of[c];
    size_t count = (size_t)of->per_extent * (extent + 1);
    uint32_t *reserve = realloc(of->reserve, count * sizeof(*reserve));

    if (!reserve)
        return -ENOMEM;
    of->reserve = reserve;
    for (uint32_t i = of->per_extent; i-- > 0;)
        put(link, c << 24 | extent << 22 | i);
    return 0;
}

int raw_allocator_stock(struct raw_link *link)
{
    int r = 0;

    for (uint32_t c = 0; r == 0 && c < link->classes->count; c++)
        r = stock(link, c, 0);
    return r;
}

/* ---- extents ---- */

static int send_descriptor(const struct raw_link *link, int fd)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {.header = {CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS}};
    char one = 1;
    struct iovec byte = {&one, 1};
    const struct msghdr message = {.msg_iov = &byte,
                                   .msg_iovlen = 1,
                                   .msg_control = control.bytes,
                                   .msg_controllen = sizeof(control.bytes)};

    memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
    return sendmsg(link->bell, &message, MSG_NOSIGNAL) == 1 ? 0 : -errno;
}

/* Sealed, and sent before anything of it is named. */
static int make_own(struct raw_link *link, const struct raw_extent_name *name, uint64_t size,
                    uint8_t **memory)
{
    int fd = memfd_create("raw-extent", MFD_CLOEXEC | MFD_ALLOW_SEALING), r = 0;

    if (fd < 0 || ftruncate(fd, (off_t)size) < 0 ||
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
        r = -errno;
    if (r == 0) {
        *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        r = *memory == MAP_FAILED ? -errno : 0;
    }
    if (r == 0) {
        raw_allocator_format(*memory, name);
        r = send_descriptor(link, fd);
    }
    if (fd >= 0)
        close(fd);
    return r;
}

static int append(struct raw_link *link, const struct raw_extent_name *name, uint64_t size,
                  uint64_t *offset, uint8_t **memory)
{
    struct stat file;

    if (fstat(link->file, &file) < 0)
        return -errno;
    *offset = ((uint64_t)file.st_size + PAGE - 1) / PAGE * PAGE;
    if (ftruncate(link->file, (off_t)(*offset + (size + PAGE - 1) / PAGE * PAGE)) < 0)
        return -errno;
    *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, link->file, (off_t)*offset);
    if (*memory == MAP_FAILED)
        return -errno;
    raw_allocator_format(*memory, name);
    return 0;
}

int raw_allocator_grow(struct raw_link *link, uint32_t c)
{
    struct raw_class *of = &link->classes->of[c];
    uint32_t extent = raw_load32(link->base, of->header + 8);
    const struct raw_extent_name name = {c, extent, of->per_extent, of->slot_size};
    uint64_t size = raw_class_extent_size(of), offset = RAW_OWN_MEMORY;
    uint8_t *memory = NULL;
    int r;

    if (extent == 4)
        return -ENOSPC;
    r = link->file >= 0 ? append(link, &name, size, &offset, &memory)
                        : make_own(link, &name, size, &memory);
    if (r < 0)
        return r;
    raw_store64(link->base, of->header + 24 + 8 * (uint64_t)extent, offset);
    raw_store32(link->base, of->header + 8, extent + 1);
    if (offset != RAW_OWN_MEMORY)
        raw_store64(link->base, 88, offset + (size + PAGE - 1) / PAGE * PAGE);
    r = raw_class_add(of, extent, memory, size);
    return r == 0 ? stock(link, c, extent) : r;
}

/* ---- to the guest, and back ---- */

uint32_t raw_allocator_grant(struct raw_link *link, uint32_t c, uint32_t count)
{
    struct raw_class *of = &link->classes->of[c];
    uint32_t given = 0;

    for (; given < count && of->in_reserve > 0; given++) {
        uint32_t ref = of->reserve[--of->in_reserve];

        raw_store32(raw_class_record(link, ref), 8, link->peer);
        raw_class_note(link, ref)->place = RAW_AWAY;
        of->granted++;
        raw_store32(link->base, of->block + 12, of->granted);
        raw_class_push(link, of->block, ref);
    }
    if (given > 0)
        raw_wait_wake(link, 0x18, of->block);
    return given;
}

void raw_allocator_attend(struct raw_link *link)
{
    for (uint32_t c = 0; c < link->classes->count; c++) {
        struct raw_class *of = &link->classes->of[c];

        if (raw_load32(link->base, of->block + 8) == 0)
            continue;
        if (raw_allocator_gather(link, c) == 0 && of->in_reserve == 0 && link->classes->grows)
            (void)raw_allocator_grow(link, c);
        raw_store32(link->base, of->block + 8, 0);
        raw_allocator_grant(link, c, 1);
    }
}

int raw_allocator_gather(struct raw_link *link, uint32_t c)
{
    struct raw_class *of = &link->classes->of[c];
    uint32_t ref = raw_class_pop_all(link, of->header + 16);

    while (ref != RAW_NO_SLOT) {
        uint8_t *record = raw_class_record(link, ref);
        struct raw_note *note = raw_class_note(link, ref);
        uint32_t next;

        if (!record || ref >> 24 != c || note->place == RAW_OURS)
            return -EPROTO;
        next = raw_load32(record, 12);
        if (note->place == RAW_AWAY)
            raw_store32(link->base, of->block + 12, --of->granted);
        put(link, ref);
        ref = next;
    }
    return 0;
}

int raw_allocator_take(struct raw_link *link, uint32_t size, uint32_t *ref)
{
    uint32_t first = raw_class_select(link, size);

    for (uint32_t c = first; c < link->classes->count; c++) {
        struct raw_class *of = &link->classes->of[c];

        if (of->in_reserve == 0 && raw_allocator_gather(link, c) < 0)
            return -EPROTO;
        if (of->in_reserve == 0 && c == first && link->classes->grows)
            (void)raw_allocator_grow(link, c);
        if (of->in_reserve == 0)
            continue;
        *ref = of->reserve[--of->in_reserve];
        raw_class_note(link, *ref)->place = RAW_USED;
        return 0;
    }
    return first < link->classes->count ? -EAGAIN : -EMSGSIZE;
}

bool raw_allocator_ready(struct raw_link *link)
{
    for (uint32_t c = raw_class_select(link, link->wanted_size); c < link->classes->count; c++)
        if (link->classes->of[c].in_reserve > 0 ||
            raw_load64(link->base, link->classes->of[c].header + 16) >> 32 != RAW_NO_SLOT)
            return true;
    return false;
}
