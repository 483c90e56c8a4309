/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/identity/node_identity.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>
#include <rapahub/log.h>

#include "cluster/base/txn.h"
#include "cluster/identity/csr.h"
#include "hub/base/clock.h"

#define TOPIC    "identity"
#define RULE     "cluster.identity.own"
#define REVOKED  "cluster.identity.revoked"
#define LOOK_NS  (3600 * HUB_SECOND) /* the wall clock may be set */
#define AGAIN_NS (60 * HUB_SECOND)   /* after a renewal that failed */
#define WHY_MAX  512

struct cluster_node_identity {
    const struct cluster_data_folder *folder;
    struct cluster_store_thread *disk;
    uint64_t (*wall_s)(void);
    struct cluster_own_identity own;
    int status;        /* 0; 1: the node has none; or what is wrong with it */
    char why[WHY_MAX]; /* where the status is below 0 */
    struct cluster_revocation revoked;
    uint64_t changes, look_ns;
    struct x509_st *next; /* that is being written; NULL: none */
};

static uint64_t wall_s(void)
{
    return hub_clock_wall() / HUB_SECOND;
}

uint64_t cluster_node_identity_now(const struct cluster_node_identity *identity)
{
    return identity->wall_s();
}

static struct cluster_own_identity_owner owner_of(const struct cluster_node_identity *identity)
{
    return (struct cluster_own_identity_owner){identity->folder->store.uuid,
                                               identity->folder->node};
}

/* ---- made and released ---- */

/* A fault is kept, to be told to each who needs the identity. */
static void load(struct cluster_node_identity *identity)
{
    const struct cluster_own_identity_owner owner = owner_of(identity);
    struct cluster_identity_files files;
    int r = cluster_identity_files_open(&identity->folder->root, false, &files);

    if (r == 0) {
        r = cluster_own_identity_load(&files, &owner, &identity->own);
        cluster_identity_files_close(&files);
    }
    identity->status = r;
    if (r >= 0)
        return;
    snprintf(identity->why, sizeof identity->why, "%s", rapahub_last_error()->text);
    rapahub_log(RAPAHUB_LOG_ERROR, TOPIC, "%s", identity->why);
    rapahub_clear_error();
}

int cluster_node_identity_create(const struct cluster_node_identity_options *options,
                                 struct cluster_node_identity **out)
{
    struct cluster_node_identity *identity = calloc(1, sizeof *identity);

    *out = identity;
    if (!identity)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for the identity of a node");
    identity->folder = options->folder;
    identity->disk = options->disk;
    identity->wall_s = options->wall_s ? options->wall_s : wall_s;
    load(identity);
    return 0;
}

void cluster_node_identity_release(struct cluster_node_identity **identity)
{
    if (*identity) {
        cluster_own_identity_fini(&(*identity)->own);
        cluster_revocation_fini(&(*identity)->revoked);
        cluster_certificate_release(&(*identity)->next);
    }
    free(*identity);
    *identity = NULL;
}

/* ---- questions ---- */

const struct cluster_own_identity *cluster_node_identity_own(
    const struct cluster_node_identity *identity)
{
    if (identity->status == 0)
        return &identity->own;
    if (identity->status == 1)
        rapahub_fail(RAPAHUB_ESTATE, RULE,
                     "the node has no certificate: stop it, then rapahub node init %s",
                     identity->folder->root.path);
    else
        rapahub_fail(identity->status, RULE, "%s", identity->why);
    return NULL;
}

uint64_t cluster_node_identity_changes(const struct cluster_node_identity *identity)
{
    return identity->changes;
}

int cluster_node_identity_check_ca(const struct cluster_node_identity *identity)
{
    const struct cluster_own_identity *own = cluster_node_identity_own(identity);

    if (!own)
        return rapahub_last_error()->code;
    return own->ca.key ? 0
                       : rapahub_fail(RAPAHUB_ESTATE, RULE,
                                      "this node does not have the authority of the cluster: ask "
                                      "the node that does");
}

int cluster_node_identity_sign(const struct cluster_node_identity *identity,
                               struct rapahub_bytes request, struct cluster_peer_name name,
                               struct cluster_pem *out)
{
    struct x509_st *certificate = NULL;
    int r = cluster_node_identity_check_ca(identity);

    memcpy(name.uuid, identity->own.ca.uuid, sizeof name.uuid);
    if (r == 0)
        r = cluster_ca_sign(&identity->own.ca, request, &name, identity->wall_s(), &certificate);
    if (r == 0)
        r = cluster_certificate_write(certificate, out);
    cluster_certificate_release(&certificate);
    return r;
}

bool cluster_node_identity_is_revoked(const struct cluster_node_identity *identity,
                                      const uint8_t *serial, size_t size)
{
    return cluster_revocation_has(&identity->revoked, serial, size);
}

/* Revocations that are on their way to the metastore must find a place afterwards. */
int cluster_node_identity_check_revocable(const struct cluster_node_identity *identity,
                                          const struct cluster_revocation_serial *serial)
{
    const struct cluster_own_identity *own = cluster_node_identity_own(identity);

    if (!own)
        return rapahub_last_error()->code;
    if (own->serial.size == serial->size &&
        memcmp(own->serial.bytes, serial->bytes, serial->size) == 0)
        return rapahub_fail(RAPAHUB_EINVAL, REVOKED, "it is the certificate of this node");
    return identity->revoked.count < CLUSTER_REVOCATION_MAX - CLUSTER_TXN_FLIGHT_MAX
               ? 0
               : rapahub_fail(RAPAHUB_EFULL, REVOKED,
                              "%zu certificates are revoked: wait until some have expired",
                              identity->revoked.count);
}

int cluster_node_identity_revoke(struct cluster_node_identity *identity,
                                 const struct cluster_revocation_serial *serial)
{
    int r = cluster_revocation_add(&identity->revoked, serial);

    if (r == 0)
        identity->changes++;
    return r;
}

/* ---- renewal ---- */

static void say_failed(struct cluster_node_identity *identity, const char *text)
{
    identity->look_ns = hub_clock_after(AGAIN_NS);
    rapahub_log(RAPAHUB_LOG_ERROR, TOPIC,
                "the certificate of the node cannot be renewed: %s: it is tried again in a minute",
                text);
}

static void on_written(void *user, struct cluster_disk_result *result)
{
    struct cluster_node_identity *identity = user;
    const struct cluster_own_identity_owner owner = owner_of(identity);
    int r = result->status;

    if (r < 0) {
        say_failed(identity, result->text);
    } else if (cluster_own_identity_take(&identity->own, identity->next, &owner) < 0) {
        say_failed(identity, rapahub_last_error()->text);
    } else {
        identity->next = NULL;
        identity->changes++;
        rapahub_log(RAPAHUB_LOG_INFO, TOPIC, "the certificate of the node was renewed");
    }
    cluster_certificate_release(&identity->next);
}

static int write_next(struct cluster_node_identity *identity, const struct cluster_pem *pem)
{
    return cluster_store_thread_certify(
        identity->disk, (struct rapahub_bytes){pem->text, pem->size}, on_written, identity);
}

static void renew(struct cluster_node_identity *identity, uint64_t now_s)
{
    struct cluster_pem pem;
    int r = cluster_own_identity_renew(&identity->own, now_s, &identity->next, &pem);

    if (r == 0)
        r = write_next(identity, &pem);
    if (r == 0)
        return;
    say_failed(identity, rapahub_last_error()->text);
    cluster_certificate_release(&identity->next);
}

bool cluster_node_identity_is_due(const struct cluster_node_identity *identity)
{
    const struct cluster_own_identity *own = &identity->own;

    return identity->status == 0 && !identity->next &&
           identity->wall_s() >= own->from_s + (own->until_s - own->from_s) / 3 * 2;
}

int cluster_node_identity_request(const struct cluster_node_identity *identity,
                                  struct cluster_pem *out)
{
    const struct cluster_own_identity *own = cluster_node_identity_own(identity);

    return own ? cluster_csr_make(own->key, out) : rapahub_last_error()->code;
}

/* r[impl cluster.renewal.ask] */
int cluster_node_identity_install(struct cluster_node_identity *identity,
                                  struct rapahub_bytes certificate)
{
    const struct cluster_own_identity_owner owner = owner_of(identity);
    struct cluster_pem pem;
    int r;

    if (!cluster_node_identity_own(identity))
        return rapahub_last_error()->code;
    if (identity->next)
        return rapahub_fail(RAPAHUB_EBUSY, RULE, "another certificate is being written");
    r = cluster_certificate_read(certificate, &identity->next);
    if (r == 0)
        r = cluster_own_identity_check_next(&identity->own, identity->next, &owner,
                                            identity->wall_s());
    if (r == 0)
        r = cluster_certificate_write(identity->next, &pem);
    if (r == 0)
        r = write_next(identity, &pem);
    if (r < 0)
        cluster_certificate_release(&identity->next);
    return r;
}

/* r[impl cluster.identity.renew] */
uint64_t cluster_node_identity_step(struct cluster_node_identity *identity, uint64_t now_ns)
{
    if (identity->status != 0 || !identity->own.ca.key)
        return HUB_NEVER;
    if (now_ns < identity->look_ns)
        return identity->look_ns;
    identity->look_ns = now_ns + LOOK_NS;
    if (cluster_node_identity_is_due(identity))
        renew(identity, identity->wall_s());
    return identity->look_ns;
}
