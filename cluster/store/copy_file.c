/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/store/copy_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>
#include <rapahub/log.h>

#include "cluster/base/ids.h"
#include "cluster/store/copy_head.h"
#include "cluster/store/digest.h"
#include "hub/base/own.h"
#include "hub/base/random.h"

#define TOPIC  "store"
#define RULE   "cluster.copy.form"
#define SUFFIX ".copy"
#define WINDOW ((size_t)64 << 10)

static int fail(const struct cluster_copy_file *file, const char *what, int code)
{
    return cluster_files_fail(file->folder, file->name, what, code);
}

/* ---- the file is checked ---- */

static bool is_its_own(const struct cluster_copy_file *file, const struct cluster_copy_head *head)
{
    return head->pool == file->pool && head->container == file->container;
}

/* Says whether a copy with this head follows those that were read. r[impl cluster.copy.order] */
static bool follows(const struct cluster_copy_file *file, const struct cluster_copy_head *head)
{
    bool whole = head->base_token == 0;

    if (!cluster_copy_head_is_sound(head) || !is_its_own(file, head))
        return false;
    if (file->token == 0)
        return whole;
    return !whole && head->id == file->id && head->base_token == file->token &&
           head->base_seq == file->seq;
}

static void note(struct cluster_copy_file *file, const struct cluster_copy_head *head)
{
    uint64_t body = head->state_size + head->dedup_size;

    if (head->base_token == 0) {
        file->id = head->id;
        file->whole = body;
        file->changes = 0;
        file->end = 0;
    } else {
        file->changes += body;
    }
    file->token = head->token;
    file->seq = head->seq;
    file->end += cluster_copy_head_size(head);
}

/* Reads the copy at `at`, with its digest. Returns 1; 0 if it is none that follows; or a failure.
 */
static int check_copy(const struct cluster_copy_file *file, uint64_t at, uint64_t end,
                      struct cluster_copy_head *out)
{
    const struct cluster_files *files = file->folder->files;
    uint8_t bytes[CLUSTER_COPY_HEAD_SIZE], digest[CLUSTER_DIGEST_SIZE];
    int64_t n = cluster_files_read(files, file->fd, bytes, sizeof bytes, at);
    int r;

    if (n < 0)
        return (int)n;
    if (n != sizeof bytes || !cluster_copy_head_take(bytes, out))
        return 0;
    if (out->version != CLUSTER_COPY_HEAD_VERSION)
        return rapahub_fail(
            RAPAHUB_EABI, RULE, "%s/%s: a copy of version %" PRIu32 ", this release reads %d",
            file->folder->path, file->name, out->version, CLUSTER_COPY_HEAD_VERSION);
    if (!follows(file, out) || cluster_copy_head_size(out) > end - at)
        return 0;
    r = cluster_digest_of_file(files, file->fd, at + CLUSTER_COPY_HEAD_SIZE,
                               cluster_copy_head_size(out) - CLUSTER_COPY_HEAD_SIZE, digest);
    return r < 0 ? r : memcmp(digest, out->digest, sizeof digest) == 0;
}

/* Says whether there is a head of this file in a window of it. A state that has such bytes is none:
 * a module cannot know the id. */
static bool has_head(const struct cluster_copy_file *file, const uint8_t *window, size_t size)
{
    const uint8_t *at = window;
    struct cluster_copy_head head;

    while ((at = memmem(at, size - (size_t)(at - window), CLUSTER_COPY_HEAD_MAGIC,
                        sizeof CLUSTER_COPY_HEAD_MAGIC))) {
        if (size - (size_t)(at - window) < CLUSTER_COPY_HEAD_SIZE)
            return false;
        if (cluster_copy_head_take(at, &head) && head.id == file->id)
            return true;
        at++;
    }
    return false;
}

/* Returns 1 if a copy begins after `at`, 0 if none does, or a failure. */
static int has_head_after(const struct cluster_copy_file *file, uint64_t at)
{
    OWN(hub_memory) uint8_t *window = malloc(WINDOW);
    int64_t n = WINDOW;

    if (!window)
        return -ENOMEM;
    for (; n == (int64_t)WINDOW; at += WINDOW - CLUSTER_COPY_HEAD_SIZE) {
        n = cluster_files_read(file->folder->files, file->fd, window, WINDOW, at);
        if (n < 0)
            return (int)n;
        if (has_head(file, window, (size_t)n))
            return 1;
    }
    return 0;
}

/* The rest is a copy that was not told as done. It stays until the next write, so that it is known
 * after another start too. */
static void leave_out(struct cluster_copy_file *file)
{
    file->cut = true;
    rapahub_log(RAPAHUB_LOG_WARN, TOPIC,
                "%s/%s: cut at byte %" PRIu64 ", after copy %" PRIu64
                ": the rest had not become durable",
                file->folder->path, file->name, file->end, file->seq);
}

/* Returns 0, 1 if the file is damaged, or a failure. */
static int check_all(struct cluster_copy_file *file)
{
    int64_t end = file->folder->files->size(file->folder->files, file->fd);
    struct cluster_copy_head head;
    int r = 1;

    if (end < 0)
        return fail(file, "read it", (int)end);
    while (r == 1 && file->end < (uint64_t)end) {
        r = check_copy(file, file->end, (uint64_t)end, &head);
        if (r == 1)
            note(file, &head);
    }
    if (r == RAPAHUB_EABI)
        return r;
    if (r < 0)
        return fail(file, "read it", r);
    if (file->token == 0)
        return 1;
    if (r == 1)
        return 0;
    r = has_head_after(file, file->end + 1);
    if (r < 0)
        return fail(file, "read it", r);
    if (r == 0)
        leave_out(file);
    return r;
}

/* A file of this name that is of another container was put there by hand. */
static int check_owner(const struct cluster_copy_file *file)
{
    uint8_t bytes[CLUSTER_COPY_HEAD_SIZE];
    struct cluster_copy_head head;
    int64_t n = cluster_files_read(file->folder->files, file->fd, bytes, sizeof bytes, 0);

    if (n != sizeof bytes || !cluster_copy_head_take(bytes, &head) || is_its_own(file, &head))
        return 0;
    return rapahub_fail(RAPAHUB_EFORMAT, RULE,
                        "%s/%s: the copy of another container, %" PRIx64 "/%" PRIu32
                        ": move it away",
                        file->folder->path, file->name, head.pool, head.container);
}

/* The process that wrote it may have been killed before it synced, and what was read counts from
 * now on. r[impl cluster.copy.durable] */
static int make_durable(const struct cluster_copy_file *file)
{
    const struct cluster_files *files = file->folder->files;
    int r = files->sync(files, file->fd);

    if (r == 0)
        r = files->sync_folder(files, file->folder->fd);
    return r < 0 ? fail(file, "make it durable", r) : 0;
}

static void set_none(struct cluster_copy_file *file)
{
    if (file->fd >= 0)
        file->folder->files->close(file->folder->files, file->fd);
    file->fd = -1;
    file->id = file->token = file->seq = file->whole = file->changes = file->end = 0;
    file->cut = false;
}

/* Opens the file of its name. */
static int open_named(struct cluster_copy_file *file)
{
    const struct cluster_files_folder *folder = file->folder;
    int r = folder->files->open(folder->files, folder->fd, file->name, O_RDWR, 0);

    if (r == -ENOENT)
        return 0;
    if (r < 0)
        return fail(file, "open it", r);
    file->fd = r;
    r = check_owner(file);
    if (r == 0)
        r = check_all(file);
    if (r == 0)
        r = make_durable(file);
    if (r == 0)
        return 0;
    set_none(file);
    if (r == 1) {
        r = cluster_files_put_aside(folder, file->name, "the copy is damaged");
        r = r < 0 ? r : 1;
    }
    return r;
}

int cluster_copy_file_open_beside(struct cluster_copy_file *file,
                                  const struct cluster_files_folder *folder, uint64_t pool,
                                  uint32_t container, const char *ending)
{
    *file = (struct cluster_copy_file){
        .folder = folder, .pool = pool, .container = container, .fd = -1};
    snprintf(file->name, sizeof file->name, "%016" PRIx64 ".%08" PRIx32 SUFFIX "%s", pool,
             container, ending);
    return open_named(file);
}

int cluster_copy_file_open(struct cluster_copy_file *file,
                           const struct cluster_files_folder *folder, uint64_t pool,
                           uint32_t container)
{
    return cluster_copy_file_open_beside(file, folder, pool, container, "");
}

void cluster_copy_file_close(struct cluster_copy_file *file)
{
    set_none(file);
}

/* ---- a copy is written ---- */

static int write_copy(const struct cluster_copy_file *file, int fd, uint64_t at,
                      const struct cluster_copy_head *head, const struct cluster_copy *copy)
{
    const struct cluster_files *files = file->folder->files;
    uint8_t bytes[CLUSTER_COPY_HEAD_SIZE];
    int r;

    cluster_copy_head_put(head, bytes);
    r = cluster_files_write(files, fd, bytes, sizeof bytes, at);
    at += sizeof bytes;
    if (r == 0)
        r = cluster_files_write(files, fd, copy->state.data, copy->state.size, at);
    at += copy->state.size;
    return r == 0 ? cluster_files_write(files, fd, copy->dedup.data, copy->dedup.size, at) : r;
}

/* Writes the file under its temporary name, and gives it its own. After a failure of the latter
 * nothing tells which of the two the name has. */
static int replace(struct cluster_copy_file *file, const struct cluster_copy_head *head,
                   const struct cluster_copy *copy)
{
    const struct cluster_files *files = file->folder->files;
    char temporary[CLUSTER_FILES_NAME_MAX + 8];
    int fd, r;

    snprintf(temporary, sizeof temporary, "%s.new", file->name);
    fd = cluster_files_create(file->folder, temporary);
    if (fd < 0)
        return fail(file, "write it", fd);
    r = write_copy(file, fd, 0, head, copy);
    if (r < 0) {
        files->close(files, fd);
        files->remove(files, file->folder->fd, temporary);
        return fail(file, "write it", r);
    }
    file->ended = true;
    r = cluster_files_settle(file->folder, fd, temporary, file->name);
    if (r < 0)
        return r;
    fd = files->open(files, file->folder->fd, file->name, O_RDWR, 0);
    if (fd < 0)
        return fail(file, "open it", fd);
    set_none(file);
    file->fd = fd;
    file->ended = false;
    return 0;
}

/* A full disk leaves the file as it was, if the part that was written can be cut off. */
static int append(struct cluster_copy_file *file, const struct cluster_copy_head *head,
                  const struct cluster_copy *copy)
{
    const struct cluster_files *files = file->folder->files;
    int r = file->cut ? files->cut(files, file->fd, file->end) : 0;

    if (r < 0)
        return fail(file, "cut it", r);
    file->cut = false;
    r = write_copy(file, file->fd, file->end, head, copy);
    if (cluster_files_is_full(r)) {
        file->ended = files->cut(files, file->fd, file->end) < 0;
        return fail(file, "write it", r);
    }
    if (r == 0)
        r = files->sync(files, file->fd);
    file->ended = r < 0;
    return r < 0 ? fail(file, "write it", r) : 0;
}

static int digest_of(const struct cluster_copy *copy, uint8_t to[CLUSTER_DIGEST_SIZE])
{
    struct cluster_digest digest;
    int r = cluster_digest_begin(&digest);

    if (r < 0)
        return rapahub_fail(r, "", "no memory for a digest");
    cluster_digest_add(&digest, copy->state.data, copy->state.size);
    cluster_digest_add(&digest, copy->dedup.data, copy->dedup.size);
    cluster_digest_end(&digest, to);
    return 0;
}

static int make_head(const struct cluster_copy_file *file, const struct cluster_copy *copy,
                     struct cluster_copy_head *out)
{
    bool whole = copy->base_token == 0 && copy->base_seq == 0;

    *out = (struct cluster_copy_head){.id = whole ? hub_random_nonce() : file->id,
                                      .pool = file->pool,
                                      .container = file->container,
                                      .module = copy->module,
                                      .token = copy->token,
                                      .seq = copy->seq,
                                      .base_token = copy->base_token,
                                      .base_seq = copy->base_seq,
                                      .state_version = copy->state_version,
                                      .version = CLUSTER_COPY_HEAD_VERSION,
                                      .state_size = copy->state.size,
                                      .dedup_size = copy->dedup.size};
    if (!cluster_copy_head_is_sound(out))
        return rapahub_fail(RAPAHUB_EINVAL, RULE, "%s: a copy that there cannot be", file->name);
    return digest_of(copy, out->digest);
}

int cluster_copy_file_write(struct cluster_copy_file *file, const struct cluster_copy *copy)
{
    struct cluster_copy_head head;
    bool whole = copy->base_token == 0;
    int r;

    if (copy->token == file->token && copy->seq == file->seq && file->token > 0)
        return 0;
    r = make_head(file, copy, &head);
    if (r < 0)
        return r;
    if (file->token > 0 &&
        (copy->token != file->token ? copy->token < file->token : copy->seq < file->seq))
        return rapahub_fail(RAPAHUB_ESTALE, "cluster.copy.order",
                            "%s/%s: copy %" PRIu64 " is older than copy %" PRIu64,
                            file->folder->path, file->name, copy->seq, file->seq);
    if (!whole && (file->ended || copy->base_token != file->token || copy->base_seq != file->seq))
        return 1;
    r = whole ? replace(file, &head, copy) : append(file, &head, copy);
    if (r == 0)
        note(file, &head);
    return r;
}

int cluster_copy_file_remove(struct cluster_copy_file *file)
{
    const struct cluster_files *files = file->folder->files;
    int r = files->remove(files, file->folder->fd, file->name);

    if (r == 0 || r == -ENOENT)
        r = files->sync_folder(files, file->folder->fd);
    if (r < 0)
        return fail(file, "remove it", r);
    set_none(file);
    file->ended = false;
    return 0;
}

/* ---- a copy is read ---- */

static int read_copy(const struct cluster_copy_file *file, uint64_t at,
                     struct cluster_copy_head *head, struct cluster_copy *copy, uint8_t **body)
{
    const struct cluster_files *files = file->folder->files;
    uint8_t bytes[CLUSTER_COPY_HEAD_SIZE], digest[CLUSTER_DIGEST_SIZE];
    int64_t n = cluster_files_read(files, file->fd, bytes, sizeof bytes, at);
    uint64_t size;

    if (n != sizeof bytes || !cluster_copy_head_take(bytes, head) ||
        cluster_copy_head_size(head) > file->end - at)
        return n < 0 ? (int)n : -EIO;
    size = cluster_copy_head_size(head) - sizeof bytes;
    *body = malloc(size > 0 ? size : 1);
    if (!*body)
        return -ENOMEM;
    n = cluster_files_read(files, file->fd, *body, size, at + sizeof bytes);
    if (n != (int64_t)size)
        return n < 0 ? (int)n : -EIO;
    *copy = (struct cluster_copy){
        .token = head->token,
        .seq = head->seq,
        .base_token = head->base_token,
        .base_seq = head->base_seq,
        .module = head->module,
        .state_version = head->state_version,
        .state = {*body, head->state_size},
        .dedup = {*body + head->state_size, head->dedup_size},
    };
    n = digest_of(copy, digest);
    return n < 0 ? (int)n : memcmp(digest, head->digest, sizeof digest) == 0 ? 0 : -EIO;
}

int cluster_copy_file_read(const struct cluster_copy_file *file, cluster_copy_file_visit *visit,
                           void *user)
{
    for (uint64_t at = 0; at < file->end;) {
        OWN(hub_memory) uint8_t *body = NULL;
        struct cluster_copy_head head;
        struct cluster_copy copy;
        int r = read_copy(file, at, &head, &copy, &body);

        if (r < 0)
            return fail(file, "read it", r);
        r = visit(user, &copy);
        if (r < 0)
            return r;
        at += cluster_copy_head_size(&head);
    }
    return 0;
}

/* ---- which there are ---- */

struct listing {
    cluster_copy_file_found *found;
    void *user;
};

static void look_at_name(void *user, const char *name)
{
    struct listing *listing = user;
    uint64_t pool, container;
    char again[CLUSTER_FILES_NAME_MAX], *rest;

    pool = strtoull(name, &rest, 16);
    if (*rest != '.')
        return;
    container = strtoull(rest + 1, NULL, 16);
    snprintf(again, sizeof again, "%016" PRIx64 ".%08" PRIx64 SUFFIX, pool, container);
    if (strcmp(again, name) == 0 && cluster_ids_is_pool(pool) && container <= UINT32_MAX &&
        cluster_ids_is_container((uint32_t)container))
        listing->found(listing->user, pool, (uint32_t)container);
}

int cluster_copy_file_list(const struct cluster_files_folder *folder,
                           cluster_copy_file_found *found, void *user)
{
    struct listing listing = {found, user};
    int r = folder->files->list(folder->files, folder->fd, look_at_name, &listing);

    return r < 0 ? rapahub_fail(r, "", "%s: cannot list the folder: %s", folder->path,
                                strerrordesc_np(-r))
                 : 0;
}
