/* SPDX-License-Identifier: Apache-2.0 */
/* admission: a guest comes to a host: its options are checked, it is given a place and a
 * supervisor. Owner. */
#ifndef HOST_GUEST_ADMISSION_H
#define HOST_GUEST_ADMISSION_H

#include "host/process/guest.h"

struct host_supervision;

/* A guest, below the supervisor at this place; an eager one is started. */
struct host_admission_plan {
    const struct rapahub_guest_options *options;
    uint32_t supervisor;
    bool kept;  /* until it is closed */
    bool trial; /* nothing is left of it where its first life does not serve */
};
int host_admission(struct host_supervision *host, const struct host_admission_plan *plan,
                   struct host_guest **out);

/* A guest that is started for somebody who waits until it serves; where it does not, nothing is
 * left of it. Several may be under way. */
struct host_admission_spawn {
    const struct rapahub_guest_options *options;
    struct rapahub_guest_id *out;
    struct host_guest *guest; /* pinned from begin to end */
    struct host_timer due;    /* before its process is there it waits no longer */
};

extern const struct host_threads_task
    host_admission_spawn_task; /* argument: host_admission_spawn */

#endif
