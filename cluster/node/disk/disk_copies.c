/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/disk/disk_copies.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "cluster/store/copy_image.h"
#include "cluster/store/copy_seal.h"

struct open_file {
    struct hub_list link;
    struct cluster_copy_file file;
    uint64_t seal; /* no copy of a token below it is taken */
};

#define FILE_OF(at) HUB_LIST_ITEM(at, struct open_file, link)

void cluster_disk_copies_begin(struct cluster_disk_copies_open *copies,
                               const struct cluster_files_folder *folder)
{
    copies->folder = folder;
    copies->count = 0;
    hub_list_init(&copies->files);
}

static void close_file(struct cluster_disk_copies_open *copies, struct open_file *open)
{
    hub_list_remove(&open->link);
    cluster_copy_file_close(&open->file);
    free(open);
    copies->count--;
}

void cluster_disk_copies_end(struct cluster_disk_copies_open *copies)
{
    while (copies->count > 0)
        close_file(copies, FILE_OF(copies->files.next));
}

static struct open_file *find(struct cluster_disk_copies_open *copies,
                              struct cluster_disk_container of)
{
    for (struct hub_list *at = copies->files.previous; at != &copies->files; at = at->previous)
        if (FILE_OF(at)->file.pool == of.pool && FILE_OF(at)->file.container == of.container)
            return FILE_OF(at);
    return NULL;
}

/* Opens the file; a process that has no descriptor left closes others for it. */
static int open_copy_file(struct cluster_disk_copies_open *copies, struct cluster_disk_container of,
                          struct cluster_copy_file *file)
{
    for (;;) {
        int r = cluster_copy_file_open(file, copies->folder, of.pool, of.container);

        if (r != -EMFILE || copies->count == 0)
            return r < 0 ? r : 0;
        close_file(copies, FILE_OF(copies->files.next));
    }
}

static int get(struct cluster_disk_copies_open *copies, struct cluster_disk_container of,
               struct open_file **out)
{
    struct open_file *open = find(copies, of);
    int r;

    if (!open) {
        open = calloc(1, sizeof *open);
        if (!open)
            return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a file of copies");
        r = cluster_copy_seal_read(copies->folder, of.pool, of.container, &open->seal);
        if (r == 0)
            r = open_copy_file(copies, of, &open->file);
        if (r < 0) {
            free(open);
            return r;
        }
        if (copies->count == CLUSTER_DISK_COPIES_OPEN_MAX)
            close_file(copies, FILE_OF(copies->files.next));
        copies->count++;
        hub_list_init(&open->link);
    }
    hub_list_remove(&open->link);
    hub_list_append(&copies->files, &open->link);
    *out = open;
    return 0;
}

static int stale(const struct open_file *open)
{
    return rapahub_fail(RAPAHUB_ESTALE, "cluster.copy.seal",
                        "%s: it is sealed for a later life of its container", open->file.name);
}

/* Another node's bytes are as it says, or are not kept. */
static int check_bytes(const struct cluster_disk_job *job)
{
    uint8_t found[CLUSTER_DIGEST_SIZE];
    struct cluster_digest digest;
    int r = job->checks ? cluster_digest_begin(&digest) : 0;

    if (r < 0 || !job->checks)
        return r;
    cluster_digest_add(&digest, job->copy.state.data, job->copy.state.size);
    cluster_digest_add(&digest, job->copy.dedup.data, job->copy.dedup.size);
    cluster_digest_end(&digest, found);
    return memcmp(found, job->part.digest, sizeof found) == 0
               ? 0
               : rapahub_fail(RAPAHUB_EFORMAT, "cluster.copy.put",
                              "the bytes of a copy have another SHA-256 than its node said");
}

/* r[impl cluster.copy.seal] */
int cluster_disk_copies_write(struct cluster_disk_copies_open *copies, struct cluster_disk_job *job)
{
    struct open_file *open;
    int r = check_bytes(job);

    if (r == 0)
        r = get(copies, job->of, &open);
    if (r < 0)
        return r;
    if (job->copy.token < open->seal)
        return stale(open);
    r = cluster_copy_file_write(&open->file, &job->copy);
    job->result.whole = r == 1;
    return r < 0 ? r : 0;
}

static int duplicate(struct rapahub_bytes from, struct rapahub_bytes *to)
{
    uint8_t *memory = from.size > 0 ? malloc(from.size) : NULL;

    if (from.size > 0 && !memory)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a copy of %zu bytes", from.size);
    if (from.size > 0)
        memcpy(memory, from.data, from.size);
    *to = (struct rapahub_bytes){memory, from.size};
    return 0;
}

static int take_copy(void *user, const struct cluster_copy *copy)
{
    struct cluster_disk_copies *copies = user;
    struct cluster_copy *more = reallocarray(copies->of, copies->count + 1, sizeof *more), *to;
    int r;

    if (!more)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a copy");
    copies->of = more;
    to = &more[copies->count++];
    *to = *copy;
    to->state = to->dedup = (struct rapahub_bytes){NULL, 0};
    r = duplicate(copy->state, &to->state);
    return r == 0 ? duplicate(copy->dedup, &to->dedup) : r;
}

int cluster_disk_copies_read(struct cluster_disk_copies_open *copies, struct cluster_disk_job *job)
{
    struct open_file *open;
    int r = get(copies, job->of, &open);

    if (r == 0)
        r = cluster_copy_file_read(&open->file, take_copy, &job->result.copies);
    if (r < 0)
        cluster_disk_job_free_copies(&job->result.copies);
    return r;
}

int cluster_disk_copies_remove(struct cluster_disk_copies_open *copies,
                               struct cluster_disk_job *job)
{
    struct open_file *open;
    int r = get(copies, job->of, &open);

    if (r < 0)
        return r;
    r = open->seal > 0 ? cluster_copy_seal_remove(copies->folder, job->of.pool, job->of.container)
                       : 0;
    if (r == 0)
        r = cluster_copy_file_remove(&open->file);
    close_file(copies, open);
    return r;
}

/* ---- for other nodes ---- */

/* A life that is not the last one learns so: what is newer here is not for it.
 * r[impl cluster.copy.seal] */
int cluster_disk_copies_seal(struct cluster_disk_copies_open *copies, struct cluster_disk_job *job)
{
    struct open_file *open;
    int r = get(copies, job->of, &open);

    if (r < 0)
        return r;
    if (job->seal < open->seal || job->seal < open->file.token)
        return stale(open);
    if (job->seal > open->seal)
        r = cluster_copy_seal_write(copies->folder, job->of.pool, job->of.container, job->seal);
    if (r < 0)
        return r;
    open->seal = job->seal;
    job->result.token = open->file.token;
    job->result.seq = open->file.seq;
    job->result.size = open->file.end;
    job->result.cut = open->file.cut;
    return 0;
}

int cluster_disk_copies_piece(struct cluster_disk_copies_open *copies, struct cluster_disk_job *job)
{
    struct open_file *open;
    int r = get(copies, job->of, &open);
    int64_t n;

    if (r < 0)
        return r;
    if (open->file.token != job->copy.token || open->file.seq != job->copy.seq)
        return rapahub_fail(RAPAHUB_ESTALE, "cluster.copy.fetch", "%s: it has another copy now",
                            open->file.name);
    n = cluster_copy_image_read(&open->file, job->part.offset, job->memory, job->room);
    if (n < 0)
        return (int)n;
    job->result.part = (struct rapahub_bytes){job->memory, (size_t)n};
    return 0;
}

int cluster_disk_copies_adopt(struct cluster_disk_copies_open *copies, struct cluster_disk_job *job)
{
    const struct cluster_disk_part *part = &job->part;
    struct open_file *open;
    int r = get(copies, job->of, &open);

    if (r == 0)
        r = cluster_copy_image_write(&open->file, part->offset, job->memory, job->room);
    if (r < 0 || part->offset + job->room < part->size)
        return r;
    r = cluster_copy_image_adopt(&open->file, job->copy.token, job->copy.seq);
    job->result.done = r == 0;
    if (r < 0)
        close_file(copies, open); /* nothing tells which of the two the name has */
    return r;
}
