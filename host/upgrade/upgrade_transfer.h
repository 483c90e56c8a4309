/* SPDX-License-Identifier: Apache-2.0 */
/* upgrade_transfer: what an upgrade says to the two processes, one message after another, container
 * by container. Each begins one step; its end is an event of the upgrade. Owner. */
#ifndef HOST_UPGRADE_UPGRADE_TRANSFER_H
#define HOST_UPGRADE_UPGRADE_TRANSFER_H

#include "host/upgrade/upgrade.h"

void host_upgrade_transfer_begin(struct host_upgrade *upgrade);  /* BEGUN */
void host_upgrade_transfer_plug(struct host_upgrade *upgrade);   /* HELD */
void host_upgrade_transfer_drain(struct host_upgrade *upgrade);  /* DRAINED */
void host_upgrade_transfer_save(struct host_upgrade *upgrade);   /* SAVED */
void host_upgrade_transfer_load(struct host_upgrade *upgrade);   /* LOADED or LOADED_ALL */
void host_upgrade_transfer_return(struct host_upgrade *upgrade); /* RETURNED */

/* The running step goes on there in a moment. */
void host_upgrade_transfer_again(struct host_upgrade *upgrade,
                                 void (*again)(struct host_upgrade *upgrade));

#endif
