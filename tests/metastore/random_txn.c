/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/metastore/random_txn.h"

#include <stdio.h>
#include <string.h>

#define KEYS 24

uint64_t random_txn_below(struct random_txn_source *source, uint64_t most)
{
    return hub_random_below(&source->random, most);
}

static struct rapahub_bytes random_key(struct random_txn_source *source, struct random_txn *parts)
{
    char *key = parts->keys[parts->keys_count++];

    return (struct rapahub_bytes){key, (size_t)snprintf(key, RANDOM_TXN_KEY_SIZE, "/k%u",
                                                        (unsigned)random_txn_below(source, KEYS))};
}

static struct rapahub_bytes random_value(struct random_txn_source *source, struct random_txn *parts)
{
    static const char text[] = "the values are pieces of this text";
    uint64_t kind = random_txn_below(source, 20);

    if (kind == 0)
        return (struct rapahub_bytes){parts->large, random_txn_below(source, sizeof parts->large)};
    return (struct rapahub_bytes){text, random_txn_below(source, kind < 12 ? 2 : sizeof text)};
}

static uint32_t random_list(struct random_txn_source *source, struct random_txn *parts,
                            struct cluster_write *list, uint64_t most)
{
    uint32_t count = 0;

    for (uint64_t left = random_txn_below(source, most + 1); left > 0; left--) {
        struct cluster_write write = {.kind = (enum cluster_write_kind)random_txn_below(source, 3)};
        bool twice = false;

        write.key = random_key(source, parts);
        write.value = random_value(source, parts);
        for (uint32_t i = 0; i < count; i++)
            twice |= list[i].key.size == write.key.size &&
                     memcmp(list[i].key.data, write.key.data, write.key.size) == 0 &&
                     ((list[i].kind != CLUSTER_GET && write.kind != CLUSTER_GET) || source->once);
        if (!twice)
            list[count++] = write;
    }
    return count;
}

uint64_t random_txn_revision(struct random_txn_source *source)
{
    return source->revision + 2 -
           random_txn_below(source, source->revision < 60 ? source->revision + 1 : 60);
}

/* A new id, or one that was used. */
struct cluster_txn_id random_txn_id(struct random_txn_source *source)
{
    uint64_t node = random_txn_below(source, 3);
    struct cluster_txn_id *id = &source->ids[source->ids_count % RANDOM_TXN_IDS];

    if (source->ids_count >= RANDOM_TXN_IDS && random_txn_below(source, 12) == 0)
        return source->ids[random_txn_below(source, RANDOM_TXN_IDS)];
    if (random_txn_below(source, 300) == 0)
        source->boot[node]++;
    *id = (struct cluster_txn_id){
        cluster_txn_client((uint32_t)node + 1, (uint32_t)source->boot[node] + 1),
        ++source->seq[node]};
    source->ids_count++;
    return *id;
}

void random_txn_make(struct random_txn_source *source, struct random_txn *parts)
{
    struct cluster_txn *txn = &parts->txn;

    parts->keys_count = 0;
    memset(parts->large, 'a' + (int)random_txn_below(source, 26), sizeof parts->large);
    *txn = (struct cluster_txn){
        .compares = parts->compares, .then = parts->then, .otherwise = parts->otherwise};
    for (uint64_t left = random_txn_below(source, 3); left > 0; left--) {
        struct cluster_compare *compare = &parts->compares[txn->compares_count++];

        *compare = (struct cluster_compare){
            .kind = (enum cluster_compare_kind)random_txn_below(source, CLUSTER_COMPARE_KINDS)};
        compare->key = random_key(source, parts);
        compare->value = random_value(source, parts);
        compare->rev = random_txn_revision(source);
    }
    txn->then_count = random_list(source, parts, parts->then, RANDOM_TXN_LIST_MAX);
    txn->otherwise_count = random_list(source, parts, parts->otherwise, RANDOM_TXN_LIST_MAX - 3);
}

struct cluster_span random_txn_span(struct random_txn_source *source, struct random_txn *parts)
{
    struct cluster_span span = {.rev =
                                    random_txn_below(source, 2) ? 0 : random_txn_revision(source)};

    parts->keys_count = 0;
    span.from = random_key(source, parts);
    span.to =
        random_txn_below(source, 2) ? (struct rapahub_bytes){"0", 1} : random_key(source, parts);
    if (span.to.size == 2 || strncmp(span.from.data, span.to.data, RANDOM_TXN_KEY_SIZE) >= 0)
        span.to = (struct rapahub_bytes){"0", 1};
    span.pairs_max = (uint32_t)random_txn_below(source, 12) + 1;
    return span;
}
