/* SPDX-License-Identifier: Apache-2.0 */
#include "archive_killer.h"

#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/pidfd.h>
#include <unistd.h>

#define LOOK_MS  1
#define GUESTS   2u
#define THOUSAND 1000u

/* Looks for the process of a guest that serves at this moment. */
struct search {
    unsigned index, at;
    int32_t pid;
};

static void look(void *user, const struct rapahub_guest_status *status)
{
    struct search *search = user;

    if (search->at++ == search->index && strcmp(status->state, "ready") == 0)
        search->pid = status->pid;
}

static int32_t pid_of(struct rapahub_host *host, unsigned index)
{
    struct search search = {.index = index};

    return rapahub_host_guests(host, look, &search) == 0 ? search.pid : 0;
}

/* splitmix64: good enough to choose moments, and the same for the same seed. */
static uint64_t next_random(struct archive_killer *killer)
{
    uint64_t z = killer->random += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* A pid may be reused as soon as the process is gone, but a descriptor stays its own. So the
 * descriptor is opened first, and used only if the pid still belongs to the guest. */
static bool kill_guest(struct archive_killer *killer, unsigned index)
{
    int32_t pid = pid_of(killer->host, index);
    int process = pid > 0 ? pidfd_open(pid, 0) : -1;
    bool killed = process >= 0 && pid_of(killer->host, index) == pid &&
                  pidfd_send_signal(process, SIGKILL, NULL, 0) == 0;

    if (process >= 0)
        close(process);
    if (killed)
        atomic_fetch_add(killer->kills, 1);
    return killed;
}

static void wait_until(struct archive_killer *killer, size_t progress)
{
    while (!atomic_load(&killer->ends) && atomic_load(&killer->progress) < progress)
        (void)poll(NULL, 0, LOOK_MS);
}

/* Kills the first, the second, both, and so on; waits for a guest that is restarting. */
static void *kill_on(void *argument)
{
    static const unsigned victims[] = {1, 2, 3};
    struct archive_killer *killer = argument;

    for (unsigned moment = 0; atomic_load(killer->kills) < killer->wanted; moment++) {
        uint64_t slice = atomic_load(killer->kills) * (uint64_t)THOUSAND;
        unsigned left = victims[moment % 3];

        wait_until(killer, (size_t)((slice + next_random(killer) % THOUSAND) / killer->wanted));
        while (left != 0 && !atomic_load(&killer->ends)) {
            for (unsigned i = 0; i < GUESTS; i++)
                if ((left & (1u << i)) && kill_guest(killer, i))
                    left &= ~(1u << i);
            (void)poll(NULL, 0, LOOK_MS);
        }
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
