/* SPDX-License-Identifier: Apache-2.0 */
/* kv: keys and values that survive the death of their process. The folder comes with the
 * container's parameters, "dir=/path"; restart and recover read it again. */
#include <stdlib.h>
#include <string.h>

#include <rapahub/chimod.h>

#include "store.h"

struct kv {
    struct kv_store *store;
};

static int kv_put(void *self, struct rapahub_string key, struct rapahub_bytes value)
{
    struct kv *kv = self;

    return kv_store_put(kv->store, key, value);
}

static int kv_put_later(void *self, struct rapahub_string key, struct rapahub_bytes value)
{
    struct kv *kv = self;

    return kv_store_put_later(kv->store, key, value);
}

static int kv_sync(void *self)
{
    struct kv *kv = self;

    return kv_store_sync(kv->store);
}

static int kv_get(void *self, struct rapahub_string key, struct rapahub_bytes *value)
{
    struct kv *kv = self;

    return kv_store_get(kv->store, key, rapahub_chimod_alloc, value);
}

static int kv_remove(void *self, struct rapahub_string key, bool *found)
{
    struct kv *kv = self;

    return kv_store_remove(kv->store, key, found);
}

static int kv_count(void *self, uint64_t *count)
{
    struct kv *kv = self;

    *count = kv_store_count(kv->store);
    return 0;
}

static int kv_keys(void *self, struct rapahub_string after, uint32_t max,
                   struct rapahub_string *keys)
{
    struct kv *kv = self;

    return kv_store_keys(kv->store, after, max, rapahub_chimod_alloc, keys);
}

static int kv_compact(void *self, uint64_t *saved)
{
    struct kv *kv = self;

    return kv_store_compact(kv->store, saved);
}

static int kv_init(void *self, const struct rapahub_container_info *info)
{
    static const char word[] = "dir=";
    const size_t word_size = sizeof(word) - 1;
    struct kv *kv = self;
    char *folder;
    int r;

    if (info->params.size <= word_size || memcmp(info->params.data, word, word_size) != 0)
        return rapahub_fail(RAPAHUB_EINVAL, "", "kv needs the parameters 'dir=FOLDER'");
    folder = strndup((const char *)info->params.data + word_size, info->params.size - word_size);
    if (!folder)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a path");
    r = kv_store_open(folder, &kv->store);
    free(folder);
    return r;
}

static int kv_save(void *self, struct rapahub_sink *to)
{
    struct kv *kv = self;

    return kv_store_save(kv->store, to);
}

static int kv_load(void *self, struct rapahub_source *from, uint32_t version)
{
    struct kv *kv = self;

    if (version != 1)
        return rapahub_fail(RAPAHUB_EABI, "", "a state of version %" PRIu32 "; this kv has 1",
                            version);
    return kv_store_load(kv->store, from);
}

static enum rapahub_health kv_health(void *self)
{
    struct kv *kv = self;

    return kv_store_is_broken(kv->store) ? RAPAHUB_HEALTH_UNHEALTHY : RAPAHUB_HEALTH_READY;
}

static void kv_fini(void *self)
{
    struct kv *kv = self;

    kv_store_close(kv->store);
    kv->store = NULL;
}

static const struct rapahub_container_ops ops = {
    .init = kv_init,
    .save = kv_save,
    .load = kv_load,
    .health = kv_health,
    .fini = kv_fini,
};

static const struct rapahub_method methods[] = {
    RAPAHUB_METHOD(put, kv_put, void, string, bytes),
    RAPAHUB_METHOD(put_later, kv_put_later, void, string, bytes),
    RAPAHUB_METHOD(sync, kv_sync, void, void),
    RAPAHUB_METHOD(get, kv_get, bytes, string),
    RAPAHUB_METHOD(remove, kv_remove, bool, string),
    RAPAHUB_METHOD(count, kv_count, u64, void),
    RAPAHUB_METHOD(keys, kv_keys, string, string, u32),
    RAPAHUB_METHOD(compact, kv_compact, u64, void),
    RAPAHUB_METHOD_END,
};

RAPAHUB_CHIMOD(.name = "kv", .version = "1.0.0", .state_size = sizeof(struct kv),
               .state_version = 1, .ops = &ops, .methods = methods);
