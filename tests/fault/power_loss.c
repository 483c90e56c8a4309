/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/fault/power_loss.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/fault/node_folder.h"
#include "tests/support/testing.h"

#define PAGE       ((size_t)4096)
#define FILES_MAX  4096
#define DEPTH_MAX  8
#define PATH       1024
#define LINE       512 /* bytes of a line about a name */
#define NAME       256
#define NAME_LIMIT "255"

/* ---- what is durable ---- */

static void kept_path(const struct power_loss *loss, char kind, uint64_t inode, char to[PATH])
{
    snprintf(to, PATH, "%s/%c%" PRIu64, loss->kept, kind, inode);
}

static void keep_file(const struct power_loss *loss, const char *path, const struct stat *status)
{
    char to[PATH];

    kept_path(loss, 'f', status->st_ino, to);
    (void)unlink(to);
    node_folder_copy_file(path, to, status);
}

/* A line for each name: its inode, its kind, and itself. */
static void keep_names(const struct power_loss *loss, const char *path, const struct stat *status)
{
    char to[PATH];
    struct dirent *entry;
    DIR *folder = opendir(path);
    FILE *out;

    kept_path(loss, 'd', status->st_ino, to);
    out = fopen(to, "we");
    assert_true(folder && out);
    while ((entry = readdir(folder)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            fprintf(out, "%" PRIu64 " %c %s\n", (uint64_t)entry->d_ino,
                    entry->d_type == DT_DIR ? 'd' : 'f', entry->d_name);
    closedir(folder);
    assert_int_equal(fclose(out), 0);
}

static const struct power_loss *beginning; /* of nftw */

static int keep_one(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)place;
    if (kind == FTW_D)
        keep_names(beginning, path, status);
    else if (kind == FTW_F)
        keep_file(beginning, path, status);
    return 0;
}

void power_loss_begin(struct power_loss *loss)
{
    node_folder_remove(loss->kept);
    assert_int_equal(mkdir(loss->kept, 0700), 0);
    beginning = loss;
    (void)nftw(loss->folder, keep_one, 16, FTW_PHYS);
}

void power_loss_sync(const struct power_loss *loss, pid_t process, int fd)
{
    char path[64];
    struct stat status;

    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)process, fd);
    if (stat(path, &status) != 0)
        return;
    if (S_ISDIR(status.st_mode))
        keep_names(loss, path, &status);
    else if (S_ISREG(status.st_mode))
        keep_file(loss, path, &status);
}

/* ---- what was there ---- */

/* A file or a folder as it was when power failed. */
struct present {
    uint64_t inode;
    char path[PATH];
};

static struct present *presents;
static unsigned presents_count;

static int note_present(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)kind;
    (void)place;
    assert_true(presents_count < FILES_MAX);
    presents[presents_count].inode = status->st_ino;
    snprintf(presents[presents_count++].path, PATH, "%s", path);
    return 0;
}

static const char *present_path(uint64_t inode)
{
    for (unsigned i = 0; i < presents_count; i++)
        if (presents[i].inode == inode)
            return presents[i].path;
    return NULL;
}

static bool coin(struct power_loss *loss)
{
    return loss->torn && rand_r(&loss->seed) % 2 == 0;
}

/* ---- what is left ---- */

static int open_if(const char *path)
{
    return path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
}

static off_t size_of(int fd)
{
    struct stat status;

    return fd >= 0 && fstat(fd, &status) == 0 ? status.st_size : 0;
}

/* Each page is of before or of after its last changes. A file that is no longer there has no pages
 * of after. */
static void mix(struct power_loss *loss, int before, int after, int to)
{
    static const char zeros[PAGE];
    off_t size;

    if (after < 0)
        after = before;
    size = size_of(coin(loss) ? after : before);
    assert_int_equal(ftruncate(to, size), 0);
    for (off_t at = 0; at < size; at += (off_t)PAGE) {
        int from = coin(loss) ? after : before;
        size_t most = (size_t)(size - at) < PAGE ? (size_t)(size - at) : PAGE;
        char page[PAGE];
        ssize_t n = from >= 0 ? pread(from, page, most, at) : 0;

        if (n > 0 && memcmp(page, zeros, (size_t)n) != 0)
            assert_int_equal(pwrite(to, page, (size_t)n, at), n);
    }
}

static void leave_file(struct power_loss *loss, uint64_t inode, const char *path)
{
    char kept[PATH];
    int before, after = open_if(present_path(inode));
    int to = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    kept_path(loss, 'f', inode, kept);
    before = open_if(kept);
    assert_true(to >= 0);
    mix(loss, before, after, to);
    for (unsigned i = 0; i < 3; i++) {
        int fd = (int[]){before, after, to}[i];

        if (fd >= 0)
            close(fd);
    }
}

static void leave_folder(struct power_loss *loss, uint64_t inode, const char *path, unsigned depth);

static void leave_name(struct power_loss *loss, const char *line, const char *path, unsigned depth)
{
    char kind = 0, name[NAME], to[PATH];
    uint64_t inode = 0;

    if (sscanf(line, "%" SCNu64 " %c %" NAME_LIMIT "[^\n]", &inode, &kind, name) != 3)
        return;
    snprintf(to, sizeof to, "%.700s/%s", path, name);
    if (kind == 'f') {
        leave_file(loss, inode, to);
        return;
    }
    assert_int_equal(mkdir(to, 0700), 0);
    leave_folder(loss, inode, to, depth + 1);
}

static void leave_folder(struct power_loss *loss, uint64_t inode, const char *path, unsigned depth)
{
    const char *present = present_path(inode);
    char kept[PATH], line[LINE];
    struct stat status;
    FILE *names;

    assert_true(depth < DEPTH_MAX);
    if (coin(loss) && present && stat(present, &status) == 0)
        keep_names(loss, present, &status);
    kept_path(loss, 'd', inode, kept);
    names = fopen(kept, "re");
    while (names && fgets(line, sizeof line, names))
        leave_name(loss, line, path, depth);
    if (names)
        fclose(names);
}

/* The folder itself stays, for a node knows its own. */
void power_loss_strike(struct power_loss *loss)
{
    char left[PATH];
    struct stat status;

    snprintf(left, sizeof left, "%s/left", loss->kept);
    presents = malloc(FILES_MAX * sizeof *presents);
    assert_non_null(presents);
    presents_count = 0;
    if (stat(loss->folder, &status) == 0) {
        (void)nftw(loss->folder, note_present, 16, FTW_PHYS);
        assert_int_equal(mkdir(left, 0700), 0);
        leave_folder(loss, status.st_ino, left, 0);
        node_folder_clear(loss->folder);
        node_folder_copy(left, loss->folder);
    }
    free(presents);
    presents = NULL;
}
