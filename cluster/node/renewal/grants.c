/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/renewal/grants.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <rapahub/error.h>
#include <rapahub/log.h>

#include "cluster/wire/record.h"
#include "hub/base/bytes.h"
#include "hub/base/own.h"

#define RULE      "cluster.renewal.grant"
#define ROUNDS    8    /* the node itself may write its record too */
#define VALUE_MAX 2048 /* bytes of the record of a node */

void cluster_grants_init(struct cluster_grants *grants, const struct cluster_grants_parts *parts)
{
    *grants = (struct cluster_grants){.parts = *parts};
}

/* Finds a node that is linked; 0: a free place. */
static struct cluster_grants_node *find(struct cluster_grants *grants, uint32_t node)
{
    for (unsigned i = 0; i < 2 * CLUSTER_PEER_LINKS_MAX; i++)
        if (grants->nodes[i].node == node && (node != 0 || !grants->nodes[i].busy))
            return &grants->nodes[i];
    return NULL;
}

/* A place that the node had before; else one that is free. */
static struct cluster_grants_node *find_place(struct cluster_grants *grants, uint32_t node)
{
    for (unsigned i = 0; i < 2 * CLUSTER_PEER_LINKS_MAX; i++)
        if (grants->nodes[i].node == 0 && !grants->nodes[i].busy && grants->nodes[i].last == node)
            return &grants->nodes[i];
    for (unsigned i = 0; i < 2 * CLUSTER_PEER_LINKS_MAX; i++)
        if (grants->nodes[i].node == 0 && !grants->nodes[i].busy && grants->nodes[i].last == 0)
            return &grants->nodes[i];
    return find(grants, 0);
}

void cluster_grants_up(struct cluster_grants *grants, uint32_t node)
{
    struct cluster_grants_node *of = find_place(grants, node);

    if (!of)
        return;
    if (of->last != node)
        *of = (struct cluster_grants_node){.last = node};
    of->grants = grants;
    of->node = node;
    of->asked_here = false;
}

/* An answer that the metastore gives later is dropped. */
void cluster_grants_lost(struct cluster_grants *grants, uint32_t node)
{
    struct cluster_grants_node *of = find(grants, node);

    if (of)
        of->node = 0;
}

/* ---- answers ---- */

static void answer(const struct cluster_grants_node *of, const struct cluster_body_renewed *renewed)
{
    const struct cluster_body body = {.renewed = *renewed};

    if (of->node == 0 || cluster_peer_links_put(of->grants->parts.links, of->node,
                                                CLUSTER_FRAME_RENEWED, &body) == 0)
        return;
    rapahub_log(RAPAHUB_LOG_WARN, "identity", "node %" PRIu32 " gets no answer: %s", of->node,
                rapahub_last_error()->text);
    rapahub_clear_error();
}

/* With the diagnosis. */
static void refuse(const struct cluster_grants_node *of)
{
    const struct rapahub_diagnosis *error = rapahub_last_error();
    struct rapahub_string text = rapahub_string_of(error->text);

    rapahub_log(RAPAHUB_LOG_WARN, "identity", "node %" PRIu32 " gets no new certificate: %s",
                of->node, error->text);
    if (text.size > CLUSTER_BODY_RENEW_TEXT)
        text.size = CLUSTER_BODY_RENEW_TEXT;
    answer(of, &(struct cluster_body_renewed){.status = error->code, .text = text});
    rapahub_clear_error();
}

static void grant(const struct cluster_grants_node *of)
{
    rapahub_log(RAPAHUB_LOG_INFO, "identity",
                "node %" PRIu32 " gets a new certificate, of serial number %s", of->node,
                of->serial);
    answer(of, &(struct cluster_body_renewed){
                   .certificate = {of->certificate.text, of->certificate.size}});
}

/* ---- the record of the node ---- */

struct pair {
    char key[CLUSTER_KEYS_SIZE_MAX];
    uint8_t value[VALUE_MAX];
    struct rapahub_bytes key_bytes, value_bytes;
};

static int build_key(const struct cluster_grants_node *of, struct pair *out)
{
    const struct cluster_key key = {.kind = CLUSTER_KEY_NODE, .node = of->node};
    int size = cluster_keys_build(&key, out->key);

    out->key_bytes = (struct rapahub_bytes){out->key, size < 0 ? 0 : (size_t)size};
    return size < 0 ? size : 0;
}

/* The record as it is, with the new serial number. */
static int build(const struct cluster_grants_node *of, struct rapahub_bytes value, struct pair *out)
{
    struct cluster_record record;
    struct hub_writer writer;
    int r = cluster_record_read(CLUSTER_KEY_NODE, value, &record);

    if (r < 0)
        return r;
    if (record.node.state == CLUSTER_NODE_LEFT)
        return rapahub_fail(RAPAHUB_EACCES, RULE, "node %" PRIu32 " has left the cluster",
                            of->node);
    record.node.serial = rapahub_string_of(of->serial);
    hub_writer_init(&writer, out->value, sizeof out->value);
    r = cluster_record_put(&writer, CLUSTER_KEY_NODE, &record);
    out->value_bytes = (struct rapahub_bytes){out->value, writer.size};
    return r == 0 ? build_key(of, out) : r;
}

static int read_record(struct cluster_grants_node *of);

static void end(struct cluster_grants_node *of, int r)
{
    of->busy = false;
    if (r < 0)
        refuse(of);
    else
        grant(of);
    of->certificate.size = 0;
}

static int fail_store(int status)
{
    return rapahub_fail(RAPAHUB_EIO, RULE, "the metastore says %s",
                        cluster_txn_status_name((uint32_t)status));
}

static void on_written(void *user, int status, uint64_t rev, const struct cluster_pair *gets,
                       size_t count)
{
    struct cluster_grants_node *of = user;
    int r;

    (void)rev, (void)gets, (void)count;
    if (of->node != 0 && status == CLUSTER_TXN_CONFLICT && --of->rounds > 0) {
        r = read_record(of);
        if (r == 0)
            return;
    } else {
        r = status == CLUSTER_TXN_OK ? 0 : fail_store(status);
    }
    end(of, r);
}

static int write_record(struct cluster_grants_node *of, const struct cluster_pair *found)
{
    struct pair pair;
    int r = build(of, found->value, &pair);

    if (r < 0)
        return r;
    return cluster_marker_submit(
        of->grants->parts.marker,
        &(struct cluster_txn){
            .compares = &(struct cluster_compare){.kind = CLUSTER_MOD_EQ,
                                                  .key = pair.key_bytes,
                                                  .rev = found->mod_rev},
            .compares_count = 1,
            .then = &(struct cluster_write){CLUSTER_PUT, pair.key_bytes, pair.value_bytes},
            .then_count = 1},
        on_written, of);
}

static void on_read(void *user, int status, uint64_t rev, const struct cluster_pair *gets,
                    size_t count)
{
    struct cluster_grants_node *of = user;
    int r;

    (void)rev;
    if (of->node == 0)
        r = rapahub_fail(RAPAHUB_ECLOSED, RULE, "its link is lost");
    else if (status != CLUSTER_TXN_OK || count != 1)
        r = fail_store(status);
    else if (gets[0].mod_rev == 0)
        r = rapahub_fail(RAPAHUB_EACCES, RULE, "the cluster has no node %" PRIu32, of->node);
    else
        r = write_record(of, &gets[0]);
    if (r < 0)
        end(of, r);
}

static int read_record(struct cluster_grants_node *of)
{
    struct pair pair;
    int r = build_key(of, &pair);

    if (r < 0)
        return r;
    return cluster_marker_submit(
        of->grants->parts.marker,
        &(struct cluster_txn){.then =
                                  &(struct cluster_write){CLUSTER_GET, pair.key_bytes, {NULL, 0}},
                              .then_count = 1},
        on_read, of);
}

/* ---- asked ---- */

static int note_serial(struct cluster_grants_node *of)
{
    OWN(cluster_certificate) struct x509_st *certificate = NULL;
    uint8_t serial[CLUSTER_CERTIFICATE_SERIAL_MAX];
    struct cluster_peer_name name;
    size_t size;
    int r = cluster_certificate_read(
        (struct rapahub_bytes){of->certificate.text, of->certificate.size}, &certificate);

    if (r == 0)
        r = cluster_certificate_peer(certificate, &name, serial, &size);
    if (r == 0)
        cluster_certificate_serial_text(serial, size, of->serial);
    return r;
}

static int begin(struct cluster_grants_node *of, const struct cluster_body_renew *renew)
{
    const struct cluster_peer_name name = {.kind = CLUSTER_PEER_NODE, .node = of->node};
    const struct rapahub_bytes request = {renew->request.data, renew->request.size};
    int r = cluster_node_identity_sign(of->grants->parts.identity, request, name, &of->certificate);

    if (r == 0)
        r = note_serial(of);
    of->rounds = ROUNDS;
    return r == 0 ? read_record(of) : r;
}

/* r[impl cluster.renewal.grant] */
int cluster_grants_ask(struct cluster_grants *grants, uint32_t node,
                       const struct cluster_body_renew *renew, uint64_t now_ns)
{
    struct cluster_grants_node *of = find(grants, node);
    bool soon = of && of->asked_ns != 0 && now_ns - of->asked_ns < CLUSTER_GRANTS_GAP_NS;
    int r;

    if (!of || of->busy || (soon && of->asked_here))
        return rapahub_fail(RAPAHUB_EPROTOCOL, RULE,
                            "node %" PRIu32 " asks for a certificate too soon after the last one",
                            node);
    of->asked_here = of->busy = true;
    if (!soon)
        of->asked_ns = now_ns;
    r = soon ? rapahub_fail(RAPAHUB_EAGAIN, RULE, "it has asked less than 30 s ago")
             : begin(of, renew);
    if (r < 0)
        end(of, r);
    return 0;
}
