/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/wire/body.h"

#include <string.h>

#include <rapahub/error.h>

#include "cluster/base/ids.h"
#include "cluster/wire/body_identity.h"

RAPAHUB_RECORD(cluster_body_hello, RAPAHUB_MEMBER(cluster_body_hello, protocol_least, u16),
               RAPAHUB_MEMBER(cluster_body_hello, protocol_most, u16),
               RAPAHUB_MEMBER(cluster_body_hello, role, u8),
               RAPAHUB_MEMBER(cluster_body_hello, cluster, bytes),
               RAPAHUB_MEMBER(cluster_body_hello, node, u32),
               RAPAHUB_MEMBER(cluster_body_hello, boot, u32),
               RAPAHUB_MEMBER(cluster_body_hello, origin, u64),
               RAPAHUB_MEMBER(cluster_body_hello, features, u64),
               RAPAHUB_MEMBER(cluster_body_hello, revision, u64),
               RAPAHUB_MEMBER(cluster_body_hello, retry_ns, u64));
RAPAHUB_RECORD(cluster_body_credit, RAPAHUB_MEMBER(cluster_body_credit, kind, u8),
               RAPAHUB_MEMBER(cluster_body_credit, bytes, u32));
RAPAHUB_RECORD(cluster_body_close, RAPAHUB_MEMBER(cluster_body_close, code, i32),
               RAPAHUB_MEMBER(cluster_body_close, text, string));
RAPAHUB_RECORD(cluster_body_member, RAPAHUB_MEMBER(cluster_body_member, container, u32),
               RAPAHUB_MEMBER(cluster_body_member, lineage, u64));
RAPAHUB_RECORD(
    cluster_body_call, RAPAHUB_MEMBER(cluster_body_call, class, u8),
    RAPAHUB_MEMBER(cluster_body_call, maybe, bool),
    RAPAHUB_MEMBER(cluster_body_call, collect, bool), RAPAHUB_MEMBER(cluster_body_call, mode, u8),
    RAPAHUB_MEMBER(cluster_body_call, number, u64), RAPAHUB_MEMBER(cluster_body_call, offset, u32),
    RAPAHUB_MEMBER(cluster_body_call, count, u32), RAPAHUB_MEMBER(cluster_body_call, lineage, u64),
    RAPAHUB_MEMBER(cluster_body_call, left_us, u64),
    RAPAHUB_MEMBER(cluster_body_call, method_id, u64),
    RAPAHUB_MEMBER(cluster_body_call, root_origin, u64),
    RAPAHUB_MEMBER(cluster_body_call, root_number, u64),
    RAPAHUB_MEMBER(cluster_body_call, order, u32),
    RAPAHUB_MEMBER(cluster_body_call, order_prev, u64),
    RAPAHUB_MEMBER(cluster_body_call, done_below, u64),
    RAPAHUB_MEMBER(cluster_body_call, sources, u32), RAPAHUB_MEMBER(cluster_body_call, sinks, u32),
    RAPAHUB_MEMBER(cluster_body_call, arguments, bytes));
RAPAHUB_RECORD(cluster_body_result, RAPAHUB_MEMBER(cluster_body_result, status, i32),
               RAPAHUB_MEMBER(cluster_body_result, application, i32),
               RAPAHUB_MEMBER(cluster_body_result, lineage, u64),
               RAPAHUB_MEMBER(cluster_body_result, text, string),
               RAPAHUB_MEMBER(cluster_body_result, payload, bytes));
RAPAHUB_RECORD(cluster_body_nack, RAPAHUB_MEMBER(cluster_body_nack, reason, u8),
               RAPAHUB_MEMBER(cluster_body_nack, after_ms, u32),
               RAPAHUB_MEMBER(cluster_body_nack, owner, u32),
               RAPAHUB_MEMBER(cluster_body_nack, epoch, u64),
               RAPAHUB_MEMBER(cluster_body_nack, lineage, u64),
               RAPAHUB_MEMBER(cluster_body_nack, text, string));
RAPAHUB_RECORD(cluster_body_bulk_open, RAPAHUB_MEMBER(cluster_body_bulk_open, index, u32),
               RAPAHUB_MEMBER(cluster_body_bulk_open, sink, bool));
RAPAHUB_RECORD(cluster_body_bulk_reset, RAPAHUB_MEMBER(cluster_body_bulk_reset, code, i32));
RAPAHUB_RECORD(cluster_body_share, RAPAHUB_MEMBER(cluster_body_share, payload_max, u64));
RAPAHUB_RECORD(cluster_body_shared, RAPAHUB_MEMBER(cluster_body_shared, status, i32),
               RAPAHUB_MEMBER(cluster_body_shared, peer, u32),
               RAPAHUB_MEMBER(cluster_body_shared, waiting, u8),
               RAPAHUB_MEMBER(cluster_body_shared, text, string));
RAPAHUB_RECORD(cluster_body_piece, RAPAHUB_MEMBER(cluster_body_piece, more, bool),
               RAPAHUB_MEMBER(cluster_body_piece, bytes, bytes));

RAPAHUB_RECORD(cluster_body_death, RAPAHUB_MEMBER(cluster_body_death, node, u32),
               RAPAHUB_MEMBER(cluster_body_death, boot, u32),
               RAPAHUB_MEMBER(cluster_body_death, session, u64),
               RAPAHUB_MEMBER(cluster_body_death, final, bool));
RAPAHUB_RECORD(cluster_body_step_done, RAPAHUB_MEMBER(cluster_body_step_done, pool, u64),
               RAPAHUB_MEMBER(cluster_body_step_done, container, u32),
               RAPAHUB_MEMBER(cluster_body_step_done, epoch, u64),
               RAPAHUB_MEMBER(cluster_body_step_done, step, u8),
               RAPAHUB_MEMBER(cluster_body_step_done, status, i32),
               RAPAHUB_MEMBER(cluster_body_step_done, text, string));

RAPAHUB_RECORD(cluster_body_blob_ask, RAPAHUB_MEMBER(cluster_body_blob_ask, digest, bytes),
               RAPAHUB_MEMBER(cluster_body_blob_ask, offset, u64));

RAPAHUB_RECORD(cluster_body_blob_part, RAPAHUB_MEMBER(cluster_body_blob_part, digest, bytes),
               RAPAHUB_MEMBER(cluster_body_blob_part, offset, u64),
               RAPAHUB_MEMBER(cluster_body_blob_part, size, u64),
               RAPAHUB_MEMBER(cluster_body_blob_part, status, i32),
               RAPAHUB_MEMBER(cluster_body_blob_part, text, string),
               RAPAHUB_MEMBER(cluster_body_blob_part, part, bytes));

RAPAHUB_RECORD(cluster_update, RAPAHUB_MEMBER(cluster_update, id, u32),
               RAPAHUB_MEMBER(cluster_update, session, u64),
               RAPAHUB_MEMBER(cluster_update, refutations, u32),
               RAPAHUB_MEMBER(cluster_update, from, u32),
               RAPAHUB_MEMBER(cluster_update, state, u8));
RAPAHUB_RECORD(cluster_body_push_pull, RAPAHUB_MEMBER(cluster_body_push_pull, answer, bool));
RAPAHUB_RECORD(cluster_body_link_probe, RAPAHUB_MEMBER(cluster_body_link_probe, answer, bool),
               RAPAHUB_MEMBER(cluster_body_link_probe, sequence, u32));
RAPAHUB_RECORD(cluster_body_datagram_key, RAPAHUB_MEMBER(cluster_body_datagram_key, number, u8),
               RAPAHUB_MEMBER(cluster_body_datagram_key, key, bytes));

static bool is_lineage_or_none(uint64_t lineage)
{
    return lineage == 0 || cluster_ids_is_lineage(lineage);
}

/* r[impl cluster.body.hello] */
static const char *why_not_hello(const void *value)
{
    const struct cluster_body_hello *hello = value;
    bool client = hello->role == CLUSTER_ROLE_CLIENT;

    if (hello->protocol_least == 0 || hello->protocol_least > hello->protocol_most)
        return "it knows no protocol";
    if (!client && hello->role != CLUSTER_ROLE_NODE)
        return "its role is unknown";
    if (hello->cluster.size != CLUSTER_BODY_UUID && !(client && hello->cluster.size == 0))
        return "a uuid has 16 bytes";
    if (client != (hello->node == 0) || client != (hello->boot == 0))
        return "a node has a number and a boot, a client has neither";
    if (client ? !cluster_ids_is_client(hello->origin)
               : hello->origin != 0 && !cluster_ids_is_revision(hello->origin))
        return "its origin is none of its role";
    if (hello->revision != 0 && (client || !cluster_ids_is_revision(hello->revision)))
        return "it has no map of this revision";
    return hello->retry_ns > CLUSTER_BODY_RETRY_MAX ? "it wants to retry for too long" : NULL;
}

static const char *why_not_credit(const void *value)
{
    const struct cluster_body_credit *credit = value;

    if (credit->kind >= CLUSTER_CREDIT_KINDS)
        return "its kind is unknown";
    return credit->bytes == 0 ? "it is none" : NULL;
}

static const char *why_not_text(struct rapahub_string text)
{
    return text.size > CLUSTER_BODY_TEXT_MAX ? "its text has more than 1024 bytes" : NULL;
}

static const char *why_not_close(const void *value)
{
    return why_not_text(((const struct cluster_body_close *)value)->text);
}

static const char *why_not_member(const void *value)
{
    const struct cluster_body_member *member = value;

    if (!cluster_ids_is_container(member->container) || !is_lineage_or_none(member->lineage))
        return "a member is no container";
    return NULL;
}

/* A RANGE that ends after the last container of its pool is refused later, by name. */
static const char *why_not_query(const struct cluster_body_call *call)
{
    bool range = call->mode == CLUSTER_MODE_RANGE;
    bool numbered = call->mode == CLUSTER_MODE_HASH || call->mode == CLUSTER_MODE_PHYSICAL ||
                    call->mode == CLUSTER_MODE_DYNAMIC;

    if (call->mode >= CLUSTER_MODES)
        return "its mode is unknown";
    if ((!range && (call->offset != 0 || call->count != 0)) || (!numbered && call->number != 0))
        return "it has members that its mode has not";
    if (range && (call->count == 0 || call->count > CLUSTER_CONTAINERS_MAX ||
                  call->offset >= CLUSTER_CONTAINERS_MAX))
        return "its range is none";
    if (call->mode == CLUSTER_MODE_PHYSICAL && (call->number == 0 || call->number > UINT32_MAX))
        return "no node has this number";
    return NULL;
}

/* r[impl cluster.body.call] */
static const char *why_not_call(const void *value)
{
    const struct cluster_body_call *call = value;
    struct cluster_uid root = {call->root_origin, call->root_number};
    uint32_t streams = call->sources | call->sinks;

    if (call->class >= CLUSTER_CLASSES)
        return "its class is unknown";
    if (!is_lineage_or_none(call->lineage))
        return "its lineage can be none";
    if ((root.origin != 0 || root.number != 0) && !cluster_ids_is_uid(root))
        return "its root is no call";
    if (call->order == 0 && call->order_prev != 0)
        return "it has a call before it, but no order";
    if ((call->sources & call->sinks) != 0 || (streams & (streams + 1)) != 0 ||
        streams >> CLUSTER_BODY_STREAMS_MAX != 0)
        return "its streams are none";
    return why_not_query(call);
}

static const char *why_not_result(const void *value)
{
    const struct cluster_body_result *result = value;

    return is_lineage_or_none(result->lineage) ? why_not_text(result->text)
                                               : "its lineage can be none";
}

static const char *why_not_nack(const void *value)
{
    const struct cluster_body_nack *nack = value;

    if (nack->reason == 0 || nack->reason >= CLUSTER_NACK_END)
        return "its reason is unknown";
    if (nack->epoch > CLUSTER_EPOCH_MAX || !is_lineage_or_none(nack->lineage))
        return "its epoch or its lineage can be none";
    return why_not_text(nack->text);
}

static const char *why_not_open(const void *value)
{
    const struct cluster_body_bulk_open *bulk = value;

    return bulk->index >= CLUSTER_BODY_STREAMS_MAX ? "no stream has this index" : NULL;
}

/* A peer of a segment is 1 to 255. */
static const char *why_not_shared(const void *value)
{
    const struct cluster_body_shared *shared = value;

    if (shared->status > 0 || (shared->status == 0) != (shared->peer != 0) || shared->peer > 255)
        return "it gives a segment, or none, against its status";
    return shared->waiting > CLUSTER_BODY_WAITING_MAX ? "its way of waiting is unknown"
                                                      : why_not_text(shared->text);
}

/* r[impl cluster.store.seat.message] */
static const char *why_not_piece(const void *value)
{
    const struct cluster_body_piece *piece = value;

    if (piece->bytes.size == 0 || piece->bytes.size > CLUSTER_BODY_PIECE_MAX)
        return "a piece has 1 to 65536 bytes";
    return piece->more && piece->bytes.size < CLUSTER_BODY_PIECE_MAX
               ? "a piece is short, and not the last"
               : NULL;
}

static const char *why_not_death(const void *value)
{
    const struct cluster_body_death *death = value;

    return death->node > 0 && death->boot > 0 && cluster_ids_is_revision(death->session)
               ? NULL
               : "it names no life of a node";
}

/* A step that has failed has a status, and a text only then. r[impl cluster.step.body] */
static const char *why_not_step(const void *value)
{
    const struct cluster_body_step_done *done = value;
    bool may_fail = done->step != CLUSTER_STEP_BEGUN && done->step != CLUSTER_STEP_SPENT;

    if (!cluster_ids_is_pool(done->pool) || !cluster_ids_is_container(done->container))
        return "no container has this number";
    if (done->epoch == 0 || done->epoch > CLUSTER_EPOCH_MAX)
        return "no entry has this epoch";
    if (done->step == CLUSTER_STEP_NONE || done->step >= CLUSTER_STEPS)
        return "its step is unknown";
    if (done->status > 0 || (done->status < 0 && !may_fail) ||
        (done->status == 0 && done->step == CLUSTER_STEP_FAILED))
        return "its status is none of its step";
    return done->text.size > (done->status < 0 ? CLUSTER_BODY_STEP_TEXT_MAX : 0)
               ? "its text is too long, or says why nothing failed"
               : NULL;
}

static bool is_blob(struct rapahub_bytes digest, uint64_t offset)
{
    return digest.size == CLUSTER_BODY_DIGEST && offset < CLUSTER_BODY_BLOB_MAX;
}

/* r[impl cluster.blobs.body] */
static const char *why_not_blob_ask(const void *value)
{
    const struct cluster_body_blob_ask *ask = value;

    return is_blob(ask->digest, ask->offset) ? NULL : "no module has such a part";
}

/* All parts but the last are of one size. r[impl cluster.blobs.body] */
static const char *why_not_blob_part(const void *value)
{
    const struct cluster_body_blob_part *part = value;
    uint64_t left = part->size > part->offset ? part->size - part->offset : 0;

    if (!is_blob(part->digest, part->offset))
        return "no module has such a part";
    if (part->status < 0)
        return part->size == 0 && part->part.size == 0 && part->text.size <= CLUSTER_BODY_BLOB_TEXT
                   ? NULL
                   : "it has bytes and a failure, or its text is too long";
    if (part->status > 0 || part->text.size > 0)
        return "its status is none, or its text says why nothing failed";
    if (left == 0 || part->size > CLUSTER_BODY_BLOB_MAX)
        return "it is not within its module";
    return part->part.size == (left < CLUSTER_BODY_PIECE_MAX ? left : CLUSTER_BODY_PIECE_MAX)
               ? NULL
               : "it has another size than a part has";
}

/* r[impl cluster.detect.body] */
static const char *why_not_update(const void *value)
{
    return cluster_datagram_update_is_sound(value) ? NULL : "an update is not sound";
}

/* r[impl cluster.detect.body] */
static const char *why_not_key(const void *value)
{
    const struct cluster_body_datagram_key *key = value;

    return key->key.size == CLUSTER_BODY_KEY ? NULL : "a key has 32 bytes";
}

#define TYPE(tag) &rapahub_type_cluster_body_##tag
#define MEMBERS(tag)                                                                            \
    {                                                                                           \
        {                                                                                       \
            TYPE(member), offsetof(struct cluster_body_##tag, members), CLUSTER_CONTAINERS_MAX, \
                why_not_member                                                                  \
        }                                                                                       \
    }

#define UPDATES                                                                             \
    {                                                                                       \
        {                                                                                   \
            &rapahub_type_cluster_update, offsetof(struct cluster_body_push_pull, updates), \
                CLUSTER_BODY_UPDATES_MAX, why_not_update                                    \
        }                                                                                   \
    }

static const struct cluster_format hello = {"a HELLO", TYPE(hello), {{0}}, why_not_hello},
                                   credit = {"a CREDIT", TYPE(credit), {{0}}, why_not_credit},
                                   closing = {"a CLOSE", TYPE(close), {{0}}, why_not_close},
                                   call = {"a CALL", TYPE(call), MEMBERS(call), why_not_call},
                                   result = {"a RESULT", TYPE(result), {{0}}, why_not_result},
                                   nack = {"a NACK", TYPE(nack), {{0}}, why_not_nack},
                                   resolved = {"a RESOLVED", NULL, MEMBERS(resolved), NULL},
                                   open = {"a BULK_OPEN", TYPE(bulk_open), {{0}}, why_not_open},
                                   reset = {"a BULK_RESET", TYPE(bulk_reset), {{0}}, NULL},
                                   share = {"a SHARE", TYPE(share), {{0}}, NULL},
                                   shared = {"a SHARED", TYPE(shared), {{0}}, why_not_shared},
                                   piece = {"a STORE_*", TYPE(piece), {{0}}, why_not_piece},
                                   stepped = {"a STEP_DONE", TYPE(step_done), {{0}}, why_not_step},
                                   ask = {"a BLOB_ASK", TYPE(blob_ask), {{0}}, why_not_blob_ask},
                                   part = {"a BLOB_PART",
                                           TYPE(blob_part),
                                           {{0}},
                                           why_not_blob_part},
                                   death = {"a DEATH", TYPE(death), {{0}}, why_not_death},
                                   push_pull = {"a PUSH_PULL", TYPE(push_pull), UPDATES, NULL},
                                   probe = {"a LINK_PROBE", TYPE(link_probe), {{0}}, NULL},
                                   key = {"a DATAGRAM_KEY", TYPE(datagram_key), {{0}}, why_not_key};

/* The format of each type; NULL: it has no body. */
static const struct {
    uint8_t type;
    const struct cluster_format *format;
} formats[] = {
    {CLUSTER_FRAME_HELLO, &hello},
    {CLUSTER_FRAME_HELLO_OK, &hello},
    {CLUSTER_FRAME_CREDIT, &credit},
    {CLUSTER_FRAME_PING, NULL},
    {CLUSTER_FRAME_PONG, NULL},
    {CLUSTER_FRAME_CLOSE, &closing},
    {CLUSTER_FRAME_CALL, &call},
    {CLUSTER_FRAME_RESULT, &result},
    {CLUSTER_FRAME_ACK, NULL},
    {CLUSTER_FRAME_NACK, &nack},
    {CLUSTER_FRAME_CANCEL, NULL},
    {CLUSTER_FRAME_RESOLVED, &resolved},
    {CLUSTER_FRAME_EACH, &result},
    {CLUSTER_FRAME_BULK_OPEN, &open},
    {CLUSTER_FRAME_BULK_DONE, NULL},
    {CLUSTER_FRAME_BULK_RESET, &reset},
    {CLUSTER_FRAME_SHARE, &share},
    {CLUSTER_FRAME_SHARED, &shared},
    {CLUSTER_FRAME_BLOB_ASK, &ask},
    {CLUSTER_FRAME_BLOB_PART, &part},
    {CLUSTER_FRAME_STEP_DONE, &stepped},
    {CLUSTER_FRAME_JOIN, &cluster_body_join_format},
    {CLUSTER_FRAME_JOIN_OK, &cluster_body_join_ok_format},
    {CLUSTER_FRAME_RENEW, &cluster_body_renew_format},
    {CLUSTER_FRAME_RENEWED, &cluster_body_renewed_format},
    {CLUSTER_FRAME_DEATH, &death},
    {CLUSTER_FRAME_COPY_PUT, &cluster_copy_body_put},
    {CLUSTER_FRAME_COPY_TAKEN, &cluster_copy_body_taken},
    {CLUSTER_FRAME_COPY_SEAL, &cluster_copy_body_seal},
    {CLUSTER_FRAME_COPY_SEALED, &cluster_copy_body_sealed},
    {CLUSTER_FRAME_COPY_ASK, &cluster_copy_body_ask},
    {CLUSTER_FRAME_COPY_PIECE, &cluster_copy_body_piece},
    {CLUSTER_FRAME_COPY_HELD, &cluster_copy_body_held},
    {CLUSTER_FRAME_STORE_REQUEST, &piece},
    {CLUSTER_FRAME_STORE_REPLY, &piece},
    {CLUSTER_FRAME_STORE_EVENT, &piece},
    {CLUSTER_FRAME_PUSH_PULL, &push_pull},
    {CLUSTER_FRAME_LINK_PROBE, &probe},
    {CLUSTER_FRAME_DATAGRAM_KEY, &key},
};
#define FORMATS (sizeof formats / sizeof *formats)

/* Returns the place of the type in the table, or FORMATS. */
static size_t find(uint8_t type)
{
    size_t i = 0;

    while (i < FORMATS && formats[i].type != type)
        i++;
    return i;
}

static int refuse(int code, uint8_t type, const char *why)
{
    return rapahub_fail(code, "cluster.wire.strict", "a %s %s", cluster_frame_name(type), why);
}

int cluster_body_put(struct hub_writer *writer, uint8_t type, const struct cluster_body *body)
{
    size_t at = find(type);

    if (at == FORMATS)
        return refuse(RAPAHUB_EINVAL, type, "has no body that can be written");
    return formats[at].format ? cluster_format_put(writer, formats[at].format, body) : 0;
}

int cluster_body_read(uint8_t type, struct rapahub_bytes from, struct cluster_body *out)
{
    size_t at = find(type);

    memset(out, 0, sizeof *out);
    if (at == FORMATS)
        return refuse(RAPAHUB_EINVAL, type, "has no body that can be read");
    if (formats[at].format)
        return cluster_format_read(formats[at].format, from, out);
    return from.size == 0 ? 0 : refuse(RAPAHUB_EFORMAT, type, "has a body");
}

bool cluster_body_next_member(struct cluster_list *list, struct cluster_body_member *out)
{
    return cluster_format_next(list, TYPE(member), out);
}

bool cluster_body_next_update(struct cluster_list *list, struct cluster_update *out)
{
    return cluster_format_next(list, &rapahub_type_cluster_update, out);
}
