/* SPDX-License-Identifier: Apache-2.0 */
/* OpenMPI, send and receive of two ranks, which spin. mpirun starts both. */
#include <errno.h>
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

#include "tests/bench/peers/peer.h"

enum tag { PID, ECHO, END };

static int once(void *user)
{
    char data[PEER_SIZE] = {1};
    int r = MPI_Send(data, PEER_SIZE, MPI_BYTE, 1, ECHO, MPI_COMM_WORLD);

    (void)user;
    if (r == MPI_SUCCESS)
        r = MPI_Recv(data, PEER_SIZE, MPI_BYTE, 1, ECHO, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return r == MPI_SUCCESS && data[0] == 1 ? 0 : -EIO;
}

static int serve(void)
{
    char data[PEER_SIZE];
    int pid = getpid();
    MPI_Status status = {.MPI_TAG = ECHO};
    int r = MPI_Send(&pid, 1, MPI_INT, 0, PID, MPI_COMM_WORLD);

    while (r == MPI_SUCCESS && status.MPI_TAG == ECHO) {
        r = MPI_Recv(data, PEER_SIZE, MPI_BYTE, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        if (r == MPI_SUCCESS && status.MPI_TAG == ECHO)
            r = MPI_Send(data, PEER_SIZE, MPI_BYTE, 0, ECHO, MPI_COMM_WORLD);
    }
    return r == MPI_SUCCESS ? 0 : 1;
}

static int measure(char **argv)
{
    static const struct peer peer = {.spins = true, .once = once};
    char nothing[PEER_SIZE] = {0};
    int pid, r;

    if (MPI_Recv(&pid, 1, MPI_INT, 1, PID, MPI_COMM_WORLD, MPI_STATUS_IGNORE) != MPI_SUCCESS)
        return 1;
    r = peer_measure(argv, &peer, pid);
    return MPI_Send(nothing, PEER_SIZE, MPI_BYTE, 1, END, MPI_COMM_WORLD) == MPI_SUCCESS ? r : 1;
}

int main(int argc, char **argv)
{
    int rank = 0, size = 0, r;

    if (argc != 4 || MPI_Init(&argc, &argv) != MPI_SUCCESS)
        return fprintf(stderr, "usage: mpirun -n 2 %s FOLDER MS fifo|-\n", argv[0]), 2;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size != 2 || peer_pin(rank == 1) < 0)
        r = 1;
    else
        r = rank == 0 ? measure(argv) : serve();
    MPI_Finalize();
    return r;
}
