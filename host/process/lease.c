/* SPDX-License-Identifier: Apache-2.0 */
#include "host/process/lease.h"

#include "host/process/group.h"
#include "hub/base/clock.h"
#include "hub/shm/lease.h"

void host_lease_init(struct host_lease *lease)
{
    hub_mutex_init(&lease->lock, HUB_MUTEX_LEASE);
    hub_store_relaxed64(&lease->word, hub_lease_word(HUB_NEVER));
    hub_list_init(&lease->groups);
}

void host_lease_fini(struct host_lease *lease)
{
    hub_mutex_fini(&lease->lock);
}

static void write_word(struct host_group *group, uint64_t word)
{
    struct hub_segment_view view;

    hub_segment_view(group->segment, 1, &view);
    hub_publish64(&view.header->lease, word);
}

void host_lease_join(struct host_lease *lease, struct host_group *group)
{
    hub_mutex_lock(&lease->lock);
    hub_list_append(&lease->groups, &group->leased);
    write_word(group, hub_load_relaxed64(&lease->word));
    hub_mutex_unlock(&lease->lock);
}

void host_lease_leave(struct host_lease *lease, struct host_group *group)
{
    hub_mutex_lock(&lease->lock);
    hub_list_remove(&group->leased);
    hub_mutex_unlock(&lease->lock);
}

/* r[impl hub.lease.word] */
void host_lease_set(struct host_lease *lease, uint64_t until_ns)
{
    uint64_t word = hub_lease_word(until_ns);

    hub_mutex_lock(&lease->lock);
    hub_publish64(&lease->word, word);
    HUB_LIST_EACH (&lease->groups, link)
        write_word(HUB_LIST_ITEM(link, struct host_group, leased), word);
    hub_mutex_unlock(&lease->lock);
}
