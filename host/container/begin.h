/* SPDX-License-Identifier: Apache-2.0 */
/* begin: a container enters the table before its guest begins it, and is shown to calls or
 * withdrawn after that. Owner. */
#ifndef HOST_CONTAINER_BEGIN_H
#define HOST_CONTAINER_BEGIN_H

#include <rapahub/lifecycle.h>

#include "host/process/life.h"
#include "host/registry/containers.h"

struct host_call;

/* -EINVAL, RAPAHUB_ENAME and so on: no container can begin so. */
int host_begin_check(const struct rapahub_container_options *options, enum rapahub_begin how);

/* Finds the life of a guest that is up, and holds it. RAPAHUB_ESTALE; -EBUSY: it is being upgraded.
 */
int host_begin_find(struct host_call *host, struct rapahub_guest_id id, struct host_life **out);

/* Enters the container, STARTING. `guest` NULL: it is in no guest yet. A container of the same id
 * whose guest has ended for good is removed first, and a managed one that is down in this guest is
 * begun again. -EEXIST, RAPAHUB_EFULL, -ENOMEM. */
int host_begin_enter(struct host_call *host, const struct rapahub_container_options *options,
                     const struct host_guest *guest, struct host_container **out);

/* Makes it reachable for calls. RAPAHUB_EDIED: its guest died after its last answer. */
int host_begin_show(struct host_call *host, struct host_life *life,
                    struct host_container *container);

/* It did not begin: it is gone, or down as it was before. */
void host_begin_withdraw(struct host_call *host, struct host_container *container);

#endif
