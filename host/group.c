/* SPDX-License-Identifier: Apache-2.0 */
#include "host/group.h"

#include <stdlib.h>

#include <rapahub/error.h>

#include "hub/base/own.h"
#include "hub/shm/peer_table.h"
#include "hub/shm/reclaim.h"

int host_group_create(const struct hub_limits *limits, bool shared, uint64_t number,
                      struct host_group **out)
{
    OWN(host_group) struct host_group *group = calloc(1, sizeof *group);
    struct hub_limits own = *limits;
    struct hub_segment_view view;
    int r;

    if (!group)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a group of guests");
    group->number = number;
    group->shared = shared;
    if (!shared)
        own.guests_max = 1;
    r = hub_segment_create(&own, shared, &group->segment);
    if (r < 0)
        return r;
    hub_segment_view(group->segment, 1, &view);
    r = hub_slot_pool_init(&group->pool, &group->segment->geometry, view.host_pool, shared);
    if (r < 0)
        return r;
    *out = TAKE(group);
    return 0;
}

void host_group_release(struct host_group **group)
{
    if (!*group)
        return;
    if ((*group)->segment)
        hub_slot_pool_fini(&(*group)->pool);
    hub_segment_release(&(*group)->segment);
    free(*group);
    *group = NULL;
}

/* With two or more guests none may take more than half of the host's slots.
 * r[impl hub.slot.quota] */
static void share_pool(struct host_group *group)
{
    uint32_t count = group->pool.count;

    if (group->guests >= 2)
        count = count / 2 > 0 ? count / 2 : 1;
    hub_slot_pool_set_quota(&group->pool, count);
}

int host_group_enter(struct host_group *group, uint32_t life, uint32_t *peer, uint32_t *epoch)
{
    struct hub_segment_view view;
    int r;

    if (!group->shared) {
        hub_segment_view(group->segment, 1, &view);
        hub_publish(&view.entry->epoch, life - 1);
    }
    r = hub_peer_table_reserve(group->segment, peer, epoch);
    if (r < 0)
        return r;
    group->guests++;
    share_pool(group);
    return 0;
}

void host_group_leave(struct host_group *group, uint32_t peer)
{
    group->guests--;
    share_pool(group);
    /* A segment of its own dies with its guest, and who still maps it harms nobody. */
    if (group->shared)
        hub_reclaim_peer(group->segment, &group->pool, peer);
}

void host_group_abandon(struct host_group *group, uint32_t peer)
{
    struct hub_segment_view view;

    group->guests--;
    share_pool(group);
    hub_segment_view(group->segment, peer, &view);
    hub_peer_table_unreserve(view.entry);
}
