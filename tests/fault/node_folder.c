/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/fault/node_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "cluster/metastore/sqlite/sqlite.h"
#include "cluster/node/boot/folder_check.h"
#include "tests/support/testing.h"

#define PATH  1024
#define PIECE ((size_t)4096)

static char found_text[2048];

/* ---- files ---- */

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)status;
    (void)kind;
    (void)place;
    return remove(path);
}

void node_folder_remove(const char *path)
{
    (void)nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static int remove_below(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    return place->level == 0 ? 0 : remove_one(path, status, kind, place);
}

void node_folder_clear(const char *path)
{
    (void)nftw(path, remove_below, 16, FTW_DEPTH | FTW_PHYS);
}

bool node_folder_is_empty(const char *path)
{
    struct dirent *entry;
    unsigned count = 0;
    DIR *folder = opendir(path);

    while (folder && (entry = readdir(folder)))
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    if (folder)
        closedir(folder);
    return count == 0;
}

/* Segments of the log are zeros for the most part, and stay without memory. */
void node_folder_copy_file(const char *from, const char *to, const struct stat *status)
{
    static const char zeros[PIECE];
    int in = open(from, O_RDONLY | O_CLOEXEC);
    int out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, status->st_mode & 0777);
    char piece[PIECE];
    off_t at = 0;
    ssize_t n;

    assert_true(in >= 0 && out >= 0);
    assert_int_equal(ftruncate(out, status->st_size), 0);
    while ((at = lseek(in, at, SEEK_DATA)) >= 0 && (n = pread(in, piece, PIECE, at)) > 0) {
        if (memcmp(piece, zeros, (size_t)n) != 0)
            assert_int_equal(pwrite(out, piece, (size_t)n, at), n);
        at += n;
    }
    close(in);
    close(out);
}

static char copy_from[PATH], copy_to[PATH];

static int copy_one(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    char to[PATH * 2];

    (void)place;
    snprintf(to, sizeof to, "%s%s", copy_to, path + strlen(copy_from));
    if (kind == FTW_D)
        assert_true(mkdir(to, status->st_mode & 0777) == 0 || access(to, W_OK) == 0);
    else if (kind == FTW_F)
        node_folder_copy_file(path, to, status);
    return 0;
}

void node_folder_copy(const char *from, const char *to)
{
    snprintf(copy_from, sizeof copy_from, "%s", from);
    snprintf(copy_to, sizeof copy_to, "%s", to);
    assert_int_equal(nftw(from, copy_one, 16, FTW_PHYS), 0);
}

/* ---- checks ---- */

static void found(void *user, enum cluster_folder_check_grade grade, const char *place,
                  const char *text)
{
    unsigned *count = user;

    if (grade == CLUSTER_FOLDER_CHECK_FINE)
        return;
    if ((*count)++ == 0)
        snprintf(found_text, sizeof found_text, "the folder: %s: %s", place, text);
}

/* The list of pools has ids in decimal, and the names of files are hexadecimal. */
static bool is_of_a_pool(const char *name, const char *pools)
{
    unsigned long long number = strtoull(name, NULL, 16);
    char word[64];

    snprintf(word, sizeof word, "\"id\":\"%llu.%llu\"", number >> 32, number & UINT32_MAX);
    return strstr(pools, word) != NULL;
}

/* Files of pools begin with 16 digits. A folder of a pool that is empty is removed some time. */
static const char *look_for_strangers(const char *path, const char *pools)
{
    char inner[PATH];
    struct dirent *entry;
    const char *wrong = NULL;
    DIR *folder = opendir(path);

    while (folder && !wrong && (entry = readdir(folder))) {
        if (strspn(entry->d_name, "0123456789abcdef") < 16 || is_of_a_pool(entry->d_name, pools))
            continue;
        snprintf(inner, sizeof inner, "%.700s/%.200s", path, entry->d_name);
        if (access(inner, X_OK) == 0 && node_folder_is_empty(inner))
            continue;
        snprintf(found_text, sizeof found_text, "%.900s/%.200s is of no pool", path, entry->d_name);
        wrong = found_text;
    }
    if (folder)
        closedir(folder);
    return wrong;
}

static const char *modules_list; /* of nftw */

static int is_of_a_module(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)status;
    if (kind != FTW_F || strstr(modules_list, path + place->base))
        return 0;
    snprintf(found_text, sizeof found_text, "%.900s is of no module", path);
    return 1;
}

const char *node_folder_check(const char *data, const char *scratch, const char *pools,
                              const char *modules)
{
    static const struct cluster_metastore_end *const ends[] = {&cluster_sqlite_end, NULL};
    const struct cluster_folder_check_options options = {
        .data = data, .scratch = scratch, .ends = ends};
    char path[PATH];
    unsigned count = 0;
    int r = cluster_folder_check_run(&options, found, &count);
    const char *wrong = count > 0 ? found_text : NULL;

    if (r < 0)
        return rapahub_last_error()->text;
    snprintf(path, sizeof path, "%.1000s/copies", data);
    if (!wrong)
        wrong = look_for_strangers(path, pools);
    snprintf(path, sizeof path, "%.1000s/pools", data);
    if (!wrong)
        wrong = look_for_strangers(path, pools);
    snprintf(path, sizeof path, "%.1000s/blobs", data);
    modules_list = modules;
    if (!wrong && nftw(path, is_of_a_module, 16, FTW_PHYS) != 0)
        wrong = found_text;
    return wrong;
}
