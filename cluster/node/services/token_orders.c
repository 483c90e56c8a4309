/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/services/token_orders.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "cluster/identity/join_token.h"
#include "cluster/node/services/document.h"
#include "cluster/node/services/questions.h"
#include "cluster/wire/record.h"
#include "hub/base/clock.h"

#define RULE      "cluster.identity.token"
#define TTL_NS    (3600 * HUB_SECOND)
#define TTL_LEAST HUB_SECOND
#define TTL_MOST  (7 * 24 * 3600 * HUB_SECOND)
#define OLD_MAX   32 /* that one order takes away */
#define VALUE_MAX 96 /* bytes of a record */
#define ID_DIGITS 16
#define READ_MAX  (CLUSTER_TOKEN_ORDERS_MAX + OLD_MAX)

typedef char key_text[CLUSTER_KEYS_SIZE_MAX];

static int build_key(uint64_t id, key_text to)
{
    return cluster_keys_build(&(struct cluster_key){.kind = CLUSTER_KEY_TOKEN, .number = id}, to);
}

/* Reads all tokens; a callback frees the question, which must be there. */
static int read_all(struct cluster_asking *asking, cluster_on_range *on_range, void *user)
{
    key_text from, past;
    int size = cluster_keys_prefix(CLUSTER_KEY_TOKEN, 0, from, past);
    const struct cluster_span span = {
        .from = {from, (size_t)size}, .to = {past, (size_t)size}, .pairs_max = READ_MAX};

    return cluster_metastore_range(asking->store, &span, on_range, user);
}

/* Reads a pair of the metastore; says whether it is a token. */
static bool read_pair(const struct cluster_pair *pair, uint64_t *id,
                      struct cluster_record_join_token *out)
{
    struct cluster_record record;
    struct cluster_key key;

    if (cluster_keys_parse(pair->key, &key) < 0 ||
        cluster_record_read(CLUSTER_KEY_TOKEN, pair->value, &record) < 0) {
        rapahub_clear_error();
        return false;
    }
    *id = key.number;
    *out = record.join_token;
    return true;
}

/* ---- a token is made ---- */

struct creation {
    struct cluster_asking_question *question;
    struct cluster_join_token token;
    uint64_t until_s;
    uint32_t uses;
};

static void end(struct creation *creation)
{
    explicit_bzero(creation, sizeof *creation);
    free(creation);
}

static void on_put(void *user, int status, uint64_t rev, const struct cluster_pair *gets,
                   size_t count)
{
    struct creation *creation = user;
    char text[CLUSTER_JOIN_TOKEN_TEXT];

    (void)rev;
    (void)gets;
    (void)count;
    if (status == CLUSTER_TXN_OK) {
        cluster_join_token_print(&creation->token, text);
        cluster_questions_text(creation->question, strdup(text));
        explicit_bzero(text, sizeof text);
    } else {
        cluster_questions_fail_store(creation->question, status);
    }
    end(creation);
}

/* The new token, and the keys of old ones. */
struct change {
    key_text keys[1 + OLD_MAX];
    uint8_t value[VALUE_MAX];
    struct cluster_write writes[1 + OLD_MAX];
    uint32_t count;
};

static int add(struct change *change, uint64_t id, enum cluster_write_kind kind,
               struct rapahub_bytes value)
{
    int size = build_key(id, change->keys[change->count]);

    if (size < 0)
        return size;
    change->writes[change->count] =
        (struct cluster_write){kind, {change->keys[change->count], (size_t)size}, value};
    change->count++;
    return 0;
}

static int add_new(struct change *change, const struct creation *creation)
{
    uint8_t digest[CLUSTER_JOIN_TOKEN_DIGEST];
    const struct cluster_record record = {.join_token = {.uses = creation->uses,
                                                         .tries = CLUSTER_JOIN_TOKEN_TRIES,
                                                         .until_s = creation->until_s,
                                                         .digest = {digest, sizeof digest}}};
    struct hub_writer writer;
    int r = cluster_join_token_digest(&creation->token, digest);

    hub_writer_init(&writer, change->value, sizeof change->value);
    if (r == 0)
        r = cluster_record_put(&writer, CLUSTER_KEY_TOKEN, &record);
    return r == 0 ? add(change, creation->token.id, CLUSTER_PUT,
                        (struct rapahub_bytes){change->value, writer.size})
                  : r;
}

static int put(const struct creation *creation, const struct cluster_page *page)
{
    const struct cluster_asking *asking = creation->question->asking;
    const uint64_t now_s = cluster_node_identity_now(asking->identity);
    struct cluster_record_join_token token;
    struct change change = {.count = 0};
    struct cluster_compare absent = {.kind = CLUSTER_ABSENT};
    size_t live = 0;
    uint64_t id;
    int r = add_new(&change, creation);

    for (size_t i = 0; r == 0 && i < page->count; i++) {
        if (!read_pair(&page->pairs[i], &id, &token) || token.until_s > now_s)
            live++;
        else if (change.count <= OLD_MAX)
            r = add(&change, id, CLUSTER_DELETE, (struct rapahub_bytes){NULL, 0});
    }
    if (r == 0 && live >= CLUSTER_TOKEN_ORDERS_MAX)
        r = rapahub_fail(RAPAHUB_EFULL, RULE,
                         "there are %zu tokens: revoke some by rapahub token revoke ID, or wait "
                         "for their end",
                         live);
    absent.key = change.writes[0].key;
    return r == 0 ? cluster_marker_submit(asking->marker,
                                          &(struct cluster_txn){.compares = &absent,
                                                                .compares_count = 1,
                                                                .then = change.writes,
                                                                .then_count = change.count},
                                          on_put, (void *)(uintptr_t)creation)
                  : r;
}

static void on_read(void *user, int status, uint64_t rev, const struct cluster_page *page)
{
    struct creation *creation = user;

    (void)rev;
    if (status != CLUSTER_TXN_OK) {
        cluster_questions_fail_store(creation->question, status);
        end(creation);
    } else if (put(creation, page) < 0) {
        cluster_questions_fail_as_said(creation->question);
        end(creation);
    }
}

static int begin(struct cluster_asking *asking, const struct cluster_asker *asker,
                 struct creation *creation)
{
    int r = cluster_join_token_make(&creation->token);

    if (r < 0)
        return r;
    creation->question = cluster_questions_new(asking, asker);
    if (!creation->question)
        return RAPAHUB_ENOMEM;
    r = read_all(asking, on_read, creation);
    if (r < 0)
        cluster_questions_drop(creation->question);
    return r;
}

/* r[impl cluster.identity.order] */
int cluster_token_orders_create(struct cluster_asking *asking, struct cluster_asker *asker,
                                uint64_t ttl_ns, uint32_t uses)
{
    struct creation *creation;
    int r = cluster_node_identity_check_ca(asking->identity);

    ttl_ns = ttl_ns > 0 ? ttl_ns : TTL_NS;
    uses = uses > 0 ? uses : 1;
    if (r < 0)
        return r;
    if (ttl_ns < TTL_LEAST || ttl_ns > TTL_MOST || uses > CLUSTER_RECORD_USES_MAX)
        return rapahub_fail(RAPAHUB_EINVAL, RULE,
                            "a token is good for 1 s to 7 days, and for 1 to %d uses",
                            CLUSTER_RECORD_USES_MAX);
    creation = calloc(1, sizeof *creation);
    if (!creation)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a token");
    creation->until_s = cluster_node_identity_now(asking->identity) + ttl_ns / HUB_SECOND;
    creation->uses = uses;
    r = begin(asking, asker, creation);
    if (r < 0)
        end(creation);
    return r;
}

/* ---- tokens are listed ---- */

static char *make_list(const struct cluster_page *page, uint64_t now_s)
{
    struct cluster_document document;
    struct json_t *list, *item;

    cluster_document_begin(&document, "rapahub.node.tokens/1");
    list = cluster_document_list(document.root, "tokens");
    for (size_t i = 0; i < page->count; i++) {
        struct cluster_record_join_token token;
        char text[ID_DIGITS + 1];
        uint64_t id;

        if (!read_pair(&page->pairs[i], &id, &token) || token.until_s <= now_s)
            continue;
        snprintf(text, sizeof text, "%016" PRIx64, id);
        item = cluster_document_item(list);
        cluster_document_text(item, "id", rapahub_string_of(text));
        cluster_document_time(item, "expires", token.until_s);
        cluster_document_count(item, "uses", token.uses);
        cluster_document_count(item, "tries", token.tries);
    }
    return cluster_document_end(&document);
}

static void on_list(void *user, int status, uint64_t rev, const struct cluster_page *page)
{
    const struct cluster_asking_question *question = user;

    (void)rev;
    if (status != CLUSTER_TXN_OK)
        cluster_questions_fail_store(user, status);
    else
        cluster_questions_text(
            user, make_list(page, cluster_node_identity_now(question->asking->identity)));
}

int cluster_token_orders_list(struct cluster_asking *asking, struct cluster_asker *asker)
{
    struct cluster_asking_question *question = cluster_questions_new(asking, asker);
    int r = question ? read_all(asking, on_list, question) : RAPAHUB_ENOMEM;

    if (r < 0 && question)
        cluster_questions_drop(question);
    return r;
}

/* ---- a token is revoked ---- */

static void on_gone(void *user, int status, uint64_t rev, const struct cluster_pair *gets,
                    size_t count)
{
    (void)rev;
    (void)gets;
    (void)count;
    if (status == CLUSTER_TXN_OK)
        cluster_questions_done(user);
    else if (status == CLUSTER_TXN_CONFLICT)
        cluster_questions_fail(user, RAPAHUB_ENOENT, "there is no such token");
    else
        cluster_questions_fail_store(user, status);
}

static int read_id(struct rapahub_string text, uint64_t *out)
{
    *out = 0;
    for (size_t i = 0; text.size == ID_DIGITS && i < text.size; i++) {
        char c = text.data[i];
        int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;

        if (digit < 0)
            text.size = 0;
        *out = *out << 4 | (unsigned)(digit & 15);
    }
    return text.size == ID_DIGITS && *out != 0
               ? 0
               : rapahub_fail(RAPAHUB_EINVAL, RULE,
                              "the id of a token has 16 digits from 0 to 9 and a to f: rapahub "
                              "token ls shows them");
}

int cluster_token_orders_revoke(struct cluster_asking *asking, struct cluster_asker *asker,
                                struct rapahub_string id)
{
    struct cluster_compare there = {.kind = CLUSTER_PRESENT};
    struct cluster_write remove = {.kind = CLUSTER_DELETE};
    struct cluster_asking_question *question;
    key_text key;
    uint64_t number;
    int r = read_id(id, &number);

    if (r == 0)
        r = build_key(number, key);
    if (r < 0)
        return r;
    there.key = remove.key = (struct rapahub_bytes){key, (size_t)r};
    question = cluster_questions_new(asking, asker);
    if (!question)
        return RAPAHUB_ENOMEM;
    r = cluster_marker_submit(
        asking->marker,
        &(struct cluster_txn){
            .compares = &there, .compares_count = 1, .then = &remove, .then_count = 1},
        on_gone, question);
    if (r < 0)
        cluster_questions_drop(question);
    return r;
}
