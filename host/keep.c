/* SPDX-License-Identifier: Apache-2.0 */
#include "host/keep.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "host/guest.h"
#include "hub/base/own.h"
#include "hub/shm/deposit.h"

#define IN_ONE_TURN 16
#define AT_THE_END  1024 /* more than its socket holds; a grandchild may go on sending */

struct place {
    char name[HUB_DEPOSIT_NAME_MAX + 1];
    int fd;     /* -1: nothing is kept */
    bool fresh; /* it was given, or taken back, by a life of this very guest */
};

struct host_keep {
    uint32_t count;
    struct place places[HUB_DEPOSIT_NAMES_MAX];
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

/* What a guest has sent is held, and closed, in the host: of one only whose faults are the host's
 * own anyway. r[impl supervise.lint.keep] */
int host_keep_check(const struct rapahub_guest_options *options)
{
    const char *const *names = options->supervision ? options->supervision->keep_fds : NULL;
    size_t count = 0;

    if (!names)
        return 0;
    if (options->trust != RAPAHUB_TRUST_TRUSTED)
        return refuse("is for guests of trust trusted only; set that, or leave it out");
    for (; names[count]; count++) {
        if (count == HUB_DEPOSIT_NAMES_MAX)
            return refuse("has more than 16 names; leave some out");
        if (!hub_deposit_is_name(names[count]))
            return refuse("has a name that is not 1 to 63 of letters, digits, '_', '-' and '.'; "
                          "choose another");
        if (is_among(names[count], names, count))
            return refuse("has a name twice; leave one out");
    }
    return count > 0 ? 0 : refuse("is an empty list; name one, or leave it out");
}

/* ---- the table ---- */

static void put(struct place *place, int fd)
{
    hub_fd_release(&place->fd);
    place->fd = fd;
    place->fresh = true;
}

int host_keep_create(const struct rapahub_supervision *how, struct host_keep **out)
{
    struct host_keep *keep;

    if (!how || !how->keep_fds)
        return 0;
    keep = calloc(1, sizeof *keep);
    if (!keep)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for descriptors to keep");
    while (keep->count < HUB_DEPOSIT_NAMES_MAX && how->keep_fds[keep->count]) {
        struct place *place = &keep->places[keep->count];

        place->fd = -1;
        snprintf(place->name, sizeof place->name, "%s", how->keep_fds[keep->count++]);
    }
    *out = keep;
    return 0;
}

int host_keep_copy(const struct host_keep *of, struct host_keep **out)
{
    OWN(host_keep) struct host_keep *keep = NULL;

    if (!of)
        return 0;
    keep = calloc(1, sizeof *keep);
    if (!keep)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for descriptors to keep");
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

void host_keep_drop(struct host_keep *keep)
{
    for (uint32_t i = 0; keep && i < keep->count; i++) {
        hub_fd_release(&keep->places[i].fd);
        keep->places[i].fd = -1;
    }
}

void host_keep_release(struct host_keep **keep)
{
    host_keep_drop(*keep);
    free(*keep);
    *keep = NULL;
}

/* ---- a new life ---- */

/* r[impl supervise.keep.hand] */
int host_keep_arguments(const struct host_keep *keep, struct host_keep_numbers numbers,
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

size_t host_keep_descriptors(const struct host_keep *keep, int *out)
{
    size_t count = 0;

    for (uint32_t i = 0; keep && i < keep->count; i++)
        if (keep->places[i].fd >= 0)
            out[count++] = keep->places[i].fd;
    return count;
}

/* ---- what comes from it ---- */

static int take(struct host_life *life, struct hub_deposit *deposit)
{
    struct host_keep *keep = life->guest->keep;
    OWN(hub_fd) int fd = TAKE(deposit->fd);

    for (uint32_t i = 0; i < keep->count; i++)
        if (strcmp(keep->places[i].name, deposit->name) == 0) {
            put(&keep->places[i], TAKE(fd));
            return 0;
        }
    return rapahub_fail(RAPAHUB_EPROTOCOL, "supervise.keep.message",
                        "it gave away '%s', which is none of its keep_fds", deposit->name);
}

/* Reads at most so many. Behind what breaks a rule nothing more is heard.
 * r[impl supervise.keep.bounds] */
static void hear(struct host_life *life, unsigned most)
{
    struct hub_deposit deposit;
    int r = 0;

    for (unsigned i = 0; i < most && (r == 0 || r == -ENFILE); i++) {
        r = hub_deposit_receive(life->on_keep.fd, &deposit);
        if (r == 0)
            r = take(life, &deposit);
        if (r == -ENFILE)
            rapahub_log(RAPAHUB_LOG_WARN, "keep", "%s: no number is free for '%s': it is lost",
                        life->name, deposit.name);
    }
    if (r == 0 || r == -ENFILE || r == -EAGAIN)
        return;
    if (r == RAPAHUB_EPROTOCOL) {
        rapahub_log(RAPAHUB_LOG_WARN, "keep", "%s: %s", life->name, rapahub_last_error()->text);
        hub_link_close(life->connection.link, RAPAHUB_EPROTOCOL, "supervise.keep.message");
    }
    host_keep_close(life);
}

static void on_deposit(void *user, uint32_t events)
{
    (void)events;
    hear(user, IN_ONE_TURN);
}

int host_keep_open(struct host_life *life, int *end)
{
    if (!life->guest->keep)
        return 0;
    life->on_keep.on = on_deposit;
    life->on_keep.user = life;
    return hub_deposit_create(&life->on_keep.fd, end);
}

int host_keep_watch(struct host_life *life)
{
    return life->on_keep.fd < 0 ? 0 : host_loop_watch(life->loop, &life->on_keep, EPOLLIN);
}

void host_keep_close(struct host_life *life)
{
    if (life->on_keep.fd < 0)
        return;
    host_loop_unwatch(life->loop, &life->on_keep);
    hub_fd_release(&life->on_keep.fd);
    life->on_keep.fd = -1;
}

void host_keep_hear(struct host_life *life)
{
    if (life->on_keep.fd >= 0)
        hear(life, AT_THE_END);
}

void host_keep_change_over(struct host_guest *guest, struct host_guest *successor)
{
    struct host_keep *to = guest->keep, *from = successor->keep;

    for (uint32_t i = 0; to && from && i < to->count; i++)
        if (from->places[i].fresh)
            put(&to->places[i], TAKE(from->places[i].fd));
}
