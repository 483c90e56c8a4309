/* SPDX-License-Identifier: Apache-2.0 */
#include "host/control/reply.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "hub/wire/postcard.h"

void host_reply_wake(struct rapahub_control *control)
{
    const uint64_t one = 1;

    /* A failed write means that the counter is full, which wakes as well. */
    (void)!write(control->wake, &one, sizeof one);
}

int host_reply_watch(struct rapahub_control *control, int how, int fd, uint32_t tag,
                     uint32_t interest)
{
    struct epoll_event event = {.events = interest, .data.u32 = tag};

    if (epoll_ctl(control->epoll, how, fd, &event) < 0)
        return rapahub_fail(-errno, "", "cannot watch a descriptor of the control socket");
    return 0;
}

void host_reply_doom(struct rapahub_control *control, struct host_server_client *client,
                     const char *why)
{
    if (client->doomed)
        return;
    client->doomed = true;
    if (why)
        rapahub_log(RAPAHUB_LOG_DEBUG, "control", "client dropped: %s", why);
    host_reply_wake(control);
}

void host_reply_flush(struct rapahub_control *control, struct host_server_client *client)
{
    uint32_t interest;
    int r;

    do
        r = host_frame_flush(&client->out, client->fd);
    while (r > 0);
    if (r < 0) {
        host_reply_doom(control, client, NULL);
        return;
    }
    interest = EPOLLIN | (host_frame_pending(&client->out) ? (uint32_t)EPOLLOUT : 0);
    if (interest == client->interest)
        return;
    client->interest = interest;
    r = host_reply_watch(control, EPOLL_CTL_MOD, client->fd, (uint32_t)(client - control->clients),
                         interest);
    if (r < 0)
        host_reply_doom(control, client, rapahub_last_error()->text);
}

void host_reply_send(struct rapahub_control *control, struct host_server_client *client,
                     enum host_frame_kind kind, const void *record)
{
    if (client->doomed)
        return;
    if (host_frame_put(&client->out, kind, record) < 0)
        host_reply_doom(control, client, rapahub_last_error()->text);
    else if (!(client->interest & EPOLLOUT))
        host_reply_flush(control, client); /* else the socket is full, and epoll reports its end */
}

void host_reply_clean(char *to, size_t size, const char *text)
{
    snprintf(to, size, "%s", text);
    if (hub_postcard_utf8(to, strlen(to)))
        return;
    for (; *to; to++) {
        if ((unsigned char)*to >= 0x80)
            *to = '?';
    }
}

/* A failure as a record, which shows the two texts. */
struct telling {
    char text[1024], rule[64];
    struct control_failure record;
};

static void tell(int r, struct telling *out)
{
    static const struct rapahub_diagnosis silent = {.rule = "", .text = ""};
    const struct rapahub_diagnosis *last = rapahub_last_error();

    if (last->code != r)
        last = &silent;
    host_reply_clean(out->text, sizeof out->text,
                     last->text[0] ? last->text : rapahub_error_text(r));
    snprintf(out->rule, sizeof out->rule, "%s", last->rule);
    out->record = (struct control_failure){.code = r,
                                           .application = last->application,
                                           .rule = rapahub_string_of(out->rule),
                                           .text = rapahub_string_of(out->text)};
}

void host_reply_end(struct rapahub_control *control, struct host_server_client *client, int r)
{
    struct telling telling;

    if (r >= 0) {
        host_reply_send(control, client, HOST_FRAME_DONE, &(struct control_none){1});
        return;
    }
    tell(r, &telling);
    host_reply_send(control, client, HOST_FRAME_FAILED, &telling.record);
}

void host_reply_refuse(int fd, int r)
{
    struct host_frame_buffer out = {0};
    struct telling telling;

    tell(r, &telling);
    if (host_frame_put(&out, HOST_FRAME_FAILED, &telling.record) == 0)
        (void)host_frame_flush(&out, fd);
    host_frame_fini(&out);
}
