/* SPDX-License-Identifier: Apache-2.0 */
/* guest_table: which guests a host knows: as many as its option says, of which those that are over
 * make room for new ones. Owner. */
#ifndef HOST_GUEST_GUEST_TABLE_H
#define HOST_GUEST_GUEST_TABLE_H

#include "host/process/guest.h"

struct host_supervision;

/* Gives a new guest a free place, or that of the guest that has been over for longest and that
 * nobody waits for. RAPAHUB_EFULL. */
int host_guest_table_enter(struct host_guest *guest, uint32_t *place);

/* Frees what is in a place, with its containers; it has no process. */
void host_guest_table_forget(struct host_supervision *host, uint32_t place);
void host_guest_table_drop(struct host_guest *guest); /* the same, wherever it is */

/* Its containers are gone: their ids may be given anew. */
void host_guest_table_forget_containers(struct host_guest *guest);

/* Makes its name another than those of all guests that are used, or may come again: "calc-2". Write
 * lock. */
void host_guest_table_name(struct host_guest *guest);

/* May one be added under this name? -EEXIST where a guest has called itself so. */
int host_guest_table_check_name(const struct host_supervision *host, const char *name);

/* Has it a process, or will it have one? */
bool host_guest_table_is_used(const struct host_guest *guest);

#endif
