/* SPDX-License-Identifier: Apache-2.0 */
/* status: what is known of one guest, for people. Owner. */
#ifndef HOST_GUEST_STATUS_H
#define HOST_GUEST_STATUS_H

#include "host/process/guest.h"

/* The strings in *out belong to the guest. */
void host_status_of(const struct host_guest *guest, struct rapahub_guest_status *out);

#endif
