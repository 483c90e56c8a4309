/* SPDX-License-Identifier: Apache-2.0 */
/* census: what is known of all children and supervisors, for people. Owner. */
#ifndef HOST_GUEST_CENSUS_H
#define HOST_GUEST_CENSUS_H

#include "host/process/guest.h"

struct host_supervision;

/* Describes the child at this place of the tree. The place must not be free. */
void host_census_status(const struct host_supervision *host, uint32_t place,
                        struct rapahub_child_status *out);

#endif
