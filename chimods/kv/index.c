/* SPDX-License-Identifier: Apache-2.0 */
/* index: the number of places is a power of two, and at most three quarters are used. An entry is
 * at the place of its hash or after it, with no free place between. Removing an entry moves later
 * ones up to keep that. */
#include "index.h"

#include <stdlib.h>
#include <string.h>

#include "crc32c.h"

#define PLACES_MIN 64u

struct kv_index {
    struct kv_index_entry *places; /* free if key.data is NULL */
    size_t mask;
    uint64_t count;
    uint64_t bytes;
};

static bool is_same(const struct kv_index_entry *entry, struct rapahub_string key, uint32_t hash)
{
    return entry->hash == hash && entry->key.size == key.size &&
           memcmp(entry->key.data, key.data, key.size) == 0;
}

/* Returns the key's place, or the free place where it belongs. */
static struct kv_index_entry *place_of(const struct kv_index *index, struct rapahub_string key,
                                       uint32_t hash)
{
    size_t i = hash & index->mask;

    while (index->places[i].key.data && !is_same(&index->places[i], key, hash))
        i = (i + 1) & index->mask;
    return &index->places[i];
}

static int resize(struct kv_index *index, size_t size)
{
    struct kv_index_entry *old = index->places;
    size_t i, old_size = old ? index->mask + 1 : 0;

    index->places = calloc(size, sizeof(*index->places));
    if (!index->places) {
        index->places = old;
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for an index of %zu keys", size);
    }
    index->mask = size - 1;
    for (i = 0; i < old_size; i++)
        if (old[i].key.data)
            *place_of(index, old[i].key, old[i].hash) = old[i];
    free(old);
    return 0;
}

int kv_index_create(struct kv_index **out)
{
    struct kv_index *index = calloc(1, sizeof(*index));
    int r;

    if (!index)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for an index");
    r = resize(index, PLACES_MIN);
    if (r < 0) {
        free(index);
        return r;
    }
    *out = index;
    return 0;
}

static void free_key(struct kv_index_entry *entry)
{
    union {
        const char *kept;
        char *owned;
    } key = {.kept = entry->key.data};

    free(key.owned);
}

void kv_index_destroy(struct kv_index *index)
{
    size_t i;

    if (!index)
        return;
    for (i = 0; i <= index->mask; i++)
        free_key(&index->places[i]);
    free(index->places);
    free(index);
}

uint64_t kv_index_count(const struct kv_index *index)
{
    return index->count;
}

struct kv_index_entry *kv_index_find(const struct kv_index *index, struct rapahub_string key)
{
    struct kv_index_entry *entry = place_of(index, key, kv_crc32c(0, key.data, key.size));

    return entry->key.data ? entry : NULL;
}

static int make_room(struct kv_index *index, struct rapahub_string key)
{
    if (index->count >= KV_INDEX_KEYS_MAX)
        return rapahub_fail(RAPAHUB_EFULL, "", "%u keys of %u", KV_INDEX_KEYS_MAX,
                            KV_INDEX_KEYS_MAX);
    if (index->bytes + key.size > KV_INDEX_BYTES_MAX)
        return rapahub_fail(RAPAHUB_EFULL, "", "the keys take %" PRIu64 " bytes of %" PRIu64,
                            index->bytes, KV_INDEX_BYTES_MAX);
    if ((index->count + 1) * 4 > (index->mask + 1) * 3)
        return resize(index, (index->mask + 1) * 2);
    return 0;
}

static int enter(struct kv_index *index, struct rapahub_string key, uint32_t hash, uint64_t at)
{
    int r = make_room(index, key);
    char *copy = r < 0 ? NULL : malloc(key.size + 1);

    if (r < 0)
        return r;
    if (!copy)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a key");
    memcpy(copy, key.data, key.size);
    copy[key.size] = 0;
    *place_of(index, key, hash) =
        (struct kv_index_entry){.key = {copy, key.size}, .at = at, .hash = hash};
    index->count++;
    index->bytes += key.size;
    return 0;
}

int kv_index_set(struct kv_index *index, struct rapahub_string key, uint64_t at)
{
    uint32_t hash = kv_crc32c(0, key.data, key.size);
    struct kv_index_entry *entry = place_of(index, key, hash);

    if (!entry->key.data)
        return enter(index, key, hash, at);
    entry->at = at;
    return 0;
}

/* Says whether the entry at `i`, which belongs to `home`, may move up to `hole`: it may unless its
 * home lies after the hole. */
static bool may_move(const struct kv_index *index, size_t hole, size_t i)
{
    size_t home = index->places[i].hash & index->mask;

    return ((i - home) & index->mask) >= ((i - hole) & index->mask);
}

bool kv_index_remove(struct kv_index *index, struct rapahub_string key)
{
    struct kv_index_entry *entry = kv_index_find(index, key);
    size_t hole, i;

    if (!entry)
        return false;
    index->count--;
    index->bytes -= entry->key.size;
    free_key(entry);
    hole = (size_t)(entry - index->places);
    for (i = (hole + 1) & index->mask; index->places[i].key.data; i = (i + 1) & index->mask) {
        if (may_move(index, hole, i)) {
            index->places[hole] = index->places[i];
            hole = i;
        }
    }
    index->places[hole] = (struct kv_index_entry){.at = 0};
    return true;
}

struct kv_index_entry *kv_index_next(const struct kv_index *index, size_t *cursor)
{
    while (*cursor <= index->mask) {
        struct kv_index_entry *entry = &index->places[(*cursor)++];

        if (entry->key.data)
            return entry;
    }
    return NULL;
}
