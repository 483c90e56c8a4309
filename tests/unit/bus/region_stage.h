/* SPDX-License-Identifier: Apache-2.0 */
/* region_stage: regions for tests, and processes that take part in them and die, or stop. */
#ifndef TESTS_UNIT_BUS_REGION_STAGE_H
#define TESTS_UNIT_BUS_REGION_STAGE_H

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rapahub/region.h>

#include "hub/base/clock.h"
#include "hub/bus/region_lease.h"
#include "tests/support/testing.h"

/* A name that no other test program has. */
static inline const char *stage_name(void)
{
    static char name[RAPAHUB_REGION_NAME_MAX + 1];

    snprintf(name, sizeof name, "test-%d", getpid());
    return name;
}

static inline struct rapahub_region_options stage_options(enum rapahub_region_kind kind,
                                                          enum rapahub_region_profile profile,
                                                          uint32_t cells)
{
    return (struct rapahub_region_options){.kind = kind, .profile = profile, .cells = cells};
}

static inline struct rapahub_region *stage_create(const char *name, enum rapahub_region_kind kind,
                                                  enum rapahub_region_profile profile,
                                                  uint32_t cells)
{
    const struct rapahub_region_options options = stage_options(kind, profile, cells);
    struct rapahub_region *region = NULL;

    assert_int_equal(rapahub_region_create(name, &options, &region), 0);
    return region;
}

/* Another description of the same region, as another process has it. */
static inline struct rapahub_region *stage_again(const struct rapahub_region *region)
{
    struct rapahub_region *again = NULL;

    assert_int_equal(rapahub_region_adopt(rapahub_region_fd(region), NULL, &again), 0);
    return again;
}

static inline struct rapahub_producer *stage_producer(struct rapahub_region *region)
{
    struct rapahub_producer *producer = NULL;

    assert_int_equal(rapahub_producer_open(region, NULL, &producer), 0);
    return producer;
}

static inline struct rapahub_consumer *stage_consumer(struct rapahub_region *region)
{
    struct rapahub_consumer *consumer = NULL;

    assert_int_equal(rapahub_consumer_open(region, NULL, &consumer), 0);
    return consumer;
}

static inline void stage_push(struct rapahub_producer *producer, uint64_t number)
{
    assert_int_equal(rapahub_producer_push(producer, &number, sizeof number, 0), 0);
}

static inline void stage_pop(struct rapahub_consumer *consumer, uint64_t number)
{
    uint64_t got = 0;
    struct rapahub_message message;

    assert_int_equal(rapahub_consumer_pop(consumer, &got, sizeof got, 0, &message), 0);
    assert_int_equal(message.size, sizeof got);
    assert_int_equal(got, number);
}

static inline void stage_empty(struct rapahub_consumer *consumer)
{
    uint64_t got;

    assert_int_equal(rapahub_consumer_pop(consumer, &got, sizeof got, 0, NULL), RAPAHUB_EEMPTY);
}

/* A process that opens the region of a descriptor, does `work` with it, says that it is done, and
 * waits to be killed. The descriptor is opened anew, so its locks are its own. */
static inline pid_t stage_process(int fd, void (*work)(struct rapahub_region *region))
{
    int ready[2];
    char byte;
    pid_t pid;

    assert_int_equal(pipe(ready), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct rapahub_region *region;

        if (rapahub_region_adopt(fd, NULL, &region) < 0)
            _exit(1);
        close(fd); /* else it would keep the locks of the parent's description */
        work(region);
        if (write(ready[1], "x", 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    return pid;
}

static inline void stage_kill(pid_t pid)
{
    siginfo_t info;

    kill(pid, SIGKILL);
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED), 0);
    assert_int_equal(info.si_status, SIGKILL);
}

/* Opens a producer and gets as far as the claim, as one does that dies there. */
static inline void stage_claim(struct rapahub_region *region)
{
    struct rapahub_producer *producer;
    uint64_t tail = hub_observe64(&region->view.ring->tail);

    if (rapahub_producer_open(region, NULL, &producer) < 0)
        _exit(2);
    for (uint32_t i = 0; i < region->shape.lease_count; i++)
        if ((hub_load_relaxed64(&region->leases[i / 64]) >> i % 64 & 1) != 0)
            hub_publish64(&hub_region_lease_at(region, i)->intent, hub_region_lease_intend(tail));
    if (!hub_claim64(&region->view.ring->tail, tail, tail + 1))
        _exit(3);
}

#endif
