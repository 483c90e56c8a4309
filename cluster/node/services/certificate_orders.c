/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/services/certificate_orders.h"

#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>
#include <rapahub/log.h>

#include "cluster/node/services/document.h"
#include "cluster/node/services/questions.h"
#include "cluster/wire/record.h"

#define VALUE_MAX 64 /* bytes of a record */
#define TEXTS_MAX ((1 + CLUSTER_CERTIFICATE_ANCHORS) * (size_t)CLUSTER_PEM_SIZE_MAX + 1)

/* ---- a certificate is signed ---- */

static int read_name(const struct cluster_certificate_orders_client *client,
                     struct cluster_peer_name *out)
{
    *out = (struct cluster_peer_name){.kind = CLUSTER_PEER_CLIENT};
    if (!cluster_keys_is_name(client->name))
        return rapahub_fail(RAPAHUB_EINVAL, "cluster.identity.name",
                            "a client's name has 1 to 63 letters, digits, '_', '-' and '.', the "
                            "first a letter, a digit or '_'");
    memcpy(out->name, client->name.data, client->name.size);
    return cluster_uri_role(client->role, &out->role);
}

/* r[impl cluster.identity.order] */
int cluster_certificate_orders_sign(struct cluster_asking *asking, struct cluster_asker *asker,
                                    const struct cluster_certificate_orders_client *client)
{
    const struct rapahub_bytes request = {client->request.data, client->request.size};
    struct cluster_peer_name name;
    struct cluster_own_identity_anchors anchors;
    struct cluster_pem pem;
    char texts[TEXTS_MAX];
    int r = read_name(client, &name);

    if (r == 0)
        r = cluster_node_identity_sign(asking->identity, request, name, &pem);
    if (r < 0)
        return r;
    r = cluster_own_identity_write_anchors(cluster_node_identity_own(asking->identity), &anchors);
    if (r < 0)
        return r;
    memcpy(texts, pem.text, pem.size);
    memcpy(texts + pem.size, anchors.text, anchors.size + 1);
    cluster_askers_answer_text(asking->askers, asker, texts);
    return 0;
}

/* ---- a certificate is revoked ---- */

struct revocation {
    struct cluster_asking_question *question;
    struct cluster_revocation_serial serial;
};

/* It counts from here on, for connections that are open too. */
static void on_revoked(void *user, int status, uint64_t rev, const struct cluster_pair *gets,
                       size_t count)
{
    struct revocation *revocation = user;
    struct cluster_asking_question *question = revocation->question;

    (void)rev;
    (void)gets;
    (void)count;
    if (status != CLUSTER_TXN_OK)
        cluster_questions_fail_store(question, status);
    else if (cluster_node_identity_revoke(question->asking->identity, &revocation->serial) < 0)
        cluster_questions_fail_as_said(question);
    else
        cluster_questions_done(question);
    free(revocation);
}

static int submit(struct cluster_asking *asking, struct revocation *revocation)
{
    const uint64_t now_s = cluster_node_identity_now(asking->identity);
    const struct cluster_record record = {
        .revoked = {now_s, now_s + CLUSTER_CA_PEER_S + CLUSTER_CA_BACKDATE_S}};
    char text[CLUSTER_CERTIFICATE_SERIAL_TEXT], to[CLUSTER_KEYS_SIZE_MAX];
    uint8_t bytes[VALUE_MAX];
    struct cluster_key key = {.kind = CLUSTER_KEY_REVOKED};
    struct cluster_write put = {.kind = CLUSTER_PUT};
    struct hub_writer writer;
    int size, r;

    cluster_certificate_serial_text(revocation->serial.bytes, revocation->serial.size, text);
    key.text = rapahub_string_of(text);
    size = cluster_keys_build(&key, to);
    hub_writer_init(&writer, bytes, sizeof bytes);
    r = size < 0 ? size : cluster_record_put(&writer, CLUSTER_KEY_REVOKED, &record);
    if (r < 0)
        return r;
    put.key = (struct rapahub_bytes){to, (size_t)size};
    put.value = (struct rapahub_bytes){bytes, writer.size};
    return cluster_marker_submit(asking->marker,
                                 &(struct cluster_txn){.then = &put, .then_count = 1}, on_revoked,
                                 revocation);
}

int cluster_certificate_orders_revoke(struct cluster_asking *asking, struct cluster_asker *asker,
                                      struct rapahub_string serial)
{
    struct revocation *revocation = calloc(1, sizeof *revocation);
    int r = revocation ? cluster_revocation_parse(serial, &revocation->serial)
                       : rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a question");

    if (r == 0)
        r = cluster_node_identity_check_revocable(asking->identity, &revocation->serial);
    if (r == 0) {
        revocation->question = cluster_questions_new(asking, asker);
        r = revocation->question ? submit(asking, revocation) : RAPAHUB_ENOMEM;
    }
    if (r < 0 && revocation) {
        free(revocation->question);
        free(revocation);
    }
    return r;
}

/* ---- a list of them ---- */

static char *make_list(const struct cluster_page *page)
{
    struct cluster_document document;
    struct json_t *list, *item;

    cluster_document_begin(&document, "rapahub.node.revoked/1");
    list = cluster_document_list(document.root, "revoked");
    for (size_t i = 0; i < page->count; i++) {
        struct cluster_record record;
        struct cluster_key key;

        if (cluster_keys_parse(page->pairs[i].key, &key) < 0 ||
            cluster_record_read(CLUSTER_KEY_REVOKED, page->pairs[i].value, &record) < 0)
            continue;
        item = cluster_document_item(list);
        cluster_document_text(item, "serial", key.text);
        cluster_document_time(item, "revoked", record.revoked.at_s);
        cluster_document_time(item, "kept_until", record.revoked.until_s);
    }
    return cluster_document_end(&document);
}

static void on_list(void *user, int status, uint64_t rev, const struct cluster_page *page)
{
    (void)rev;
    if (status != CLUSTER_TXN_OK)
        cluster_questions_fail_store(user, status);
    else
        cluster_questions_text(user, make_list(page));
}

int cluster_certificate_orders_revoked(struct cluster_asking *asking, struct cluster_asker *asker)
{
    char from[CLUSTER_KEYS_SIZE_MAX], past[CLUSTER_KEYS_SIZE_MAX];
    int size = cluster_keys_prefix(CLUSTER_KEY_REVOKED, 0, from, past), status;
    const struct cluster_span span = {.from = {from, (size_t)size},
                                      .to = {past, (size_t)size},
                                      .pairs_max = CLUSTER_REVOCATION_MAX};
    struct cluster_asking_question *question = cluster_questions_new(asking, asker);

    if (!question)
        return RAPAHUB_ENOMEM;
    status = cluster_metastore_range(asking->store, &span, on_list, question);
    if (status < 0)
        cluster_questions_drop(question);
    return status;
}
