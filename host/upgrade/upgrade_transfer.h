/* SPDX-License-Identifier: Apache-2.0 */
/* upgrade_transfer: the messages of an upgrade to the two processes, one after another, container
 * by container. Each function begins one step; the end of the step is an event of the upgrade.
 * Owner thread. */
#ifndef HOST_UPGRADE_UPGRADE_TRANSFER_H
#define HOST_UPGRADE_UPGRADE_TRANSFER_H

#include "host/upgrade/upgrade.h"

void host_upgrade_transfer_begin(struct host_upgrade *upgrade);  /* BEGUN */
void host_upgrade_transfer_plug(struct host_upgrade *upgrade);   /* HELD */
void host_upgrade_transfer_drain(struct host_upgrade *upgrade);  /* DRAINED */
void host_upgrade_transfer_save(struct host_upgrade *upgrade);   /* SAVED */
void host_upgrade_transfer_load(struct host_upgrade *upgrade);   /* LOADED or LOADED_ALL */
void host_upgrade_transfer_return(struct host_upgrade *upgrade); /* RETURNED */

#endif
