/* SPDX-License-Identifier: Apache-2.0 */
#include "host/process/zombies.h"

#include <errno.h>
#include <stdlib.h>

#include <rapahub/log.h>

#include "hub/base/clock.h"
#include "hub/base/own.h"
#include "hub/base/proof.h"

#define AGAIN      HUB_SECOND
#define CLOSE_MOST (2 * HUB_SECOND)

struct zombie {
    struct hub_list link;
    int pidfd;
};

static bool is_reaped(int pidfd)
{
    struct hub_exit taken;

    return hub_proof_reap(pidfd, &taken) != -EAGAIN;
}

static void forget(struct zombie *zombie)
{
    hub_list_remove(&zombie->link);
    hub_fd_release(&zombie->pidfd);
    free(zombie);
}

static void try_all(struct host_zombies *zombies)
{
    HUB_LIST_EACH (&zombies->list, link) {
        struct zombie *zombie = HUB_LIST_ITEM(link, struct zombie, link);

        if (is_reaped(zombie->pidfd))
            forget(zombie);
    }
}

static void on_time(void *user)
{
    struct host_zombies *zombies = user;

    try_all(zombies);
    if (!hub_list_empty(&zombies->list))
        host_loop_set(zombies->loop, &zombies->again, hub_clock_after(AGAIN));
}

void host_zombies_open(struct host_zombies *zombies, struct host_loop *loop)
{
    hub_list_init(&zombies->list);
    zombies->again = (struct host_timer){.on = on_time, .user = zombies};
    zombies->loop = loop;
}

void host_zombies_reap(struct host_zombies *zombies, int *pidfd)
{
    struct zombie *zombie;

    if (is_reaped(*pidfd))
        return;
    zombie = malloc(sizeof *zombie);
    if (!zombie) /* it stays until this process ends */
        return;
    zombie->pidfd = *pidfd;
    *pidfd = -1;
    hub_list_append(&zombies->list, &zombie->link);
    if (!host_loop_is_set(&zombies->again))
        host_loop_set(zombies->loop, &zombies->again, hub_clock_after(AGAIN));
}

void host_zombies_close(struct host_zombies *zombies)
{
    uint64_t most = hub_clock_after(CLOSE_MOST);

    /* The pidfd has already reported that the process is dead; there is no event when its tracer
     * releases it. */
    for (try_all(zombies); !hub_list_empty(&zombies->list) && hub_clock_left(most) != 0;
         try_all(zombies))
        hub_clock_pause(HUB_MILLISECOND);
    host_loop_clear(&zombies->again);
    if (!hub_list_empty(&zombies->list))
        rapahub_log(RAPAHUB_LOG_WARN, "guests",
                    "a guest is dead and traced by somebody; it stays in the table of processes "
                    "until this one ends");
    HUB_LIST_EACH (&zombies->list, link)
        forget(HUB_LIST_ITEM(link, struct zombie, link));
}
