/* SPDX-License-Identifier: Apache-2.0 */
/* peer: shared by the programs that echo 32 bytes through another library: two processes of one
 * program, pinned to two CPUs, and the same trial as for the rows of this product.
 *
 * `PROGRAM FOLDER MS fifo` measures and prints a line of JSON; FOLDER is for its socket.
 */
#ifndef TESTS_BENCH_PEERS_PEER_H
#define TESTS_BENCH_PEERS_PEER_H

#include <stdbool.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PEER_SIZE 32

/* Less than 0 is a failure. */
struct peer {
    bool spins;                        /* both sides, so that real-time priority is of use */
    bool stops;                        /* the server ends at SIGTERM; else it is killed */
    int (*serve)(const char *address); /* calls peer_ready, then echoes until it ends */
    int (*open)(const char *address);
    int (*once)(void *user); /* there and back; user is NULL */
    void (*close)(void);
};

int peer_main(int argc, char **argv, const struct peer *peer);

/* The server's word that it can be reached; and the end of a socket pair with the client, for who
 * needs a connection. */
void peer_ready(void);
int peer_socket(void);

/* For who starts its two processes by itself: pins this one, and measures. Exit status. */
int peer_pin(bool server);
int peer_measure(char **argv, const struct peer *peer, pid_t server);

#ifdef __cplusplus
}
#endif

#endif
