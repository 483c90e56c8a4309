/* SPDX-License-Identifier: Apache-2.0 */
#include "host/process/fd_store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "host/process/guest.h"
#include "hub/base/clock.h"
#include "hub/base/closer.h"
#include "hub/base/own.h"
#include "hub/shm/fd_store.h"

#define IN_ONE_TURN 16
#define AT_THE_END  1024 /* above what its socket holds; a grandchild may still send */
#define AGAIN       (100 * HUB_MILLISECOND)

struct place {
    char name[HUB_FD_STORE_NAME_MAX + 1];
    int fd;     /* -1: nothing is stored */
    bool fresh; /* stored or withdrawn by a life of this very guest, not copied */
};

struct host_fd_store {
    struct hub_closer *closer;
    struct host_timer again; /* for a guest whose descriptor found no free number */
    uint32_t count;
    struct place places[HUB_FD_STORE_NAMES_MAX];
};

/* ---- the option ---- */

static int refuse(const char *text)
{
    return rapahub_fail(RAPAHUB_EINVAL, "supervise.lint.keep", "keep_fds %s", text);
}

static bool is_among(const char *name, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

/* Descriptors of a guest are held and closed in the host. So only a guest is allowed whose faults
 * are the host's own anyway. r[impl supervise.lint.keep] */
int host_fd_store_check(const struct rapahub_guest_options *options)
{
    const char *const *names = options->supervision ? options->supervision->keep_fds : NULL;
    size_t count = 0;

    if (!names)
        return 0;
    if (options->trust != RAPAHUB_TRUST_TRUSTED)
        return refuse("is for guests of trust trusted only; set that, or leave it out");
    for (; names[count]; count++) {
        if (count == HUB_FD_STORE_NAMES_MAX)
            return refuse("has more than 16 names; leave some out");
        if (!hub_fd_store_is_name(names[count]))
            return refuse("has a name that is not 1 to 63 of letters, digits, '_', '-' and '.'; "
                          "choose another");
        if (is_among(names[count], names, count))
            return refuse("has a name twice; leave one out");
    }
    return count > 0 ? 0 : refuse("is an empty list; name one, or leave it out");
}

/* ---- the table ---- */

static void put(const struct host_fd_store *keep, struct place *place, int fd)
{
    hub_closer_give(keep->closer, &place->fd);
    place->fd = fd;
    place->fresh = true;
}

int host_fd_store_create(const struct rapahub_supervision *how, struct hub_closer *closer,
                         struct host_fd_store **out)
{
    struct host_fd_store *keep;

    if (!how || !how->keep_fds)
        return 0;
    keep = calloc(1, sizeof *keep);
    if (!keep)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for descriptors to keep");
    keep->closer = closer;
    while (keep->count < HUB_FD_STORE_NAMES_MAX && how->keep_fds[keep->count]) {
        struct place *place = &keep->places[keep->count];

        place->fd = -1;
        snprintf(place->name, sizeof place->name, "%s", how->keep_fds[keep->count++]);
    }
    *out = keep;
    return 0;
}

int host_fd_store_copy(const struct host_fd_store *of, struct host_fd_store **out)
{
    OWN(host_fd_store) struct host_fd_store *keep = NULL;

    if (!of)
        return 0;
    keep = calloc(1, sizeof *keep);
    if (!keep)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for descriptors to keep");
    keep->closer = of->closer;
    for (; keep->count < of->count; keep->count++) {
        struct place *place = &keep->places[keep->count];
        const struct place *old = &of->places[keep->count];

        memcpy(place->name, old->name, sizeof place->name);
        place->fd = old->fd < 0 ? -1 : fcntl(old->fd, F_DUPFD_CLOEXEC, 0);
        if (old->fd >= 0 && place->fd < 0)
            return rapahub_fail(-errno, "", "cannot hand on '%s'", place->name);
    }
    *out = TAKE(keep);
    return 0;
}

void host_fd_store_drop(struct host_fd_store *keep)
{
    for (uint32_t i = 0; keep && i < keep->count; i++)
        hub_closer_give(keep->closer, &keep->places[i].fd);
    if (keep)
        hub_closer_settle(keep->closer);
}

void host_fd_store_release(struct host_fd_store **keep)
{
    host_fd_store_drop(*keep);
    free(*keep);
    *keep = NULL;
}

/* ---- a new life ---- */

/* r[impl supervise.keep.hand] */
int host_fd_store_arguments(const struct host_fd_store *keep, struct host_fd_store_numbers numbers,
                            char **arguments)
{
    int r = 0;

    if (!keep)
        return 0;
    r = asprintf(arguments++, "--keep-fd=%d", numbers.channel);
    for (uint32_t i = 0; r >= 0 && i < keep->count; i++) {
        const struct place *place = &keep->places[i];

        if (place->fd < 0)
            r = asprintf(arguments++, "--keep=%s", place->name);
        else
            r = asprintf(arguments++, "--keep=%s:%d", place->name, numbers.first++);
    }
    if (r >= 0)
        return 0;
    arguments[-1] = NULL;
    return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a ticket");
}

size_t host_fd_store_descriptors(const struct host_fd_store *keep, int *out)
{
    size_t count = 0;

    for (uint32_t i = 0; keep && i < keep->count; i++)
        if (keep->places[i].fd >= 0)
            out[count++] = keep->places[i].fd;
    return count;
}

/* ---- messages of the guest ---- */

static void on_again(void *user);

static int take(struct host_life *life, struct hub_fd_store *deposit)
{
    struct host_fd_store *keep = life->guest->keep;

    for (uint32_t i = 0; i < keep->count; i++)
        if (strcmp(keep->places[i].name, deposit->name) == 0) {
            put(keep, &keep->places[i], TAKE(deposit->fd));
            return 0;
        }
    hub_closer_give(keep->closer, &deposit->fd);
    return rapahub_fail(RAPAHUB_EPROTOCOL, "supervise.keep.message",
                        "it gave away '%s', which is none of its keep_fds", deposit->name);
}

/* If no number is free for its descriptor, the message stays in the socket. */
static void hear_later(struct host_life *life)
{
    struct host_timer *again = &life->guest->keep->again;

    if (life->death.proven_ns != 0) { /* its socket does not outlive it */
        rapahub_log(RAPAHUB_LOG_WARN, "keep",
                    "%s: no number is free for what it gave away last: it is lost", life->name);
        return;
    }
    if (life->on_keep.number != 0)
        rapahub_log(RAPAHUB_LOG_WARN, "keep",
                    "%s: no number is free for what it gives away: it waits", life->name);
    host_loop_unwatch(life->loop, &life->on_keep);
    again->on = on_again;
    again->user = life;
    host_loop_set(life->loop, again, hub_clock_after(AGAIN));
}

/* Receives at most `most` messages. After a broken rule the socket is closed.
 * r[impl supervise.keep.bounds] */
static void hear(struct host_life *life, unsigned most)
{
    struct hub_fd_store deposit;
    int r = 0;

    for (unsigned i = 0; i < most && r == 0; i++) {
        r = hub_fd_store_receive(life->on_keep.fd, life->guest->keep->closer, &deposit);
        if (r == 0)
            r = take(life, &deposit);
    }
    hub_closer_settle(life->guest->keep->closer);
    if (r == -ENFILE)
        hear_later(life);
    if (r == 0 || r == -ENFILE || r == -EAGAIN)
        return;
    if (r == RAPAHUB_EPROTOCOL) {
        rapahub_log(RAPAHUB_LOG_WARN, "keep", "%s: %s", life->name, rapahub_last_error()->text);
        hub_link_close(life->connection.link, RAPAHUB_EPROTOCOL, "supervise.keep.message");
    }
    host_fd_store_close(life);
}

static void on_again(void *user)
{
    struct host_life *life = user;

    hear(life, IN_ONE_TURN);
    if (life->on_keep.fd >= 0 && !host_loop_is_set(&life->guest->keep->again) &&
        host_fd_store_watch(life) < 0)
        hear_later(life);
}

static void on_deposit(void *user, uint32_t events)
{
    (void)events;
    hear(user, IN_ONE_TURN);
}

int host_fd_store_open(struct host_life *life, int *end)
{
    if (!life->guest->keep)
        return 0;
    life->on_keep.on = on_deposit;
    life->on_keep.user = life;
    return hub_fd_store_create(&life->on_keep.fd, end);
}

int host_fd_store_watch(struct host_life *life)
{
    return life->on_keep.fd < 0 ? 0 : host_loop_watch(life->loop, &life->on_keep, EPOLLIN);
}

void host_fd_store_close(struct host_life *life)
{
    if (life->on_keep.fd < 0)
        return;
    host_loop_clear(&life->guest->keep->again);
    host_loop_unwatch(life->loop, &life->on_keep);
    hub_closer_give_end(life->guest->keep->closer, &life->on_keep.fd);
}

void host_fd_store_hear(struct host_life *life)
{
    if (life->on_keep.fd >= 0)
        hear(life, AT_THE_END);
}

void host_fd_store_change_over(struct host_guest *guest, struct host_guest *successor)
{
    struct host_fd_store *to = guest->keep, *from = successor->keep;

    for (uint32_t i = 0; to && from && i < to->count; i++)
        if (from->places[i].fresh)
            put(to, &to->places[i], TAKE(from->places[i].fd));
}
