/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/calls/nested.h"

#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "cluster/core/base/index.h"
#include "cluster/core/base/table.h"
#include "cluster/store/digest.h"

#define CLIENT_BIT (UINT64_C(1) << 63)

/* A row lasts as long as the run does and, if that has named calls, as long as the root does. */
struct row {
    struct cluster_nested_run run;
    struct cluster_uid uid; /* that the host knows */
    uint64_t origin;        /* in the uids of its calls; 0: it has named none */
    uint64_t made;          /* how many it has named */
    uint64_t begun;         /* counts up over all runs */
    uint32_t next;          /* row with the same root */
    bool runs, rooted;      /* it is in `by_uid`; it is in the list of its root */
};

struct cluster_nested {
    struct cluster_table rows;
    struct cluster_index by_uid;
    struct cluster_index by_root; /* the first row of each root: it has the list */
    uint64_t begun;
    const struct cluster_nested_hooks *hooks;
    void *user;
};

int cluster_nested_create(uint32_t most, uint64_t secret, const struct cluster_nested_hooks *hooks,
                          void *user, struct cluster_nested **out)
{
    struct cluster_nested *nested = calloc(1, sizeof *nested);

    *out = nested;
    if (nested && cluster_table_init(&nested->rows, most, sizeof(struct row)) == 0 &&
        cluster_index_init(&nested->by_uid, most, secret) == 0 &&
        cluster_index_init(&nested->by_root, most, secret) == 0) {
        nested->hooks = hooks;
        nested->user = user;
        return 0;
    }
    cluster_nested_release(out);
    return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for %u runs", most);
}

void cluster_nested_release(struct cluster_nested **nested)
{
    if (*nested) {
        cluster_index_fini(&(*nested)->by_root);
        cluster_index_fini(&(*nested)->by_uid);
        cluster_table_fini(&(*nested)->rows);
    }
    free(*nested);
    *nested = NULL;
}

static struct row *row_at(const struct cluster_nested *nested, uint32_t place)
{
    return cluster_table_at(&nested->rows, place);
}

static uint32_t hash_of_uid(const struct cluster_nested *nested, struct cluster_uid uid)
{
    return cluster_index_hash(&nested->by_uid, uid.origin, uid.number, 0);
}

static uint32_t hash_of_root(const struct cluster_nested *nested, uint64_t root)
{
    return cluster_index_hash(&nested->by_root, root, 0, 0);
}

/* ---- origins ---- */

enum purpose { OF_A_RUN = 1, OF_ITS_CALLS };

/* An origin that is a revision, as each one without bit 63 is. 0: there is no memory.
 * r[impl cluster.call.nested] */
static uint64_t derive(const struct cluster_nested_run *run, enum purpose purpose)
{
    const uint64_t words[] = {purpose, run->uid.origin, run->uid.number, run->pool, run->container};
    uint8_t bytes[CLUSTER_DIGEST_SIZE];
    struct cluster_digest digest;
    uint64_t origin;

    if (cluster_digest_begin(&digest) < 0)
        return 0;
    cluster_digest_add(&digest, words, sizeof words);
    cluster_digest_end(&digest, bytes);
    memcpy(&origin, bytes, sizeof origin);
    origin &= ~CLIENT_BIT;
    return cluster_ids_is_revision(origin) ? origin : origin | 1;
}

static int refuse(void)
{
    return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for the name of a call");
}

/* ---- runs ---- */

uint32_t cluster_nested_begin(struct cluster_nested *nested, const struct cluster_nested_run *run,
                              struct cluster_uid *uid)
{
    uint64_t origin = run->several ? derive(run, OF_A_RUN) : run->uid.origin;
    uint32_t place = origin != 0 ? cluster_table_take(&nested->rows) : 0;

    if (origin == 0)
        refuse();
    else if (place == 0)
        rapahub_fail(RAPAHUB_EBUSY, "cluster.call.bounds", "at most %u calls run",
                     nested->rows.max);
    if (place == 0)
        return 0;
    *uid = (struct cluster_uid){origin, run->uid.number};
    *row_at(nested, place) =
        (struct row){.run = *run, .uid = *uid, .begun = ++nested->begun, .runs = true};
    cluster_index_put(&nested->by_uid, hash_of_uid(nested, *uid), place);
    return place;
}

static void drop(struct cluster_nested *nested, uint32_t place)
{
    const struct row *row = row_at(nested, place);

    if (row->origin != 0)
        nested->hooks->ended(nested->user, row->origin);
    cluster_table_give(&nested->rows, place);
}

void cluster_nested_end(struct cluster_nested *nested, uint32_t place)
{
    struct row *row = row_at(nested, place);

    cluster_index_remove(&nested->by_uid, hash_of_uid(nested, row->uid), place);
    row->runs = false;
    if (!row->rooted)
        drop(nested, place);
}

uint32_t cluster_nested_find(const struct cluster_nested *nested, struct cluster_uid uid)
{
    struct cluster_index_cursor cursor;
    uint32_t place = cluster_index_first(&nested->by_uid, hash_of_uid(nested, uid), &cursor);
    uint32_t found = 0;

    for (; place != 0; place = cluster_index_next(&nested->by_uid, &cursor)) {
        const struct row *row = row_at(nested, place);

        if (row->uid.origin == uid.origin && row->uid.number == uid.number &&
            (found == 0 || row->begun > row_at(nested, found)->begun))
            found = place;
    }
    return found;
}

const struct cluster_nested_run *cluster_nested_at(const struct cluster_nested *nested,
                                                   uint32_t place)
{
    return &row_at(nested, place)->run;
}

/* ---- roots ---- */

static uint32_t first_of(const struct cluster_nested *nested, uint64_t root)
{
    struct cluster_index_cursor cursor;
    uint32_t place = cluster_index_first(&nested->by_root, hash_of_root(nested, root), &cursor);

    while (place != 0 && row_at(nested, place)->run.root != root)
        place = cluster_index_next(&nested->by_root, &cursor);
    return place;
}

static void join_root(struct cluster_nested *nested, uint32_t place)
{
    struct row *row = row_at(nested, place);
    uint32_t first = first_of(nested, row->run.root);

    row->rooted = true;
    if (first == 0) {
        cluster_index_put(&nested->by_root, hash_of_root(nested, row->run.root), place);
        return;
    }
    row->next = row_at(nested, first)->next;
    row_at(nested, first)->next = place;
}

int cluster_nested_name(struct cluster_nested *nested, uint32_t place, bool root_is_open,
                        struct cluster_uid *out)
{
    struct row *row = row_at(nested, place);

    if (row->origin == 0)
        row->origin = derive(&row->run, OF_ITS_CALLS);
    if (row->origin == 0)
        return refuse();
    if (root_is_open && !row->rooted)
        join_root(nested, place);
    *out = (struct cluster_uid){row->origin, ++row->made};
    return 0;
}

void cluster_nested_root_ended(struct cluster_nested *nested, uint64_t root)
{
    uint32_t place = nested->by_root.count > 0 ? first_of(nested, root) : 0;

    if (place != 0)
        cluster_index_remove(&nested->by_root, hash_of_root(nested, root), place);
    while (place != 0) {
        struct row *row = row_at(nested, place);
        uint32_t next = row->next;

        row->rooted = false;
        row->next = 0;
        if (!row->runs)
            drop(nested, place);
        place = next;
    }
}
