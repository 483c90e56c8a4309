/* SPDX-License-Identifier: Apache-2.0 */
/* upgrade_async: upgrades that nobody waits for. Owner. */
#ifndef HOST_UPGRADE_ASYNC_H
#define HOST_UPGRADE_ASYNC_H

#include <rapahub/upgrade.h>

/* Tells of those that are over, at the end of a turn: how many. */
int host_upgrade_async_settle(struct rapahub_host *host);

/* The host ends, and all guests have: so do these, within a moment. */
void host_upgrade_async_end_all(struct rapahub_host *host);

#endif
