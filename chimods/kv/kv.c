/* SPDX-License-Identifier: Apache-2.0 */
/* kv: keys and values that survive the death of their process. The container's parameters name the
 * folder, "dir=/path"; restart and recover read it again.
 *
 * Only one process can have the folder. So a process that saves releases it until calls come again,
 * and the process that loads takes it over then, not before.
 */
#include <stdlib.h>
#include <string.h>

#include <rapahub/chimod.h>

#include "changes.h"

#ifndef KV_VERSION /* another build of the same source may define another version */
#define KV_VERSION "1.0.0"
#endif

struct kv {
    struct kv_store *store; /* NULL: another process may have the folder now */
    char *folder;
    bool lost; /* the folder could not be taken back */
};

static int check(const struct kv *kv)
{
    return kv->store ? 0
                     : rapahub_fail(RAPAHUB_ESTATE, "", "the folder %s is not open", kv->folder);
}

static int kv_put(void *self, struct rapahub_string key, struct rapahub_bytes value)
{
    struct kv *kv = self;
    int r = check(kv);

    return r < 0 ? r : kv_store_put(kv->store, key, value);
}

static int kv_put_later(void *self, struct rapahub_string key, struct rapahub_bytes value)
{
    struct kv *kv = self;
    int r = check(kv);

    return r < 0 ? r : kv_store_put_later(kv->store, key, value);
}

static int kv_sync(void *self)
{
    struct kv *kv = self;
    int r = check(kv);

    return r < 0 ? r : kv_store_sync(kv->store);
}

static int kv_get(void *self, struct rapahub_string key, struct rapahub_bytes *value)
{
    struct kv *kv = self;
    int r = check(kv);

    return r < 0 ? r : kv_store_get(kv->store, key, rapahub_chimod_alloc, value);
}

static int kv_remove(void *self, struct rapahub_string key, bool *found)
{
    struct kv *kv = self;
    int r = check(kv);

    return r < 0 ? r : kv_store_remove(kv->store, key, found);
}

static int kv_count(void *self, uint64_t *count)
{
    struct kv *kv = self;
    int r = check(kv);

    if (r == 0)
        *count = kv_store_count(kv->store);
    return r;
}

static int kv_keys(void *self, struct rapahub_string after, uint32_t max,
                   struct rapahub_string *keys)
{
    struct kv *kv = self;
    int r = check(kv);

    return r < 0 ? r : kv_store_keys(kv->store, after, max, rapahub_chimod_alloc, keys);
}

static int kv_compact(void *self, uint64_t *saved)
{
    struct kv *kv = self;
    int r = check(kv);

    return r < 0 ? r : kv_store_compact(kv->store, saved);
}

static void kv_fini(void *self)
{
    struct kv *kv = self;

    kv_store_close(kv->store);
    kv->store = NULL;
    free(kv->folder);
    kv->folder = NULL;
}

static int kv_init(void *self, const struct rapahub_container_info *info)
{
    static const char word[] = "dir=";
    const size_t word_size = sizeof(word) - 1;
    struct kv *kv = self;
    int r;

    if (info->params.size <= word_size || memcmp(info->params.data, word, word_size) != 0)
        return rapahub_fail(RAPAHUB_EINVAL, "", "kv needs the parameters 'dir=FOLDER'");
    kv->folder =
        strndup((const char *)info->params.data + word_size, info->params.size - word_size);
    if (!kv->folder)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a path");
    if (info->load_follows)
        return 0;
    r = kv_store_open(kv->folder, &kv->store);
    if (r < 0)
        kv_fini(self);
    return r;
}

static int kv_save(void *self, struct rapahub_sink *to)
{
    struct kv *kv = self;
    int r = check(kv);

    if (r == 0)
        r = kv_store_save(kv->store, to);
    if (r < 0)
        return r;
    kv_store_close(kv->store);
    kv->store = NULL;
    return 0;
}

static int kv_load(void *self, struct rapahub_source *from, uint32_t version)
{
    struct kv *kv = self;
    int r;

    if (version != 1)
        return rapahub_fail(RAPAHUB_EABI, "", "a state of version %" PRIu32 "; this kv has 1",
                            version);
    r = kv_store_open(kv->folder, &kv->store);
    return r < 0 ? r : kv_store_load(kv->store, from);
}

/* The folder stays open. */
static int kv_save_changes(void *self, struct rapahub_sink *to)
{
    struct kv *kv = self;
    int r = check(kv);

    return r < 0 ? r : kv_changes_save(kv->store, to);
}

static int kv_load_changes(void *self, struct rapahub_source *from, uint32_t version)
{
    struct kv *kv = self;
    int r = check(kv);

    if (r == 0 && version != 1)
        r = rapahub_fail(RAPAHUB_EABI, "", "changes of version %" PRIu32 "; this kv has 1",
                         version);
    return r < 0 ? r : kv_changes_load(kv->store, from);
}

/* Calls come again: the saved store is opened again. */
static void kv_plugged(void *self, bool plugged)
{
    struct kv *kv = self;

    if (plugged || kv->store)
        return;
    kv->lost = kv_store_open(kv->folder, &kv->store) < 0;
    if (kv->lost)
        rapahub_log(RAPAHUB_LOG_ERROR, "kv", "%s", rapahub_last_error()->text);
}

static enum rapahub_health kv_health(void *self)
{
    struct kv *kv = self;

    return kv->lost || (kv->store && kv_store_is_broken(kv->store)) ? RAPAHUB_HEALTH_UNHEALTHY
                                                                    : RAPAHUB_HEALTH_READY;
}

static const struct rapahub_container_ops ops = {
    .init = kv_init,
    .save = kv_save,
    .load = kv_load,
    .plugged = kv_plugged,
    .health = kv_health,
    .fini = kv_fini,
    .save_changes = kv_save_changes,
    .load_changes = kv_load_changes,
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

RAPAHUB_CHIMOD(.name = "kv", .version = KV_VERSION, .state_size = sizeof(struct kv),
               .state_version = 1, .ops = &ops, .methods = methods);
