/* SPDX-License-Identifier: Apache-2.0 */
#include "host/process/group.h"

#include <stdlib.h>

#include <rapahub/error.h>

#include "hub/base/lock.h"
#include "hub/base/own.h"
#include "hub/shm/peer_table.h"
#include "hub/shm/reclaim.h"

static int create_segment(const struct hub_limits *limits, const struct host_group_plan *plan,
                          struct host_group *group)
{
    struct hub_limits own = *limits;
    int r;

    own.strangers = plan->anonymous;
    if (!plan->shared)
        own.guests_max = 1;
    if (plan->path)
        r = hub_segment_create_at(&own, plan->path, &group->segment);
    else
        r = hub_segment_create(&own, plan->shared, &group->segment);
    if (r < 0)
        return r;
    return hub_slots_init_host(&group->pool, group->segment);
}

int host_group_create(const struct hub_limits *limits, const struct host_group_plan *plan,
                      struct host_group **out)
{
    OWN(host_group) struct host_group *group = calloc(1, sizeof *group);
    int r;

    if (!group)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a group of guests");
    group->number = plan->number;
    group->shared = plan->shared;
    group->anonymous = plan->anonymous;
    hub_list_init(&group->leased);
    group->seats = calloc(limits->guests_max + (size_t)1, sizeof *group->seats);
    if (!group->seats)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a group of guests");
    r = create_segment(limits, plan, group);
    if (r < 0)
        return r;
    if (plan->shared && !plan->anonymous && hub_lock_refuse_peers(group->segment->mapping.fd) < 0)
        return rapahub_fail(-EIO, "hub.file.lock", "cannot lock the segment file");
    *out = TAKE(group);
    return 0;
}

void host_group_release(struct host_group **group)
{
    if (!*group)
        return;
    if ((*group)->segment)
        hub_slots_fini(&(*group)->pool);
    hub_segment_release(&(*group)->segment);
    free((*group)->seats);
    free(*group);
    *group = NULL;
}

/* With two or more guests, none may use more than half of the host's slots.
 * r[impl hub.slot.quota] */
static void share_pool(struct host_group *group)
{
    hub_slots_set_guests(&group->pool, group->guests);
}

static void sit_down(struct host_group *group, uint32_t peer, uint32_t epoch)
{
    group->seats[peer] = (struct host_seat){.taken = true, .epoch = epoch};
    group->guests++;
    share_pool(group);
}

static void stand_up(struct host_group *group, uint32_t peer)
{
    group->seats[peer].taken = false;
    group->guests--;
    share_pool(group);
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
    sit_down(group, *peer, *epoch);
    r = hub_slots_endow(&group->pool, *peer);
    if (r < 0)
        host_group_abandon(group, *peer);
    return r;
}

int host_group_admit(struct host_group *group, uint32_t peer, uint32_t *epoch)
{
    struct hub_segment_view view;
    int r = hub_slots_endow(&group->pool, peer);

    if (r < 0)
        return r;
    hub_segment_view(group->segment, peer, &view);
    *epoch = hub_load_relaxed(&view.entry->epoch);
    sit_down(group, peer, *epoch);
    return 0;
}

void host_group_dismiss(struct host_group *group, uint32_t peer)
{
    stand_up(group, peer);
}

/* The former holder of the range can no longer have it, and any new one finds an entry that is not
 * Empty, so it may be unlocked before the entry becomes Empty. */
void host_group_leave(struct host_group *group, uint32_t peer)
{
    stand_up(group, peer);
    /* a private segment dies with its guest, and processes that still map it harm no others */
    if (!group->shared)
        return;
    hub_reclaim_reset(group->segment, &group->pool, peer);
    if (group->anonymous)
        (void)hub_lock_drop_peer(group->segment->mapping.fd, peer);
    hub_reclaim_empty(group->segment, peer);
}

void host_group_abandon(struct host_group *group, uint32_t peer)
{
    struct hub_segment_view view;

    stand_up(group, peer);
    hub_segment_view(group->segment, peer, &view);
    hub_slots_take_back(&group->pool, peer);
    hub_peer_table_unreserve(view.entry);
}

void host_group_quarantine(struct host_group *group, uint32_t peer)
{
    stand_up(group, peer);
    group->seats[peer].quarantined = true;
    group->quarantined++;
}
