/* SPDX-License-Identifier: Apache-2.0 */
/* guest_record: makes the record of a guest, and frees it with all that it owns. Owner. */
#ifndef HOST_GUEST_GUEST_RECORD_H
#define HOST_GUEST_GUEST_RECORD_H

#include "host/process/guest.h"

struct host_supervision;

/* A copy of the options, which were checked. -ENOMEM, or why a limit, a finish command or the
 * module is refused. */
int host_guest_record_create(struct host_supervision *host,
                             const struct rapahub_guest_options *options, struct host_guest **out);

/* One that came by itself, as process `pid` (0: unknown). -ENOMEM. */
int host_guest_record_create_anonymous(struct host_supervision *host, pid_t pid,
                                       struct host_guest **out);

/* It has no life; the containers are gone. Accepts NULL. */
void host_guest_record_release(struct host_guest **guest);

#endif
