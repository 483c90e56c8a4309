/* SPDX-License-Identifier: Apache-2.0 */
#include "host/process/life.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "host/owner/ownership.h"
#include "host/owner/wait.h"
#include "host/process/confinement.h"
#include "host/process/fd_store.h"
#include "host/process/guest.h"
#include "host/process/process.h"
#include "hub/base/clock.h"
#include "hub/base/lock.h"
#include "hub/base/own.h"
#include "hub/base/proof.h"
#include "hub/shm/doorbell.h"
#include "hub/shm/peer_table.h"

#define NAP       (10 * HUB_MILLISECOND)  /* for an owner that is woken for events */
#define NAP_BLIND (500 * HUB_MICROSECOND) /* for an owner that is not woken */
#define TO_GROUP  4                       /* PIDFD_SIGNAL_PROCESS_GROUP */

struct host_life *host_life_create(struct host_guest *guest, struct host_loop *loop)
{
    struct host_life *life = calloc(1, sizeof *life);

    if (!life)
        return NULL;
    life->guest = guest;
    life->loop = loop;
    life->doorbell.fd = life->process.pidfd = life->process.on_death.fd = life->doorbell.watch.fd =
        -1;
    life->process.hangup = life->process.on_hangup.fd = life->on_keep.fd = -1;
    life->process.output.pipes[0].watch.fd = life->process.output.pipes[1].watch.fd = -1;
    hub_list_init(&life->link);
    hub_list_init(&life->chains.begun);
    hub_list_init(&life->chains.seats);
    return life;
}

/* Did this host start its process? */
static bool is_child(const struct host_life *life)
{
    return !life->anonymous && !life->admitted;
}

static void give_back_entry(struct host_life *life, bool born)
{
    if (life->death.quarantined)
        host_group_quarantine(life->segment.group, life->id.peer);
    else if (born || life->anonymous || life->admitted)
        host_group_leave(life->segment.group, life->id.peer);
    else
        host_group_abandon(life->segment.group, life->id.peer);
}

/* A doorbell that accepts no descriptors holds none. r[impl hub.descriptor.elsewhere] */
static void close_doorbell(struct host_life *life)
{
    if (life->doorbell.fd < 0 || hub_doorbell_is_sealed(life->doorbell.fd))
        hub_fd_release(&life->doorbell.fd);
    else
        hub_closer_give_end(life->host->closer, &life->doorbell.fd);
}

/* r[impl shm.crash.recovery] r[impl shm.death.recovery] */
void host_life_release(struct host_life **pointer)
{
    struct host_life *life = *pointer;
    bool born = life && life->process.pidfd >= 0;

    *pointer = NULL;
    if (!life)
        return;
    host_loop_unwatch(life->loop, &life->process.on_death);
    host_loop_unwatch(life->loop, &life->process.on_hangup);
    host_loop_unwatch(life->loop, &life->doorbell.watch);
    host_life_look_away(life);
    host_fd_store_close(life);
    host_output_close(&life->process.output);
    if (life->open)
        hub_connection_close(&life->connection);
    if (born && is_child(life))
        host_zombies_reap(&life->host->zombies, &life->process.pidfd);
    close_doorbell(life);
    hub_fd_release(&life->process.pidfd);
    hub_fd_release(&life->process.hangup);
    host_confinement_leave(life);
    if (life->segment.entered)
        give_back_entry(life, born);
    if (life->segment.group && !life->segment.group->shared) {
        host_lease_leave(&life->host->lease, life->segment.group);
        host_group_release(&life->segment.group);
    }
    host_methods_release(&life->startup.methods);
    free(life);
}

/* Says whether the owner, which is handling the events of its turn, will check `work` after them:
 * then it need not be woken. */
static bool will_look(const struct host_life *life)
{
    return host_ownership_is_owner(&life->host->owner) && life->loop->handling &&
           life->host->owner.depth + life->host->owner.nested <= HOST_WAIT_DEPTH_MAX;
}

static void note(struct host_life *life, uint32_t bit)
{
    uint32_t before = hub_load_relaxed(&life->work);

    if ((before & bit) == 0)
        hub_arm(&life->work, bit);
    if (!will_look(life))
        host_loop_wake(life->loop);
}

static void on_request(void *user)
{
    note(user, HOST_WORK_REQUEST);
}

static void on_ready(void *user)
{
    note(user, HOST_WORK_ANSWER);
}

/* Called at the end of each turn of receiving, after a fence. If the bit is set, the owner has not
 * handled it yet, and will check the ring afterwards. */
static void on_pending(void *user)
{
    struct host_life *life = user;

    if ((hub_load_relaxed(&life->work) & HOST_WORK_SWEEP) == 0)
        note(life, HOST_WORK_SWEEP);
}

static void on_close(void *user)
{
    note(user, HOST_WORK_CLOSED);
}

static void on_goodbye(void *user, const char *reason)
{
    struct host_life *life = user;

    if (hub_exchange(&life->goodbye.leaving, 1) == 0 || !life->goodbye.reason[0])
        snprintf(life->goodbye.reason, sizeof life->goodbye.reason, "%s", reason);
    note(life, HOST_WORK_GOODBYE);
}

static bool is_leaving(const struct host_life *life)
{
    return hub_observe(&life->goodbye.leaving) != 0 ||
           hub_observe(&life->segment.view.entry->state) == HUB_PEER_GOODBYE;
}

/* Any thread that sees the hang-up may kill, and end the calls if the death is proven: callers must
 * not wait for a busy owner. r[impl hub.death.proof] */
static void on_hint(void *user)
{
    struct host_life *life = user;

    if (life->admitted)
        host_life_kill(life, HOST_CAUSE_NONE);
    if (host_life_proven(life))
        host_life_finish(life);
    else if (!is_leaving(life))
        host_life_kill(life, HOST_CAUSE_NONE);
    note(life, HOST_WORK_HINT);
}

void host_life_look_away(struct host_life *life)
{
    if (!life->host)
        return;
    host_lookout_forget(&life->host->owner.lookout, &life->post);
    host_futexes_forget(&life->host->owner.futexes, &life->futex);
}

/* The loop is armed, so that timers set in this turn end the nap, too. */
static uint64_t on_nap(void *user)
{
    struct host_life *life = user;

    host_wait_settle(&life->host->owner);
    if (!host_lookout_nap(&life->host->owner.lookout, &life->post))
        return NAP_BLIND;
    host_loop_arm(life->loop);
    return NAP;
}

int host_life_connect(struct host_life *life, hub_inbound_calls_streams *streams,
                      const struct hub_channels_manner *manner)
{
    const struct hub_link_options options = {
        .role = HUB_ROLE_HOST,
        .segment = life->segment.group->segment,
        .view = &life->segment.view,
        .pool = &life->segment.group->pool,
        .peer = life->id.peer,
        .epoch = life->id.epoch,
        .doorbell = life->doorbell.fd,
        .waiting = life->segment.waiting,
        .pidfd = life->process.pidfd,
        .watched = !life->anonymous && life->process.pidfd >= 0,
        .pended = &life->work,
        .pended_bits = HOST_WORK_SWEEP,
    };
    const struct hub_connection_events events = {on_request, on_ready,   on_pending, on_close,
                                                 on_hint,    on_goodbye, life,       streams};
    int r = hub_connection_open(&life->connection, &options, &events);

    life->open = r == 0;
    if (r < 0)
        return r;
    hub_channels_set_manner(life->connection.channels, manner);
    hub_calls_on_nap(life->connection.calls, on_nap, life);
    life->post.connection = &life->connection;
    life->post.pidfd = life->process.pidfd;
    life->futex.link = life->connection.link;
    return 0;
}

int host_life_listen(struct host_life *life)
{
    return host_loop_watch(life->loop, &life->doorbell.watch, EPOLLIN | EPOLLRDHUP | EPOLLET);
}

void host_life_hold(struct host_life *life)
{
    hub_add(&life->users, 1);
}

void host_life_drop(struct host_life *life)
{
    struct host_loop *loop = life->loop;
    bool ended = hub_link_closed(life->connection.link);

    /* After the last drop the owner may free it. */
    if (hub_add(&life->users, UINT32_MAX) == 1 && ended)
        host_loop_wake(loop);
}

/* The state is read first: where this host has set it, it has said so before. */
bool host_life_said_goodbye(const struct host_life *life)
{
    return hub_observe(&life->segment.view.entry->state) == HUB_PEER_GOODBYE &&
           hub_observe(&life->goodbye.parted) == 0;
}

/* An admitted guest has ended with its goodbye, too: it is not waited for until it has unmapped. */
static bool is_over(const struct host_life *life)
{
    return hub_observe(&life->goodbye.cut) != 0 || host_life_said_goodbye(life) ||
           (life->process.pidfd >= 0 && hub_proof_of_death(life->process.pidfd));
}

/* For our own child the pidfd is proof enough. An anonymous guest told us itself which process it
 * is, so the lock must be free, too; the kernel frees it when its last mapping is gone. The lock
 * alone is enough if the guest said goodbye, or if its process was gone before we could open it.
 * r[impl hub.death.recycle] r[impl hub.file.lock] */
bool host_life_proven(const struct host_life *life)
{
    if (life->admitted)
        return is_over(life);
    if (!life->anonymous)
        return hub_proof_of_death(life->process.pidfd);
    if (!life->segment.locked)
        return false;
    if (life->process.pidfd >= 0 && !host_life_said_goodbye(life) &&
        !hub_proof_of_death(life->process.pidfd))
        return false;
    return hub_lock_seize_peer(life->segment.group->segment->mapping.fd, life->id.peer) == 0;
}

/* The state tells that the guest has left, whatever else it sent. r[impl shm.goodbye.guest] */
void host_life_finish(struct host_life *life)
{
    if (host_life_said_goodbye(life))
        hub_link_detached(life->connection.link);
    else
        hub_link_dead(life->connection.link);
}

/* The order matters: a thread that sees the state must know who set it. */
void host_life_part(struct host_life *life)
{
    hub_publish(&life->goodbye.parted, 1);
    hub_peer_table_goodbye(life->segment.view.entry);
}

/* An anonymous guest is identified by its lock. A process that looks for a free entry locks each
 * one for a moment, and its pid may have been recorded then. A process that no longer has the lock
 * is not killed for the entry. r[impl hub.file.lock] */
static bool is_the_one(const struct host_life *life)
{
    pid_t pid = 0;

    return !life->anonymous || (hub_lock_test_peer(life->segment.group->segment->mapping.fd,
                                                   life->id.peer, &pid) == 1 &&
                                pid == life->process.pid);
}

void host_life_signal(const struct host_life *life, int number)
{
    if (!life->admitted && is_the_one(life))
        syscall(SYS_pidfd_send_signal, life->process.pidfd, number, NULL, 0);
}

/* The owner ends the life in its next turn, as it does after a proof of death. */
static void cut_off(struct host_life *life)
{
    if (hub_exchange(&life->goodbye.cut, 1) == 0)
        note(life, HOST_WORK_HINT);
}

/* r[impl shm.crash.recovery] r[impl hub.admit.end] */
void host_life_kill(struct host_life *life, enum host_cause cause)
{
    bool left = host_life_said_goodbye(life);

    hub_claim(&life->exit.cause, HOST_CAUSE_NONE, (uint32_t)cause);
    if (life->admitted)
        cut_off(life);
    else
        host_life_signal(life, SIGKILL);
    if (!left)
        host_life_part(life);
}

/* Only the parent of an anonymous guest learns its exit status; the host knows what it did to it
 * itself. */
static enum rapahub_exit_class stranger_ended(const struct host_life *life, char *to, size_t size)
{
    static const struct hub_exit killed = {.code = CLD_KILLED, .status = SIGKILL};
    enum host_cause cause = (enum host_cause)hub_observe(&life->exit.cause);
    enum rapahub_exit_class class = host_exits_class(&killed, cause);

    if (life->death.quarantined)
        snprintf(to, size, "it has no lock: nobody can prove that it is dead");
    else if (life->goodbye.detached)
        snprintf(to, size, "detached%s%s", life->goodbye.reason[0] ? ": " : "",
                 life->goodbye.reason);
    else if (cause != HOST_CAUSE_NONE)
        host_exits_print(class, &killed, to, size);
    else
        snprintf(to, size, "died; only its parent knows how");
    if (cause != HOST_CAUSE_NONE)
        return class;
    return life->goodbye.detached ? RAPAHUB_EXIT_CLEAN : RAPAHUB_EXIT_LOST;
}

/* How an admitted guest ended: it is never killed. */
static enum rapahub_exit_class admitted_ended(const struct host_life *life, char *to, size_t size)
{
    static const struct hub_exit killed = {.code = CLD_KILLED, .status = SIGKILL};
    static const char *const why[] = {
        [HOST_CAUSE_START_TIMEOUT] = "not ready in time, cut off",
        [HOST_CAUSE_STOP_TIMEOUT] = "did not leave when asked, cut off",
        [HOST_CAUSE_WATCHDOG] = "no heartbeat, cut off",
        [HOST_CAUSE_PROTOCOL] = "broke a rule of the protocol, cut off",
    };
    enum host_cause cause = (enum host_cause)hub_observe(&life->exit.cause);
    const char *text = cause < sizeof why / sizeof *why ? why[cause] : NULL;

    if (cause == HOST_CAUSE_NONE && life->goodbye.detached)
        text = life->goodbye.reason[0] ? life->goodbye.reason : "detached";
    snprintf(to, size, "%s", text ? text : "its process, or its connection, is gone");
    if (cause != HOST_CAUSE_NONE)
        return host_exits_class(&killed, cause);
    return life->goodbye.detached ? RAPAHUB_EXIT_CLEAN : RAPAHUB_EXIT_LOST;
}

/* Kills the process group that it led. The pidfd names that group even after another process has
 * reaped it and its pid was reused. A kernel before 6.9 knows groups only by number: that is safe
 * if `held`, because the pid is not reused until the status is collected.
 * r[impl supervise.kill-mode] r[impl supervise.signal] */
static void end_group(const struct host_life *life, bool held)
{
    if (!is_child(life) || life->guest->supervision.kill_mode != RAPAHUB_KILL_GROUP)
        return;
    if (syscall(SYS_pidfd_send_signal, life->process.pidfd, SIGKILL, NULL, TO_GROUP) < 0 &&
        errno == EINVAL && held)
        (void)kill(-life->process.pid, SIGKILL);
}

void host_life_note_exit(struct host_life *life)
{
    bool held;

    if (hub_load_relaxed(&life->exit.known) != 0)
        return;
    held = hub_proof_status(life->process.pidfd, &life->exit.how) == 0;
    if (held) {
        (void)hub_proof_usage(life->process.pidfd, &life->exit.usage);
        hub_publish(&life->exit.known, 1);
    }
    end_group(life, held);
    host_confinement_ended(life);
}

/* A caller may find the link closed before the owner has recorded the exit, or meanwhile. */
static bool take_exit(const struct host_life *life, struct hub_exit *out)
{
    if (hub_observe(&life->exit.known) == 0 && hub_proof_status(life->process.pidfd, out) == 0)
        return true;
    if (hub_observe(&life->exit.known) == 0)
        return false;
    *out = life->exit.how;
    return true;
}

enum rapahub_exit_class host_life_ended(struct host_life *life, char *to, size_t size)
{
    struct hub_exit exit;
    bool known = take_exit(life, &exit);
    enum host_cause cause = (enum host_cause)hub_observe(&life->exit.cause);
    enum rapahub_exit_class class = host_exits_class(known ? &exit : NULL, cause);

    if (life->exit.why[0])
        snprintf(to, size, "%s", life->exit.why);
    else if (life->anonymous)
        return stranger_ended(life, to, size);
    else if (life->admitted)
        return admitted_ended(life, to, size);
    else if (class == RAPAHUB_EXIT_WATCHDOG)
        snprintf(to, size, "%s", host_exits_stuck(cause));
    else
        host_exits_print(class, known ? &exit : NULL, to, size);
    return class;
}

int host_life_explain(struct host_life *life, int code, const char *method)
{
    char cause[256];

    switch (code) {
    case RAPAHUB_EDIED:
        host_life_ended(life, cause, sizeof cause);
        return rapahub_fail(code, "", "the guest %s died during %s: %s", life->name, method, cause);
    case RAPAHUB_ECLOSED:
        return rapahub_fail(code, "", "the guest %s said goodbye during %s%s%s", life->name, method,
                            life->goodbye.reason[0] ? ": " : "", life->goodbye.reason);
    case RAPAHUB_EPROTOCOL:
        return rapahub_fail(code, hub_link_rule(life->connection.link),
                            "the guest %s broke a rule of the protocol during %s%s%s", life->name,
                            method, hub_link_rule(life->connection.link)[0] ? ": " : "",
                            hub_link_rule(life->connection.link));
    case RAPAHUB_ESTALE:
        return rapahub_fail(code, "", "the guest %s has ended; %s was not executed", life->name,
                            method);
    case RAPAHUB_ETIMEDOUT:
        return rapahub_fail(code, "", "%s did not answer %s in time", life->name, method);
    case RAPAHUB_ECANCELED:
        return rapahub_fail(code, "", "%s was cancelled", method);
    case RAPAHUB_ENOMEM:
        return rapahub_fail(code, "", "no memory for %s or its answer", method);
    default:
        return code; /* its diagnosis was written by the function that refused it */
    }
}
