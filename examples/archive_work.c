/* SPDX-License-Identifier: Apache-2.0 */
#include "archive_work.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A piece that cannot be compressed still fits into a message of 64 KiB. */
#define PIECE_SIZE (48u << 10)
#define LEVEL      3

struct piece {
    struct rapahub_bytes plain;
    char key[1100];
};

static const struct rapahub_bytes nothing = {"", 0};

/* Makes a call from name and types of a method and the address of each argument. */
#define CALL(worker, where, method_name, types_, result, ...)                          \
    archive_calls_make(                                                                \
        &(worker)->calls,                                                              \
        &(const struct rapahub_call){.target = (worker)->run->where,                   \
                                     .method = (method_name),                          \
                                     .types = (types_),                                \
                                     .arguments = (const void *const[]){__VA_ARGS__}}, \
        result)

static void complain(struct archive_worker *worker, const char *what, const char *key, int r)
{
    if (atomic_fetch_add(&worker->run->failed, 1) < 5)
        fprintf(stderr, "error: %s %s: %s: %s\n", what, key, rapahub_error_name(r),
                rapahub_last_error()->text);
}

/* Copies the result, which holds only until the next call. */
static int compress_piece(struct archive_worker *worker, struct rapahub_bytes plain,
                          struct rapahub_bytes *packed)
{
    const int32_t level = LEVEL;
    struct rapahub_bytes view = nothing;
    int r = CALL(worker, codec, "pack", RAPAHUB_TYPES(bytes, bytes, i32), &view, &plain, &level);

    if (r == 0 && view.size > ARCHIVE_PACKED_MAX)
        return rapahub_fail(RAPAHUB_EMSGSIZE, "", "a piece became %zu bytes", view.size);
    if (r == 0)
        memcpy(worker->packed, view.data, view.size);
    *packed = (struct rapahub_bytes){worker->packed, view.size};
    return r;
}

static int put(struct archive_worker *worker, const char *key, struct rapahub_bytes value)
{
    const struct rapahub_string name = {key, strlen(key)};

    return CALL(worker, kv, "put_later", RAPAHUB_TYPES(void, string, bytes), NULL, &name, &value);
}

static int get(struct archive_worker *worker, const char *key, struct rapahub_bytes *value)
{
    const struct rapahub_string name = {key, strlen(key)};

    return CALL(worker, kv, "get", RAPAHUB_TYPES(bytes, string), value, &name);
}

/* Returns the part of a file at `at`; empty after its end. */
static void cut_piece(const struct archive_file *file, size_t at, struct piece *piece)
{
    size_t left = file->size - at;

    piece->plain.data = file->bytes + at;
    piece->plain.size = left < PIECE_SIZE ? left : PIECE_SIZE;
    (void)snprintf(piece->key, sizeof(piece->key), "%s#%zu", file->path, at / PIECE_SIZE);
}

/* Unlike all others, this call is not made again: each one that was answered has added one. */
static int add_to(const struct archive_way *way, struct rapahub_container_id tally)
{
    static const int64_t one = 1;
    const struct rapahub_call call = {.target = tally,
                                      .method = "add",
                                      .types = RAPAHUB_TYPES(i64, i64),
                                      .arguments = (const void *const[]){&one, NULL}};
    int64_t sum = 0;

    return way->call(way->to, &call, &sum);
}

static void count_piece(struct archive_worker *worker, const char *key)
{
    struct archive_run *run = worker->run;
    int r;

    if (run->tally.pool.major == 0)
        return;
    r = add_to(&run->way, run->tally);
    if (r == 0)
        atomic_fetch_add(&run->counted, 1);
    else
        complain(worker, "cannot count", key, r);
}

static void store_piece(struct archive_worker *worker, const struct piece *piece)
{
    struct rapahub_bytes packed;
    int r = compress_piece(worker, piece->plain, &packed);

    if (r == 0)
        r = put(worker, piece->key, packed);
    if (r < 0) {
        complain(worker, "cannot store", piece->key, r);
        return;
    }
    atomic_fetch_add(&worker->run->plain, piece->plain.size);
    atomic_fetch_add(&worker->run->packed, packed.size);
    count_piece(worker, piece->key);
}

/* Stores the pieces, then the file's length, then syncs once for all of them. */
static void store_file(struct archive_worker *worker, const struct archive_file *file)
{
    char key[1100], text[32];
    struct piece piece;
    int r;

    for (size_t at = 0; at < file->size; at += PIECE_SIZE) {
        cut_piece(file, at, &piece);
        store_piece(worker, &piece);
    }
    (void)snprintf(key, sizeof(key), "%s#size", file->path);
    (void)snprintf(text, sizeof(text), "%zu", file->size);
    r = put(worker, key, (struct rapahub_bytes){text, strlen(text)});
    if (r == 0)
        r = CALL(worker, kv, "sync", RAPAHUB_TYPES(void, void), NULL, NULL);
    if (r < 0)
        complain(worker, "cannot store", key, r);
}

/* A piece is lost if kv does not have it, or no call could ask for it. */
static void count_lost(struct archive_worker *worker, const char *key, int r)
{
    atomic_fetch_add(&worker->run->lost, 1);
    complain(worker, "cannot read back", key, r);
}

static void count_wrong(struct archive_worker *worker, const char *key)
{
    if (atomic_fetch_add(&worker->run->wrong, 1) < 5)
        fprintf(stderr, "error: %s came back different\n", key);
}

static void check_piece(struct archive_worker *worker, const struct piece *piece)
{
    struct rapahub_bytes packed = nothing, plain = nothing;
    int r = get(worker, piece->key, &packed);

    if (r == 0 && packed.size > ARCHIVE_PACKED_MAX)
        r = RAPAHUB_EMSGSIZE;
    if (r == 0) {
        memcpy(worker->packed, packed.data, packed.size);
        packed.data = worker->packed;
        r = CALL(worker, codec, "unpack", RAPAHUB_TYPES(bytes, bytes), &plain, &packed);
    }
    if (r < 0)
        count_lost(worker, piece->key, r);
    else if (plain.size != piece->plain.size ||
             memcmp(plain.data, piece->plain.data, plain.size) != 0)
        count_wrong(worker, piece->key);
}

static void check_file(struct archive_worker *worker, const struct archive_file *file)
{
    struct rapahub_bytes value = nothing;
    char key[1100], text[32];
    struct piece piece;
    int r;

    (void)snprintf(key, sizeof(key), "%s#size", file->path);
    (void)snprintf(text, sizeof(text), "%zu", file->size);
    r = get(worker, key, &value);
    if (r < 0)
        count_lost(worker, key, r);
    else if (value.size != strlen(text) || memcmp(value.data, text, value.size) != 0)
        count_wrong(worker, key);
    for (size_t at = 0; at < file->size; at += PIECE_SIZE) {
        cut_piece(file, at, &piece);
        check_piece(worker, &piece);
    }
}

/* Returns the next file that no worker has; NULL after the last one, and when the time is over. */
static struct archive_file *take_file(struct archive_run *run)
{
    size_t i = atomic_fetch_add(&run->next, 1);

    return i < run->files.count && archive_calls_now() < atomic_load(&run->deadline_ns)
               ? &run->files.list[i]
               : NULL;
}

void *archive_work_store(void *argument)
{
    struct archive_worker *worker = argument;
    struct archive_file *file;

    while ((file = take_file(worker->run)) != NULL) {
        if (archive_files_read(file) == 0) {
            store_file(worker, file);
        } else {
            free(file->bytes);
            file->bytes = NULL;
            atomic_fetch_add(&worker->run->skipped, 1);
        }
        atomic_fetch_add(&worker->run->done, 1);
    }
    return NULL;
}

void *archive_work_check(void *argument)
{
    struct archive_worker *worker = argument;
    struct archive_file *file;

    while ((file = take_file(worker->run)) != NULL) {
        if (file->bytes)
            check_file(worker, file);
        atomic_fetch_add(&worker->run->done, 1);
    }
    return NULL;
}
