/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/boot/boot_session.h"

#include <stdio.h>
#include <string.h>

#include <rapahub/error.h>

#include "cluster/node/boot/store_keys.h"

#define RULE "cluster.restart.own"

static struct cluster_key key_of(uint32_t node)
{
    return (struct cluster_key){.kind = CLUSTER_KEY_SESSION, .node = node};
}

/* ---- the old one ---- */

struct old {
    const struct cluster_boot_session *how;
    const char *differs; /* NULL: it is that of this folder */
    uint64_t mod_rev;    /* 0: there is none */
};

/* The number of a device may be another one after each boot of the machine, so it tells something
 * in the same boot only. r[impl cluster.restart.own] */
static const char *why_not_own(const struct cluster_boot_session *how,
                               const struct cluster_record_session *session)
{
    const struct cluster_machine *machine = how->machine;
    bool same_boot = memcmp(session->boot_id.data, machine->boot, sizeof machine->boot) == 0;

    if (memcmp(session->machine_id.data, machine->id, sizeof machine->id) != 0)
        return "on another machine";
    if (session->folder_inode != how->folder->inode)
        return "in another folder";
    if (same_boot && session->folder_device != how->folder->device)
        return "on another disk";
    return NULL;
}

static int take(void *user, const struct cluster_key *key, const struct cluster_pair *pair,
                const struct cluster_record *record)
{
    struct old *old = user;

    (void)key;
    old->mod_rev = pair->mod_rev;
    old->differs = why_not_own(old->how, &record->session);
    return 0;
}

static int note(void *user, const struct cluster_key *key, const struct cluster_pair *pair,
                const struct cluster_record *record)
{
    struct old *old = user;

    (void)key;
    (void)record;
    old->mod_rev = pair->mod_rev;
    return 0;
}

/* Deletes the session that is as it was seen. */
static int delete_it(const struct cluster_store_wait *wait, uint32_t node,
                     struct cluster_compare compare, int *status, uint64_t *rev)
{
    const struct cluster_key key = key_of(node);
    struct cluster_store_keys_put put;
    struct cluster_write write = {.kind = CLUSTER_DELETE};
    int r = cluster_store_keys_build(&key, NULL, &put);

    if (r < 0)
        return r;
    write.key = compare.key = put.key_bytes;
    return cluster_store_wait_txn(
        wait,
        &(struct cluster_txn){
            .compares = &compare, .compares_count = 1, .then = &write, .then_count = 1},
        status, rev);
}

static int changed(const struct cluster_store_wait *wait)
{
    return rapahub_fail(RAPAHUB_ESTATE, RULE,
                        "%s: the session of this node changed while it was looked at: another "
                        "program has the metastore: end it",
                        wait->url);
}

/* The node that leads may have ended it meanwhile. */
static int check_ended(const struct cluster_store_wait *wait, const struct cluster_key *key)
{
    struct old old = {.mod_rev = 0};
    int r = cluster_store_keys_get(wait, key, 0, note, &old);

    return r == 0 && old.mod_rev != 0 ? changed(wait) : r;
}

int cluster_boot_session_end_old(const struct cluster_store_wait *wait,
                                 const struct cluster_boot_session *how)
{
    const struct cluster_key key = key_of(how->folder->node);
    struct old old = {.how = how};
    uint64_t rev;
    int r = cluster_store_keys_get(wait, &key, 0, take, &old), status;

    if (r < 0 || old.mod_rev == 0)
        return r;
    if (old.differs && !how->adopt)
        return rapahub_fail(RAPAHUB_ESTATE, RULE,
                            "%s: the last life of this node was %s: make sure that nothing of it "
                            "runs there, then adopt the folder",
                            how->folder->root.path, old.differs);
    r = delete_it(wait, how->folder->node,
                  (struct cluster_compare){.kind = CLUSTER_MOD_EQ, .rev = old.mod_rev}, &status,
                  &rev);
    return r == 0 && status != CLUSTER_TXN_OK ? check_ended(wait, &key) : r;
}

/* ---- the new one ---- */

struct cluster_record_session cluster_boot_session_record(const struct cluster_boot_session *how)
{
    const struct cluster_machine *machine = how->machine;

    return (struct cluster_record_session){.boot = how->folder->boot,
                                           .seq = 1,
                                           .machine_id = {machine->id, sizeof machine->id},
                                           .boot_id = {machine->boot, sizeof machine->boot},
                                           .folder_device = how->folder->device,
                                           .folder_inode = how->folder->inode};
}

int cluster_boot_session_begin(const struct cluster_store_wait *wait,
                               const struct cluster_boot_session *how, uint64_t *session)
{
    const struct cluster_record record = {.session = cluster_boot_session_record(how)};
    const struct cluster_key key = key_of(how->folder->node);
    struct cluster_compare absent = {.kind = CLUSTER_ABSENT};
    struct cluster_store_keys_put put;
    struct cluster_write write = {.kind = CLUSTER_PUT};
    int r = cluster_store_keys_build(&key, &record, &put), status;

    if (r < 0)
        return r;
    write.key = absent.key = put.key_bytes;
    write.value = put.value_bytes;
    r = cluster_store_wait_txn(
        wait,
        &(struct cluster_txn){
            .compares = &absent, .compares_count = 1, .then = &write, .then_count = 1},
        &status, session);
    return r == 0 && status != CLUSTER_TXN_OK ? changed(wait) : r;
}

int cluster_boot_session_end(const struct cluster_store_wait *wait, uint32_t node, uint64_t session,
                             uint64_t *rev)
{
    int status;

    return delete_it(wait, node,
                     (struct cluster_compare){.kind = CLUSTER_CREATE_EQ, .rev = session}, &status,
                     rev);
}
