/* SPDX-License-Identifier: Apache-2.0 */
/* lingerer: gives its host sockets that take 12 s to close. */
#include <rapahub/chimod.h>

#include "tests/support/linger.h"

#define SECONDS 12
#define URGENT  1000 /* more than the copies that may be sent */

/* The one stream of Unix sockets that a guest has. */
static int doorbell(void)
{
    for (int fd = 3; fd < 64; fd++) {
        int domain = 0, type = 0;
        socklen_t size = sizeof domain;

        if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 && domain == AF_UNIX &&
            getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_STREAM)
            return fd;
    }
    return -1;
}

/* `how` copies in one byte, or one in an urgent byte. Its own are closed at once where the other
 * end of the connection is not: so the host has the last. */
static int lingerer_give(void *self, uint32_t how, int32_t *error)
{
    int peer, fd = linger_open(SECONDS, &peer);

    (void)self;
    *error = how == URGENT ? linger_send(doorbell(), fd, 1, MSG_OOB)
                           : linger_send(doorbell(), fd, how, 0);
    if (*error < 0)
        (void)shutdown(peer, SHUT_RDWR);
    close(fd);
    return 0;
}

/* The same, and it is gone. */
static int lingerer_give_and_exit(void *self, uint32_t how)
{
    int32_t error;

    (void)lingerer_give(self, how, &error);
    _exit(3);
}

/* Stores it among the descriptors that its host keeps; the second replaces the first. */
static int lingerer_keep(void *self)
{
    int r = 0;

    (void)self;
    for (int i = 0; r == 0 && i < 2; i++) {
        int peer, fd = linger_open(SECONDS, &peer);

        r = rapahub_chimod_keep("socket", fd);
        close(fd);
    }
    return r;
}

static const struct rapahub_method methods[] = {
    RAPAHUB_METHOD(give, lingerer_give, i32, u32),
    RAPAHUB_METHOD(give_and_exit, lingerer_give_and_exit, void, u32),
    RAPAHUB_METHOD(keep, lingerer_keep, void, void),
    RAPAHUB_METHOD_END,
};

RAPAHUB_CHIMOD(.name = "lingerer", .version = "1.0", .methods = methods);
