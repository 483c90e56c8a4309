/* SPDX-License-Identifier: Apache-2.0 */
/* admission: a guest comes to a host: its options are checked, and it gets an entry of the guest
 * table and a supervisor. Owner. */
#ifndef HOST_GUEST_ADMISSION_H
#define HOST_GUEST_ADMISSION_H

#include "host/process/guest.h"

struct host_supervision;

/* A new guest below the supervisor at this place of the tree. An eager guest is started. */
struct host_admission_plan {
    const struct rapahub_guest_options *options;
    uint32_t supervisor;
    bool kept;  /* the guest stays until it is closed */
    bool trial; /* the guest is removed if its first life does not serve */
};
int host_admission(struct host_supervision *host, const struct host_admission_plan *plan,
                   struct host_guest **out);

/* A guest that is started for a caller that waits until it serves. If it does not serve, it is
 * removed. Several may be under way at once. */
struct host_admission_spawn {
    const struct rapahub_guest_options *options;
    struct rapahub_guest_id *out;
    struct host_guest *guest; /* pinned from begin to end */
    struct host_timer due;    /* limits the wait for its process */
};

extern const struct host_threads_task
    host_admission_spawn_task; /* argument: host_admission_spawn */

#endif
