/* SPDX-License-Identifier: Apache-2.0 */
/* peers: the echo of 32 bytes through other libraries, by the programs of the folder peers.
 * Programs that are not built are skipped. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/bench/once.h"
#include "tests/bench/stage.h"
#include "tests/support/process.h"

#define WITHIN_NS UINT64_C(4000000000) /* iceoryx may hang for good where a process was killed */
#define TRIES     2
#define ARGUMENTS 24

enum peers_kind { BY_ITSELF, BY_MPIRUN };

/* Shared memory only; two ranks of this machine that spin, pinned by themselves. */
static const char *const mpirun[] = {"mpirun",
                                     "--allow-run-as-root",
                                     "-n",
                                     "2",
                                     "--oversubscribe",
                                     "--bind-to",
                                     "none",
                                     "--mca",
                                     "plm",
                                     "isolated",
                                     "--mca",
                                     "pml",
                                     "ob1",
                                     "--mca",
                                     "btl",
                                     "self,vader",
                                     "--mca",
                                     "mpi_yield_when_idle",
                                     "0"};

static int echo(const struct suite_subject *subject, const char *const argv[], struct trial *out)
{
    const struct process_options how = {.argv = argv, .within_ns = WITHIN_NS};
    struct process_result result;
    int r = process_run(&how, &result);

    if (r < 0)
        return stage_not_here(out, "cannot be started");
    if (result.status == 0)
        once_read(result.out, out);
    else {
        fprintf(stderr, "\n%s: %s: %.300s\n", subject->id, result.timed_out ? "cut off" : "failed",
                result.err);
        (void)stage_not_here(out, result.timed_out ? "does not end" : "fails here");
        r = SUITE_NOT_HERE;
    }
    process_result_fini(&result);
    return r;
}

/* Its folder contains only one socket afterwards. */
static int run(const struct suite_subject *subject, const struct suite_options *options,
               struct trial *out)
{
    char program[256], folder[] = "/tmp/rapahub-peer-XXXXXX", socket[64], ms[32];
    const char *argv[ARGUMENTS] = {NULL};
    size_t n = 0;
    int r = SUITE_NOT_HERE;

    snprintf(program, sizeof program, "%s/%s", BENCH_PEERS, subject->id);
    if (access(program, X_OK) < 0)
        return stage_not_here(out, "not built (./run bench --peers)");
    if (!mkdtemp(folder))
        return stage_not_here(out, "no folder for its socket");
    snprintf(socket, sizeof socket, "%s/socket", folder);
    snprintf(ms, sizeof ms, "%g", options->trial_ms);
    for (size_t i = 0; subject->kind == BY_MPIRUN && i < sizeof mpirun / sizeof *mpirun; i++)
        argv[n++] = mpirun[i];
    memcpy(argv + n, (const char *[]){program, folder, ms, options->fifo ? "fifo" : "-"},
           4 * sizeof *argv);
    for (int tries = 0; r != 0 && tries < TRIES; tries++) {
        r = echo(subject, argv, out);
        (void)unlink(socket);
    }
    rmdir(folder);
    return r;
}

/* id, which is the program's name, what, run, mode, place, kind, size, guests, rounds */
const struct suite_subject peers_subjects[] = {
    {"openmpi", "send, receive", run, SUITE_POLL, SUITE_CROSS, BY_MPIRUN, 32, 0, 0},
    {"iceoryx", "client, server", run, SUITE_POLL, SUITE_CROSS, BY_ITSELF, 32, 0, 0},
    {"sdbus", "no broker", run, SUITE_SLEEP, SUITE_CROSS, BY_ITSELF, 32, 0, 0},
    {"zeromq", "REQ, REP", run, SUITE_SLEEP, SUITE_CROSS, BY_ITSELF, 32, 0, 0},
    {"capnproto", "RPC", run, SUITE_SLEEP, SUITE_CROSS, BY_ITSELF, 32, 0, 0},
    {"nng", "req, rep", run, SUITE_SLEEP, SUITE_CROSS, BY_ITSELF, 32, 0, 0},
    {"grpc", "unary", run, SUITE_SLEEP, SUITE_CROSS, BY_ITSELF, 32, 0, 0},
    {0},
};
