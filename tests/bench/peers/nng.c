/* SPDX-License-Identifier: Apache-2.0 */
/* NNG, req and rep over a Unix socket. */
#include <errno.h>
#include <nng/nng.h>
#include <nng/protocol/reqrep0/rep.h>
#include <nng/protocol/reqrep0/req.h>
#include <stdio.h>

#include "tests/bench/peers/peer.h"

static nng_socket end;

static const char *url_of(const char *address, char url[300])
{
    snprintf(url, 300, "ipc://%s", address);
    return url;
}

static int serve(const char *address)
{
    char url[300], data[PEER_SIZE];
    size_t size = sizeof data;

    if (nng_rep0_open(&end) != 0 || nng_listen(end, url_of(address, url), NULL, 0) != 0)
        return -EIO;
    peer_ready();
    while (nng_recv(end, data, &size, 0) == 0 && size == PEER_SIZE &&
           nng_send(end, data, size, 0) == 0)
        ;
    return -EIO;
}

static int open_client(const char *address)
{
    char url[300];

    return nng_req0_open(&end) == 0 && nng_dial(end, url_of(address, url), NULL, 0) == 0 ? 0 : -EIO;
}

static int once(void *user)
{
    char data[PEER_SIZE] = {1};
    size_t size = sizeof data;

    (void)user;
    return nng_send(end, data, size, 0) == 0 && nng_recv(end, data, &size, 0) == 0 &&
                   size == PEER_SIZE && data[0] == 1
               ? 0
               : -EIO;
}

static void close_client(void)
{
    nng_close(end);
}

int main(int argc, char **argv)
{
    static const struct peer peer = {
        .serve = serve, .open = open_client, .once = once, .close = close_client};

    return peer_main(argc, argv, &peer);
}
