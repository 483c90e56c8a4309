/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/store/blobs.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#define RULE   "cluster.blobs.name"
#define FOLDER "sha256"
#define PUSH   "push."

struct place { /* a blob's */
    char folder[3], name[2 * CLUSTER_DIGEST_SIZE + 1];
};

static struct place place_of(const uint8_t digest[CLUSTER_DIGEST_SIZE])
{
    struct place place;

    for (size_t i = 0; i < CLUSTER_DIGEST_SIZE; i++)
        snprintf(place.name + 2 * i, 3, "%02x", digest[i]);
    memcpy(place.folder, place.name, 2);
    place.folder[2] = 0;
    return place;
}

/* ---- the store ---- */

struct sweep {
    struct cluster_blobs *blobs;
    int failure;
};

static void remove_rest(void *user, const char *name)
{
    struct sweep *sweep = user;
    const struct cluster_files_folder *folder = &sweep->blobs->folder;
    int r;

    if (strncmp(name, PUSH, sizeof PUSH - 1) != 0)
        return;
    r = folder->files->remove(folder->files, folder->fd, name);
    if (r < 0 && r != -ENOENT)
        sweep->failure = cluster_files_fail(folder, name, "remove it", r);
}

int cluster_blobs_open(struct cluster_blobs *blobs, const struct cluster_files_folder *folder)
{
    struct sweep sweep = {.blobs = blobs};
    int r;

    *blobs = (struct cluster_blobs){0};
    r = cluster_files_open_folder(folder->files, folder, FOLDER, true, &blobs->folder);
    if (r < 0)
        return r;
    r = folder->files->list(folder->files, blobs->folder.fd, remove_rest, &sweep);
    if (r < 0)
        r = rapahub_fail(r, "", "%s: cannot list the folder: %s", blobs->folder.path,
                         strerrordesc_np(-r));
    else
        r = sweep.failure;
    if (r < 0)
        cluster_blobs_close(blobs);
    return r;
}

void cluster_blobs_close(struct cluster_blobs *blobs)
{
    cluster_files_close_folder(&blobs->folder);
}

int cluster_blobs_get(const struct cluster_blobs *blobs, const uint8_t digest[CLUSTER_DIGEST_SIZE])
{
    const struct cluster_files *files = blobs->folder.files;
    struct place place = place_of(digest);
    struct cluster_files_folder folder;
    int r = files->open_folder(files, blobs->folder.fd, place.folder);

    if (r >= 0) {
        folder = (struct cluster_files_folder){files, r, NULL};
        r = files->open(files, folder.fd, place.name, O_RDONLY, 0);
        files->close(files, folder.fd);
    }
    return r < 0 ? cluster_files_fail(&blobs->folder, place.name, "open it", r) : r;
}

int cluster_blobs_remove(const struct cluster_blobs *blobs,
                         const uint8_t digest[CLUSTER_DIGEST_SIZE])
{
    const struct cluster_files *files = blobs->folder.files;
    struct place place = place_of(digest);
    int folder = files->open_folder(files, blobs->folder.fd, place.folder), r = folder;

    if (folder >= 0) {
        r = files->remove(files, folder, place.name);
        if (r == 0)
            r = files->sync_folder(files, folder);
        files->close(files, folder);
    }
    return r < 0 && r != -ENOENT ? cluster_files_fail(&blobs->folder, place.name, "remove it", r)
                                 : 0;
}

/* ---- blobs that nothing needs ---- */

struct removing {
    const struct cluster_blobs *blobs;
    const uint8_t *kept;
    size_t count;
    int failure; /* the first one */
};

static bool is_kept(const struct removing *removing, const uint8_t digest[CLUSTER_DIGEST_SIZE])
{
    for (size_t i = 0; i < removing->count; i++)
        if (memcmp(removing->kept + i * CLUSTER_DIGEST_SIZE, digest, CLUSTER_DIGEST_SIZE) == 0)
            return true;
    return false;
}

static int digit_of(char letter)
{
    if (letter >= '0' && letter <= '9')
        return letter - '0';
    return letter >= 'a' && letter <= 'f' ? letter - 'a' + 10 : -1;
}

static bool read_name(const char *name, uint8_t to[CLUSTER_DIGEST_SIZE])
{
    if (strlen(name) != (size_t)2 * CLUSTER_DIGEST_SIZE)
        return false;
    for (size_t i = 0; i < CLUSTER_DIGEST_SIZE; i++) {
        int high = digit_of(name[2 * i]), low = digit_of(name[2 * i + 1]);

        if (high < 0 || low < 0)
            return false;
        to[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

static void note_failure(struct removing *removing, int code)
{
    if (code < 0 && removing->failure == 0)
        removing->failure = code;
}

static void remove_other(void *user, const char *name)
{
    struct removing *removing = user;
    uint8_t digest[CLUSTER_DIGEST_SIZE];

    if (read_name(name, digest) && !is_kept(removing, digest))
        note_failure(removing, cluster_blobs_remove(removing->blobs, digest));
}

/* A folder with two digits as its name has the blobs that begin so. */
static void remove_in(void *user, const char *name)
{
    struct removing *removing = user;
    const struct cluster_files_folder *all = &removing->blobs->folder;
    int folder, r;

    if (strlen(name) != 2 || digit_of(name[0]) < 0 || digit_of(name[1]) < 0)
        return;
    folder = all->files->open_folder(all->files, all->fd, name);
    r = folder < 0 ? folder : all->files->list(all->files, folder, remove_other, removing);
    if (folder >= 0)
        all->files->close(all->files, folder);
    if (r < 0)
        note_failure(removing, cluster_files_fail(all, name, "list it", r));
}

int cluster_blobs_remove_others(const struct cluster_blobs *blobs, const uint8_t *kept,
                                size_t count)
{
    struct removing removing = {.blobs = blobs, .kept = kept, .count = count};
    const struct cluster_files_folder *all = &blobs->folder;
    int r = all->files->list(all->files, all->fd, remove_in, &removing);

    return r < 0 ? cluster_files_fail(all, "", "list it", r) : removing.failure;
}

/* ---- a push ---- */

static int fail(const struct cluster_blobs_push *push, int code)
{
    return cluster_files_fail(&push->blobs->folder, push->name, "write it", code);
}

/* Says whether a blob is there with the bytes that its name says: 1, or 0. */
static int is_there(const struct cluster_blobs *blobs, const uint8_t digest[CLUSTER_DIGEST_SIZE])
{
    const struct cluster_files *files = blobs->folder.files;
    uint8_t found[CLUSTER_DIGEST_SIZE];
    int fd = cluster_blobs_get(blobs, digest), r;
    int64_t size;

    if (fd < 0) {
        rapahub_clear_error();
        return 0;
    }
    size = files->size(files, fd);
    r = size < 0 ? (int)size : cluster_digest_of_file(files, fd, 0, (uint64_t)size, found);
    files->close(files, fd);
    return r == 0 && memcmp(found, digest, sizeof found) == 0;
}

/* The process that pushed it may have been killed before its name was durable. */
static int make_durable(const struct cluster_blobs *blobs,
                        const uint8_t digest[CLUSTER_DIGEST_SIZE])
{
    const struct cluster_files *files = blobs->folder.files;
    struct place place = place_of(digest);
    int folder = files->open_folder(files, blobs->folder.fd, place.folder), r = folder;

    if (folder >= 0) {
        r = files->sync_folder(files, folder);
        files->close(files, folder);
    }
    if (r >= 0)
        r = files->sync_folder(files, blobs->folder.fd);
    return r < 0 ? cluster_files_fail(&blobs->folder, place.name, "make its name durable", r) : 1;
}

/* r[impl cluster.blobs.once] */
int cluster_blobs_begin(struct cluster_blobs *blobs, const uint8_t digest[CLUSTER_DIGEST_SIZE],
                        uint64_t size, struct cluster_blobs_push *push)
{
    const struct cluster_files *files = blobs->folder.files;
    int r;

    *push = (struct cluster_blobs_push){.blobs = blobs, .size = size, .fd = -1};
    memcpy(push->digest, digest, sizeof push->digest);
    if (size == 0)
        return rapahub_fail(RAPAHUB_EINVAL, "", "a module without a byte");
    if (size > CLUSTER_BLOBS_SIZE_MAX)
        return rapahub_fail(RAPAHUB_EFBIG, "",
                            "a module of %" PRIu64 " bytes; the most is %" PRIu64, size,
                            CLUSTER_BLOBS_SIZE_MAX);
    if (is_there(blobs, digest))
        return make_durable(blobs, digest);
    snprintf(push->name, sizeof push->name, PUSH "%" PRIu64, ++blobs->pushes);
    r = cluster_digest_begin(&push->hash);
    if (r < 0)
        return fail(push, r);
    r = files->open(files, blobs->folder.fd, push->name, O_RDWR | O_CREAT | O_EXCL, 0444);
    if (r < 0) {
        cluster_digest_end(&push->hash, NULL);
        return fail(push, r);
    }
    push->fd = r;
    return 0;
}

void cluster_blobs_abandon(struct cluster_blobs_push *push)
{
    const struct cluster_files_folder *folder = &push->blobs->folder;

    if (push->fd < 0)
        return;
    if (push->hash.context)
        cluster_digest_end(&push->hash, NULL);
    folder->files->close(folder->files, push->fd);
    folder->files->remove(folder->files, folder->fd, push->name);
    push->fd = -1;
}

int cluster_blobs_add(struct cluster_blobs_push *push, const void *data, size_t size)
{
    int r;

    if (size > push->size - push->done)
        return rapahub_fail(RAPAHUB_EFBIG, "",
                            "more bytes of a module than the %" PRIu64 " that were announced",
                            push->size);
    r = cluster_files_write(push->blobs->folder.files, push->fd, data, size, push->done);
    if (r < 0)
        return fail(push, r);
    cluster_digest_add(&push->hash, data, size);
    push->done += size;
    return 0;
}

/* A blob that is there by now but damaged is put aside: it is no blob. */
static int link_as(const struct cluster_blobs_push *push, const struct place *place,
                   const struct cluster_files_folder *to)
{
    const struct cluster_files_folder *from = &push->blobs->folder;
    const struct cluster_files *files = from->files;
    int r = files->link(files, from->fd, push->name, to->fd, place->name);

    if (r == -EEXIST) {
        if (is_there(push->blobs, push->digest))
            return 0;
        r = cluster_files_put_aside(to, place->name, "a blob with other bytes than its name says");
        if (r == 0)
            r = files->link(files, from->fd, push->name, to->fd, place->name);
    }
    return r;
}

static int publish(const struct cluster_blobs_push *push)
{
    const struct cluster_files_folder *from = &push->blobs->folder;
    struct place place = place_of(push->digest);
    struct cluster_files_folder to;
    int r = cluster_files_open_folder(from->files, from, place.folder, true, &to);

    if (r < 0)
        return r;
    r = link_as(push, &place, &to);
    if (r == 0)
        r = from->files->sync_folder(from->files, to.fd);
    cluster_files_close_folder(&to);
    return r < 0 ? cluster_files_fail(from, place.name, "write it", r) : 0;
}

/* r[impl cluster.blobs.name] */
int cluster_blobs_finish(struct cluster_blobs_push *push)
{
    const struct cluster_files *files = push->blobs->folder.files;
    uint8_t digest[CLUSTER_DIGEST_SIZE];
    int r;

    cluster_digest_end(&push->hash, digest);
    if (push->done != push->size || memcmp(digest, push->digest, sizeof digest) != 0) {
        r = rapahub_fail(RAPAHUB_EFORMAT, RULE,
                         "the bytes that were pushed are not those of the SHA-256 %s",
                         place_of(push->digest).name);
    } else {
        r = files->sync(files, push->fd);
        r = r < 0 ? fail(push, r) : publish(push);
    }
    cluster_blobs_abandon(push);
    return r;
}
