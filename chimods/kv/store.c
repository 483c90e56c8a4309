/* SPDX-License-Identifier: Apache-2.0 */
/* store: the log has the records, the index their positions. */
#include "store.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store_state.h"

#define KEYS_BYTES_MAX (48u << 10)

void kv_store_note_saved(struct kv_store *store)
{
    store->saved = kv_log_size(store->log);
    store->rewritten = false;
}

static int keep_record(void *user, uint64_t at, const struct kv_log_record *record)
{
    struct kv_store *store = user;

    if (!record->removed)
        return kv_index_set(store->index, record->key, at);
    kv_index_remove(store->index, record->key);
    return 0;
}

static int open_folder(struct kv_store *store)
{
    if (mkdir(store->folder, 0700) < 0 && errno != EEXIST)
        return rapahub_fail(-errno, "", "cannot make %s: %s", store->folder, strerror(errno));
    store->folder_fd = open(store->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (store->folder_fd < 0)
        return rapahub_fail(-errno, "", "cannot open %s: %s", store->folder, strerror(errno));
    return 0;
}

/* The lock belongs to the descriptor, so it is free as soon as its holder is dead. */
static int take_lock(struct kv_store *store)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

    store->lock_fd =
        openat(store->folder_fd, "lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (store->lock_fd < 0)
        return rapahub_fail(-errno, "", "cannot open %s/lock: %s", store->folder, strerror(errno));
    if (fcntl(store->lock_fd, F_OFD_SETLK, &lock) == 0)
        return 0;
    if (errno == EAGAIN || errno == EACCES)
        return rapahub_fail(RAPAHUB_EBUSY, "", "%s is in use by another process", store->folder);
    return rapahub_fail(-errno, "", "cannot lock %s: %s", store->folder, strerror(errno));
}

static int sync_folder(const struct kv_store *store)
{
    if (fsync(store->folder_fd) < 0)
        return rapahub_fail(-errno, "", "cannot sync %s: %s", store->folder, strerror(errno));
    return 0;
}

/* A file left by a killed compaction is only a copy. */
static int open_log(struct kv_store *store)
{
    int r;

    if (unlink(store->next_path) < 0 && errno != ENOENT)
        return rapahub_fail(-errno, "", "cannot remove %s: %s", store->next_path, strerror(errno));
    r = kv_log_open(store->path, &store->log);
    if (r == 0)
        r = kv_log_replay(store->log, keep_record, store);
    return r < 0 ? r : sync_folder(store);
}

static struct kv_store *store_new(const char *folder)
{
    struct kv_store *store = calloc(1, sizeof(*store));

    if (!store)
        return NULL;
    store->folder_fd = store->lock_fd = -1;
    store->folder = strdup(folder);
    if (asprintf(&store->path, "%s/log", folder) < 0)
        store->path = NULL;
    if (asprintf(&store->next_path, "%s/log.new", folder) < 0)
        store->next_path = NULL;
    if (store->folder && store->path && store->next_path)
        return store;
    kv_store_close(store);
    return NULL;
}

int kv_store_open(const char *folder, struct kv_store **out)
{
    struct kv_store *store = store_new(folder);
    int r;

    if (!store)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a store");
    r = kv_index_create(&store->index);
    if (r == 0)
        r = open_folder(store);
    if (r == 0)
        r = take_lock(store);
    if (r == 0)
        r = open_log(store);
    if (r < 0) {
        kv_store_close(store);
        return r;
    }
    kv_store_note_saved(store);
    *out = store;
    return 0;
}

void kv_store_close(struct kv_store *store)
{
    if (!store)
        return;
    if (store->log && !kv_log_is_broken(store->log) && kv_log_sync(store->log) < 0)
        rapahub_log(RAPAHUB_LOG_ERROR, "kv", "%s", rapahub_last_error()->text);
    kv_log_close(store->log);
    kv_index_destroy(store->index);
    if (store->lock_fd >= 0)
        close(store->lock_fd);
    if (store->folder_fd >= 0)
        close(store->folder_fd);
    free(store->folder);
    free(store->path);
    free(store->next_path);
    free(store);
}

static int check_key(struct rapahub_string key)
{
    if (key.size > 0 && memchr(key.data, '\n', key.size))
        return rapahub_fail(RAPAHUB_EINVAL, "", "a key with a line break");
    return 0;
}

/* A failed put must not be found later: the record is removed, and the failure is returned. */
static int take_back(struct kv_store *store, uint64_t at, int failure)
{
    int r = kv_log_cut(store->log, at);

    return r < 0 ? r : failure;
}

int kv_store_put_later(struct kv_store *store, struct rapahub_string key,
                       struct rapahub_bytes value)
{
    const struct kv_log_record record = {.key = key, .value = value};
    uint64_t at;
    int r = check_key(key);

    if (r == 0)
        r = kv_log_append(store->log, &record, &at);
    if (r < 0)
        return r;
    r = kv_index_set(store->index, key, at);
    return r < 0 ? take_back(store, at, r) : 0;
}

/* The index is updated last: before the sync no call may find the key. */
int kv_store_put(struct kv_store *store, struct rapahub_string key, struct rapahub_bytes value)
{
    const struct kv_log_record record = {.key = key, .value = value};
    uint64_t at;
    int r = check_key(key);

    if (r == 0)
        r = kv_log_append(store->log, &record, &at);
    if (r < 0)
        return r;
    r = kv_log_sync(store->log);
    if (r == 0)
        r = kv_index_set(store->index, key, at);
    return r < 0 ? take_back(store, at, r) : 0;
}

int kv_store_sync(struct kv_store *store)
{
    return kv_log_sync(store->log);
}

int kv_store_get(struct kv_store *store, struct rapahub_string key, kv_store_alloc *alloc,
                 struct rapahub_bytes *value)
{
    const struct kv_index_entry *entry = kv_index_find(store->index, key);
    struct kv_log_record record;
    void *copy;
    int r;

    if (!entry)
        return rapahub_fail(RAPAHUB_ENOENT, "", "no key '%.*s'", (int)key.size,
                            key.size > 0 ? key.data : "");
    r = kv_log_read(store->log, entry->at, &record);
    if (r < 0)
        return r;
    copy = alloc(record.value.size + 1);
    if (!copy)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for %zu bytes", record.value.size);
    memcpy(copy, record.value.data, record.value.size);
    *value = (struct rapahub_bytes){copy, record.value.size};
    return 0;
}

int kv_store_remove(struct kv_store *store, struct rapahub_string key, bool *found)
{
    const struct kv_log_record record = {.key = key, .removed = true};
    uint64_t at;
    int r;

    *found = kv_index_find(store->index, key) != NULL;
    if (!*found)
        return 0;
    r = kv_log_append(store->log, &record, &at);
    if (r < 0)
        return r;
    r = kv_log_sync(store->log);
    if (r < 0)
        return take_back(store, at, r);
    kv_index_remove(store->index, key);
    return 0;
}

uint64_t kv_store_count(const struct kv_store *store)
{
    return kv_index_count(store->index);
}

static int compare_keys(const void *a, const void *b)
{
    const struct rapahub_string *one = a, *other = b;
    size_t size = one->size < other->size ? one->size : other->size;
    int order = size > 0 ? memcmp(one->data, other->data, size) : 0;

    return order != 0 ? order : (one->size > other->size) - (one->size < other->size);
}

static size_t collect_keys(const struct kv_store *store, struct rapahub_string after,
                           struct rapahub_string *keys)
{
    const struct kv_index_entry *entry;
    size_t cursor = 0, count = 0;

    while ((entry = kv_index_next(store->index, &cursor)) != NULL)
        if (compare_keys(&entry->key, &after) > 0)
            keys[count++] = entry->key;
    qsort(keys, count, sizeof(*keys), compare_keys);
    return count;
}

static size_t print_keys(const struct rapahub_string *keys, size_t count, char *to)
{
    size_t i, size = 0;

    for (i = 0; i < count && size + keys[i].size + 1 <= KEYS_BYTES_MAX; i++) {
        memcpy(to + size, keys[i].data, keys[i].size);
        size += keys[i].size;
        to[size++] = '\n';
    }
    return size;
}

int kv_store_keys(const struct kv_store *store, struct rapahub_string after, uint32_t max,
                  kv_store_alloc *alloc, struct rapahub_string *keys)
{
    size_t count, all = (size_t)kv_index_count(store->index);
    struct rapahub_string *found = calloc(all + 1, sizeof(*found));
    char *text = alloc(KEYS_BYTES_MAX);

    if (!found || !text) {
        free(found);
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for %zu keys", all);
    }
    count = collect_keys(store, after, found);
    if (count > max)
        count = max;
    *keys = (struct rapahub_string){text, print_keys(found, count, text)};
    free(found);
    return 0;
}

static int copy_records(struct kv_store *store, struct kv_log *to)
{
    struct kv_index_entry *entry;
    struct kv_log_record record;
    size_t cursor = 0;
    int r = 0;

    while (r == 0 && (entry = kv_index_next(store->index, &cursor)) != NULL) {
        r = kv_log_read(store->log, entry->at, &record);
        if (r == 0)
            r = kv_log_append(to, &record, &entry->next_at);
    }
    return r < 0 ? r : kv_log_sync(to);
}

/* From the renaming on, the new log is the valid one. */
int kv_store_compact(struct kv_store *store, uint64_t *saved)
{
    struct kv_index_entry *entry;
    struct kv_log *next = NULL;
    size_t cursor = 0;
    int r = kv_log_open(store->next_path, &next);

    if (r == 0)
        r = copy_records(store, next);
    if (r == 0)
        r = kv_log_rename(next, store->path);
    if (r < 0) {
        kv_log_close(next);
        unlink(store->next_path);
        return r;
    }
    *saved = kv_log_size(store->log) - kv_log_size(next);
    while ((entry = kv_index_next(store->index, &cursor)) != NULL)
        entry->at = entry->next_at;
    kv_log_close(store->log);
    store->log = next;
    store->rewritten = true;
    return sync_folder(store);
}

int kv_store_write_item(struct rapahub_sink *to, const struct kv_log_record *record)
{
    const struct kv_store_item item = {(uint32_t)record->key.size,
                                       record->removed ? KV_STORE_REMOVED
                                                       : (uint32_t)record->value.size};
    int r = rapahub_sink_write(to, &item, sizeof(item));

    if (r == 0)
        r = rapahub_sink_write(to, record->key.data, record->key.size);
    if (r == 0 && record->value.size > 0)
        r = rapahub_sink_write(to, record->value.data, record->value.size);
    return r;
}

int kv_store_write_end(struct kv_store *store, struct rapahub_sink *to)
{
    const struct kv_store_item end = {0, 0};
    int r = rapahub_sink_write(to, &end, sizeof(end));

    if (r == 0)
        kv_store_note_saved(store);
    return r;
}

int kv_store_write_entries(struct kv_store *store, struct rapahub_sink *to)
{
    const struct kv_index_entry *entry;
    struct kv_log_record record;
    size_t cursor = 0;
    int r = 0;

    while (r == 0 && (entry = kv_index_next(store->index, &cursor)) != NULL) {
        r = kv_log_read(store->log, entry->at, &record);
        if (r == 0)
            r = kv_store_write_item(to, &record);
    }
    return r;
}

int kv_store_save(struct kv_store *store, struct rapahub_sink *to)
{
    int r = kv_store_write_entries(store, to);

    return r < 0 ? r : kv_store_write_end(store, to);
}

static int refuse_other(const struct kv_store *store)
{
    return rapahub_fail(RAPAHUB_ESTATE, "", "%s holds %" PRIu64 " other keys already",
                        store->folder, kv_index_count(store->index));
}

static int compare_item(struct kv_store *store, struct rapahub_string key,
                        struct rapahub_bytes value)
{
    const struct kv_index_entry *entry = kv_index_find(store->index, key);
    struct kv_log_record record;
    int r = entry ? kv_log_read(store->log, entry->at, &record) : refuse_other(store);

    if (r < 0)
        return r;
    return record.value.size == value.size &&
                   (value.size == 0 || memcmp(record.value.data, value.data, value.size) == 0)
               ? 0
               : refuse_other(store);
}

int kv_store_take_item(struct kv_store *store, struct rapahub_source *from,
                       const struct kv_store_item *item, char *key, kv_store_item_function *done)
{
    struct rapahub_string name = {key, item->key_size};
    char *value;
    int r;

    if (item->key_size > KV_LOG_KEY_MAX || item->value_size > KV_LOG_VALUE_MAX)
        return rapahub_fail(RAPAHUB_EINVAL, "",
                            "the state has a key of %" PRIu32 " bytes, value %" PRIu32,
                            item->key_size, item->value_size);
    value = malloc((size_t)item->value_size + 1);
    if (!value)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for %" PRIu32 " bytes",
                            item->value_size);
    r = rapahub_source_read_all(from, key, item->key_size);
    if (r == 0 && item->value_size > 0)
        r = rapahub_source_read_all(from, value, item->value_size);
    if (r == 0)
        r = done(store, name, (struct rapahub_bytes){value, item->value_size});
    free(value);
    return r;
}

int kv_store_load(struct kv_store *store, struct rapahub_source *from)
{
    bool empty = kv_index_count(store->index) == 0;
    char key[KV_LOG_KEY_MAX];
    struct kv_store_item item;
    uint64_t count = 0;
    int r;

    do {
        r = rapahub_source_read_all(from, &item, sizeof(item));
        if (r == 0 && item.key_size > 0)
            r = kv_store_take_item(store, from, &item, key,
                                   empty ? kv_store_put_later : compare_item);
        count += item.key_size > 0;
    } while (r == 0 && item.key_size > 0);
    if (r == 0 && !empty && count != kv_index_count(store->index))
        return refuse_other(store);
    if (r == 0 && empty)
        r = kv_log_sync(store->log);
    if (r == 0)
        kv_store_note_saved(store);
    return r;
}

bool kv_store_is_broken(const struct kv_store *store)
{
    return kv_log_is_broken(store->log);
}
