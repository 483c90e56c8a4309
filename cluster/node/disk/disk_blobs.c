/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/disk/disk_blobs.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "hub/base/own.h"

#define RULE   "cluster.blobs.name"
#define WINDOW ((size_t)64 << 10)
#define SEALS  (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

#ifndef MFD_EXEC
#define MFD_EXEC 0x10U /* Linux 6.3 */
#endif

int cluster_disk_blobs_begin(struct cluster_disk_blobs *blobs,
                             const struct cluster_files_folder *folder)
{
    memset(blobs->pushes, 0, sizeof blobs->pushes);
    return cluster_blobs_open(&blobs->blobs, folder);
}

static void abandon(struct cluster_disk_blobs_push *push)
{
    cluster_blobs_abandon(&push->push);
    push->used_ns = 0;
}

void cluster_disk_blobs_end(struct cluster_disk_blobs *blobs)
{
    for (unsigned i = 0; i < CLUSTER_DISK_BLOBS_PUSHES; i++)
        if (blobs->pushes[i].used_ns != 0)
            abandon(&blobs->pushes[i]);
    cluster_blobs_close(&blobs->blobs);
}

/* ---- parts ---- */

static struct cluster_disk_blobs_push *find(struct cluster_disk_blobs *blobs,
                                            const uint8_t digest[CLUSTER_DIGEST_SIZE])
{
    for (unsigned i = 0; i < CLUSTER_DISK_BLOBS_PUSHES; i++)
        if (blobs->pushes[i].used_ns != 0 &&
            memcmp(blobs->pushes[i].push.digest, digest, CLUSTER_DIGEST_SIZE) == 0)
            return &blobs->pushes[i];
    return NULL;
}

/* The place that was used longest ago; a push there that may still go on is not given up. */
static struct cluster_disk_blobs_push *make_room(struct cluster_disk_blobs *blobs, uint64_t now_ns)
{
    struct cluster_disk_blobs_push *oldest = &blobs->pushes[0];

    for (unsigned i = 1; i < CLUSTER_DISK_BLOBS_PUSHES; i++)
        if (blobs->pushes[i].used_ns < oldest->used_ns)
            oldest = &blobs->pushes[i];
    if (oldest->used_ns != 0 && now_ns - oldest->used_ns < CLUSTER_DISK_BLOBS_IDLE_NS) {
        rapahub_fail(RAPAHUB_EBUSY, "", "%d modules are pushed already: push this one later",
                     CLUSTER_DISK_BLOBS_PUSHES);
        return NULL;
    }
    if (oldest->used_ns != 0)
        abandon(oldest);
    return oldest;
}

/* Returns 0, 1 if the blob is there already, or a failure. */
static int begin(struct cluster_disk_blobs *blobs, const struct cluster_disk_part *part,
                 uint64_t now_ns, struct cluster_disk_blobs_push **out)
{
    struct cluster_disk_blobs_push *push = find(blobs, part->digest);
    int r;

    if (push)
        abandon(push);
    else
        push = make_room(blobs, now_ns);
    if (!push)
        return -EBUSY;
    r = cluster_blobs_begin(&blobs->blobs, part->digest, part->size, &push->push);
    if (r == 0)
        push->used_ns = now_ns;
    *out = push;
    return r;
}

static int out_of_order(const struct cluster_disk_part *part,
                        const struct cluster_disk_blobs_push *push)
{
    return rapahub_fail(
        RAPAHUB_EINVAL, RULE,
        "a part of a module from byte %" PRIu64 " of %" PRIu64 " on, where byte %" PRIu64
        " of %" PRIu64 " comes next: push it again from byte 0 on",
        part->offset, part->size, push ? push->push.done : 0, push ? push->push.size : part->size);
}

int cluster_disk_blobs_part(struct cluster_disk_blobs *blobs, struct cluster_disk_job *job,
                            uint64_t now_ns)
{
    const struct cluster_disk_part *part = &job->part;
    struct cluster_disk_blobs_push *push = find(blobs, part->digest);
    int r = 0;

    if (part->offset == 0)
        r = begin(blobs, part, now_ns, &push);
    else if (!push || push->push.done != part->offset || push->push.size != part->size)
        return out_of_order(part, push);
    job->result.done = r == 1;
    if (r != 0)
        return r < 0 ? r : 0;
    push->used_ns = now_ns;
    r = cluster_blobs_add(&push->push, part->part.data, part->part.size);
    if (r < 0) {
        abandon(push);
        return r;
    }
    if (push->push.done < push->push.size)
        return 0;
    push->used_ns = 0; /* it ends, also where it fails */
    r = cluster_blobs_finish(&push->push);
    job->result.done = r == 0;
    return r;
}

/* ---- a part is read ---- */

/* The node that gets the parts hashes them. */
int cluster_disk_blobs_read(const struct cluster_disk_blobs *blobs, struct cluster_disk_job *job)
{
    const struct cluster_files *files = blobs->blobs.folder.files;
    int fd = cluster_blobs_get(&blobs->blobs, job->part.digest);
    int64_t size, n = -EINVAL;

    if (fd < 0)
        return fd;
    size = files->size(files, fd);
    if (size > 0 && job->part.offset < (uint64_t)size)
        n = cluster_files_read(files, fd, job->memory, job->room, job->part.offset);
    files->close(files, fd);
    if (n <= 0)
        return cluster_files_fail(&blobs->blobs.folder, "a module", "read a part of it",
                                  n < 0 ? (int)n : -EINVAL);
    job->result.size = (uint64_t)size;
    job->result.part = (struct rapahub_bytes){job->memory, (size_t)n};
    return 0;
}

/* ---- a blob is loaded ---- */

static int make_memory(void)
{
    int fd = memfd_create("module", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_EXEC);

    if (fd < 0 && errno == EINVAL)
        fd = memfd_create("module", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    return fd < 0 ? -errno : fd;
}

static int put(int to, const uint8_t *from, size_t size, uint64_t at)
{
    while (size > 0) {
        ssize_t n = pwrite(to, from, size, (off_t)at);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : -EIO;
        from += n;
        at += (uint64_t)n;
        size -= (size_t)n;
    }
    return 0;
}

/* Copies the file; the bytes that are hashed are those that go to memory. Returns their number. */
static int64_t copy_bytes(const struct cluster_files *files, int from, int to,
                          uint8_t digest[CLUSTER_DIGEST_SIZE])
{
    OWN(hub_memory) uint8_t *window = malloc(WINDOW);
    struct cluster_digest hash;
    uint64_t at = 0;
    int64_t n = window ? cluster_digest_begin(&hash) : -ENOMEM;

    if (n < 0)
        return n;
    do {
        n = cluster_files_read(files, from, window, WINDOW, at);
        if (n > 0 && at + (uint64_t)n > CLUSTER_BLOBS_SIZE_MAX)
            n = -EFBIG;
        if (n > 0) {
            int r = put(to, window, (size_t)n, at);

            cluster_digest_add(&hash, window, (size_t)n);
            at += (uint64_t)n;
            n = r < 0 ? r : n;
        }
    } while (n == (int64_t)WINDOW);
    cluster_digest_end(&hash, digest);
    return n < 0 ? n : (int64_t)at;
}

int cluster_disk_blobs_get(const struct cluster_disk_blobs *blobs, struct cluster_disk_job *job)
{
    const struct cluster_files *files = blobs->blobs.folder.files;
    OWN(hub_fd) int memory = -1;
    uint8_t digest[CLUSTER_DIGEST_SIZE];
    int fd = cluster_blobs_get(&blobs->blobs, job->part.digest);
    int64_t n;

    if (fd < 0)
        return fd;
    memory = make_memory();
    n = memory < 0 ? memory : copy_bytes(files, fd, memory, digest);
    files->close(files, fd);
    if (n >= 0 && fcntl(memory, F_ADD_SEALS, SEALS) < 0)
        n = -errno;
    if (n < 0)
        return cluster_files_fail(&blobs->blobs.folder, "a module", "load it", (int)n);
    if (memcmp(digest, job->part.digest, sizeof digest) != 0)
        return rapahub_fail(RAPAHUB_EFORMAT, RULE,
                            "%s: a module has other bytes than its name says: push it again",
                            blobs->blobs.folder.path);
    job->result.size = (uint64_t)n;
    job->result.fd = TAKE(memory);
    return 0;
}

int cluster_disk_blobs_remove(const struct cluster_disk_blobs *blobs, struct cluster_disk_job *job)
{
    return cluster_blobs_remove(&blobs->blobs, job->part.digest);
}
