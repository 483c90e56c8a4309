/* SPDX-License-Identifier: Apache-2.0 */
/* asked: a container that serves, is plugged or held, and its life, for those who ask the container
 * something. Both have one user more until host_asked_drop. Owner thread. */
#ifndef HOST_CONTAINER_ASKED_H
#define HOST_CONTAINER_ASKED_H

#include "host/process/life.h"
#include "host/registry/containers.h"

struct host_call;

struct host_asked {
    struct host_call *host;
    struct host_container *container; /* NULL: not found yet */
    struct host_life *life;
    uint64_t token;       /* the life that is meant, of a managed container; 0: any */
    bool claimed;         /* see host_asked_claim */
    uint64_t deadline_ns; /* for everything that the container is asked */
};

/* Finds both, without waiting. -EAGAIN: its guest is starting or being replaced; look again after a
 * change. -ENOENT if no guest has such a container; RAPAHUB_ESTALE if it is in another life. After
 * a failure there is nothing to drop. */
int host_asked_try(struct host_asked *asked, struct rapahub_container_id target);
void host_asked_drop(struct host_asked *asked); /* harmless twice; gives a claim back */

/* Fails with -ENOENT and the diagnosis. */
int host_asked_refuse(struct rapahub_container_id target);

/* RAPAHUB_ESTATE: the container is neither plugged nor held. */
int host_asked_check_closed(const struct host_asked *asked);

/* From now on its state goes in or out, until the drop. -EBUSY: it does already, for another one.
 */
int host_asked_claim(struct host_asked *asked);

#endif
