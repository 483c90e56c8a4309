/* SPDX-License-Identifier: Apache-2.0 */
/* raw host: makes a segment in canonical layout, reserves an entry, starts a program with the
 * ticket and talks to it. */
#ifndef TESTS_RAW_RAW_HOST_H
#define TESTS_RAW_RAW_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "tests/raw/raw_link.h"

struct raw_class_config {
    uint32_t slot_size, slots; /* slots of an extent */
};

struct raw_config {
    uint32_t max_payload, initial_credit, max_guests, ring_size;
    uint32_t slot_size, slot_count, max_channels;
    uint64_t heartbeat_ns;
    uint32_t first_index; /* all four indices of every entry begin here */
    bool file;            /* in /dev/shm; else a sealed memfd */
    uint32_t class_count; /* slots of several sizes; then slot_size and slot_count are 0 */
    struct raw_class_config classes[4];
};

struct raw_host {
    struct raw_config config;
    uint8_t *base;
    size_t size;
    int fd;
    char path[128]; /* path of the file; "" with a memfd */
};

/* The configuration of hub.md's golden example. */
#define RAW_HOST_GOLDEN                                                              \
    {                                                                                \
        .max_payload = 60, .initial_credit = 1024, .max_guests = 2, .ring_size = 4,  \
        .slot_size = 64, .slot_count = 3, .max_channels = 4, .heartbeat_ns = 1000000 \
    }

/* 16 slots of 64 KiB for one guest, no heartbeat: as the host's default has it. */
#define RAW_HOST_USUAL                                                                    \
    {                                                                                     \
        .max_payload = 65532, .initial_credit = 65536, .max_guests = 1, .ring_size = 256, \
        .slot_size = 65536, .slot_count = 16, .max_channels = 64                          \
    }

/* 0 or -errno. raw_host_destroy unmaps, closes, unlinks. */
int raw_host_create(const struct raw_config *config, struct raw_host *out);
void raw_host_destroy(struct raw_host *host);

enum raw_bell {
    RAW_BELL_STREAM,
    RAW_BELL_DGRAM, /* never hangs up */
    RAW_BELL_NONE
};

/* Moves the entry from Empty to Reserved, raises its epoch, sets its host_wait unless `behaviour`
 * is foreign, makes the doorbell. `guest_bell` gets the guest's end, CLOEXEC, -1 without one. 0;
 * -EBUSY if the entry is not Empty. */
int raw_host_reserve(struct raw_host *host, uint32_t peer, enum raw_bell kind,
                     struct raw_link *link, int *guest_bell);

/* 0 once the guest is Attached; -ETIMEDOUT; -EPIPE. */
int raw_host_await(struct raw_link *link, int timeout_ms);

/* The ticket, as arguments: descriptor 3 is a memfd, 4 the doorbell. */
struct raw_arguments {
    char path[160], peer[32], bell[32];
};
void raw_host_ticket(const struct raw_host *host, const struct raw_link *link,
                     struct raw_arguments *out);

/* Starts `argv` (ends with NULL; argv[0] is a path) with the ticket appended, and closes the
 * guest's end here. 0 or -errno; `pidfd` is the caller's. */
struct raw_program {
    pid_t pid;
    int pidfd;
};
int raw_host_spawn(struct raw_host *host, struct raw_link *link, const char *const argv[],
                   int guest_bell, struct raw_program *out);

/* Waits for its end, kills it after the time, takes its status: exit status, 256 + signal, or
 * -errno. Closes the pidfd. */
int raw_host_reap(struct raw_program *program, int timeout_ms);

/* host_goodbye = 1, and wakes this guest. */
void raw_host_goodbye(struct raw_host *host, struct raw_link *link);

#endif
