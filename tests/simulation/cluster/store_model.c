/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/simulation/cluster/store_model.h"

#include <stdlib.h>
#include <string.h>

void store_model_init(struct store_model *store)
{
    for (uint32_t i = 0; i < store->count; i++)
        store->pairs[i].mod_rev = 0;
    store->count = 0;
    store->revision = 1;
}

const struct store_model_pair *store_model_find_bytes(const struct store_model *store,
                                                      struct rapahub_bytes key)
{
    char last = ((const char *)key.data)[key.size - 1];

    for (uint32_t i = 0; i < store->count; i++) {
        const struct store_model_pair *pair = &store->pairs[i];

        if (pair->mod_rev != 0 && pair->key_size == key.size && pair->key[key.size - 1] == last &&
            memcmp(pair->key, key.data, key.size) == 0)
            return pair;
    }
    return NULL;
}

const struct store_model_pair *store_model_find(const struct store_model *store,
                                                const struct cluster_key *key)
{
    for (uint32_t i = 0; i < store->count; i++) {
        const struct store_model_pair *pair = &store->pairs[i];

        if (pair->mod_rev != 0 && pair->named.kind == key->kind && pair->named.pool == key->pool &&
            pair->named.container == key->container && pair->named.number == key->number &&
            pair->named.node == key->node)
            return pair;
    }
    return NULL;
}

static struct store_model_pair *add(struct store_model *store, struct rapahub_bytes key)
{
    uint32_t i = 0;

    while (i < store->count && store->pairs[i].mod_rev != 0)
        i++;
    if (i == STORE_MODEL_PAIRS)
        abort();
    if (i == store->count)
        store->count++;
    memcpy(store->pairs[i].key, key.data, key.size);
    store->pairs[i].key_size = (uint32_t)key.size;
    store->pairs[i].value = store->values[i];
    if (cluster_keys_parse((struct rapahub_bytes){store->pairs[i].key, key.size},
                           &store->pairs[i].named) < 0)
        abort();
    store->pairs[i].create_rev = store->revision;
    return &store->pairs[i];
}

static void put(struct store_model *store, const struct cluster_write *write)
{
    const struct store_model_pair *found = store_model_find_bytes(store, write->key);
    struct store_model_pair *pair =
        found ? &store->pairs[found - store->pairs] : add(store, write->key);

    if (write->value.size > STORE_MODEL_VALUE)
        abort();
    memcpy(pair->value, write->value.data, write->value.size);
    pair->value_size = (uint32_t)write->value.size;
    pair->mod_rev = store->revision;
}

static bool holds(const struct store_model *store, const struct cluster_compare *compare)
{
    const struct store_model_pair *pair = store_model_find_bytes(store, compare->key);

    switch (compare->kind) {
    case CLUSTER_MOD_EQ:
        return pair && pair->mod_rev == compare->rev;
    case CLUSTER_CREATE_EQ:
        return pair && pair->create_rev == compare->rev;
    case CLUSTER_ABSENT:
        return !pair;
    case CLUSTER_PRESENT:
        return pair;
    default:
        abort();
    }
}

int store_model_run(struct store_model *store, const struct cluster_txn *txn)
{
    for (uint32_t i = 0; i < txn->compares_count; i++)
        if (!holds(store, &txn->compares[i]))
            return CLUSTER_TXN_CONFLICT;
    store->revision++;
    for (uint32_t i = 0; i < txn->then_count; i++) {
        const struct cluster_write *write = &txn->then[i];
        const struct store_model_pair *pair = store_model_find_bytes(store, write->key);

        if (write->kind == CLUSTER_PUT)
            put(store, write);
        else if (pair)
            store->pairs[pair - store->pairs].mod_rev = 0;
    }
    return CLUSTER_TXN_OK;
}

const struct store_model_pair *store_model_next(const struct store_model *store, uint32_t *place,
                                                struct cluster_key *key,
                                                struct cluster_record *record)
{
    const struct store_model_pair *pair;

    while (*place < store->count && store->pairs[*place].mod_rev == 0)
        ++*place;
    if (*place == store->count)
        return NULL;
    pair = &store->pairs[(*place)++];
    *key = pair->named;
    if (key->kind != CLUSTER_KEY_LOG &&
        cluster_record_read(key->kind, (struct rapahub_bytes){pair->value, pair->value_size},
                            record) < 0)
        abort();
    return pair;
}
