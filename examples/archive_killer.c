/* SPDX-License-Identifier: Apache-2.0 */
#include "archive_killer.h"

#include <poll.h>
#include <signal.h>
#include <sys/pidfd.h>
#include <unistd.h>

#define LOOK_MS  1
#define THOUSAND 1000u

/* splitmix64: good enough to choose moments, and the same for the same seed. */
static uint64_t next_random(struct archive_killer *killer)
{
    uint64_t z = killer->random += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* A descriptor stays its process's own, so it is opened first and looked at afterwards. */
bool archive_killer_kill(int32_t pid, bool (*is_still)(void *self, int32_t pid), void *self)
{
    int process = pid > 0 ? pidfd_open(pid, 0) : -1;
    bool killed =
        process >= 0 && is_still(self, pid) && pidfd_send_signal(process, SIGKILL, NULL, 0) == 0;

    if (process >= 0)
        close(process);
    return killed;
}

static void wait_until(struct archive_killer *killer, size_t progress)
{
    while (!atomic_load(&killer->ends) && atomic_load(&killer->progress) < progress)
        (void)poll(NULL, 0, LOOK_MS);
}

/* Kills all of them; waits for those that are starting. */
static void kill_all(struct archive_killer *killer, unsigned left)
{
    while (left != 0 && !atomic_load(&killer->ends)) {
        for (unsigned i = 0; i < killer->victims->count; i++)
            if ((left & (1u << i)) && killer->victims->kill(killer->self, i)) {
                left &= ~(1u << i);
                atomic_fetch_add(killer->kills, 1);
            }
        (void)poll(NULL, 0, LOOK_MS);
    }
}

static void *kill_on(void *argument)
{
    struct archive_killer *killer = argument;
    const struct archive_victims *victims = killer->victims;

    for (unsigned moment = 0; atomic_load(killer->kills) < killer->wanted; moment++) {
        uint64_t slice = atomic_load(killer->kills) * (uint64_t)THOUSAND;

        wait_until(killer, (size_t)((slice + next_random(killer) % THOUSAND) / killer->wanted));
        kill_all(killer, victims->moments[moment % victims->moments_count]);
        if (atomic_load(&killer->ends))
            break;
    }
    return NULL;
}

int archive_killer_start(struct archive_killer *killer)
{
    atomic_init(&killer->progress, 0);
    atomic_init(&killer->ends, false);
    return pthread_create(&killer->thread, NULL, kill_on, killer);
}

void archive_killer_stop(struct archive_killer *killer)
{
    atomic_store(&killer->ends, true);
    (void)pthread_join(killer->thread, NULL);
}
