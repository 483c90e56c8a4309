/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/store/disk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DISK_OF(table) ((struct disk *)(uintptr_t)(table))

static void must(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "the disk of the test: %s\n", what);
    abort();
}

/* ---- files ---- */

static void hold(struct disk_file *file, size_t room)
{
    size_t before = file->room;

    if (room <= before)
        return;
    room = (room + DISK_SECTOR - 1) / DISK_SECTOR * DISK_SECTOR;
    room = room < 2 * before ? 2 * before : room;
    file->now = realloc(file->now, room);
    file->dirty = realloc(file->dirty, room / DISK_SECTOR * sizeof *file->dirty);
    must(file->now && file->dirty, "no memory");
    memset(file->now + before, 0, room - before);
    memset(file->dirty + before / DISK_SECTOR, 0, (room - before) / DISK_SECTOR);
    file->room = room;
}

static void make_durable(struct disk_file *file)
{
    if (file->room > file->durable_room) {
        file->durable = realloc(file->durable, file->room);
        must(file->durable != NULL, "no memory");
        memset(file->durable + file->durable_room, 0, file->room - file->durable_room);
        file->durable_room = file->room;
    }
    for (size_t i = 0; i < file->room / DISK_SECTOR; i++)
        if (file->dirty[i])
            memcpy(file->durable + i * DISK_SECTOR, file->now + i * DISK_SECTOR, DISK_SECTOR);
    if (file->room > 0)
        memset(file->dirty, 0, file->room / DISK_SECTOR);
    file->durable_size = file->size;
}

static int add_file(struct disk *disk, bool folder)
{
    struct disk_file *file = calloc(1, sizeof *file);

    must(file && disk->files_count < DISK_FILES_MAX, "too many files");
    file->folder = folder;
    disk->file[disk->files_count] = file;
    return (int)disk->files_count++;
}

/* ---- names ---- */

static struct disk_name *find(struct disk_name *names, size_t count, int folder, const char *text)
{
    for (size_t i = 0; i < count; i++)
        if (names[i].file >= 0 && names[i].folder == folder && strcmp(names[i].text, text) == 0)
            return &names[i];
    return NULL;
}

static void set(struct disk_name *names, size_t *count, int folder, const char *text, int file)
{
    struct disk_name *name = find(names, *count, folder, text);

    for (size_t i = 0; !name && i < *count; i++)
        if (names[i].file < 0)
            name = &names[i];
    if (!name) {
        must(*count < DISK_NAMES_MAX, "too many names");
        name = &names[(*count)++];
    }
    name->folder = folder;
    name->file = file;
    snprintf(name->text, sizeof name->text, "%s", text);
}

static void apply(struct disk_name *names, size_t *count, const struct disk_change *change)
{
    struct disk_name *from = find(names, *count, change->folder, change->from);

    if (from)
        from->file = -1;
    if (change->to[0] != 0)
        set(names, count, change->folder, change->to, change->file);
}

static void change_names(struct disk *disk, int folder, const char *from, const char *to, int file)
{
    struct disk_change *change = &disk->pending[disk->pending_count++];

    must(disk->pending_count <= DISK_PENDING_MAX, "too many changes of names");
    *change = (struct disk_change){.folder = folder, .file = file};
    snprintf(change->from, sizeof change->from, "%s", from);
    snprintf(change->to, sizeof change->to, "%s", to);
    apply(disk->now, &disk->now_count, change);
}

/* ---- the calls ---- */

/* Before a call that changes the disk. Returns 0, or the failure that it is to have. */
static int step(struct disk *disk)
{
    bool fails;

    if (disk->step)
        disk->step(disk->user);
    disk->calls++;
    fails = disk->fail_at > 0 &&
            (disk->calls == disk->fail_at || (disk->fail_on && disk->calls > disk->fail_at));
    disk->fired |= fails;
    return fails ? disk->fail_code : 0;
}

static int lookup(struct disk *disk, int folder, const char *name)
{
    const struct disk_name *found = find(disk->now, disk->now_count, folder, name);

    return found ? found->file : -ENOENT;
}

static int open_folder(const struct cluster_files *table, int parent, const char *name)
{
    struct disk *disk = DISK_OF(table);
    int file = lookup(disk, parent, name);

    return file >= 0 && !disk->file[file]->folder ? -ENOTDIR : file;
}

static int make_folder(const struct cluster_files *table, int parent, const char *name)
{
    struct disk *disk = DISK_OF(table);
    int r = step(disk);

    if (r < 0)
        return r;
    if (lookup(disk, parent, name) >= 0)
        return -EEXIST;
    change_names(disk, parent, "", name, add_file(disk, true));
    return 0;
}

static int open_file(const struct cluster_files *table, int folder, const char *name, int flags,
                     unsigned mode)
{
    struct disk *disk = DISK_OF(table);
    int file = lookup(disk, folder, name), r;

    (void)mode;
    if (file >= 0 && (flags & O_EXCL))
        return -EEXIST;
    if (file >= 0 || !(flags & O_CREAT)) {
        must(file < 0 || !(flags & O_TRUNC), "O_TRUNC is not known");
        return file;
    }
    r = step(disk);
    if (r < 0)
        return r;
    file = add_file(disk, false);
    change_names(disk, folder, "", name, file);
    return file;
}

static void close_file(const struct cluster_files *table, int fd)
{
    (void)table;
    (void)fd;
}

static int64_t size_of(const struct cluster_files *table, int fd)
{
    return (int64_t)DISK_OF(table)->file[fd]->size;
}

static int mode_of(const struct cluster_files *table, int fd)
{
    (void)table, (void)fd;
    return 0600; /* as a node makes its files */
}

static int64_t read_file(const struct cluster_files *table, int fd, void *to, size_t size,
                         uint64_t at)
{
    const struct disk_file *file = DISK_OF(table)->file[fd];
    size_t held;

    if (at >= file->size)
        return 0;
    size = size < file->size - at ? size : file->size - at;
    held = at >= file->room ? 0 : file->room - at;
    held = held < size ? held : size;
    if (held > 0)
        memcpy(to, file->now + at, held);
    memset((uint8_t *)to + held, 0, size - held);
    return (int64_t)size;
}

static void write_byte(struct disk_file *file, uint8_t byte, uint64_t at)
{
    file->now[at] = byte;
    file->dirty[at / DISK_SECTOR] = true;
    if (file->size <= at)
        file->size = at + 1;
}

static int64_t write_file(const struct cluster_files *table, int fd, const void *from, size_t size,
                          uint64_t at)
{
    struct disk *disk = DISK_OF(table);
    struct disk_file *file = disk->file[fd];
    int r = step(disk);

    disk->misused |= file->lost;
    if (r < 0)
        size /= 2;
    else if (disk->short_writes && size > 1)
        size = size / 2 + 1;
    hold(file, at + size);
    for (size_t i = 0; i < size; i++) {
        write_byte(file, ((const uint8_t *)from)[i], at + i);
        if (disk->step)
            disk->step(disk->user);
    }
    return r < 0 ? r : (int64_t)size;
}

static int allocate(const struct cluster_files *table, int fd, uint64_t size)
{
    struct disk *disk = DISK_OF(table);
    int r = step(disk);

    if (r == 0 && disk->file[fd]->size < size)
        disk->file[fd]->size = size;
    return r;
}

static int cut(const struct cluster_files *table, int fd, uint64_t size)
{
    struct disk *disk = DISK_OF(table);
    struct disk_file *file = disk->file[fd];
    int r = step(disk);

    if (r < 0)
        return r;
    hold(file, size);
    for (uint64_t at = size; at < file->room; at++) {
        if (file->now[at] != 0)
            file->dirty[at / DISK_SECTOR] = true;
        file->now[at] = 0;
    }
    file->size = size;
    return 0;
}

static int sync_file(const struct cluster_files *table, int fd)
{
    struct disk *disk = DISK_OF(table);
    struct disk_file *file = disk->file[fd];
    int r = step(disk);

    disk->misused |= file->lost;
    file->lost |= r < 0;
    if (!file->lost)
        make_durable(file);
    return r;
}

static int sync_folder(const struct cluster_files *table, int folder)
{
    struct disk *disk = DISK_OF(table);
    size_t left = 0;
    int r = step(disk);

    if (r < 0)
        return r;
    for (size_t i = 0; i < disk->pending_count; i++) {
        if (disk->pending[i].folder == folder)
            apply(disk->durable, &disk->durable_count, &disk->pending[i]);
        else
            disk->pending[left++] = disk->pending[i];
    }
    disk->pending_count = left;
    return 0;
}

static int rename_file(const struct cluster_files *table, int folder, const char *from,
                       const char *to)
{
    struct disk *disk = DISK_OF(table);
    int file = lookup(disk, folder, from), r = file < 0 ? file : step(disk);

    if (r == 0)
        change_names(disk, folder, from, to, file);
    return r;
}

static int link_file(const struct cluster_files *table, int folder, const char *from, int to_folder,
                     const char *to)
{
    struct disk *disk = DISK_OF(table);
    int file = lookup(disk, folder, from), r = file < 0 ? file : step(disk);

    if (r == 0 && lookup(disk, to_folder, to) >= 0)
        r = -EEXIST;
    if (r == 0)
        change_names(disk, to_folder, "", to, file);
    return r;
}

static int remove_file(const struct cluster_files *table, int folder, const char *name)
{
    struct disk *disk = DISK_OF(table);
    int file = lookup(disk, folder, name), r = file < 0 ? file : step(disk);

    if (r == 0)
        change_names(disk, folder, name, "", -1);
    return r;
}

static int list(const struct cluster_files *table, int folder, cluster_files_visit *visit,
                void *user)
{
    struct disk *disk = DISK_OF(table);

    visit(user, ".");
    visit(user, "..");
    for (size_t i = 0; i < disk->now_count; i++)
        if (disk->now[i].file >= 0 && disk->now[i].folder == folder)
            visit(user, disk->now[i].text);
    return 0;
}

struct disk *disk_new(void)
{
    struct disk *disk = calloc(1, sizeof *disk);

    must(disk != NULL, "no memory");
    disk->files = (struct cluster_files){
        .open_folder = open_folder,
        .make_folder = make_folder,
        .open = open_file,
        .close = close_file,
        .size = size_of,
        .mode = mode_of,
        .read = read_file,
        .write = write_file,
        .allocate = allocate,
        .cut = cut,
        .sync = sync_file,
        .sync_folder = sync_folder,
        .rename = rename_file,
        .link = link_file,
        .remove = remove_file,
        .list = list,
    };
    add_file(disk, true);
    return disk;
}

void disk_free(struct disk *disk)
{
    for (size_t i = 0; i < disk->files_count; i++) {
        free(disk->file[i]->now);
        free(disk->file[i]->durable);
        free(disk->file[i]->dirty);
        free(disk->file[i]);
    }
    free(disk);
}

struct cluster_files_folder disk_root(struct disk *disk)
{
    static char path[] = "disk";

    return (struct cluster_files_folder){&disk->files, 0, path};
}

/* ---- a crash ---- */

/* Bytes that were durable, and are not written anew, stay. */
static void tear_sector(const struct disk_file *from, struct disk_file *to, size_t sector,
                        struct hub_random *random)
{
    uint64_t how = hub_random_below(random, 4); /* new, old, zero, garbage */

    for (size_t at = sector * DISK_SECTOR; how > 0 && at < (sector + 1) * DISK_SECTOR; at++) {
        uint8_t old = at < from->durable_room ? from->durable[at] : 0;

        if (at < from->durable_size && from->now[at] == old)
            continue;
        to->now[at] = how == 1 ? old : how == 2 ? 0 : (uint8_t)hub_random_next(random);
    }
}

static void tear_size(const struct disk_file *from, struct disk_file *to, struct hub_random *random)
{
    uint64_t least = from->size < from->durable_size ? from->size : from->durable_size,
             most = from->size + from->durable_size - least;

    switch (most > least ? hub_random_below(random, 4) : 0) {
    case 1:
        to->size = least;
        break;
    case 2:
        to->size = least + hub_random_below(random, most - least);
        break;
    case 3:
        to->size = most;
        break;
    default: /* new, as it was copied */
        break;
    }
    for (uint64_t at = to->size; at < to->room; at++)
        to->now[at] = 0;
}

static void copy_file(const struct disk_file *from, struct disk *into, enum disk_crash crash,
                      struct hub_random *random)
{
    struct disk_file *to = into->file[add_file(into, from->folder)];

    hold(to, from->room);
    if (from->room > 0)
        memcpy(to->now, from->now, from->room);
    to->size = from->size;
    if (crash == DISK_TORN) {
        for (size_t i = 0; i < from->room / DISK_SECTOR; i++)
            if (from->dirty[i])
                tear_sector(from, to, i, random);
        tear_size(from, to, random);
    }
    for (size_t i = 0; i < to->room / DISK_SECTOR; i++)
        to->dirty[i] = true;
    make_durable(to);
}

static void copy_names(const struct disk *disk, struct disk *into, enum disk_crash crash,
                       struct hub_random *random)
{
    struct disk_change pending[DISK_PENDING_MAX];
    size_t count = disk->pending_count;

    memcpy(into->now, crash == DISK_TORN ? disk->durable : disk->now, sizeof into->now);
    into->now_count = crash == DISK_TORN ? disk->durable_count : disk->now_count;
    if (crash == DISK_TORN) {
        memcpy(pending, disk->pending, count * sizeof *pending);
        while (count > 0) {
            size_t i = hub_random_below(random, count);

            if (hub_random_below(random, 2) == 0)
                apply(into->now, &into->now_count, &pending[i]);
            pending[i] = pending[--count];
        }
    }
    memcpy(into->durable, into->now, sizeof into->durable);
    into->durable_count = into->now_count;
}

struct disk *disk_after(const struct disk *disk, enum disk_crash crash, struct hub_random *random)
{
    struct disk *into = disk_new();

    for (size_t i = 1; i < disk->files_count; i++)
        copy_file(disk->file[i], into, crash, random);
    copy_names(disk, into, crash, random);
    return into;
}

uint8_t *disk_bytes(struct disk *disk, int folder, const char *name, size_t *size)
{
    int file = lookup(disk, folder, name);

    if (file < 0)
        return NULL;
    hold(disk->file[file], disk->file[file]->size);
    *size = disk->file[file]->size;
    return disk->file[file]->now;
}

size_t disk_count(const struct disk *disk, int folder, const char *part)
{
    size_t count = 0;

    for (size_t i = 0; i < disk->now_count; i++)
        count += disk->now[i].file >= 0 && disk->now[i].folder == folder &&
                 strstr(disk->now[i].text, part);
    return count;
}
