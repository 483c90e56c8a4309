/* SPDX-License-Identifier: Apache-2.0 */
/* control: how a control socket begins and ends. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <rapahub/control.h>

#include "host/control/invocation.h"
#include "host/control/operation.h"
#include "host/control/reply.h"
#include "host/control/server.h"
#include "host/socket/listener.h"
#include "hub/base/own.h"

static void rapahub_control_release(struct rapahub_control **control)
{
    rapahub_control_close(*control);
    *control = NULL;
}

static int check_options(const struct rapahub_control_options *options)
{
    const struct rapahub_control_host *host = &options->host;

    for (unsigned i = 0; i < sizeof options->reserved / sizeof *options->reserved; i++) {
        if (options->reserved[i] != 0)
            return rapahub_fail(RAPAHUB_EINVAL, "", "an option of a later release is set");
    }
    if (!options->path || !options->name)
        return rapahub_fail(RAPAHUB_EINVAL, "", "a control socket needs a path and a name");
    if (strlen(options->path) >= HOST_SERVER_PATH || strlen(options->name) >= HOST_SERVER_NAME)
        return rapahub_fail(RAPAHUB_EINVAL, "", "'%s' or '%s' is too long", options->path,
                            options->name);
    if ((unsigned)options->group_role > RAPAHUB_CONTROL_ADMIN)
        return rapahub_fail(RAPAHUB_EINVAL, "", "%u is no role", (unsigned)options->group_role);
    if (!host->guests || !host->methods || !host->call || !host->cancel || !host->stop ||
        !host->kill || !host->children || !host->restart)
        return rapahub_fail(RAPAHUB_EINVAL, "", "a control socket needs all functions of its host");
    return 0;
}

static int new_control(const struct rapahub_control_options *options, struct rapahub_control **out)
{
    struct rapahub_control *control = calloc(1, sizeof *control);

    if (!control)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a control socket");
    control->epoll = control->listener = control->wake = -1;
    control->process = getpid();
    control->host = options->host;
    control->on_stop = options->on_stop;
    control->user = options->user;
    snprintf(control->name, sizeof control->name, "%s", options->name);
    hub_list_init(&control->calls);
    hub_list_init(&control->operations);
    for (unsigned i = 0; i < HOST_SERVER_CLIENTS; i++)
        control->clients[i].fd = -1;
    *out = control;
    return 0;
}

static int take_group(struct rapahub_control *control,
                      const struct rapahub_control_options *options)
{
    control->group =
        (struct host_role_group){.set = options->group != NULL, .role = options->group_role};
    return options->group ? host_role_find_group(options->group, &control->group.gid) : 0;
}

static int open_descriptors(struct rapahub_control *control, const char *path)
{
    const gid_t *group = control->group.set ? &control->group.gid : NULL;
    int r;

    control->epoll = epoll_create1(EPOLL_CLOEXEC);
    control->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (control->epoll < 0 || control->wake < 0)
        return rapahub_fail(-errno, "", "no descriptors for a control socket");
    r = host_listener_open(path, group, &control->listener);
    if (r < 0)
        return r;
    snprintf(control->path, sizeof control->path, "%s", path);
    r = host_reply_watch(control, EPOLL_CTL_ADD, control->listener, HOST_SERVER_LISTENER, EPOLLIN);
    if (r == 0)
        r = host_reply_watch(control, EPOLL_CTL_ADD, control->wake, HOST_SERVER_WAKE, EPOLLIN);
    return r;
}

int rapahub_control_open(const struct rapahub_control_options *options,
                         struct rapahub_control **out)
{
    OWN(rapahub_control) struct rapahub_control *control = NULL;
    int r = check_options(options);

    if (r == 0)
        r = new_control(options, &control);
    if (r == 0)
        r = hub_closer_create(&control->closer);
    if (r == 0)
        r = host_lines_create(&control->lines);
    if (r == 0)
        r = take_group(control, options);
    if (r == 0)
        r = open_descriptors(control, options->path);
    if (r == 0)
        *out = TAKE(control);
    return r;
}

static void forget_calls(struct rapahub_control *control)
{
    for (struct hub_list *link; (link = hub_list_pop(&control->calls));)
        HUB_LIST_ITEM(link, struct host_server_call, link)->control = NULL;
}

static void let_go(struct rapahub_control *control)
{
    for (unsigned i = 0; i < HOST_SERVER_CLIENTS; i++) {
        if (control->clients[i].fd >= 0)
            host_server_drop(control, &control->clients[i]);
    }
    forget_calls(control);
    host_operation_forget_all(control);
    if (control->path[0])
        unlink(control->path);
    /* clients that were not accepted may have sent descriptors */
    hub_closer_give(control->closer, &control->listener);
    hub_closer_release(&control->closer);
}

/* In a forked child: the clients, the calls and the socket are its parent's, and so is the thread
 * that closes. */
static void close_copies(struct rapahub_control *control)
{
    for (unsigned i = 0; i < HOST_SERVER_CLIENTS; i++)
        hub_fd_release(&control->clients[i].fd);
    hub_fd_release(&control->listener);
}

void rapahub_control_close(struct rapahub_control *control)
{
    int kept_errno = errno;

    if (!control)
        return;
    if (host_server_check(control) == 0)
        let_go(control);
    else
        close_copies(control);
    hub_fd_release(&control->wake);
    hub_fd_release(&control->epoll);
    host_lines_release(&control->lines);
    free(control);
    errno = kept_errno;
}
