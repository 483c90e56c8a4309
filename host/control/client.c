/* SPDX-License-Identifier: Apache-2.0 */
#include "host/control/client.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "host/socket/listener.h"
#include "hub/base/clock.h"
#include "hub/base/own.h"

#define POLL_MOST_MS 10000

struct host_client {
    int fd;
    bool taken; /* the first frame of `in` was handed out */
    struct host_frame_buffer in, out;
    char rule[64]; /* text of the last failure */
};

int host_client_open(const char *path, struct host_client **out)
{
    OWN(host_client) struct host_client *client = calloc(1, sizeof *client);
    int r;

    if (!client)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a connection");
    client->fd = -1;
    r = host_listener_connect(path, &client->fd);
    if (r == 0)
        *out = TAKE(client);
    return r;
}

void host_client_release(struct host_client **client)
{
    if (!*client)
        return;
    hub_fd_release(&(*client)->fd);
    host_frame_fini(&(*client)->in);
    host_frame_fini(&(*client)->out);
    free(*client);
    *client = NULL;
}

/* Waits; 0 when the socket may be readable or writable. */
static int wait_for(const struct host_client *client, short events, uint64_t deadline_ns,
                    int interrupt_fd)
{
    struct pollfd fds[] = {{.fd = client->fd, .events = events},
                           {.fd = interrupt_fd, .events = POLLIN}};

    if (hub_clock_left(deadline_ns) == 0)
        return rapahub_fail(RAPAHUB_ETIMEDOUT, "", "the host does not answer");
    if (poll(fds, 2, hub_clock_left_ms(deadline_ns, POLL_MOST_MS)) < 0 && errno != EINTR)
        return rapahub_fail(-errno, "", "cannot wait for a host");
    if (fds[1].revents)
        return rapahub_fail(RAPAHUB_EINTR, "", "interrupted");
    return 0;
}

void host_client_attach(struct host_client *client, const int *fds, unsigned count)
{
    memcpy(client->out.fds, fds, count * sizeof *fds);
    client->out.fds_count = count;
}

/* Returns 1 when a whole frame has been received. */
static int next_frame(struct host_client *client, uint64_t deadline_ns, int interrupt_fd,
                      union host_frame_record *record)
{
    int r = 0;

    while (r == 0) {
        r = host_frame_decode(&client->in, HOST_FRAME_REQUESTS, HOST_FRAME_COUNT, record);
        if (r != 0)
            return r;
        r = host_frame_fill(&client->in, client->fd);
        if (r > 0)
            r = 0;
        else if (r == 0)
            r = wait_for(client, POLLIN, deadline_ns, interrupt_fd);
    }
    return r;
}

static int failure_of(struct host_client *client, const struct control_failure *failure)
{
    char text[1024];

    snprintf(text, sizeof text, "%.*s", (int)failure->text.size,
             failure->text.size ? failure->text.data : "");
    snprintf(client->rule, sizeof client->rule, "%.*s", (int)failure->rule.size,
             failure->rule.size ? failure->rule.data : "");
    if (failure->code == RAPAHUB_EAPPLICATION)
        return rapahub_fail_application(failure->application, text);
    if (failure->code >= 0)
        return rapahub_fail(RAPAHUB_EPROTOCOL, "", "a failure with code %d", (int)failure->code);
    return rapahub_fail(failure->code, client->rule, "%s", text);
}

/* A host that refuses a client says why, and hangs up before the client has said anything. */
static int reason_of(struct host_client *client)
{
    union host_frame_record record;
    int r = next_frame(client, hub_clock_now(), -1, &record);

    if (r > 0 && host_frame_kind(&client->in) == HOST_FRAME_FAILED)
        return failure_of(client, &record.failure);
    return rapahub_fail(RAPAHUB_ECLOSED, "", "the other side hung up");
}

int host_client_send(struct host_client *client, enum host_frame_kind kind, const void *record,
                     uint64_t deadline_ns)
{
    int r = host_frame_put(&client->out, kind, record);

    while (r >= 0 && host_frame_pending(&client->out)) {
        r = host_frame_flush(&client->out, client->fd);
        if (r == 0)
            r = wait_for(client, POLLOUT, deadline_ns, -1);
    }
    if (r == RAPAHUB_ECLOSED)
        r = reason_of(client);
    return r < 0 ? r : 0;
}

int host_client_receive(struct host_client *client, uint64_t deadline_ns, int interrupt_fd,
                        enum host_frame_kind *kind, union host_frame_record *record)
{
    int r;

    if (client->taken)
        host_frame_drop(&client->in);
    client->taken = false;
    r = next_frame(client, deadline_ns, interrupt_fd, record);
    if (r <= 0)
        return r;
    client->taken = true;
    *kind = host_frame_kind(&client->in);
    if (*kind == HOST_FRAME_DONE)
        return 0;
    return *kind == HOST_FRAME_FAILED ? failure_of(client, &record->failure) : 1;
}
