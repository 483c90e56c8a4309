/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/metastore/oracle_rows.h"

#include <stdlib.h>
#include <string.h>

#define MARKERS_MAX 1024

struct row {
    struct cluster_pair pair; /* owns its bytes */
    bool deleted;
};

struct marker {
    uint64_t client, seq, rev;
    int outcome;
};

/* What outlives a store that is closed. */
struct memory {
    struct row *rows; /* by revision, then by key */
    size_t count, room;
    struct marker markers[MARKERS_MAX];
    size_t markers_count;
    uint64_t revision, compacted;
};

static struct memory memory;

struct rapahub_bytes oracle_rows_own(struct rapahub_bytes bytes)
{
    void *data = malloc(bytes.size + 1);

    if (bytes.size > 0)
        memcpy(data, bytes.data, bytes.size);
    return (struct rapahub_bytes){data, bytes.size};
}

static void disown(struct cluster_pair *pair)
{
    free((void *)(uintptr_t)pair->key.data);
    free((void *)(uintptr_t)pair->value.data);
}

static int order(struct rapahub_bytes a, struct rapahub_bytes b)
{
    size_t both = a.size < b.size ? a.size : b.size;
    int r = both > 0 ? memcmp(a.data, b.data, both) : 0;

    return r != 0 ? r : (a.size > b.size) - (a.size < b.size);
}

static bool is_in(const struct cluster_span *span, struct rapahub_bytes key)
{
    return order(key, span->from) >= 0 && order(key, span->to) < 0;
}

/* The last row of a key up to a revision, also a deletion; NULL: none. */
static const struct row *last_row(struct rapahub_bytes key, uint64_t rev)
{
    for (size_t i = memory.count; i-- > 0;)
        if (memory.rows[i].pair.mod_rev <= rev && order(memory.rows[i].pair.key, key) == 0)
            return &memory.rows[i];
    return NULL;
}

static struct cluster_pair find(struct rapahub_bytes key, uint64_t rev)
{
    const struct row *row = last_row(key, rev);

    return row && !row->deleted ? row->pair : (struct cluster_pair){.key = key};
}

static void append(struct cluster_pair pair, bool deleted)
{
    size_t at = memory.count;

    if (memory.count == memory.room) {
        memory.room = memory.room ? 2 * memory.room : 64;
        memory.rows = realloc(memory.rows, memory.room * sizeof *memory.rows);
    }
    pair.key = oracle_rows_own(pair.key);
    pair.value = deleted ? oracle_rows_own((struct rapahub_bytes){0}) : oracle_rows_own(pair.value);
    while (at > 0 && memory.rows[at - 1].pair.mod_rev == pair.mod_rev &&
           order(memory.rows[at - 1].pair.key, pair.key) > 0)
        at--;
    memmove(&memory.rows[at + 1], &memory.rows[at], (memory.count - at) * sizeof *memory.rows);
    memory.rows[at] = (struct row){pair, deleted};
    memory.count++;
}

void oracle_rows_reset(void)
{
    for (size_t i = 0; i < memory.count; i++)
        disown(&memory.rows[i].pair);
    free(memory.rows);
    memory = (struct memory){0};
}

static bool holds(const struct cluster_compare *compare)
{
    struct cluster_pair pair = find(compare->key, UINT64_MAX);

    switch (compare->kind) {
    case CLUSTER_MOD_EQ:
        return pair.mod_rev == compare->rev;
    case CLUSTER_CREATE_EQ:
        return pair.create_rev == compare->rev;
    case CLUSTER_ABSENT:
        return pair.mod_rev == 0;
    case CLUSTER_PRESENT:
        return pair.mod_rev != 0;
    default:
        return pair.mod_rev != 0 && order(pair.value, compare->value) == 0;
    }
}

static void add_pair(struct oracle_found *found, struct cluster_pair pair)
{
    found->pairs = realloc(found->pairs, (found->count + 1) * sizeof *found->pairs);
    pair.key = oracle_rows_own(pair.key);
    pair.value = oracle_rows_own(pair.value);
    found->pairs[found->count++] = pair;
}

static void write_one(const struct cluster_write *write, uint64_t rev, bool *changed)
{
    struct cluster_pair pair = find(write->key, UINT64_MAX);

    if (write->kind == CLUSTER_DELETE && pair.mod_rev == 0)
        return;
    *changed = true;
    pair.version = write->kind == CLUSTER_DELETE ? 0 : pair.version + 1;
    pair.create_rev = pair.mod_rev == 0 ? rev : pair.create_rev;
    pair.mod_rev = rev;
    pair.value = write->value;
    append(pair, write->kind == CLUSTER_DELETE);
}

static void run_list(struct oracle_found *found, const struct cluster_write *list, uint32_t count,
                     bool gets)
{
    uint64_t rev = memory.revision + 1;
    bool changed = false;

    for (uint32_t i = 0; i < count; i++) {
        if (list[i].kind == CLUSTER_GET)
            add_pair(found, find(list[i].key, UINT64_MAX));
        else if (!gets)
            write_one(&list[i], rev, &changed);
    }
    if (changed)
        memory.revision = rev;
}

static struct marker *marker_of(const struct cluster_txn_id *id)
{
    for (size_t i = 0; i < memory.markers_count; i++)
        if (memory.markers[i].client == id->client &&
            memory.markers[i].seq % CLUSTER_TXN_FLIGHT_MAX == id->seq % CLUSTER_TXN_FLIGHT_MAX)
            return &memory.markers[i];
    return NULL;
}

static bool has_later_boot(uint64_t client)
{
    for (size_t i = 0; i < memory.markers_count; i++)
        if (memory.markers[i].client >> 32 == client >> 32 && memory.markers[i].client > client)
            return true;
    return false;
}

static void remember(const struct cluster_txn_id *id, const struct oracle_found *found)
{
    struct marker *marker = marker_of(id);

    for (size_t i = memory.markers_count; i-- > 0;)
        if (memory.markers[i].client >> 32 == id->client >> 32 &&
            memory.markers[i].client < id->client)
            memory.markers[i] = memory.markers[--memory.markers_count];
    if (!marker && memory.markers_count == MARKERS_MAX)
        abort();
    marker = marker_of(id);
    if (!marker)
        marker = &memory.markers[memory.markers_count++];
    *marker = (struct marker){id->client, id->seq, found->rev, found->status};
}

void oracle_rows_txn(const struct cluster_txn *txn, struct oracle_found *found)
{
    bool mutates = cluster_txn_mutates(txn);
    const struct marker *marker = mutates ? marker_of(&txn->id) : NULL;
    bool known = marker && marker->seq == txn->id.seq;

    if ((marker && marker->seq > txn->id.seq) || (mutates && has_later_boot(txn->id.client))) {
        found->status = CLUSTER_TXN_DENIED;
        found->rev = memory.revision;
        return;
    }
    if (known)
        found->status = marker->outcome;
    for (uint32_t i = 0; !known && i < txn->compares_count; i++)
        if (!holds(&txn->compares[i]))
            found->status = CLUSTER_TXN_CONFLICT;
    if (found->status == CLUSTER_TXN_OK)
        run_list(found, txn->then, txn->then_count, known);
    else
        run_list(found, txn->otherwise, txn->otherwise_count, known);
    found->rev = known ? marker->rev : memory.revision;
    if (mutates && !known)
        remember(&txn->id, found);
}

/* The keys of a span in their order: the first after `last`. */
static const struct rapahub_bytes *next_key(const struct cluster_span *span,
                                            const struct rapahub_bytes *last)
{
    const struct rapahub_bytes *least = NULL;

    for (size_t i = 0; i < memory.count; i++) {
        const struct rapahub_bytes *key = &memory.rows[i].pair.key;

        if (is_in(span, *key) && (!last || order(*key, *last) > 0) &&
            (!least || order(*key, *least) < 0))
            least = key;
    }
    return least;
}

void oracle_rows_read(const struct cluster_span *span, uint64_t rev, struct oracle_found *found)
{
    found->rev = rev ? rev : memory.revision;
    if (found->rev > memory.revision || found->rev < memory.compacted) {
        found->status = found->rev > memory.revision ? CLUSTER_TXN_DENIED : CLUSTER_TXN_COMPACTED;
        return;
    }
    for (const struct rapahub_bytes *key = next_key(span, NULL); key; key = next_key(span, key)) {
        struct cluster_pair pair = find(*key, found->rev);

        found->more = pair.mod_rev != 0 && found->count == span->pairs_max;
        if (found->more)
            return;
        if (pair.mod_rev != 0)
            add_pair(found, pair);
    }
}

static bool is_overwritten(const struct row *row, uint64_t before)
{
    return row->pair.mod_rev <= before && (row->deleted || last_row(row->pair.key, before) != row);
}

/* The revision after `told` that has changes in the span; 0: none. */
uint64_t oracle_rows_next_change(const struct cluster_span *span, uint64_t told,
                                 struct cluster_change *changes, size_t *count)
{
    uint64_t rev = 0;

    *count = 0;
    for (size_t i = 0; i < memory.count; i++) {
        const struct row *row = &memory.rows[i];

        if (row->pair.mod_rev <= told || !is_in(span, row->pair.key) ||
            (rev != 0 && row->pair.mod_rev != rev))
            continue;
        rev = row->pair.mod_rev;
        changes[(*count)++] =
            (struct cluster_change){row->pair, find(row->pair.key, rev - 1).mod_rev, row->deleted};
    }
    return rev;
}

int oracle_rows_compact(uint64_t before)
{
    size_t kept = 0;
    bool *gone;

    if (before > memory.revision)
        return CLUSTER_TXN_DENIED;
    if (before <= memory.compacted)
        return CLUSTER_TXN_OK;
    gone = calloc(memory.count + 1, 1);
    for (size_t i = 0; i < memory.count; i++)
        gone[i] = is_overwritten(&memory.rows[i], before);
    for (size_t i = 0; i < memory.count; i++) {
        if (gone[i])
            disown(&memory.rows[i].pair);
        else
            memory.rows[kept++] = memory.rows[i];
    }
    free(gone);
    memory.count = kept;
    memory.compacted = before;
    return CLUSTER_TXN_OK;
}

uint64_t oracle_rows_revision(void)
{
    return memory.revision;
}

uint64_t oracle_rows_compacted(void)
{
    return memory.compacted;
}

void oracle_rows_clear(struct oracle_found *found)
{
    for (size_t i = 0; i < found->count; i++)
        disown(&found->pairs[i]);
    free(found->pairs);
}
