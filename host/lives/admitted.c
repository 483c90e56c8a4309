/* SPDX-License-Identifier: Apache-2.0 */
/* admitted: guests whose process the host did not start. Each gets a private segment by
 * descriptors, so nothing that it does there, dead or alive, concerns another guest: it can be cut
 * off at any moment, without a proof of death. Owner. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <rapahub/admit.h>

#include "host/call/streaming.h"
#include "host/guest/guest_record.h"
#include "host/guest/guest_table.h"
#include "host/guest/watch.h"
#include "host/lives/death.h"
#include "host/lives/endpoint.h"
#include "host/lives/guests.h"
#include "host/observe/observe.h"
#include "host/owner/threads.h"
#include "hub/base/clock.h"
#include "hub/base/own.h"
#include "hub/base/rlimit.h"
#include "hub/shm/doorbell.h"

struct admit {
    const struct rapahub_admit_options *options;
    struct rapahub_admission *out;
};

/* ---- the signs of its end ---- */

/* A descriptor of another kind would be readable, or silent, whatever happens to the process. */
static bool is_pidfd(int fd)
{
    return syscall(SYS_pidfd_send_signal, fd, 0, NULL, 0) == 0 || errno == ESRCH || errno == EPERM;
}

/* A datagram socket never hangs up, and one that listens has no other end. */
static bool is_connected(int fd)
{
    struct sockaddr_storage name;
    socklen_t size = sizeof name, of_type = sizeof(int);
    int type = -1;

    return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &of_type) == 0 &&
           (type == SOCK_STREAM || type == SOCK_SEQPACKET) &&
           getpeername(fd, (struct sockaddr *)(void *)&name, &size) == 0;
}

static int duplicate(int fd, int *out)
{
    *out = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    return *out < 0 ? rapahub_fail(-errno, "", "cannot duplicate a descriptor: %s",
                                   strerrordesc_np(errno))
                    : 0;
}

static int take_ends(const struct rapahub_admit_options *options, struct host_life_process *process)
{
    int r = 0;

    if (options->pidfd > 0 && !is_pidfd(options->pidfd))
        return rapahub_fail(-EBADF, "hub.admit.end", "descriptor %d is no pidfd", options->pidfd);
    if (options->hangup > 0 && !is_connected(options->hangup))
        return rapahub_fail(-EBADF, "hub.admit.end", "descriptor %d is no connected socket",
                            options->hangup);
    if (options->pidfd > 0)
        r = duplicate(options->pidfd, &process->pidfd);
    if (r == 0 && options->hangup > 0)
        r = duplicate(options->hangup, &process->hangup);
    return r;
}

/* ---- its life ---- */

/* r[impl hub.admit.ticket] */
static int make_ticket(struct host_life *life, struct rapahub_admission *ticket)
{
    int r = host_endpoint_enter(life->guest, life);

    if (r == 0)
        r = duplicate(life->segment.group->segment->mapping.fd, &ticket->segment);
    if (r == 0)
        r = hub_doorbell_create(&life->doorbell.fd, &ticket->doorbell);
    ticket->guest = life->id;
    ticket->peer = life->id.peer;
    ticket->waiting = (enum rapahub_waiting)life->segment.waiting;
    return r;
}

/* Only a hang-up of the socket counts: its bytes are not for the host. r[impl hub.admit.end] */
static int watch(struct host_life *life)
{
    struct host_life_process *process = &life->process;
    int r = 0;

    process->on_death = (struct host_watch){process->pidfd, host_death_on_pidfd, life, 0};
    process->on_hangup = (struct host_watch){process->hangup, host_death_on_hangup, life, 0};
    if (process->pidfd >= 0)
        r = host_loop_watch(life->loop, &process->on_death, EPOLLIN);
    if (r == 0 && process->hangup >= 0)
        r = host_loop_watch(life->loop, &process->on_hangup, EPOLLRDHUP);
    return r == 0 ? host_endpoint_watch(life) : r;
}

static struct host_life *new_life(struct host_guest *guest,
                                  const struct rapahub_admit_options *options)
{
    struct host_life *life = host_life_create(guest, &guest->host->owner.loop);

    if (!life)
        return NULL;
    life->host = guest->host;
    life->admitted = true;
    if (options->only)
        life->only = (struct host_life_only){true, *options->only};
    life->segment.waiting = (enum hub_wait_manner)guest->host->options.waiting;
    life->process.pid = options->pid;
    life->born_ns = hub_clock_now();
    host_pulse_forgive(&life->pulse, life->born_ns);
    memcpy(life->name, guest->name, sizeof life->name);
    return life;
}

/* After a failure nothing is left of it. */
static int open_life(struct host_guest *guest, const struct admit *admit,
                     struct rapahub_admission *ticket, struct host_life **out)
{
    struct host_life *life = new_life(guest, admit->options);
    int r;

    if (!life)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a guest");
    r = take_ends(admit->options, &life->process);
    if (r == 0)
        r = make_ticket(life, ticket);
    if (r == 0)
        r = host_streaming_connect(HOST_CALL(guest->host), life);
    if (r == 0)
        r = watch(life);
    if (r < 0)
        host_life_release(&life);
    else
        *out = life;
    return r;
}

static void begin(struct host_life *life)
{
    struct host_guest *guest = life->guest;

    host_watch_begin(HOST_SUPERVISION(guest->host));
    host_guest_move(guest, HOST_GUEST_STARTING, "it is admitted");
    host_guests_begin(life);
}

/* ---- its record ---- */

/* r[impl hub.admit.bound] */
static int make_guest(struct host_supervision *host, const struct rapahub_admit_options *options,
                      struct host_guest **out, uint32_t *place)
{
    int r = host_guest_record_create_admitted(host, options, out);

    if (r == 0)
        r = host_guest_table_enter(*out, place);
    if (r < 0) {
        host_guest_record_release(out);
        return r;
    }
    host_routes_write(&HOST_REGISTRY(host)->routes);
    host_guest_table_name(*out);
    host_routes_unlock(&HOST_REGISTRY(host)->routes);
    return 0;
}

static int run(struct host_owner *owner, void *argument)
{
    struct host_supervision *host = HOST_SUPERVISION(owner);
    const struct admit *admit = argument;
    struct rapahub_admission ticket = {.segment = -1, .doorbell = -1};
    struct host_guest *guest = NULL;
    struct host_life *life = NULL;
    uint32_t place = 0;
    int r = host_options_check_admit(admit->options);

    if (r == 0)
        r = make_guest(host, admit->options, &guest, &place);
    if (r < 0)
        return r;
    r = open_life(guest, admit, &ticket, &life);
    if (r < 0) {
        host_guest_table_forget(host, place);
        hub_fd_release(&ticket.segment);
        hub_fd_release(&ticket.doorbell);
        return hub_rlimit_explain(r, HOST_GUEST_DESCRIPTORS);
    }
    begin(life);
    *admit->out = ticket;
    return 0;
}

int rapahub_host_admit(struct rapahub_host *host, const struct rapahub_admit_options *options,
                       struct rapahub_admission *out)
{
    struct admit admit = {options, out};

    return host_threads_run(HOST_OWNER(host), run, &admit);
}
