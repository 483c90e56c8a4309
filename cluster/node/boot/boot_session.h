/* SPDX-License-Identifier: Apache-2.0 */
/* boot_session: the session of a node: the record in the metastore that says in which life it is. A
 * session that a life has left is ended by the next one only where it is surely that of this
 * folder, whose guests are proven dead.
 */
#ifndef CLUSTER_NODE_BOOT_BOOT_SESSION_H
#define CLUSTER_NODE_BOOT_BOOT_SESSION_H

#include "cluster/node/boot/store_wait.h"
#include "cluster/node/disk/data_folder.h"
#include "cluster/node/disk/machine.h"
#include "cluster/wire/record.h"

struct cluster_boot_session {
    const struct cluster_data_folder *folder;
    const struct cluster_machine *machine;
    bool adopt; /* any old session is ended: the operator has said that nothing of it runs */
};

/* Ends the old session, if there is one. RAPAHUB_ESTATE: it is that of another machine or folder.
 */
int cluster_boot_session_end_old(const struct cluster_store_wait *wait,
                                 const struct cluster_boot_session *how);

/* Returns the record of the session of this life; its views are of what `how` names. */
struct cluster_record_session cluster_boot_session_record(const struct cluster_boot_session *how);

/* Begins the session of this life, and gives its number. */
int cluster_boot_session_begin(const struct cluster_store_wait *wait,
                               const struct cluster_boot_session *how, uint64_t *session);

/* Ends it again; one that is gone is none to end. Gives the revision after it. */
int cluster_boot_session_end(const struct cluster_store_wait *wait, uint32_t node, uint64_t session,
                             uint64_t *rev);

#endif
