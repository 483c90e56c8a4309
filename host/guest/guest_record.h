/* SPDX-License-Identifier: Apache-2.0 */
/* guest_record: makes the record of a guest, and frees it with all that it owns. Owner. */
#ifndef HOST_GUEST_GUEST_RECORD_H
#define HOST_GUEST_GUEST_RECORD_H

#include <rapahub/admit.h>

#include "host/process/guest.h"

struct host_supervision;

/* Makes a guest from a copy of the options, which the caller has checked. -ENOMEM, or the error of
 * a limit, an exit command or a module that was refused. */
int host_guest_record_create(struct host_supervision *host,
                             const struct rapahub_guest_options *options, struct host_guest **out);

/* Makes an anonymous guest, which came as process `pid` (0: unknown). -ENOMEM. */
int host_guest_record_create_anonymous(struct host_supervision *host, pid_t pid,
                                       struct host_guest **out);

/* Makes a guest that is admitted, from a copy of the options, which the caller has checked.
 * -ENOMEM. */
int host_guest_record_create_admitted(struct host_supervision *host,
                                      const struct rapahub_admit_options *options,
                                      struct host_guest **out);

/* Frees a guest that has no life and no containers any more. Accepts NULL. */
void host_guest_record_release(struct host_guest **guest);

#endif
