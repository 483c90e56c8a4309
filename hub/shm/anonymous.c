/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/shm/anonymous.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "hub/base/lock.h"
#include "hub/shm/peer_table.h"

/* ---- guest ---- */

/* -EAGAIN if the entry belongs to another guest. A range that was locked in vain is unlocked before
 * the next is tried. */
static int enter_as(struct hub_segment *segment, uint32_t peer, struct hub_segment_view *view)
{
    int fd = segment->mapping.fd;
    int r = hub_segment_check_peer(segment, peer, view);

    if (r == 0)
        r = hub_lock_acquire_peer(fd, peer, getpid());
    if (r < 0)
        return r;
    if (hub_peer_table_claim(view->entry))
        return 0;
    (void)hub_lock_drop_peer(fd, peer);
    return -EAGAIN;
}

static int refuse(int r, const struct hub_segment *segment)
{
    if (r == -EAGAIN)
        return rapahub_fail(RAPAHUB_EFULL, "shm.guest.attach-failure",
                            "all %u entries of the peer table are taken",
                            segment->geometry.limits.guests_max);
    if (r == RAPAHUB_EACCES)
        return rapahub_fail(r, "hub.file.lock",
                            "this host takes no guests that it did not start: its option "
                            "anonymous is off");
    if (rapahub_last_error()->code != r)
        return rapahub_fail(r, "hub.file.lock", "cannot lock the segment file: %s",
                            strerrordesc_np(-r));
    return r;
}

int hub_anonymous_enter(const char *path, struct hub_segment **out, struct hub_segment_view *view,
                        uint32_t *peer)
{
    int r = hub_segment_open(path, out);

    if (r < 0)
        return r;
    r = -EAGAIN;
    for (uint32_t id = 1; r == -EAGAIN && id <= (*out)->geometry.limits.guests_max; id++) {
        *peer = id;
        r = enter_as(*out, id, view);
    }
    if (r == 0)
        return 0;
    r = refuse(r, *out);
    hub_segment_release(out);
    return r;
}

/* ---- host ---- */

/* Unlocks the range that the host locked only to examine the entry. */
static enum hub_anonymous without(const struct hub_segment *segment, uint32_t peer,
                                  enum hub_anonymous found)
{
    (void)hub_lock_drop_peer(segment->mapping.fd, peer);
    return found;
}

/* The host has the range locked, so no guest that respects its lock can change the entry now. */
static enum hub_anonymous look_inside(const struct hub_segment *segment, uint32_t peer,
                                      const struct hub_peer_entry *entry)
{
    switch (hub_observe(&entry->state)) {
    case HUB_PEER_RESERVED:
        return HUB_ANONYMOUS_GONE;
    case HUB_PEER_ATTACHED:
    case HUB_PEER_GOODBYE:
        if (hub_load_relaxed(&entry->guest_wait) & HUB_WAIT_LOCKED)
            return HUB_ANONYMOUS_GONE;
        return without(segment, peer, HUB_ANONYMOUS_UNLOCKED);
    case HUB_PEER_EMPTY:
        return without(segment, peer, HUB_ANONYMOUS_NONE);
    default:
        return without(segment, peer, HUB_ANONYMOUS_WRONG);
    }
}

/* A guest has the range locked. A guest that finds its entry in use unlocks the range at once. So
 * before the entry is Attached, only the entry says which guest it belongs to. */
static enum hub_anonymous look_beside(const struct hub_peer_entry *entry, pid_t *pid)
{
    switch (hub_observe(&entry->state)) {
    case HUB_PEER_EMPTY:
        return HUB_ANONYMOUS_NONE;
    case HUB_PEER_RESERVED:
        return HUB_ANONYMOUS_COMING;
    case HUB_PEER_ATTACHED:
    case HUB_PEER_GOODBYE:
        if (hub_load_relaxed(&entry->guest_wait) & HUB_WAIT_LOCKED)
            return HUB_ANONYMOUS_HERE;
        *pid = 0;
        return HUB_ANONYMOUS_UNLOCKED;
    default:
        return HUB_ANONYMOUS_WRONG;
    }
}

/* r[impl hub.death.recycle] */
enum hub_anonymous hub_anonymous_look(const struct hub_segment *segment, uint32_t peer, pid_t *pid)
{
    struct hub_segment_view view;

    *pid = 0;
    hub_segment_view(segment, peer, &view);
    if (hub_observe(&view.entry->state) == HUB_PEER_EMPTY)
        return HUB_ANONYMOUS_NONE;
    if (hub_lock_seize_peer(segment->mapping.fd, peer) == 0)
        return look_inside(segment, peer, view.entry);
    (void)hub_lock_test_peer(segment->mapping.fd, peer, pid);
    return look_beside(view.entry, pid);
}
