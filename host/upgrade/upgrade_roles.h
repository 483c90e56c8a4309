/* SPDX-License-Identifier: Apache-2.0 */
/* upgrade_roles: the roles of a guest's containers go from its old process to the new one, between
 * the drain and the transfer of the states; in a rollback they come back. Each function begins one
 * step; the end of the step is an event of the upgrade. Owner thread.
 * r[impl supervise.role.upgrade] */
#ifndef HOST_UPGRADE_UPGRADE_ROLES_H
#define HOST_UPGRADE_UPGRADE_ROLES_H

#include "host/upgrade/upgrade.h"

void host_upgrade_roles_release(struct host_upgrade *upgrade); /* RELEASED */

/* The containers with roles get them in the new process, and begin there: LINKED. */
void host_upgrade_roles_link(struct host_upgrade *upgrade);

/* The old process gets back what it has let go; then its containers are told that calls come again:
 * RETURNED. If it cannot have a role in 5 s it is killed, class LINK: its next life has them. */
void host_upgrade_roles_return(struct host_upgrade *upgrade);

/* The upgrade is over: what was kept for a hand-over is kept no longer. */
void host_upgrade_roles_end(const struct host_upgrade *upgrade);

#endif
