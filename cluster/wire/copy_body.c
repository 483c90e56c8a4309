/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/wire/copy_body.h"

#include <stdbool.h>

#include "cluster/base/ids.h"

RAPAHUB_RECORD(cluster_body_copy_put, RAPAHUB_MEMBER(cluster_body_copy_put, pool, u64),
               RAPAHUB_MEMBER(cluster_body_copy_put, container, u32),
               RAPAHUB_MEMBER(cluster_body_copy_put, token, u64),
               RAPAHUB_MEMBER(cluster_body_copy_put, seq, u64),
               RAPAHUB_MEMBER(cluster_body_copy_put, base_token, u64),
               RAPAHUB_MEMBER(cluster_body_copy_put, base_seq, u64),
               RAPAHUB_MEMBER(cluster_body_copy_put, module, u32),
               RAPAHUB_MEMBER(cluster_body_copy_put, state_version, u32),
               RAPAHUB_MEMBER(cluster_body_copy_put, state_size, u64),
               RAPAHUB_MEMBER(cluster_body_copy_put, dedup_size, u64),
               RAPAHUB_MEMBER(cluster_body_copy_put, offset, u64),
               RAPAHUB_MEMBER(cluster_body_copy_put, digest, bytes),
               RAPAHUB_MEMBER(cluster_body_copy_put, piece, bytes));
RAPAHUB_RECORD(cluster_body_copy_taken, RAPAHUB_MEMBER(cluster_body_copy_taken, pool, u64),
               RAPAHUB_MEMBER(cluster_body_copy_taken, container, u32),
               RAPAHUB_MEMBER(cluster_body_copy_taken, token, u64),
               RAPAHUB_MEMBER(cluster_body_copy_taken, seq, u64),
               RAPAHUB_MEMBER(cluster_body_copy_taken, offset, u64),
               RAPAHUB_MEMBER(cluster_body_copy_taken, how, u8),
               RAPAHUB_MEMBER(cluster_body_copy_taken, text, string));
RAPAHUB_RECORD(cluster_body_copy_seal, RAPAHUB_MEMBER(cluster_body_copy_seal, pool, u64),
               RAPAHUB_MEMBER(cluster_body_copy_seal, container, u32),
               RAPAHUB_MEMBER(cluster_body_copy_seal, seal, u64));
RAPAHUB_RECORD(cluster_body_copy_sealed, RAPAHUB_MEMBER(cluster_body_copy_sealed, pool, u64),
               RAPAHUB_MEMBER(cluster_body_copy_sealed, container, u32),
               RAPAHUB_MEMBER(cluster_body_copy_sealed, seal, u64),
               RAPAHUB_MEMBER(cluster_body_copy_sealed, token, u64),
               RAPAHUB_MEMBER(cluster_body_copy_sealed, seq, u64),
               RAPAHUB_MEMBER(cluster_body_copy_sealed, size, u64),
               RAPAHUB_MEMBER(cluster_body_copy_sealed, status, i32),
               RAPAHUB_MEMBER(cluster_body_copy_sealed, text, string));
RAPAHUB_RECORD(cluster_body_copy_ask, RAPAHUB_MEMBER(cluster_body_copy_ask, pool, u64),
               RAPAHUB_MEMBER(cluster_body_copy_ask, container, u32),
               RAPAHUB_MEMBER(cluster_body_copy_ask, token, u64),
               RAPAHUB_MEMBER(cluster_body_copy_ask, seq, u64),
               RAPAHUB_MEMBER(cluster_body_copy_ask, offset, u64));
RAPAHUB_RECORD(cluster_body_copy_piece, RAPAHUB_MEMBER(cluster_body_copy_piece, pool, u64),
               RAPAHUB_MEMBER(cluster_body_copy_piece, container, u32),
               RAPAHUB_MEMBER(cluster_body_copy_piece, token, u64),
               RAPAHUB_MEMBER(cluster_body_copy_piece, seq, u64),
               RAPAHUB_MEMBER(cluster_body_copy_piece, offset, u64),
               RAPAHUB_MEMBER(cluster_body_copy_piece, status, i32),
               RAPAHUB_MEMBER(cluster_body_copy_piece, text, string),
               RAPAHUB_MEMBER(cluster_body_copy_piece, piece, bytes));
RAPAHUB_RECORD(cluster_body_copy_held, RAPAHUB_MEMBER(cluster_body_copy_held, pool, u64),
               RAPAHUB_MEMBER(cluster_body_copy_held, container, u32),
               RAPAHUB_MEMBER(cluster_body_copy_held, epoch, u64),
               RAPAHUB_MEMBER(cluster_body_copy_held, revision, u64),
               RAPAHUB_MEMBER(cluster_body_copy_held, node, u32));

static const char no_container[] = "no container has this number";
static const char no_copy[] = "there can be no such copy";

static bool is_container(uint64_t pool, uint32_t container)
{
    return cluster_ids_is_pool(pool) && cluster_ids_is_container(container);
}

/* A failure has a text, and says why. */
static const char *why_not_status(int32_t status, struct rapahub_string text)
{
    if (status > 0 || text.size > CLUSTER_COPY_BODY_TEXT)
        return "its status is none, or its text is too long";
    return status == 0 && text.size > 0 ? "its text says why nothing failed" : NULL;
}

static const char *why_not_piece_of(const struct cluster_body_copy_put *put)
{
    uint64_t size = put->state_size + put->dedup_size;
    uint64_t left = size > put->offset ? size - put->offset : 0;
    uint64_t most = left < CLUSTER_COPY_BODY_PIECE ? left : CLUSTER_COPY_BODY_PIECE;

    if (put->offset % CLUSTER_COPY_BODY_PIECE != 0 || (left == 0 && put->offset > 0))
        return "it is not within its copy";
    if (put->piece.size != most)
        return "it has another size than a piece has";
    return put->digest.size == (left == most ? CLUSTER_COPY_BODY_DIGEST : 0)
               ? NULL
               : "the last piece alone has the digest";
}

/* r[impl cluster.copy.body] */
static const char *why_not_put(const void *value)
{
    const struct cluster_body_copy_put *put = value;
    bool whole = put->base_token == 0 && put->base_seq == 0;

    if (!is_container(put->pool, put->container))
        return no_container;
    if (!cluster_ids_is_token(put->token) || put->seq == 0 ||
        (!whole &&
         (put->base_token != put->token || put->base_seq == 0 || put->base_seq >= put->seq)))
        return no_copy;
    if (put->state_size > CLUSTER_COPY_BODY_MAX ||
        put->dedup_size > CLUSTER_COPY_BODY_MAX - put->state_size)
        return "it is too large";
    return why_not_piece_of(put);
}

/* r[impl cluster.copy.body] */
static const char *why_not_taken(const void *value)
{
    const struct cluster_body_copy_taken *taken = value;
    bool says_why =
        taken->how == CLUSTER_COPY_TAKEN_LATER || taken->how == CLUSTER_COPY_TAKEN_REFUSED;

    if (!is_container(taken->pool, taken->container))
        return no_container;
    if (!cluster_ids_is_token(taken->token) || taken->seq == 0)
        return no_copy;
    if (taken->how == 0 || taken->how >= CLUSTER_COPY_TAKENS)
        return "it says nothing that this release knows";
    if (taken->how == CLUSTER_COPY_TAKEN_MORE
            ? taken->offset == 0 || taken->offset % CLUSTER_COPY_BODY_PIECE != 0 ||
                  taken->offset > CLUSTER_COPY_BODY_MAX
            : taken->offset != 0)
        return "it has no such piece";
    return taken->text.size > (says_why ? CLUSTER_COPY_BODY_TEXT : 0) ? "its text is too long"
                                                                      : NULL;
}

/* r[impl cluster.copy.body] */
static const char *why_not_seal(const void *value)
{
    const struct cluster_body_copy_seal *seal = value;

    if (!is_container(seal->pool, seal->container))
        return no_container;
    return cluster_ids_is_token(seal->seal) ? NULL : "no life has this token";
}

/* r[impl cluster.copy.body] */
static const char *why_not_sealed(const void *value)
{
    const struct cluster_body_copy_sealed *sealed = value;
    bool none = sealed->token == 0 && sealed->seq == 0 && sealed->size == 0;

    if (!is_container(sealed->pool, sealed->container))
        return no_container;
    if (!cluster_ids_is_token(sealed->seal))
        return "no life has this token";
    if (!none && (sealed->status < 0 || !cluster_ids_is_token(sealed->token) || sealed->seq == 0 ||
                  sealed->size == 0 || sealed->size > CLUSTER_COPY_BODY_FILE_MAX))
        return no_copy;
    return why_not_status(sealed->status, sealed->text);
}

static const char *why_not_place(uint64_t token, uint64_t seq, uint64_t offset)
{
    return cluster_ids_is_token(token) && seq > 0 && offset < CLUSTER_COPY_BODY_FILE_MAX &&
                   offset % CLUSTER_COPY_BODY_PIECE == 0
               ? NULL
               : "no copy has such a piece";
}

/* r[impl cluster.copy.body] */
static const char *why_not_ask(const void *value)
{
    const struct cluster_body_copy_ask *ask = value;

    if (!is_container(ask->pool, ask->container))
        return no_container;
    return why_not_place(ask->token, ask->seq, ask->offset);
}

/* r[impl cluster.copy.body] */
static const char *why_not_piece(const void *value)
{
    const struct cluster_body_copy_piece *piece = value;
    const char *why = why_not_place(piece->token, piece->seq, piece->offset);

    if (!is_container(piece->pool, piece->container))
        return no_container;
    if (!why && (piece->status < 0) != (piece->piece.size == 0))
        why = "it has bytes and a failure, or neither";
    if (!why && piece->piece.size > CLUSTER_COPY_BODY_PIECE)
        why = "it has more than a piece";
    return why ? why : why_not_status(piece->status, piece->text);
}

/* r[impl cluster.copy.body] */
static const char *why_not_held(const void *value)
{
    const struct cluster_body_copy_held *held = value;

    if (!is_container(held->pool, held->container))
        return no_container;
    if (held->revision == 0 || !cluster_ids_is_revision(held->revision))
        return "no record of holders has this revision";
    return held->epoch > 0 && held->epoch <= CLUSTER_EPOCH_MAX && held->node > 0
               ? NULL
               : "no entry has this epoch, or no node";
}

#define FORMAT(tag, words)                                  \
    const struct cluster_format cluster_copy_body_##tag = { \
        words, &rapahub_type_cluster_body_copy_##tag, {{0}}, why_not_##tag}

FORMAT(put, "a COPY_PUT");
FORMAT(taken, "a COPY_TAKEN");
FORMAT(seal, "a COPY_SEAL");
FORMAT(sealed, "a COPY_SEALED");
FORMAT(ask, "a COPY_ASK");
FORMAT(piece, "a COPY_PIECE");
FORMAT(held, "a COPY_HELD");
