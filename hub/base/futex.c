/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/base/futex.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "hub/base/check.h"
#include "hub/base/clock.h"

#ifndef SYS_futex_waitv /* headers before Linux 5.16 */
#define SYS_futex_waitv 449
#endif
#define OF_32_BITS 2

/* The kernel's struct futex_waitv, which only newer headers define. */
struct kernel_look {
    uint64_t value, address;
    uint32_t flags, reserved;
};

static long futex(struct hub_a32 *word, int operation, uint32_t value, const struct timespec *until,
                  uint32_t bits)
{
    return syscall(SYS_futex, &word->word, operation, value, until, NULL, bits);
}

static int wait_until(struct hub_a32 *word, int operation, uint32_t value, uint32_t bits,
                      uint64_t deadline_ns)
{
    struct timespec until = hub_clock_timespec(deadline_ns);

    if (futex(word, operation, value, deadline_ns == HUB_NEVER ? NULL : &until, bits) == 0)
        return 0;
    return -errno;
}

int hub_futex_wait(struct hub_a32 *word, uint32_t value, uint32_t bits, uint64_t deadline_ns)
{
    return wait_until(word, FUTEX_WAIT_BITSET, value, bits, deadline_ns);
}

void hub_futex_wake(struct hub_a32 *word, uint32_t bits)
{
    (void)futex(word, FUTEX_WAKE_BITSET, INT_MAX, NULL, bits);
}

int hub_futex_wait_any(const struct hub_futex_look *looks, uint32_t count, uint64_t deadline_ns)
{
    struct timespec until = hub_clock_timespec(deadline_ns);
    struct kernel_look all[HUB_FUTEX_LOOKS_MAX];
    long r;

    CHECK(count <= HUB_FUTEX_LOOKS_MAX);
    for (uint32_t i = 0; i < count; i++)
        all[i] = (struct kernel_look){.value = looks[i].value,
                                      .address = (uintptr_t)looks[i].word,
                                      .flags = looks[i].between ? OF_32_BITS
                                                                : OF_32_BITS | FUTEX_PRIVATE_FLAG};
    r = syscall(SYS_futex_waitv, all, count, 0, deadline_ns == HUB_NEVER ? NULL : &until,
                CLOCK_MONOTONIC);
    return r >= 0 ? (int)r : -errno;
}

int hub_futex_wait_private(struct hub_a32 *word, uint32_t value, uint64_t deadline_ns)
{
    return wait_until(word, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, value, FUTEX_BITSET_MATCH_ANY,
                      deadline_ns);
}

void hub_futex_wake_private(struct hub_a32 *word)
{
    (void)futex(word, FUTEX_WAKE_BITSET | FUTEX_PRIVATE_FLAG, INT_MAX, NULL,
                FUTEX_BITSET_MATCH_ANY);
}

void hub_futex_wake_one_private(struct hub_a32 *word)
{
    (void)futex(word, FUTEX_WAKE_BITSET | FUTEX_PRIVATE_FLAG, 1, NULL, FUTEX_BITSET_MATCH_ANY);
}
