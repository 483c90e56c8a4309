/* SPDX-License-Identifier: Apache-2.0 */
/* log: see log.h for the layout and the guarantees.
 *
 * The buffer serves two purposes: it is a window on the file for reading, and it is where a record
 * is assembled so that it is written at once. Its content is valid until the next call.
 */
#include "log.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "crc32c.h"

#define MAGIC       "RAPHKV1\n"
#define WINDOW_SIZE (256u << 10)
#define REMOVED     1u

struct head {
    uint32_t crc, key_size, value_size, flags;
    uint64_t synced;
};
_Static_assert(sizeof(struct head) == KV_LOG_RECORD_HEAD_SIZE, "the layout of log.h");

struct kv_log {
    char *path;
    int fd;
    uint64_t number; /* identifies the file */
    uint64_t end;    /* position of the next record */
    uint64_t synced; /* up to here the file is on the disk */
    uint8_t *buffer;
    size_t capacity;
    uint64_t window_at;
    size_t window_size; /* bytes of the buffer that show the file; 0: none */
    bool broken;
};

static uint64_t record_size(const struct head *head)
{
    return sizeof(*head) + (uint64_t)head->key_size + head->value_size;
}

static int grow(struct kv_log *log, size_t size)
{
    uint8_t *buffer;

    if (size < WINDOW_SIZE)
        size = WINDOW_SIZE;
    if (size <= log->capacity)
        return 0;
    buffer = realloc(log->buffer, size);
    if (!buffer)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a record of %zu bytes", size);
    log->buffer = buffer;
    log->capacity = size;
    return 0;
}

static int fail_io(const struct kv_log *log, const char *what, uint64_t at)
{
    return rapahub_fail(-errno, "", "%s: cannot %s at %" PRIu64 ": %s", log->path, what, at,
                        strerror(errno));
}

static int write_all(struct kv_log *log, uint64_t at, const uint8_t *from, size_t size)
{
    while (size > 0) {
        ssize_t n = pwrite(log->fd, from, size, (off_t)at);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            errno = n == 0 ? ENOSPC : errno;
            return fail_io(log, "write", at);
        }
        from += n;
        size -= (size_t)n;
        at += (uint64_t)n;
    }
    return 0;
}

/* Fills the window from `at` on with the file's bytes, at least `size` of them. */
static int fill_window(struct kv_log *log, uint64_t at, size_t size)
{
    size_t want, have = 0;
    int r = grow(log, size);

    if (r < 0)
        return r;
    log->window_size = 0;
    want = log->end - at < log->capacity ? (size_t)(log->end - at) : log->capacity;
    while (have < want) {
        ssize_t n = pread(log->fd, log->buffer + have, want - have, (off_t)(at + have));

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return fail_io(log, "read", at + have);
        if (n == 0)
            break;
        have += (size_t)n;
    }
    if (have < size)
        return rapahub_fail(RAPAHUB_EIO, "", "%s: shorter than it was, at %" PRIu64, log->path,
                            at + have);
    log->window_at = at;
    log->window_size = have;
    return 0;
}

/* Returns 1 with `size` bytes of the file at *bytes, or 0 if the file ends before. */
static int peek(struct kv_log *log, uint64_t at, uint64_t size, const uint8_t **bytes)
{
    int r;

    if (at > log->end || size > log->end - at)
        return 0;
    if (at < log->window_at || at + size > log->window_at + log->window_size) {
        r = fill_window(log, at, (size_t)size);
        if (r < 0)
            return r;
    }
    *bytes = log->buffer + (at - log->window_at);
    return 1;
}

static uint32_t record_crc(const struct kv_log *log, uint64_t at, const uint8_t *record,
                           uint64_t size)
{
    const uint64_t seed[2] = {log->number, at};
    uint32_t crc = kv_crc32c(0, seed, sizeof(seed));

    return kv_crc32c(crc, record + sizeof(crc), (size_t)size - sizeof(crc));
}

static bool is_plausible(const struct head *head, uint64_t at)
{
    return head->key_size >= 1 && head->key_size <= KV_LOG_KEY_MAX &&
           head->value_size <= KV_LOG_VALUE_MAX && head->flags <= REMOVED && head->synced <= at;
}

/* Returns 1 if there is a valid record, 0 if there is none. */
static int read_record(struct kv_log *log, uint64_t at, struct kv_log_record *record)
{
    struct head head;
    const uint8_t *bytes;
    int r = peek(log, at, sizeof(head), &bytes);

    if (r <= 0)
        return r;
    memcpy(&head, bytes, sizeof(head));
    if (!is_plausible(&head, at))
        return 0;
    r = peek(log, at, record_size(&head), &bytes);
    if (r <= 0)
        return r;
    if (record_crc(log, at, bytes, record_size(&head)) != head.crc)
        return 0;
    record->key.data = (const char *)bytes + sizeof(head);
    record->key.size = head.key_size;
    record->value.data = bytes + sizeof(head) + head.key_size;
    record->value.size = head.value_size;
    record->removed = head.flags & REMOVED;
    record->synced = head.synced;
    return 1;
}

int kv_log_sync(struct kv_log *log)
{
    int r;

    if (log->broken)
        return rapahub_fail(RAPAHUB_EIO, "", "%s: takes no writes since one has failed", log->path);
    if (log->synced == log->end)
        return 0;
    do {
        r = fdatasync(log->fd);
    } while (r < 0 && errno == EINTR);
    if (r < 0) {
        log->broken = true;
        return fail_io(log, "sync", log->end);
    }
    log->synced = log->end;
    return 0;
}

int kv_log_cut(struct kv_log *log, uint64_t at)
{
    log->window_size = 0;
    if (ftruncate(log->fd, (off_t)at) < 0) {
        log->broken = true;
        return fail_io(log, "cut", at);
    }
    /* everything left is surely on the disk, whatever failed after it */
    if (log->synced == at)
        log->broken = false;
    if (log->synced > at)
        log->synced = at;
    log->end = at;
    return 0;
}

/* The record at `at` is not valid. If a later valid record states that this position was on the
 * disk, the record was damaged; otherwise it was never completed. */
static int mend(struct kv_log *log, uint64_t at)
{
    struct kv_log_record record;
    uint64_t next, size = log->end;
    int r;

    for (next = at + 1; next + KV_LOG_RECORD_HEAD_SIZE < size; next++) {
        r = read_record(log, next, &record);
        if (r < 0)
            return r;
        if (r == 1 && record.synced > at)
            return rapahub_fail(RAPAHUB_EIO, "", "%s: the record at %" PRIu64 " is damaged",
                                log->path, at);
    }
    r = kv_log_cut(log, at);
    if (r == 0)
        rapahub_log(RAPAHUB_LOG_WARN, "kv",
                    "%s: the end was never finished: cut at %" PRIu64 ", %" PRIu64 " bytes less",
                    log->path, at, size - at);
    return r;
}

int kv_log_replay(struct kv_log *log, kv_log_visit *visit, void *user)
{
    struct kv_log_record record;
    uint64_t at = KV_LOG_HEAD_SIZE;
    int r;

    while (at < log->end) {
        r = read_record(log, at, &record);
        if (r == 0) {
            r = mend(log, at); /* no record follows then */
        } else if (r > 0) {
            r = visit(user, at, &record);
            at += KV_LOG_RECORD_HEAD_SIZE + record.key.size + record.value.size;
        }
        if (r < 0)
            return r;
    }
    return kv_log_sync(log);
}

int kv_log_append(struct kv_log *log, const struct kv_log_record *record, uint64_t *at)
{
    struct head head = {.key_size = (uint32_t)record->key.size,
                        .value_size = (uint32_t)record->value.size,
                        .flags = record->removed ? REMOVED : 0,
                        .synced = log->synced};
    int r;

    if (log->broken)
        return rapahub_fail(RAPAHUB_EIO, "", "%s: takes no writes since one has failed", log->path);
    if (record->key.size < 1 || record->key.size > KV_LOG_KEY_MAX)
        return rapahub_fail(RAPAHUB_EINVAL, "", "a key of %zu bytes; 1 to %u are possible",
                            record->key.size, KV_LOG_KEY_MAX);
    if (record->value.size > KV_LOG_VALUE_MAX)
        return rapahub_fail(RAPAHUB_EMSGSIZE, "", "a value of %zu bytes; at most %u are possible",
                            record->value.size, KV_LOG_VALUE_MAX);
    r = grow(log, (size_t)record_size(&head));
    if (r < 0)
        return r;
    log->window_size = 0;
    memcpy(log->buffer + sizeof(head), record->key.data, record->key.size);
    if (record->value.size > 0)
        memcpy(log->buffer + sizeof(head) + record->key.size, record->value.data,
               record->value.size);
    memcpy(log->buffer, &head, sizeof(head));
    head.crc = record_crc(log, log->end, log->buffer, record_size(&head));
    memcpy(log->buffer, &head.crc, sizeof(head.crc));
    r = write_all(log, log->end, log->buffer, (size_t)record_size(&head));
    if (r < 0) {
        if (ftruncate(log->fd, (off_t)log->end) < 0)
            log->broken = true;
        return r;
    }
    *at = log->end;
    log->end += record_size(&head);
    return 0;
}

int kv_log_read(struct kv_log *log, uint64_t at, struct kv_log_record *record)
{
    int r = read_record(log, at, record);

    if (r == 0)
        return rapahub_fail(RAPAHUB_EIO, "", "%s: the record at %" PRIu64 " is damaged", log->path,
                            at);
    return r < 0 ? r : 0;
}

/* A file shorter than its head belonged to a process that was killed while making it, and never
 * held a record. */
static int write_head(struct kv_log *log)
{
    uint8_t head[KV_LOG_HEAD_SIZE];
    int r;

    if (getrandom(&log->number, sizeof(log->number), 0) != (ssize_t)sizeof(log->number))
        return fail_io(log, "get a random number", 0);
    memcpy(head, MAGIC, 8);
    memcpy(head + 8, &log->number, sizeof(log->number));
    r = write_all(log, 0, head, sizeof(head));
    log->end = sizeof(head);
    return r < 0 ? r : kv_log_sync(log);
}

static int read_head(struct kv_log *log)
{
    struct stat file;
    const uint8_t *head;
    int r;

    if (fstat(log->fd, &file) < 0)
        return fail_io(log, "look", 0);
    log->end = (uint64_t)file.st_size;
    if (log->end < KV_LOG_HEAD_SIZE)
        return write_head(log);
    r = peek(log, 0, KV_LOG_HEAD_SIZE, &head);
    if (r < 0)
        return r;
    if (memcmp(head, MAGIC, 8) != 0)
        return rapahub_fail(RAPAHUB_EIO, "", "%s: is no log, at 0", log->path);
    memcpy(&log->number, head + 8, sizeof(log->number));
    return 0;
}

int kv_log_open(const char *path, struct kv_log **out)
{
    struct kv_log *log = calloc(1, sizeof(*log));
    int r = 0;

    if (log)
        log->path = strdup(path);
    if (!log || !log->path) {
        free(log);
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for the log %s", path);
    }
    log->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (log->fd < 0)
        r = rapahub_fail(-errno, "", "cannot open %s: %s", path, strerror(errno));
    else
        r = read_head(log);
    if (r < 0) {
        kv_log_close(log);
        return r;
    }
    *out = log;
    return 0;
}

void kv_log_close(struct kv_log *log)
{
    if (!log)
        return;
    if (log->fd >= 0)
        close(log->fd);
    free(log->buffer);
    free(log->path);
    free(log);
}

int kv_log_rename(struct kv_log *log, const char *path)
{
    char *copy = strdup(path);

    if (!copy)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for the path %s", path);
    if (rename(log->path, path) < 0) {
        free(copy);
        return rapahub_fail(-errno, "", "cannot rename %s: %s", log->path, strerror(errno));
    }
    free(log->path);
    log->path = copy;
    return 0;
}

uint64_t kv_log_size(const struct kv_log *log)
{
    return log->end;
}

bool kv_log_is_broken(const struct kv_log *log)
{
    return log->broken;
}
