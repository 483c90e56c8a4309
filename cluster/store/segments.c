/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/store/segments.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "hub/base/own.h"

#define PREFIX "domain_table."
#define SUFFIX ".bin"
#define DIGITS 16

void cluster_segments_name(uint64_t sequence, char name[CLUSTER_FILES_NAME_MAX])
{
    snprintf(name, CLUSTER_FILES_NAME_MAX, PREFIX "%016" PRIx64 SUFFIX, sequence);
}

/* ---- the list ---- */

struct listing {
    struct cluster_segments_list *list;
    bool failed;
};

/* Returns the bytes after the number, or NULL if the name is no segment's. */
static const char *take_sequence(const char *name, uint64_t *sequence)
{
    const char *at = name + sizeof PREFIX - 1;

    if (strncmp(name, PREFIX, sizeof PREFIX - 1) != 0 || strspn(at, "0123456789abcdef") != DIGITS)
        return NULL;
    *sequence = strtoull(at, NULL, 16);
    return *sequence > 0 && *sequence < UINT64_MAX ? at + DIGITS : NULL;
}

static void visit(void *user, const char *name)
{
    struct listing *listing = user;
    struct cluster_segments_list *list = listing->list;
    uint64_t sequence, *more;
    const char *rest = take_sequence(name, &sequence);

    if (!rest || strncmp(rest, SUFFIX, sizeof SUFFIX - 1) != 0)
        return;
    if (list->next <= sequence)
        list->next = sequence + 1;
    if (strcmp(rest, SUFFIX) != 0) /* it was put aside */
        return;
    more = reallocarray(list->sequences, list->count + 1, sizeof *more);
    listing->failed |= !more;
    if (!more)
        return;
    more[list->count++] = sequence;
    list->sequences = more;
}

static int compare(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

    return (a > b) - (a < b);
}

int cluster_segments_list(const struct cluster_segments *log, struct cluster_segments_list *out)
{
    const struct cluster_files *files = log->folder.files;
    struct listing listing = {.list = out};
    int r;

    *out = (struct cluster_segments_list){.next = 1};
    r = files->list(files, log->folder.fd, visit, &listing);
    if (r == 0 && listing.failed)
        r = -ENOMEM;
    if (r < 0) {
        free(out->sequences);
        return rapahub_fail(r, "", "%s: cannot list the folder: %s", log->folder.path,
                            strerrordesc_np(-r));
    }
    if (out->count > 1)
        qsort(out->sequences, out->count, sizeof *out->sequences, compare);
    return 0;
}

/* r[impl cluster.wal.owner] */
int cluster_segments_check(const struct cluster_segments *log, const char *name, uint32_t node,
                           const uint8_t uuid[CLUSTER_WAL_RECORD_UUID])
{
    if (node == log->node && memcmp(uuid, log->uuid, CLUSTER_WAL_RECORD_UUID) == 0)
        return 0;
    return rapahub_fail(RAPAHUB_EFORMAT, "cluster.wal.owner",
                        "%s/%s: the log of another node, %" PRIu32 ": move it away",
                        log->folder.path, name, node);
}

/* ---- the end of a segment ---- */

int cluster_segments_put_aside(const struct cluster_segments *log, const char *why)
{
    struct cluster_segments_list list;
    OWN(hub_memory) uint64_t *sequences = NULL;
    int r = cluster_segments_list(log, &list);

    if (r < 0)
        return r;
    sequences = list.sequences;
    r = cluster_files_put_aside(&log->folder, CLUSTER_SEGMENTS_SNAPSHOT, why);
    if (r == -ENOENT) {
        rapahub_clear_error();
        r = 0;
    }
    for (size_t i = 0; i < list.count && r == 0; i++) {
        char name[CLUSTER_FILES_NAME_MAX];

        cluster_segments_name(sequences[i], name);
        r = cluster_files_put_aside(&log->folder, name, why);
    }
    return r;
}

/* Returns the revision at which a segment begins, or 0 where that cannot be told. */
static uint64_t first_of(const struct cluster_segments *log, const char *name)
{
    const struct cluster_files *files = log->folder.files;
    int fd = files->open(files, log->folder.fd, name, O_RDONLY, 0);
    uint8_t bytes[CLUSTER_WAL_RECORD_SEGMENT];
    struct cluster_wal_segment header;
    int64_t n;

    if (fd < 0)
        return 0;
    n = cluster_files_read(files, fd, bytes, sizeof bytes, 0);
    files->close(files, fd);
    if (n != sizeof bytes ||
        cluster_wal_record_read_segment((struct rapahub_bytes){bytes, sizeof bytes}, &header) < 0)
        return 0;
    return header.first;
}

static int remove_segment(const struct cluster_segments *log, const char *name)
{
    const struct cluster_files *files = log->folder.files;
    int r = files->remove(files, log->folder.fd, name);

    return r < 0 && r != -ENOENT ? cluster_files_fail(&log->folder, name, "remove it", r) : 0;
}

int cluster_segments_remove_before(const struct cluster_segments *log, uint64_t revision)
{
    struct cluster_segments_list list;
    OWN(hub_memory) uint64_t *sequences = NULL;
    char name[CLUSTER_FILES_NAME_MAX];
    int r = cluster_segments_list(log, &list);
    size_t keep;

    if (r < 0)
        return r;
    sequences = list.sequences;
    for (keep = list.count; keep-- > 0;) {
        uint64_t first;

        cluster_segments_name(sequences[keep], name);
        first = first_of(log, name);
        if (first > 0 && first <= revision)
            break;
    }
    for (size_t i = 0; i < keep && keep < list.count && r == 0; i++) {
        cluster_segments_name(sequences[i], name);
        r = remove_segment(log, name);
    }
    return r;
}
