/* SPDX-License-Identifier: Apache-2.0 */
/* ZeroMQ, REQ and REP over a Unix socket. */
#include <errno.h>
#include <stdio.h>
#include <zmq.h>

#include "tests/bench/peers/peer.h"

static void *context, *end;

static int open_end(const char *address, int type, int (*reach)(void *, const char *))
{
    char url[300];

    snprintf(url, sizeof url, "ipc://%s", address);
    context = zmq_ctx_new();
    end = context ? zmq_socket(context, type) : NULL;
    return end && reach(end, url) == 0 ? 0 : -errno;
}

static int serve(const char *address)
{
    char data[PEER_SIZE];
    int r = open_end(address, ZMQ_REP, zmq_bind);

    if (r < 0)
        return r;
    peer_ready();
    while (zmq_recv(end, data, sizeof data, 0) == PEER_SIZE &&
           zmq_send(end, data, sizeof data, 0) == PEER_SIZE)
        ;
    return -errno;
}

static int open_client(const char *address)
{
    return open_end(address, ZMQ_REQ, zmq_connect);
}

static int once(void *user)
{
    char data[PEER_SIZE] = {1};

    (void)user;
    return zmq_send(end, data, sizeof data, 0) == PEER_SIZE &&
                   zmq_recv(end, data, sizeof data, 0) == PEER_SIZE && data[0] == 1
               ? 0
               : -EIO;
}

static void close_client(void)
{
    zmq_close(end);
    zmq_ctx_term(context);
}

int main(int argc, char **argv)
{
    static const struct peer peer = {
        .serve = serve, .open = open_client, .once = once, .close = close_client};

    return peer_main(argc, argv, &peer);
}
