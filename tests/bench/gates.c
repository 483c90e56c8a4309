/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/gates.h"

#include <stdio.h>
#include <string.h>

/* id, group, what, subject, its field, base, its field, gate, goal, is more better, unit */
#define GATES(LESS, MORE, EACH, SHOW, CLOSE)                                                       \
    LESS(C1, calls, "typed call, polling", "add", BATCH, "L2", BATCH, 2.5, 1.6, "ns")              \
    LESS(C1f, calls, "the same, of floats", "add-ffi", BATCH, "L2", BATCH, 2.5, 1.6, "ns")         \
    LESS(C1r, calls, "the same, 32 B through libffi", "add-record", BATCH, "L2", BATCH, 2.5, 1.6,  \
         "ns")                                                                                     \
    LESS(C2, calls, "raw call, polling", "raw", BATCH, "L2", BATCH, 2.0, 1.5, "ns")                \
    LESS(C3, calls, "p99 of C2 to its p50", "raw", P99, "raw", P50, 3, 1.8, "ns")                  \
    LESS(C4, calls, "blocking call, cross", "add-sleep", P50, "futex-cross", P50, 1.3, 1.1, "ns")  \
    LESS(C5, calls, "blocking call, same CPU", "add-sleep-same", P50, "futex-same", P50, 1.4,      \
         1.15, "ns")                                                                               \
    LESS(C6, calls, "default mode, cross", "add-adapt", P50, "futex-cross", P50, 0.15, 0.08, "ns") \
    LESS(C6a, calls, "host pinned first, plugin in init", "pinned-before-init", P50,               \
         "futex-cross", P50, 0.15, 0.08, "ns")                                                     \
    LESS(C6b, calls, "host pinned last, plugin in init", "pinned-after-init", P50, "futex-cross",  \
         P50, 0.15, 0.08, "ns")                                                                    \
    LESS(C6c, calls, "host pinned first, plugin by call", "pinned-before-method", P50,             \
         "futex-cross", P50, 0.15, 0.08, "ns")                                                     \
    LESS(C6d, calls, "host pinned last, plugin by call", "pinned-after-method", P50,               \
         "futex-cross", P50, 0.15, 0.08, "ns")                                                     \
    LESS(C7, calls, "default mode, same CPU", "add-adapt-same", P50, "futex-same", P50, 1.2, 0.8,  \
         "ns")                                                                                     \
    LESS(C8, calls, "default mode, free", "add-adapt-free", P50, "futex-free", P50, 1.2, 0.8,      \
         "ns")                                                                                     \
    LESS(C9, calls, "doorbell call, cross", "add-bell", P50, "doorbell", P50, 1.2, 1.1, "ns")      \
    LESS(C11, calls, "nested call to C1", "nested", BATCH, "add", BATCH, 2.8, 2.3, "ns")           \
    SHOW(C12, calls, "C2 to a loaded function", "raw", BATCH, "dlopened", BATCH, "ns")             \
    SHOW(C12f, calls, "C2 to libffi in the process", "raw", BATCH, "libffi", BATCH, "ns")          \
    LESS(B3, bytes, "loan of 64 KiB", "loan-64k", BATCH, "L2", BATCH, 3.5, 2.8, "ns")              \
    LESS(B4, bytes, "loan of 1 MiB to 256 B", "loan-1m", BATCH, "loan-256", BATCH, 1.3, 1.15,      \
         "ns")                                                                                     \
    LESS(B8, bytes, "copied call of 64 KiB to uds", "raw-64k", BATCH, "uds-64k", BATCH, 0.9, 0.7,  \
         "ns")                                                                                     \
    LESS(B9, bytes, "call with 33 bytes to C2", "raw-33", BATCH, "raw", BATCH, 2.5, 2.0, "ns")     \
    LESS(B10, bytes, "copied call of 1 MiB to 64 KiB", "raw-1m", BATCH, "raw-64k", BATCH, 24, 20,  \
         "ns")                                                                                     \
    MORE(C10, streams, "pipelined raw calls, 64 under way", "pipeline", VALUE, NULL, VALUE, 5e6,   \
         10e6, "/s")                                                                               \
    LESS(B1, streams, "one way, each published", "pour", BATCH, "L2", BATCH, 0.7, 0.5, "ns")       \
    MORE(B2, streams, "one way, batched", "pour-corked", VALUE, NULL, VALUE, 20e6, 40e6, "/s")     \
    MORE(B5, streams, "one way, 64 KiB, to memcpy", "pour-64k", VALUE, "memcpy-64k", VALUE, 0.25,  \
         0.35, "GB/s")                                                                             \
    MORE(B6, streams, "one way, 1 MiB, to memcpy", "pour-1m", VALUE, "memcpy-1m", VALUE, 0.35,     \
         0.5, "GB/s")                                                                              \
    CLOSE(B5c, streams, "B5 where the bare ring reaches it", "pour-64k", VALUE, "memcpy-64k",      \
          VALUE, 0.35, 0.5, "GB/s", "ring-64k")                                                    \
    CLOSE(B6c, streams, "B6 where the bare ring reaches it", "pour-1m", VALUE, "memcpy-1m", VALUE, \
          0.5, 0.6, "GB/s", "ring-1m")                                                             \
    CLOSE(B5r, streams, "B5 to a bare ring", "pour-64k", VALUE, "ring-64k", VALUE, 0.8, 0.9,       \
          "GB/s", NULL)                                                                            \
    CLOSE(B6r, streams, "B6 to a bare ring", "pour-1m", VALUE, "ring-1m", VALUE, 0.8, 0.9, "GB/s", \
          NULL)                                                                                    \
    MORE(B7, streams, "one way, 64 KiB, to uds", "pour-64k", VALUE, "uds-way", VALUE, 1.8, 2.2,    \
         "GB/s")                                                                                   \
    LESS(S1, guests, "blocking call, 255 guests to 1", "quiet-255-sleep", P50, "quiet-1-sleep",    \
         P50, 1.2, 1.05, "ns")                                                                     \
    LESS(S1a, guests, "default call, 255 guests to 1", "quiet-255", P50, "quiet-1", P50, 1.2,      \
         1.05, "ns")                                                                               \
    LESS(S2, guests, "blocking, 255 in turn", "turn-255", P50, "futex-cross", P50, 2.0, 1.5, "ns") \
    LESS(S3, guests, "a call to each of 255, per call", "all-255", BATCH, "futex-cross", BATCH,    \
         0.8, 0.55, "ns")                                                                          \
    MORE(S4, threads, "8 threads to 1, blocking", "threads-8-sleep", VALUE, "threads-1-sleep",     \
         VALUE, 1.0, 2.0, "/s")                                                                    \
    MORE(S5, threads, "8 threads to 1, pinned", "threads-8", VALUE, "threads-1", VALUE, 0.5, 0.8,  \
         "/s")                                                                                     \
    MORE(S6, threads, "slowest of 8 to the mean", "threads-fair", SECOND, NULL, VALUE, 0.25, 0.5,  \
         "")                                                                                       \
    LESS(S7, idle, "CPU of a host and 16 idle guests", "idle", VALUE, NULL, VALUE, 0.5, 0.1, "%")  \
    LESS(S7w, idle, "their wake-ups", "idle", SECOND, NULL, VALUE, 50, 20, "/s")                   \
    LESS(S8, idle, "wake-ups of a guest, no heartbeat", "idle-silent", VALUE, NULL, VALUE, 0.2,    \
         0.1, "/s")                                                                                \
    LESS(V9, idle, "wake-ups of the host, no heartbeat", "idle-silent", SECOND, NULL, VALUE, 0.2,  \
         0.1, "/s")                                                                                \
    LESS(S9, guests, "memory of an idle guest", "memory", VALUE, NULL, VALUE, 460, 276, "KiB")     \
    LESS(S10, guests, "memory of the host per guest", "memory", SECOND, NULL, VALUE, 64, 24,       \
         "KiB")                                                                                    \
    SHOW(P9, streams, "B5 from a standard guest", "pour-64k-std", VALUE, "memcpy-64k", VALUE,      \
         "GB/s")                                                                                   \
    LESS(V1, processes, "SIGKILL to the event, to bare pidfd", "respawn", VALUE, "process",        \
         SECOND, 1.5, 1.1, "ns")                                                                   \
    LESS(V2, processes, "SIGKILL to 1,000 lost calls told", "pending", VALUE, NULL, VALUE, 1e6,    \
         1e5, "ns")                                                                                \
    LESS(V3, processes, "spawn to ready, to bare spawn", "spawn", P50, "process", P50, 1.6, 1.25,  \
         "ns")                                                                                     \
    LESS(V4, processes, "V3 with 1 GiB in the host to V3", "spawn-1g", P50, "spawn", P50, 1.3,     \
         1.1, "ns")                                                                                \
    LESS(V5, processes, "SIGKILL to ready, to bare", "respawn", P50, "process", VALUE, 1.6, 1.3,   \
         "ns")                                                                                     \
    LESS(V1g, processes, "V1 of a guest of 1 GiB, to the same", "respawn-1g", VALUE, "process-1g", \
         SECOND, 1.5, 1.1, "ns")                                                                   \
    LESS(V5g, processes, "V5 of a guest of 1 GiB, to the same", "respawn-1g", P50, "process-1g",   \
         VALUE, 1.6, 1.3, "ns")                                                                    \
    LESS(V6, processes, "SIGKILL to ready, 1,000 calls lost", "pending", P50, NULL, VALUE, 5e6,    \
         1e6, "ns")                                                                                \
    LESS(V7, processes, "p99 beside guests killed, to quiet", "storm", P99, "calm", P99, 2.0, 1.2, \
         "ns")                                                                                     \
    LESS(V7l, processes, "calls these lose", "storm", SECOND, NULL, VALUE, 0, 0, "")               \
    LESS(S11, processes, "255 guests, 4 at a time, to bare", "start-255", BATCH, "process-255",    \
         BATCH, 1.8, 1.3, "ns")                                                                    \
    LESS(V8, idle, "CPU of a host with 100 idle guests", "idle-100", BATCH, NULL, VALUE, 1e6, 5e5, \
         "ns/s")                                                                                   \
    SHOW(S12, processes, "V3 of a standard guest", "spawn-std", P50, "process", P50, "ns")         \
    LESS(N1, node, "client's call by its socket", "node-call", P50, "uds-32", P50, 3.0, 2.0, "ns") \
    LESS(N2, node, "the same by shared memory", "node-shared", P50, "relay", P50, 1.5, 1.2, "ns")  \
    SHOW(N2h, node, "the same to a host's call", "node-shared", P50, "add-adapt", P50, "ns")       \
    LESS(N14, node, "the same by TLS over TCP", "node-tls", P50, "tls-32", P50, 4.0, 2.5, "ns")    \
    LESS(N3, node, "guest to guest of two pools", "guests-node", P50, "guests-host", P50, 1.05,    \
         1.01, "ns")                                                                               \
    SHOW(N3c, node, "the same in a client's call", "guests-call", P50, "guests-host", P50, "ns")   \
    LESS(N4, node, "call that is acked", "acked", P50, "synced", P50, 2.0, 1.5, "ns")              \
    LESS(N5, node, "N4 with a state of 64 MiB", "acked-64m", P50, "acked", P50, 1.2, 1.05, "ns")   \
    MORE(N6, node, "64 such calls open, to one", "acked-open", VALUE, "acked", VALUE, 8, 16, "/s") \
    MORE(N7, node, "transactions to bare SQLite", "store-txn", VALUE, "store-bare", VALUE, 0.5,    \
         0.7, "/s")                                                                                \
    LESS(N8, node, "SIGKILL of a daemon to answer", "node-back", P50, "node-start", P50, 1.5, 1.2, \
         "ns")                                                                                     \
    LESS(N9, node, "1,000 containers are back", "node-many", VALUE, NULL, VALUE, 10, 5, "s")       \
    LESS(N10, node, "idle daemon less an empty host", "node-idle", VALUE, NULL, VALUE, 12, 8,      \
         "MiB")                                                                                    \
    LESS(N11, node, "its CPU", "node-idle", BATCH, NULL, VALUE, 0.2, 0.1, "%")                     \
    LESS(N12, node, "its wake-ups", "node-idle", SECOND, NULL, VALUE, 20, 5, "/s")                 \
    LESS(N13, node, "memory of a container, in the daemon", "node-many", SECOND, NULL, VALUE, 4,   \
         2, "KiB")                                                                                 \
    EACH(X1, exact, "instructions of C2, both sides", "x-raw", VALUE, NULL, VALUE, 700, 450, "")   \
    LESS(X1t, exact, "X1 with a router that is not asked", "x-routed", VALUE, "x-raw", VALUE,      \
         1.01, 1.005, "")                                                                          \
    SHOW(X1f, exact, "libffi beside it", "x-raw", SECOND, NULL, VALUE, "")                         \
    SHOW(X1r, exact, "instructions of C1r without libffi", "x-record", VALUE, NULL, VALUE, "")     \
    SHOW(X1rf, exact, "libffi beside it", "x-record", SECOND, NULL, VALUE, "")                     \
    EACH(X2, exact, "instructions of a loan", "x-loan", VALUE, NULL, VALUE, 900, 600, "")          \
    EACH(X3, exact, "more for 1 MiB than for 4 KiB", "x-growth", VALUE, NULL, VALUE, 0, 0, "")     \
    EACH(X4, exact, "system calls, polling", "x-calls", VALUE, NULL, VALUE, 0, 0, "")              \
    EACH(X5, exact, "system calls, blocking", "x-calls-sleep", VALUE, NULL, VALUE, 4, 4, "")       \
    EACH(X6, exact, "system calls, doorbell", "x-calls-bell", VALUE, NULL, VALUE, 8, 8, "")        \
    EACH(X7, exact, "allocations of C1", "x-heap-add", VALUE, NULL, VALUE, 0, 0, "")               \
    EACH(X7r, exact, "allocations of C2", "x-heap-raw", VALUE, NULL, VALUE, 0, 0, "")              \
    EACH(X7l, exact, "allocations of a loan", "x-heap-loan", VALUE, NULL, VALUE, 0, 0, "")         \
    EACH(X7a, exact, "allocations, 2,048 pipelined calls", "x-heap-async", VALUE, NULL, VALUE, 0,  \
         0, "")                                                                                    \
    EACH(X8, exact, "page faults", "x-faults", VALUE, NULL, VALUE, 0, 0, "")                       \
    EACH(X9, exact, "segment lines touched by the host", "x-lines", VALUE, NULL, VALUE, 4, 3, "")  \
    EACH(X9l, exact, "the same, loan", "x-lines-loan", VALUE, NULL, VALUE, 10, 8, "")              \
    EACH(X10, exact, "system calls of idling, 10 s", "x-idle", VALUE, NULL, VALUE, 4, 2, "")       \
    LESS(Q1, peers, "C1 to OpenMPI, spinning", "add", BATCH, "openmpi", BATCH, 1.0, 0.7, "ns")     \
    LESS(Q2, peers, "C1 to iceoryx, spinning", "add", BATCH, "iceoryx", BATCH, 0.3, 0.15, "ns")    \
    LESS(Q3, peers, "C4 to sd-bus without broker", "add-sleep", P50, "sdbus", P50, 1.0, 0.65,      \
         "ns")                                                                                     \
    LESS(Q4, peers, "C4 to ZeroMQ", "add-sleep", P50, "zeromq", P50, 0.6, 0.4, "ns")               \
    LESS(Q5, peers, "C4 to Cap'n Proto RPC", "add-sleep", P50, "capnproto", P50, 0.5, 0.3, "ns")   \
    LESS(Q6, peers, "C4 to NNG", "add-sleep", P50, "nng", P50, 0.4, 0.25, "ns")                    \
    LESS(Q7, peers, "C4 to gRPC", "add-sleep", P50, "grpc", P50, 0.3, 0.2, "ns")                   \
    SHOW(P1, bytes, "copied call, 256 B", "raw-256", BATCH, "L2", BATCH, "ns")                     \
    SHOW(P2, bytes, "copied call, 4 KiB", "raw-4k", BATCH, "L2", BATCH, "ns")                      \
    SHOW(P3, bytes, "loan, 4 KiB", "loan-4k", BATCH, "L2", BATCH, "ns")                            \
    SHOW(P10, bytes, "copied call, 32 B", "raw-32", BATCH, "L2", BATCH, "ns")                      \
    SHOW(P11, bytes, "copied call, 64 KiB", "raw-64k", BATCH, "L2", BATCH, "ns")                   \
    SHOW(P12, bytes, "copied call, 1 MiB", "raw-1m", BATCH, "L2", BATCH, "ns")                     \
    SHOW(P13, bytes, "loan, 8 B", "loan-8", BATCH, "L2", BATCH, "ns")                              \
    SHOW(P14, bytes, "loan, 32 B", "loan-32", BATCH, "L2", BATCH, "ns")                            \
    SHOW(P15, bytes, "loan, 256 B", "loan-256", BATCH, "L2", BATCH, "ns")                          \
    SHOW(P16, bytes, "loan, 1 MiB", "loan-1m", BATCH, "L2", BATCH, "ns")                           \
    SHOW(P17, bytes, "copied call of 8 B to uds", "raw", BATCH, "uds-8", BATCH, "ns")              \
    SHOW(P18, bytes, "copied call of 32 B to uds", "raw-32", BATCH, "uds-32", BATCH, "ns")         \
    SHOW(P19, bytes, "copied call of 256 B to uds", "raw-256", BATCH, "uds-256", BATCH, "ns")      \
    SHOW(P20, bytes, "copied call of 4 KiB to uds", "raw-4k", BATCH, "uds-4k", BATCH, "ns")        \
    SHOW(P21, bytes, "copied call of 1 MiB to uds", "raw-1m", BATCH, "uds-1m", BATCH, "ns")        \
    SHOW(P4, calls, "C2 to a standard guest", "raw-std", BATCH, "L2", BATCH, "ns")                 \
    SHOW(P5, calls, "C4 to a standard guest", "add-sleep-std", P50, "futex-cross", P50, "ns")      \
    SHOW(P22, calls, "C2 with a router that is not asked", "raw-routed", BATCH, "raw", BATCH,      \
         "ns")                                                                                     \
    SHOW(P6, limit, "L1 to L2", "L1", BATCH, "L2", BATCH, "ns")                                    \
    SHOW(P7, limit, "memcpy of 64 KiB", "memcpy-64k", VALUE, NULL, VALUE, "GB/s")                  \
    SHOW(P8, limit, "memcpy of 1 MiB", "memcpy-1m", VALUE, NULL, VALUE, "GB/s")

#define LESS(id, group, what, subject, field, base, of, gate, goal, unit) \
    {#id,  #group, what,  subject, base, GATES_##field, GATES_##of, gate, \
     goal, false,  false, unit,    0,    false,         NULL},
#define MORE(id, group, what, subject, field, base, of, gate, goal, unit) \
    {#id,  #group, what,  subject, base, GATES_##field, GATES_##of, gate, \
     goal, true,   false, unit,    0,    false,         NULL},
#define EACH(id, group, what, subject, field, base, of, gate, goal, unit)      \
    {#id,  #group, what,  subject, base,      GATES_##field, GATES_##of, gate, \
     goal, false,  false, unit,    TOLERANCE, false,         NULL},
#define SHOW(id, group, what, subject, field, base, of, unit)        \
    {#id, #group, what, subject, base, GATES_##field, GATES_##of, 0, \
     0,   false,  true, unit,    0,    false,         NULL},
#define CLOSE(id, group, what, subject, field, base, of, gate, goal, unit, reach) \
    {#id,  #group, what,  subject, base, GATES_##field, GATES_##of, gate,         \
     goal, true,   false, unit,    0,    true,          reach},

/* For counts per call: a descheduled peer changes them a little. */
#define TOLERANCE 0.01

const struct gates_row gates_rows[] = {GATES(LESS, MORE, EACH, SHOW, CLOSE){0}};

double gates_value(const struct trial *trial, enum gates_field field)
{
    switch (field) {
    case GATES_BATCH:
        return trial->batch_ns;
    case GATES_P50:
        return trial->p50_ns;
    case GATES_P99:
        return trial->p99_ns;
    case GATES_SECOND:
        return trial->second;
    default:
        return trial->value;
    }
}

void gates_print(void)
{
    printf("| id | what | divided by | gate | goal |\n| --- | --- | --- | --- | --- |\n");
    for (const struct gates_row *row = gates_rows; row->id; row++) {
        printf("| %s | %s | %s | ", row->id, row->what, row->base ? row->base : row->unit);
        if (row->no_gate)
            printf("– | – |\n");
        else
            printf("%s%g | %s%g |\n", row->more ? "≥ " : "", row->gate, row->more ? "≥ " : "",
                   row->goal);
    }
}
