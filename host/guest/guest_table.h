/* SPDX-License-Identifier: Apache-2.0 */
/* guest_table: the guests that a host knows, as many as its option says. Guests that have ended
 * make room for new ones. Owner. */
#ifndef HOST_GUEST_GUEST_TABLE_H
#define HOST_GUEST_GUEST_TABLE_H

#include "host/process/guest.h"

struct host_supervision;

/* Gives a new guest a free entry of those for its kind. If there is none, it gets the entry of the
 * oldest guest that has ended and that no caller waits for. RAPAHUB_EFULL. */
int host_guest_table_enter(struct host_guest *guest, uint32_t *place);

/* Frees the guest in an entry with its containers. The guest has no process. */
void host_guest_table_forget(struct host_supervision *host, uint32_t place);
void host_guest_table_drop(struct host_guest *guest); /* the same, by guest */

/* Removes the containers of a guest. Their ids may be used again. */
void host_guest_table_forget_containers(struct host_guest *guest);

/* Changes the name of a guest if another guest is used, or may come again, under the same name:
 * "calc-2". The caller holds the write lock of the routes. */
void host_guest_table_name(struct host_guest *guest);

/* Checks whether a guest may be added under this name. -EEXIST if a guest that was given no name
 * has called itself so. */
int host_guest_table_check_name(const struct host_supervision *host, const char *name);

/* Does the guest have a process, or will it get one? */
bool host_guest_table_is_used(const struct host_guest *guest);

#endif
