/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/daemon/report.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include <rapahub/error.h>

#include "hub/base/printable.h"

int daemon_report_open(int ends[2])
{
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) < 0)
        return rapahub_fail(-errno, "", "cannot make the sockets between warden and daemon");
    return 0;
}

void daemon_report_send(int end, enum daemon_report_kind kind, const char *text)
{
    char bytes[DAEMON_REPORT_TEXT];
    size_t size = text ? strnlen(text, sizeof bytes - 1) : 0;

    bytes[0] = (char)kind;
    if (size > 0)
        memcpy(bytes + 1, text, size);
    (void)send(end, bytes, 1 + size, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void daemon_report_send_life(int end, const struct daemon_report_life *life)
{
    char bytes[1 + sizeof *life];

    bytes[0] = DAEMON_REPORT_LIFE;
    memcpy(bytes + 1, life, sizeof *life);
    (void)send(end, bytes, sizeof bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static bool is_sound(const char *bytes, size_t size)
{
    if (bytes[0] == DAEMON_REPORT_LIFE)
        return size == 1 + sizeof(struct daemon_report_life);
    return bytes[0] >= DAEMON_REPORT_READY && bytes[0] <= DAEMON_REPORT_STATUS &&
           (size == 1 || bytes[0] == DAEMON_REPORT_STATUS);
}

static void take_life(const char *bytes, struct daemon_report_life *out)
{
    memcpy(out, bytes, sizeof *out);
    out->leader[sizeof out->leader - 1] = '\0';
    hub_printable_mend(out->leader);
}

int daemon_report_take(int end, struct daemon_report *out)
{
    char bytes[DAEMON_REPORT_TEXT];

    for (;;) {
        ssize_t size = recv(end, bytes, sizeof bytes, MSG_DONTWAIT);

        if (size < 0 && errno == EINTR)
            continue;
        if (size < 0 && errno == EAGAIN)
            return 0;
        if (size <= 0)
            return -EPIPE;
        if (!is_sound(bytes, (size_t)size))
            continue;
        *out = (struct daemon_report){.kind = (enum daemon_report_kind)bytes[0]};
        if (out->kind == DAEMON_REPORT_LIFE) {
            take_life(bytes + 1, &out->life);
            return 1;
        }
        memcpy(out->text, bytes + 1, (size_t)size - 1);
        hub_printable_mend(out->text);
        return 1;
    }
}
