/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/services/askers.h"

#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "cluster/core/base/table.h"
#include "hub/base/bytes.h"
#include "hub/base/own.h"
#include "hub/wire/postcard.h"

struct cluster_askers {
    struct cluster_table rows;
    uint64_t made;
};

int cluster_askers_create(uint32_t most, struct cluster_askers **out)
{
    struct cluster_askers *askers = calloc(1, sizeof *askers);

    *out = askers;
    if (askers && cluster_table_init(&askers->rows, most, sizeof(struct cluster_asker)) == 0)
        return 0;
    cluster_askers_release(out);
    return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for the services of a node");
}

void cluster_askers_release(struct cluster_askers **askers)
{
    if (*askers) {
        for (uint32_t place = 0; (place = cluster_table_after(&(*askers)->rows, place)) != 0;)
            free(((struct cluster_asker *)cluster_table_at(&(*askers)->rows, place))->memory);
        cluster_table_fini(&(*askers)->rows);
    }
    free(*askers);
    *askers = NULL;
}

struct cluster_asker *cluster_askers_add(struct cluster_askers *askers,
                                         const struct cluster_asker *asker)
{
    uint32_t place = cluster_table_take(&askers->rows);
    struct cluster_asker *row;

    if (place == 0) {
        rapahub_fail(RAPAHUB_EBUSY, "cluster.node.services", "%u questions are open already",
                     askers->rows.max);
        return NULL;
    }
    row = cluster_table_at(&askers->rows, place);
    *row = *asker;
    row->number = ++askers->made << 32 | place;
    return row;
}

struct cluster_asker *cluster_askers_find(const struct cluster_askers *askers, uint64_t number)
{
    uint32_t place = (uint32_t)number;
    struct cluster_asker *row =
        cluster_table_has(&askers->rows, place) ? cluster_table_at(&askers->rows, place) : NULL;

    return row && row->number == number ? row : NULL;
}

struct cluster_asker *cluster_askers_of_key(const struct cluster_askers *askers, const void *user,
                                            uint64_t key)
{
    for (uint32_t place = 0; (place = cluster_table_after(&askers->rows, place)) != 0;) {
        struct cluster_asker *row = cluster_table_at(&askers->rows, place);

        if (row->user == user && row->key == key)
            return row;
    }
    return NULL;
}

void cluster_askers_remove(struct cluster_askers *askers, struct cluster_asker *asker)
{
    free(asker->memory);
    cluster_table_give(&askers->rows, (uint32_t)asker->number);
}

static void end(struct cluster_askers *askers, struct cluster_asker *asker,
                const struct rapahub_raw_answer *answer)
{
    asker->way->answer(asker->user, asker->key, answer);
    cluster_askers_remove(askers, asker);
}

void cluster_askers_answer(struct cluster_askers *askers, struct cluster_asker *asker,
                           struct rapahub_bytes result)
{
    end(askers, asker, &(struct rapahub_raw_answer){.payload = result});
}

void cluster_askers_answer_number(struct cluster_askers *askers, struct cluster_asker *asker,
                                  uint64_t number)
{
    uint8_t bytes[10];

    cluster_askers_answer(askers, asker,
                          (struct rapahub_bytes){bytes, hub_postcard_put_at(bytes, number)});
}

void cluster_askers_answer_flag(struct cluster_askers *askers, struct cluster_asker *asker,
                                bool flag)
{
    const uint8_t byte = flag;

    cluster_askers_answer(askers, asker, (struct rapahub_bytes){&byte, 1});
}

void cluster_askers_answer_text(struct cluster_askers *askers, struct cluster_asker *asker,
                                const char *text)
{
    struct rapahub_string string = rapahub_string_of(text);
    OWN(hub_memory) uint8_t *bytes = malloc(string.size + 10);
    struct hub_writer writer;

    if (!bytes) {
        cluster_askers_fail(askers, asker, RAPAHUB_ENOMEM, "no memory for a document");
        return;
    }
    hub_writer_init(&writer, bytes, string.size + 10);
    hub_postcard_put_string(&writer, string);
    if (writer.failure != 0)
        cluster_askers_fail(askers, asker, RAPAHUB_EFORMAT, "the document is no UTF-8");
    else
        cluster_askers_answer(askers, asker, (struct rapahub_bytes){bytes, writer.size});
}

void cluster_askers_fail(struct cluster_askers *askers, struct cluster_asker *asker, int status,
                         const char *text)
{
    end(askers, asker, &(struct rapahub_raw_answer){.status = status, .text = text});
}

struct cluster_asker *cluster_askers_due(const struct cluster_askers *askers, uint64_t now_ns,
                                         uint64_t *next)
{
    for (uint32_t place = 0; (place = cluster_table_after(&askers->rows, place)) != 0;) {
        struct cluster_asker *row = cluster_table_at(&askers->rows, place);

        if (row->deadline_ns <= now_ns)
            return row;
        if (row->deadline_ns < *next)
            *next = row->deadline_ns;
    }
    return NULL;
}
