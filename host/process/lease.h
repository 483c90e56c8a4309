/* SPDX-License-Identifier: Apache-2.0 */
/* lease: until when a host may serve its managed containers, told to all its guests by a word of
 * their segments (hub/shm/lease.h). A segment gets the word before its first guest exists. Any
 * thread. */
#ifndef HOST_PROCESS_LEASE_H
#define HOST_PROCESS_LEASE_H

#include <stdbool.h>
#include <stdint.h>

#include "hub/base/atomic.h"
#include "hub/base/list.h"
#include "hub/base/mutex.h"

struct host_group;

struct host_lease {
    struct hub_mutex lock;
    struct hub_a64 word;                      /* hub_lease_word of the end */
    struct hub_list groups GUARDED_BY(&lock); /* all present ones */
};

void host_lease_init(struct host_lease *lease);
void host_lease_fini(struct host_lease *lease);

/* From join to leave the group's segment has the word of the lease. leave is harmless for a group
 * that never joined. */
void host_lease_join(struct host_lease *lease, struct host_group *group);
void host_lease_leave(struct host_lease *lease, struct host_group *group);

/* Sets the end of the lease; it holds in all segments when this returns. */
void host_lease_set(struct host_lease *lease, uint64_t until_ns);

/* Returns whether the lease has an end at all. */
static inline bool host_lease_has_end(const struct host_lease *lease)
{
    return hub_observe64(&lease->word) != 0;
}

#endif
