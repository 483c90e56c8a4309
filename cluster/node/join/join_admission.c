/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/join/join_admission.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>
#include <rapahub/log.h>

#include "cluster/identity/csr.h"
#include "cluster/identity/join_token.h"
#include "cluster/identity/private_key.h"
#include "cluster/wire/record.h"
#include "hub/base/bytes.h"
#include "hub/base/own.h"

#define RULE      "cluster.join.token"
#define ROUNDS    32  /* another one was faster: with as many as may ask at once there is an end */
#define VALUE_MAX 256 /* bytes of a record */
#define AGAIN     "rapahub token create makes another one"

struct admission {
    struct cluster_join_admission_parts parts;
    uint64_t number;
    unsigned rounds;
    struct cluster_join_token shown;
    struct cluster_join_token_state state; /* uses and tries that are left */
    uint64_t token_rev, next_rev;          /* when both were put */
    uint64_t next;                         /* number of the next node */
    uint8_t uuid[CLUSTER_BODY_UUID];
    char name[CLUSTER_KEYS_NAME_MAX + 1];
    char given[CLUSTER_KEYS_NAME_MAX + 1]; /* that the record gets */
    struct cluster_pem request, certificate;
};

static void end(struct admission *admission)
{
    explicit_bzero(admission, sizeof *admission);
    free(admission);
}

/* With the diagnosis. */
static void refuse(struct admission *admission)
{
    admission->parts.hooks->ended(admission->parts.user, admission->number, NULL);
    end(admission);
}

static void refuse_as(struct admission *admission, int code, const char *why)
{
    rapahub_fail(code, RULE, "%s", why);
    refuse(admission);
}

/* ---- keys and values ---- */

struct pair {
    char key[CLUSTER_KEYS_SIZE_MAX];
    uint8_t value[VALUE_MAX];
    struct rapahub_bytes key_bytes, value_bytes;
};

static struct cluster_key token_key(const struct admission *admission)
{
    return (struct cluster_key){.kind = CLUSTER_KEY_TOKEN, .number = admission->shown.id};
}

static const struct cluster_key next_key = {.kind = CLUSTER_KEY_NEXT_NODE};

static int build(const struct cluster_key *key, const struct cluster_record *record,
                 struct pair *out)
{
    struct hub_writer writer;
    int size = cluster_keys_build(key, out->key), r = 0;

    if (size < 0)
        return size;
    out->key_bytes = (struct rapahub_bytes){out->key, (size_t)size};
    hub_writer_init(&writer, out->value, sizeof out->value);
    if (record)
        r = cluster_record_put(&writer, key->kind, record);
    out->value_bytes = (struct rapahub_bytes){out->value, writer.size};
    return r;
}

static int build_token(struct admission *admission, struct pair *out)
{
    const struct cluster_join_token_state *state = &admission->state;
    const struct cluster_key key = token_key(admission);
    const struct cluster_record record = {
        .join_token = {.uses = state->uses,
                       .tries = state->tries,
                       .until_s = state->until_s,
                       .digest = {state->digest, sizeof state->digest}}};

    return build(&key, &record, out);
}

static int build_next(const struct admission *admission, struct pair *out)
{
    const struct cluster_record record = {.counter = {admission->next + 1}};

    return build(&next_key, &record, out);
}

static int read_serial(const struct cluster_pem *pem, char to[CLUSTER_CERTIFICATE_SERIAL_TEXT])
{
    OWN(cluster_certificate) struct x509_st *certificate = NULL;
    uint8_t serial[CLUSTER_CERTIFICATE_SERIAL_MAX];
    struct cluster_peer_name name;
    size_t size;
    int r = cluster_certificate_read((struct rapahub_bytes){pem->text, pem->size}, &certificate);

    if (r == 0)
        r = cluster_certificate_peer(certificate, &name, serial, &size);
    if (r == 0)
        cluster_certificate_serial_text(serial, size, to);
    return r;
}

static int build_node(struct admission *admission, struct pair *out)
{
    const struct cluster_key key = {.kind = CLUSTER_KEY_NODE, .node = (uint32_t)admission->next};
    char serial[CLUSTER_CERTIFICATE_SERIAL_TEXT];
    struct cluster_record record = {
        .node = {.state = CLUSTER_NODE_JOINING, .uuid = {admission->uuid, sizeof admission->uuid}}};
    int r = read_serial(&admission->certificate, serial);

    if (admission->name[0])
        snprintf(admission->given, sizeof admission->given, "%s", admission->name);
    else
        snprintf(admission->given, sizeof admission->given, "node%" PRIu64, admission->next);
    record.node.name = rapahub_string_of(admission->given);
    record.node.serial = rapahub_string_of(serial);
    return r == 0 ? build(&key, &record, out) : r;
}

/* ---- the end of it ---- */

static void tell(struct admission *admission, uint64_t rev)
{
    const struct cluster_own_identity *own = cluster_node_identity_own(admission->parts.identity);
    struct cluster_own_identity_anchors anchors;
    struct cluster_body_join_ok ok = {.node = (uint32_t)admission->next, .revision = rev};

    if (!own || cluster_own_identity_write_anchors(own, &anchors) < 0) {
        refuse(admission);
        return;
    }
    ok.cluster = (struct rapahub_bytes){own->name.uuid, sizeof own->name.uuid};
    ok.certificate =
        (struct rapahub_string){admission->certificate.text, admission->certificate.size};
    ok.anchors = (struct rapahub_string){anchors.text, anchors.size};
    if (admission->parts.place)
        ok.place = rapahub_string_of(admission->parts.place);
    rapahub_log(RAPAHUB_LOG_INFO, "join", "node %" PRIu32 ", '%s', has joined by token %016" PRIx64,
                ok.node, admission->given, admission->shown.id);
    admission->parts.hooks->ended(admission->parts.user, admission->number, &ok);
    end(admission);
}

static void fail_store(struct admission *admission, int status)
{
    rapahub_fail(status == CLUSTER_TXN_CLOSED ? RAPAHUB_ECLOSED : RAPAHUB_EIO, RULE,
                 "the metastore says %s: try it again", cluster_txn_status_name((uint32_t)status));
    refuse(admission);
}

static void read_both(struct admission *admission);

/* Says whether the transaction was carried out. Where another one was faster it begins anew. */
static bool was_done(struct admission *admission, int status)
{
    if (status == CLUSTER_TXN_CONFLICT && --admission->rounds > 0)
        read_both(admission);
    else if (status == CLUSTER_TXN_CONFLICT)
        refuse_as(admission, RAPAHUB_EBUSY, "too many nodes join at once: try it again");
    else if (status != CLUSTER_TXN_OK)
        fail_store(admission, status);
    return status == CLUSTER_TXN_OK;
}

static void on_allotted(void *user, int status, uint64_t rev, const struct cluster_pair *gets,
                        size_t count)
{
    (void)gets, (void)count;
    if (was_done(user, status))
        tell(user, rev);
}

static void on_tried(void *user, int status, uint64_t rev, const struct cluster_pair *gets,
                     size_t count)
{
    (void)rev, (void)gets, (void)count;
    if (was_done(user, status))
        refuse_as(user, RAPAHUB_EACCES, "the secret in the token is wrong: copy all of it");
}

static void submit(struct admission *admission, const struct cluster_txn *txn,
                   cluster_on_txn *on_txn)
{
    if (cluster_marker_submit(admission->parts.marker, txn, on_txn, admission) < 0)
        refuse(admission);
}

/* ---- the token is used ---- */

static int sign(struct admission *admission)
{
    const struct cluster_peer_name name = {.kind = CLUSTER_PEER_NODE,
                                           .node = (uint32_t)admission->next};

    if (admission->next == 0 || admission->next > UINT32_MAX)
        return rapahub_fail(RAPAHUB_EFULL, RULE, "no number is left for another node");
    return cluster_node_identity_sign(
        admission->parts.identity,
        (struct rapahub_bytes){admission->request.text, admission->request.size}, name,
        &admission->certificate);
}

/* A certificate of a transaction that is not carried out is not told.
 * r[impl cluster.join.number] */
static void allot(struct admission *admission)
{
    struct pair token, next, node;
    int r = sign(admission);

    if (r == 0)
        r = build_token(admission, &token);
    if (r == 0)
        r = build_next(admission, &next);
    if (r == 0)
        r = build_node(admission, &node);
    if (r < 0) {
        refuse(admission);
        return;
    }
    submit(
        admission,
        &(struct cluster_txn){
            .compares =
                (struct cluster_compare[]){
                    {.kind = CLUSTER_MOD_EQ, .key = token.key_bytes, .rev = admission->token_rev},
                    {.kind = CLUSTER_MOD_EQ, .key = next.key_bytes, .rev = admission->next_rev},
                    {.kind = CLUSTER_ABSENT, .key = node.key_bytes}},
            .compares_count = 3,
            .then = (struct cluster_write[]){{CLUSTER_PUT, token.key_bytes, token.value_bytes},
                                             {CLUSTER_PUT, next.key_bytes, next.value_bytes},
                                             {CLUSTER_PUT, node.key_bytes, node.value_bytes}},
            .then_count = 3},
        on_allotted);
}

/* The one who asked is told only when the try is counted. r[impl cluster.join.token] */
static void take_try(struct admission *admission)
{
    struct pair token;

    if (build_token(admission, &token) < 0) {
        refuse(admission);
        return;
    }
    submit(admission,
           &(struct cluster_txn){
               .compares = &(struct cluster_compare){.kind = CLUSTER_MOD_EQ,
                                                     .key = token.key_bytes,
                                                     .rev = admission->token_rev},
               .compares_count = 1,
               .then = &(struct cluster_write){CLUSTER_PUT, token.key_bytes, token.value_bytes},
               .then_count = 1},
           on_tried);
}

static void judge(struct admission *admission)
{
    switch (cluster_join_token_judge(&admission->shown,
                                     cluster_node_identity_now(admission->parts.identity),
                                     &admission->state)) {
    case CLUSTER_JOIN_TOKEN_GOOD:
        allot(admission);
        break;
    case CLUSTER_JOIN_TOKEN_WRONG:
        take_try(admission);
        break;
    case CLUSTER_JOIN_TOKEN_OLD:
        refuse_as(admission, RAPAHUB_EACCES, "the time of the token is over: " AGAIN);
        break;
    case CLUSTER_JOIN_TOKEN_USED:
        refuse_as(admission, RAPAHUB_EACCES, "the token has been used: " AGAIN);
        break;
    case CLUSTER_JOIN_TOKEN_GUESSED:
        refuse_as(admission, RAPAHUB_EACCES,
                  "too many wrong secrets were shown for this token: " AGAIN);
        break;
    }
}

/* ---- the token, and the next number ---- */

static int take_both(struct admission *admission, const struct cluster_pair *gets)
{
    struct cluster_record token, next;
    int r;

    if (gets[0].mod_rev == 0)
        return rapahub_fail(RAPAHUB_EACCES, RULE,
                            "this cluster has no such token, or it was revoked: " AGAIN);
    r = cluster_record_read(CLUSTER_KEY_TOKEN, gets[0].value, &token);
    if (r == 0)
        r = cluster_record_read(CLUSTER_KEY_NEXT_NODE, gets[1].value, &next);
    if (r < 0)
        return r;
    admission->state = (struct cluster_join_token_state){.until_s = token.join_token.until_s,
                                                         .uses = token.join_token.uses,
                                                         .tries = token.join_token.tries};
    memcpy(admission->state.digest, token.join_token.digest.data, sizeof admission->state.digest);
    admission->token_rev = gets[0].mod_rev;
    admission->next_rev = gets[1].mod_rev;
    admission->next = next.counter.next;
    return 0;
}

static void on_both(void *user, int status, uint64_t rev, const struct cluster_pair *gets,
                    size_t count)
{
    struct admission *admission = user;

    (void)rev;
    if (status != CLUSTER_TXN_OK || count != 2)
        fail_store(admission, status);
    else if (take_both(admission, gets) < 0)
        refuse(admission);
    else
        judge(admission);
}

static int begin_reading(struct admission *admission)
{
    const struct cluster_key of_token = token_key(admission);
    struct pair token, next;
    int r = build(&of_token, NULL, &token);

    if (r == 0)
        r = build(&next_key, NULL, &next);
    if (r < 0)
        return r;
    return cluster_marker_submit(
        admission->parts.marker,
        &(struct cluster_txn){
            .then = (struct cluster_write[]){{CLUSTER_GET, token.key_bytes, {NULL, 0}},
                                             {CLUSTER_GET, next.key_bytes, {NULL, 0}}},
            .then_count = 2},
        on_both, admission);
}

static void read_both(struct admission *admission)
{
    if (begin_reading(admission) < 0)
        refuse(admission);
}

/* ---- asked ---- */

/* A request that is none takes no use of a token. */
static int check_request(struct rapahub_string request)
{
    OWN(cluster_private_key) struct evp_pkey_st *key = NULL;

    return cluster_csr_read((struct rapahub_bytes){request.data, request.size}, &key);
}

static int make(const struct cluster_join_admission_parts *parts, uint64_t number,
                const struct cluster_body_join *join, struct admission **out)
{
    struct cluster_join_token shown;
    int r = cluster_node_identity_check_ca(parts->identity);

    if (r == 0)
        r = cluster_join_token_parse(join->token, &shown);
    if (r == 0)
        r = check_request(join->request);
    if (r < 0)
        return r;
    *out = calloc(1, sizeof **out);
    if (!*out)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a node that joins");
    (*out)->parts = *parts;
    (*out)->number = number;
    (*out)->rounds = ROUNDS;
    (*out)->shown = shown;
    memcpy((*out)->uuid, join->uuid.data, sizeof(*out)->uuid);
    if (join->name.size > 0)
        memcpy((*out)->name, join->name.data, join->name.size);
    memcpy((*out)->request.text, join->request.data, join->request.size);
    (*out)->request.size = join->request.size;
    return 0;
}

int cluster_join_admission_begin(const struct cluster_join_admission_parts *parts, uint64_t number,
                                 const struct cluster_body_join *join)
{
    struct admission *admission = NULL;
    int r = make(parts, number, join, &admission);

    if (r == 0)
        r = begin_reading(admission);
    if (r < 0 && admission)
        end(admission);
    return r;
}
