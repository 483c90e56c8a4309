/* SPDX-License-Identifier: Apache-2.0 */
/* container_lifecycle: the life of a container, step by step, in its guest and in the table. What
 * stands behind lifecycle.h. Owner. */
#ifndef HOST_CONTAINER_CONTAINER_LIFECYCLE_H
#define HOST_CONTAINER_CONTAINER_LIFECYCLE_H

#include <rapahub/lifecycle.h>

#include "host/process/life.h"
#include "host/registry/containers.h"
#include "hub/wire/lifecycle.h"

struct host_call;

/* Brings one to life in a guest that is ready; where it fails nothing is left of it. */
struct host_container_lifecycle_begin {
    struct rapahub_guest_id guest;
    const struct rapahub_container_options *options;
    enum rapahub_begin how;
    struct rapahub_source *state; /* NULL: none */
};
int host_container_lifecycle_begin(struct host_call *host,
                                   const struct host_container_lifecycle_begin *begin);

/* Gives one to a guest that is down; it begins with the guest's next life. */
int host_container_lifecycle_keep(struct host_guest *guest,
                                  const struct rapahub_container_options *options);

/* Makes an offer a container. */
int host_container_lifecycle_offer(struct host_call *host,
                                   const struct rapahub_container_options *options,
                                   const struct rapahub_method *methods, void *self);

/* One that serves, or is plugged; its guest is waited for while it starts, until the deadline,
 * which is for all that it is asked, too. Both are counted as used until
 * host_container_lifecycle_drop. */
struct host_container_lifecycle {
    struct host_container *container;
    struct host_life *life;
    uint64_t deadline_ns;
};
int host_container_lifecycle_take(struct host_call *host, struct rapahub_container_id target,
                                  uint64_t deadline_ns, struct host_container_lifecycle *out);
void host_container_lifecycle_drop(struct host_container_lifecycle *care);

int host_container_lifecycle_plug(struct host_call *host, struct rapahub_container_id target,
                                  bool plugged);
int host_container_lifecycle_drain(struct host_call *host, struct rapahub_container_id target,
                                   uint64_t timeout_ns);
int host_container_lifecycle_save(struct host_call *host, struct rapahub_container_id target,
                                  struct rapahub_sink *to);
int host_container_lifecycle_remove(struct host_call *host, struct rapahub_container_id target);

/* Asks it something; `arguments` stand behind its handle and end with NULL. */
int host_container_lifecycle_ask(struct host_call *host, struct rapahub_container_id target,
                                 enum hub_lifecycle_method method, const void *const *arguments,
                                 void *result);

#endif
