/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/blobs/blob_source.h"

#include <inttypes.h>
#include <string.h>

#include <rapahub/error.h>
#include <rapahub/log.h>

#define RULE "cluster.blobs.source"

void cluster_blob_source_init(struct cluster_blob_source *source, struct cluster_peer_links *links,
                              struct cluster_store_thread *disk)
{
    *source = (struct cluster_blob_source){.links = links, .disk = disk};
}

/* Finds a node that is linked; 0: a free place. */
static struct cluster_blob_source_node *find(struct cluster_blob_source *source, uint32_t node)
{
    for (unsigned i = 0; i < 2 * CLUSTER_PEER_LINKS_MAX; i++)
        if (source->nodes[i].node == node && (node != 0 || !source->nodes[i].reading))
            return &source->nodes[i];
    return NULL;
}

void cluster_blob_source_up(struct cluster_blob_source *source, uint32_t node)
{
    struct cluster_blob_source_node *of = find(source, 0);

    if (of)
        *of = (struct cluster_blob_source_node){source, node, false};
}

/* A part that is read for it is dropped when it comes. */
void cluster_blob_source_lost(struct cluster_blob_source *source, uint32_t node)
{
    struct cluster_blob_source_node *of = find(source, node);

    if (of)
        of->node = 0;
}

/* ---- asked and answered ---- */

static void answer(const struct cluster_blob_source_node *of, struct cluster_body_blob_part *part)
{
    const struct cluster_body body = {.blob_part = *part};

    if (cluster_peer_links_put(of->source->links, of->node, CLUSTER_FRAME_BLOB_PART, &body) == 0)
        return;
    rapahub_log(RAPAHUB_LOG_DEBUG, "node", "node %" PRIu32 " gets no part of a module: %s",
                of->node, rapahub_last_error()->text);
    rapahub_clear_error();
}

static struct rapahub_string cut(const char *text)
{
    struct rapahub_string of = rapahub_string_of(text);

    if (of.size > CLUSTER_BODY_BLOB_TEXT)
        of.size = CLUSTER_BODY_BLOB_TEXT;
    return of;
}

static void on_read(void *user, struct cluster_disk_result *result)
{
    struct cluster_blob_source_node *of = user;
    struct cluster_body_blob_part part = {
        .digest = {result->asked.digest, CLUSTER_DIGEST_SIZE},
        .offset = result->asked.offset,
    };

    of->reading = false;
    if (of->node == 0)
        return;
    part.status = result->status;
    if (result->status < 0) {
        part.text = cut(result->text);
    } else {
        part.size = result->size;
        part.part = result->part;
    }
    answer(of, &part);
}

/* r[impl cluster.blobs.source] */
int cluster_blob_source_ask(struct cluster_blob_source *source, uint32_t node,
                            const struct cluster_body_blob_ask *ask)
{
    struct cluster_blob_source_node *of = find(source, node);
    struct cluster_disk_part part = {.offset = ask->offset, .part = {NULL, CLUSTER_BODY_PIECE_MAX}};
    struct cluster_body_blob_part none = {.digest = ask->digest, .offset = ask->offset};

    if (!of || of->reading)
        return rapahub_fail(RAPAHUB_EPROTOCOL, RULE,
                            "node %" PRIu32 " asks for a part of a module before it has the last",
                            node);
    memcpy(part.digest, ask->digest.data, sizeof part.digest);
    none.status = cluster_store_thread_blob_read(source->disk, &part, on_read, of);
    of->reading = none.status == 0;
    if (none.status < 0) {
        none.text = cut(rapahub_last_error()->text);
        answer(of, &none);
    }
    return 0;
}
