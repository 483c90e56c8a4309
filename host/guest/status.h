/* SPDX-License-Identifier: Apache-2.0 */
/* status: what is known of a guest, for people. Owner. */
#ifndef HOST_GUEST_STATUS_H
#define HOST_GUEST_STATUS_H

#include "host/process/guest.h"

/* Its strings are the guest's. */
void host_status_of(const struct host_guest *guest, struct rapahub_guest_status *out);

#endif
