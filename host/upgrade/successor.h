/* SPDX-License-Identifier: Apache-2.0 */
/* successor: a process of another module beside that of a guest, and the exchange of the two. The
 * new process before the exchange, and the old one after it, belong to a guest record of their own,
 * "NAME.next" or "NAME.old", which has no supervisor and gets no calls. Owner thread. */
#ifndef HOST_UPGRADE_SUCCESSOR_H
#define HOST_UPGRADE_SUCCESSOR_H

#include <rapahub/upgrade.h>

#include "host/process/guest.h"

/* Makes a successor in an entry of its own in the guest table, not started. Fails if the module or
 * its options are refused; RAPAHUB_EFULL. */
int host_successor_create(const struct host_guest *of, const struct rapahub_upgrade_options *to,
                          struct host_guest **out);

/* Starts its process. It becomes READY, or ends, in later turns. RAPAHUB_EFULL if no peer entry is
 * free. */
int host_successor_start(struct host_guest *successor);

/* Exchanges process, module and methods of the two, so that calls find the new process. Under the
 * write lock of routes. */
void host_successor_exchange(struct host_guest *guest, struct host_guest *successor);

/* Asks its process to end, or kills it. Nothing happens if it has none. */
void host_successor_retire(struct host_guest *successor);
void host_successor_kill(struct host_guest *successor);

/* Removes the successor. If its process does not die, or is waited for, it stays in the guest table
 * for the host to remove. */
void host_successor_drop(struct host_guest *successor);

#endif
