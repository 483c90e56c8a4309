/* SPDX-License-Identifier: Apache-2.0 */
/* attach: from the ticket on the command line, or only the path of a segment, to an attached link,
 * and back. */
#ifndef GUEST_SDK_ATTACH_H
#define GUEST_SDK_ATTACH_H

#include "guest-sdk/guest_state.h"

/* Reads the ticket, maps and checks the segment, takes the entry; without a ticket the first that
 * is Empty. RAPAHUB_EFORMAT where the ticket or the segment is not valid, RAPAHUB_ESTALE where the
 * entry is not reserved for us, RAPAHUB_EDIED where the host is gone already; as hub_stranger_enter
 * says. r[impl shm.spawn.guest-init] r[impl shm.guest.attach] */
int guest_attach_open(struct guest *guest, int argc, char **argv);

/* Unmaps and closes. From then on this process writes nothing. Accepts a guest that failed
 * half-way. */
void guest_attach_close(struct guest *guest);

#endif
