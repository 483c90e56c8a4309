/* SPDX-License-Identifier: Apache-2.0 */
#include "host/lives/anonymous.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "host/call/streaming.h"
#include "host/guest/guest_record.h"
#include "host/guest/guest_table.h"
#include "host/guest/watch.h"
#include "host/lives/death.h"
#include "host/lives/guests.h"
#include "host/observe/observe.h"
#include "hub/base/clock.h"
#include "hub/base/lock.h"
#include "hub/base/own.h"
#include "hub/base/proof.h"
#include "hub/shm/anonymous.h"
#include "hub/shm/peer_table.h"
#include "hub/shm/reclaim.h"

#define EPOCH_WITHIN  HUB_SECOND        /* for a guest to raise its epoch after it attached */
#define ATTACH_WITHIN (10 * HUB_SECOND) /* for a guest that has reserved its entry */

/* An entry of the peer table without a life. */
struct anonymous_guest {
    struct host_observe *host;
    struct host_group *group;
    struct host_seat *seat;
    uint32_t peer;
    pid_t pid;   /* 0: unknown */
    bool locked; /* the guest holds the lock of its range */
    struct hub_segment_view view;
};

/* ---- a life for the entry ---- */

static struct host_life *new_life(const struct anonymous_guest *anonymous_guest,
                                  struct host_guest *guest)
{
    struct host_life *life = host_life_create(guest, &HOST_OWNER(anonymous_guest->host)->loop);

    if (!life)
        return NULL;
    life->anonymous = life->segment.trusted = life->segment.entered = true;
    life->segment.waiting =
        (enum hub_wait_manner)HOST_PROCESS(anonymous_guest->host)->options.waiting;
    life->segment.locked = anonymous_guest->locked;
    life->segment.group = anonymous_guest->group;
    life->segment.view = anonymous_guest->view;
    life->process.pid = anonymous_guest->pid;
    life->segment.peer_state = HUB_PEER_ATTACHED;
    life->born_ns = hub_clock_now();
    host_pulse_forgive(&life->pulse, life->born_ns);
    life->id.group = anonymous_guest->group->number;
    life->id.peer = anonymous_guest->peer;
    memcpy(life->name, guest->name, sizeof life->name);
    if (host_group_admit(anonymous_guest->group, anonymous_guest->peer, &life->id.epoch) < 0) {
        life->segment.entered = false;
        host_life_release(&life);
    }
    return life;
}

/* The process is this host itself, or has a life already, which answers for what it does. */
static bool is_known(const struct anonymous_guest *anonymous_guest)
{
    struct host_observe *host = anonymous_guest->host;

    if (anonymous_guest->pid == getpid())
        return true;
    HUB_LIST_EACH (&HOST_PROCESS(host)->lives, link)
        if (HUB_LIST_ITEM(link, struct host_life, link)->process.pid == anonymous_guest->pid)
            return true;
    return false;
}

/* A guest's own word kills no process. The kernel confirms that the process with this id, and no
 * other, holds the lock of the entry. The id was not reused: the process is alive, and `pidfd` was
 * opened before this check. r[impl hub.death.named] */
static bool is_the_one(const struct anonymous_guest *anonymous_guest, int pidfd)
{
    const uint64_t start = HUB_LOCK_HOST + anonymous_guest->peer * HUB_LOCK_SPAN;
    int fd = anonymous_guest->group->segment->mapping.fd;

    return !is_known(anonymous_guest) && hub_proof_has_lock(anonymous_guest->pid, fd, start) &&
           !hub_proof_of_death(pidfd);
}

/* Opens the pidfd of the guest's process, or fails if that is not possible now. *pidfd stays -1 if
 * the guest holds no lock, has gone, or gave an id that is not its own. Then it cannot be killed,
 * and only its lock will prove its death. */
static int open_process(const struct anonymous_guest *anonymous_guest, int *pidfd)
{
    OWN(hub_fd) int fd = -1;

    *pidfd = -1;
    if (anonymous_guest->pid <= 0)
        return 0;
    fd = hub_proof_open(anonymous_guest->pid);
    if (fd < 0)
        return fd == -ESRCH ? 0 : fd;
    if (is_the_one(anonymous_guest, fd))
        *pidfd = TAKE(fd);
    return 0;
}

static int watch(struct host_life *life)
{
    if (life->process.pidfd < 0)
        return 0;
    life->process.on_death = (struct host_watch){life->process.pidfd, host_death_on_pidfd, life, 0};
    return host_loop_watch(life->loop, &life->process.on_death, EPOLLIN);
}

/* Refuses a guest whose life could not be opened. It is not served, but its entry is not returned
 * before it has gone. */
static void turn_away(struct host_life *life)
{
    hub_peer_table_goodbye(life->segment.view.entry);
    host_group_dismiss(life->segment.group, life->id.peer);
    life->segment.entered = false;
    host_life_release(&life);
}

/* `late`: the guest had the time to raise its epoch, and did not. r[impl shm.crash.epoch] */
static void begin(struct host_life *life, bool late)
{
    struct host_guest *guest = life->guest;

    host_watch_begin(HOST_SUPERVISION(guest->host));
    host_guest_move(guest, HOST_GUEST_STARTING, "it came by itself");
    host_guests_begin(life);
    host_guest_move(guest, HOST_GUEST_ATTACHED, "");
    host_watch_look(life);
    if (late)
        hub_link_close(life->connection.link, RAPAHUB_EPROTOCOL, "shm.crash.epoch");
}

/* Opens a life that is connected and watched. After a failure nothing is left of it. */
static int open_life(const struct anonymous_guest *anonymous_guest, struct host_guest *guest,
                     struct host_life **out)
{
    OWN(hub_fd) int pidfd = -1;
    struct host_life *life;
    int r = open_process(anonymous_guest, &pidfd);

    if (r < 0)
        return r;
    life = new_life(anonymous_guest, guest);
    if (!life)
        return RAPAHUB_ENOMEM;
    life->process.pidfd = TAKE(pidfd);
    r = host_streaming_connect(&anonymous_guest->host->supervision.call, life);
    if (r == 0)
        r = watch(life);
    if (r < 0)
        turn_away(life);
    else
        *out = life;
    return r;
}

/* If something is missing now, the guest waits for the next look. */
static void admit(const struct anonymous_guest *anonymous_guest)
{
    struct host_observe *host = anonymous_guest->host;
    bool late =
        hub_load_relaxed(&anonymous_guest->view.entry->epoch) == anonymous_guest->seat->epoch;
    struct host_guest *guest = NULL;
    struct host_life *life;
    uint32_t place;

    if (host_guest_record_create_anonymous(&host->supervision, anonymous_guest->pid, &guest) < 0)
        return;
    if (host_guest_table_enter(guest, &place) < 0)
        host_guest_record_release(&guest);
    else if (open_life(anonymous_guest, guest, &life) < 0)
        host_guest_table_forget(&host->supervision, place);
    else
        begin(life, late);
}

/* ---- the state of the entry ---- */

/* The guest is proven dead and never was served: no message of it was read, and no response to it
 * can be of use. r[impl hub.death.recycle] r[impl shm.crash.recovery] */
static void clear_away(const struct anonymous_guest *anonymous_guest)
{
    struct host_group *group = anonymous_guest->group;

    anonymous_guest->seat->epoch = hub_load_relaxed(&anonymous_guest->view.entry->epoch);
    anonymous_guest->seat->since_ns = 0;
    hub_reclaim_reset(group->segment, &group->pool, anonymous_guest->peer);
    (void)hub_lock_drop_peer(group->segment->mapping.fd, anonymous_guest->peer);
    hub_reclaim_empty(group->segment, anonymous_guest->peer);
}

static void shut_out(const struct anonymous_guest *anonymous_guest, const char *rule,
                     const char *why)
{
    hub_peer_table_goodbye(anonymous_guest->view.entry);
    anonymous_guest->seat->quarantined = true;
    anonymous_guest->group->quarantined++;
    rapahub_log(RAPAHUB_LOG_ERROR, "visitors", "entry %u %s; it stays out of use (%s)",
                anonymous_guest->peer, why, rule);
}

/* Kills a guest that has reserved an entry and gets no further: it has held the lock all the time.
 * A process that only tests whether the entry is free holds the lock for a moment. */
static void hurry(const struct anonymous_guest *anonymous_guest)
{
    OWN(hub_fd) int pidfd = -1;

    if (anonymous_guest->seat->pid != anonymous_guest->pid) {
        anonymous_guest->seat->pid = anonymous_guest->pid;
        anonymous_guest->seat->since_ns = hub_clock_now();
    }
    if (hub_clock_left(anonymous_guest->seat->since_ns + ATTACH_WITHIN) > 0)
        return;
    if (open_process(anonymous_guest, &pidfd) == 0 && pidfd >= 0)
        syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
}

/* A guest that goes straight to Attached raises its epoch after that. A life must not begin in
 * between. r[impl shm.guest.attach] */
static bool has_new_epoch(const struct anonymous_guest *anonymous_guest)
{
    return hub_load_relaxed(&anonymous_guest->view.entry->epoch) != anonymous_guest->seat->epoch ||
           hub_clock_left(anonymous_guest->seat->since_ns + EPOCH_WITHIN) == 0;
}

/* r[impl shm.host.poll-peers] */
static void receive(struct anonymous_guest *anonymous_guest)
{
    if (!HOST_PROCESS(anonymous_guest->host)->closing && has_new_epoch(anonymous_guest))
        admit(anonymous_guest);
}

static void act(struct anonymous_guest *anonymous_guest, enum hub_anonymous found)
{
    anonymous_guest->locked = found == HUB_ANONYMOUS_HERE;
    switch (found) {
    case HUB_ANONYMOUS_NONE:
        break;
    case HUB_ANONYMOUS_GONE:
        clear_away(anonymous_guest);
        break;
    case HUB_ANONYMOUS_COMING:
        hurry(anonymous_guest);
        break;
    case HUB_ANONYMOUS_HERE:
    case HUB_ANONYMOUS_UNLOCKED:
        receive(anonymous_guest);
        break;
    default:
        shut_out(anonymous_guest, "shm.segment.peer-state", "is in a state that no guest may set");
        break;
    }
}

static bool look_at(struct anonymous_guest *anonymous_guest)
{
    enum hub_anonymous found;

    hub_segment_view(anonymous_guest->group->segment, anonymous_guest->peer,
                     &anonymous_guest->view);
    if (hub_observe(&anonymous_guest->view.entry->state) == HUB_PEER_EMPTY) {
        anonymous_guest->seat->since_ns = 0;
        return false;
    }
    if (!anonymous_guest->group->anonymous) {
        /* All ranges are locked by this host: no lock can prove anything. */
        shut_out(anonymous_guest, "shm.segment.peer-state", "was taken without leave");
        return true;
    }
    if (anonymous_guest->seat->since_ns == 0)
        anonymous_guest->seat->since_ns = hub_clock_now();
    found = hub_anonymous_look(anonymous_guest->group->segment, anonymous_guest->peer,
                               &anonymous_guest->pid);
    act(anonymous_guest, found);
    return true;
}

bool host_anonymous_look(struct host_observe *host)
{
    struct host_group *group = HOST_PROCESS(host)->shared;
    bool found = false;

    for (uint32_t peer = 1; group && peer <= group->segment->geometry.limits.guests_max; peer++) {
        struct host_seat *seat = &group->seats[peer];
        struct anonymous_guest anonymous_guest = {
            .host = host, .group = group, .seat = seat, .peer = peer};

        if (!seat->taken && !seat->quarantined)
            found = look_at(&anonymous_guest) || found;
    }
    return found;
}
