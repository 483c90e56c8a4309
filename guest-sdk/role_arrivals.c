/* SPDX-License-Identifier: Apache-2.0 */
#include "guest-sdk/role_arrivals.h"

#include <unistd.h>

#include "hub/base/own.h"
#include "hub/bus/grant/grant.h"

/* A descriptor that is no region, or one too many, is closed: the host harms only itself. */
static void take(void *user, int came)
{
    struct guest_role_arrivals *arrivals = user;
    OWN(hub_fd) int fd = came;
    uint64_t region;

    if (!hub_grant_region_of(fd, &region))
        return;
    hub_mutex_lock(&arrivals->lock);
    if (arrivals->count < GUEST_ROLE_ARRIVALS_MAX)
        arrivals->fds[arrivals->count++] = TAKE(fd);
    hub_mutex_unlock(&arrivals->lock);
}

/* A descriptor that was cut off is missed when its role is named. */
static void cut(void *user)
{
    (void)user;
}

void guest_role_arrivals_init(struct guest_role_arrivals *arrivals)
{
    arrivals->inbox = (struct hub_doorbell_inbox){take, cut, arrivals};
    hub_mutex_init(&arrivals->lock, HUB_MUTEX_ROLE_ARRIVALS);
}

void guest_role_arrivals_fini(struct guest_role_arrivals *arrivals)
{
    hub_mutex_lock(&arrivals->lock);
    while (arrivals->count > 0)
        close(arrivals->fds[--arrivals->count]);
    hub_mutex_unlock(&arrivals->lock);
    hub_mutex_fini(&arrivals->lock);
}

static int remove_at(struct guest_role_arrivals *arrivals, uint32_t at) REQUIRES(arrivals->lock)
{
    int fd = arrivals->fds[at];

    arrivals->count--;
    for (uint32_t i = at; i < arrivals->count; i++)
        arrivals->fds[i] = arrivals->fds[i + 1];
    return fd;
}

int guest_role_arrivals_take(struct guest_role_arrivals *arrivals, const struct hub_grant *grant)
{
    int fd = -1;

    hub_mutex_lock(&arrivals->lock);
    for (uint32_t i = 0; i < arrivals->count && fd < 0; i++)
        if (hub_grant_is_held(arrivals->fds[i], grant))
            fd = remove_at(arrivals, i);
    hub_mutex_unlock(&arrivals->lock);
    return fd;
}
