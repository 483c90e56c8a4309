/* SPDX-License-Identifier: Apache-2.0 */
/* renewal_stage: renewals of a node with an identity, with the authority or without it. The links
 * and the metastore are the test's: it is linked with --wrap of cluster_peer_links_put and of
 * cluster_marker_submit. */
#ifndef TESTS_UNIT_CLUSTER_NODE_RENEWAL_STAGE_H
#define TESTS_UNIT_CLUSTER_NODE_RENEWAL_STAGE_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "cluster/identity/csr.h"
#include "cluster/identity/private_key.h"
#include "cluster/node/identity/identity_setup.h"
#include "cluster/node/renewal/renewals.h"
#include "cluster/wire/record.h"
#include "hub/base/clock.h"
#include "tests/store/thread_stage.h"
#include "tests/support/testing.h"

#define RENEWAL __attribute__((unused)) static

#define NOW       UINT64_C(1800000000)
#define DUE       (NOW + 61 * CLUSTER_CA_DAY_S)
#define AUTHORITY 7 /* the node that has it, where this one has not */
#define PEER      2

/* ---- the clock ---- */

RENEWAL _Atomic uint64_t ahead_ns; /* of the true time; threads of the node read it */

uint64_t __real_hub_clock_now(void);
uint64_t __wrap_hub_clock_now(void);

uint64_t __wrap_hub_clock_now(void)
{
    return __real_hub_clock_now() + ahead_ns;
}

/* ---- the links ---- */

RENEWAL struct sent {
    unsigned count;
    uint8_t type; /* of the last frame */
    uint32_t to;
    int32_t status;
    char text[CLUSTER_BODY_RENEW_TEXT + 1];
    struct cluster_pem pem; /* the request or the certificate */
    bool down;
} sent;

int __wrap_cluster_peer_links_put(struct cluster_peer_links *self, uint32_t node, uint8_t type,
                                  const struct cluster_body *body);

int __wrap_cluster_peer_links_put(struct cluster_peer_links *self, uint32_t node, uint8_t type,
                                  const struct cluster_body *body)
{
    struct rapahub_string pem =
        type == CLUSTER_FRAME_RENEW ? body->renew.request : body->renewed.certificate;
    struct hub_writer writer;

    (void)self;
    if (sent.down)
        return rapahub_fail(-ENOTCONN, "", "no link");
    hub_writer_count(&writer);
    assert_int_equal(cluster_body_put(&writer, type, body), 0); /* it is sound */
    sent.count++;
    sent.type = type;
    sent.to = node;
    sent.status = type == CLUSTER_FRAME_RENEWED ? body->renewed.status : 0;
    if (type == CLUSTER_FRAME_RENEWED)
        snprintf(sent.text, sizeof sent.text, "%.*s", (int)body->renewed.text.size,
                 body->renewed.text.data ? body->renewed.text.data : "");
    if (pem.size > 0)
        memcpy(sent.pem.text, pem.data, pem.size);
    sent.pem.size = pem.size;
    return 0;
}

/* ---- the metastore ---- */

RENEWAL struct asked {
    unsigned count;
    enum cluster_write_kind kind;
    struct cluster_record record; /* that is put; its serial is in `serial` */
    char serial[CLUSTER_CERTIFICATE_SERIAL_TEXT];
    uint64_t rev; /* that is compared */
    cluster_on_txn *on_txn;
    void *user;
    int refusal;
} asked;

int __wrap_cluster_marker_submit(struct cluster_marker *marker, const struct cluster_txn *txn,
                                 cluster_on_txn *on_txn, void *user);

int __wrap_cluster_marker_submit(struct cluster_marker *marker, const struct cluster_txn *txn,
                                 cluster_on_txn *on_txn, void *user)
{
    struct cluster_key key;

    (void)marker;
    if (asked.refusal < 0)
        return rapahub_fail(asked.refusal, "", "the metastore is busy");
    assert_int_equal(txn->then_count, 1);
    assert_int_equal(cluster_keys_parse(txn->then->key, &key), 0);
    assert_int_equal(key.kind, CLUSTER_KEY_NODE);
    assert_int_equal(key.node, PEER);
    asked.count++;
    asked.kind = txn->then->kind;
    asked.on_txn = on_txn;
    asked.user = user;
    if (txn->then->kind == CLUSTER_GET)
        return 0;
    asked.rev = txn->compares->rev;
    assert_int_equal(cluster_record_read(CLUSTER_KEY_NODE, txn->then->value, &asked.record), 0);
    snprintf(asked.serial, sizeof asked.serial, "%.*s", (int)asked.record.node.serial.size,
             asked.record.node.serial.data);
    return 0;
}

RENEWAL void has_read(uint8_t state, uint64_t rev)
{
    const struct cluster_record record = {
        .node = {.state = state,
                 .capacity = 3,
                 .uuid = {(const uint8_t *)"0123456789abcdef", 16},
                 .name = rapahub_string_of("west"),
                 .serial = rapahub_string_of("0a0b")}};
    uint8_t bytes[512];
    struct cluster_pair pair = {.mod_rev = rev};
    struct hub_writer writer;

    hub_writer_init(&writer, bytes, sizeof bytes);
    assert_int_equal(cluster_record_put(&writer, CLUSTER_KEY_NODE, &record), 0);
    pair.value = (struct rapahub_bytes){bytes, writer.size};
    assert_int_equal(asked.kind, CLUSTER_GET);
    asked.on_txn(asked.user, CLUSTER_TXN_OK, 99, &pair, 1);
}

RENEWAL void has_written(int status)
{
    assert_int_equal(asked.kind, CLUSTER_PUT);
    asked.on_txn(asked.user, status, 100, NULL, 0);
}

/* ---- the stage ---- */

RENEWAL uint64_t now_s;

RENEWAL uint64_t wall_s(void)
{
    return now_s;
}

struct stage {
    struct thread_stage *thread;
    struct cluster_ca ca;
    struct cluster_node_identity *identity;
    struct cluster_renewals *renewals;
};

RENEWAL void keep_authority(struct stage *stage, const struct cluster_own_identity_owner *owner)
{
    struct cluster_identity_files files;

    assert_int_equal(cluster_identity_files_open(&stage->thread->data.root, false, &files), 0);
    assert_int_equal(cluster_own_identity_load_ca(&files, owner, &stage->ca), 0);
    cluster_identity_files_close(&files);
}

/* `authority`: the node that has it; 0: this one. */
RENEWAL struct stage begin(void **state, uint32_t authority)
{
    struct stage stage = {.thread = *state};
    const struct cluster_own_identity_owner owner = {stage.thread->data.store.uuid,
                                                     stage.thread->data.node};
    uint8_t digest[CLUSTER_CERTIFICATE_DIGEST];

    now_s = NOW;
    sent = (struct sent){0};
    asked = (struct asked){0};
    assert_int_equal(cluster_identity_setup_run(&stage.thread->data.root, &owner, NOW, digest), 0);
    keep_authority(&stage, &owner);
    if (authority != 0) {
        folder_stage_remove(&stage.thread->folder, "ca/ca.pem");
        folder_stage_remove(&stage.thread->folder, "ca/ca.key");
    }
    assert_int_equal(cluster_node_identity_create(
                         &(struct cluster_node_identity_options){&stage.thread->data,
                                                                 stage.thread->thread, wall_s},
                         &stage.identity),
                     0);
    assert_int_equal(
        cluster_renewals_create(
            &(struct cluster_renewals_parts){.identity = stage.identity, .authority = authority},
            &stage.renewals),
        0);
    return stage;
}

RENEWAL void end(struct stage *stage)
{
    struct cluster_store_thread_stats stats = {.open = 1};

    while (stats.open > 0) {
        thread_stage_step(stage->thread, 10);
        cluster_store_thread_stats(stage->thread->thread, &stats);
    }
    cluster_renewals_release(&stage->renewals);
    cluster_node_identity_release(&stage->identity);
    cluster_ca_fini(&stage->ca);
}

RENEWAL void up(struct stage *stage, uint32_t node)
{
    cluster_renewals_hooks.up(stage->renewals, node, 1, 1);
}

RENEWAL void lost(struct stage *stage, uint32_t node)
{
    cluster_renewals_hooks.lost(stage->renewals, node);
}

RENEWAL int frame(struct stage *stage, uint32_t from, uint8_t type, const struct cluster_body *body)
{
    const struct cluster_frame header = {.type = type};
    uint8_t bytes[2 * CLUSTER_BODY_PEM_MAX];
    struct hub_writer writer;

    hub_writer_init(&writer, bytes, sizeof bytes);
    assert_int_equal(cluster_body_put(&writer, type, body), 0);
    return cluster_renewals_hooks.frame(stage->renewals, from, &header,
                                        (struct rapahub_bytes){bytes, writer.size});
}

RENEWAL int answer(struct stage *stage, const struct cluster_pem *pem)
{
    const struct cluster_body body = {.renewed = {.certificate = {pem->text, pem->size}}};

    return frame(stage, AUTHORITY, CLUSTER_FRAME_RENEWED, &body);
}

/* Signs the last request as this node, or as another one. */
RENEWAL void sign(const struct stage *stage, const struct cluster_ca *ca, uint32_t node,
                  uint64_t at_s, struct cluster_pem *out)
{
    struct cluster_peer_name name = {.kind = CLUSTER_PEER_NODE, .node = node};
    struct x509_st *certificate = NULL;

    memcpy(name.uuid, ca->uuid, sizeof name.uuid);
    assert_int_equal(cluster_ca_sign(ca, (struct rapahub_bytes){sent.pem.text, sent.pem.size},
                                     &name, at_s, &certificate),
                     0);
    assert_int_equal(cluster_certificate_write(certificate, out), 0);
    cluster_certificate_release(&certificate);
    (void)stage;
}

RENEWAL void wait_for_change(struct stage *stage)
{
    uint64_t until_ns = hub_clock_after(20 * HUB_SECOND);

    while (cluster_node_identity_changes(stage->identity) == 0 && hub_clock_left(until_ns) > 0)
        thread_stage_step(stage->thread, 100);
    assert_int_equal(cluster_node_identity_changes(stage->identity), 1);
}

#endif
