/* SPDX-License-Identifier: Apache-2.0 */
#include "host/cli/text/sha256.h"

#include <linux/if_alg.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "hub/base/own.h"

#define PIECE 65536

static int open_hash(void)
{
    const struct sockaddr_alg address = {
        .salg_family = AF_ALG, .salg_type = "hash", .salg_name = "sha256"};
    OWN(hub_fd) int fd = socket(AF_ALG, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

    if (fd < 0 || bind(fd, (const struct sockaddr *)&address, sizeof address) < 0)
        return -1;
    return accept4(fd, NULL, NULL, SOCK_CLOEXEC);
}

static bool send_all(int fd, const uint8_t *data, size_t size)
{
    while (size > 0) {
        ssize_t n = send(fd, data, size < PIECE ? size : PIECE, size > PIECE ? MSG_MORE : 0);

        if (n <= 0)
            return false;
        data += n;
        size -= (size_t)n;
    }
    return true;
}

bool cli_sha256(const void *data, size_t size, char to[65])
{
    OWN(hub_fd) int fd = open_hash();
    uint8_t digest[32];

    if (fd < 0 || !send_all(fd, data, size) || read(fd, digest, sizeof digest) != sizeof digest)
        return false;
    for (unsigned i = 0; i < sizeof digest; i++)
        snprintf(to + 2 * i, 3, "%02x", digest[i]);
    return true;
}
