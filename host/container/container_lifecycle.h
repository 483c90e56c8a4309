/* SPDX-License-Identifier: Apache-2.0 */
/* container_lifecycle: the life of a container, step by step, in its guest and in the table: the
 * owner's side of <rapahub/lifecycle.h>. Owner thread. */
#ifndef HOST_CONTAINER_CONTAINER_LIFECYCLE_H
#define HOST_CONTAINER_CONTAINER_LIFECYCLE_H

#include <rapahub/lifecycle.h>

#include "host/container/asked.h"

struct host_call;
struct rapahub_inquiries;

/* Begins a container in a guest that is ready. After a failure nothing of it is left. */
struct host_container_lifecycle_begin {
    struct rapahub_guest_id guest;
    const struct rapahub_container_options *options;
    enum rapahub_begin how;
    struct rapahub_source *state; /* NULL: none */
};
int host_container_lifecycle_begin(struct host_call *host,
                                   const struct host_container_lifecycle_begin *begin);

/* Adds a container to a guest that is down. It begins in the guest's next life. */
int host_container_lifecycle_keep(struct host_guest *guest,
                                  const struct rapahub_container_options *options);

/* Makes a container of methods of this process: a service. `methods` and `self` must outlive the
 * host. */
int host_container_lifecycle_offer(struct host_call *host,
                                   const struct rapahub_container_options *options,
                                   const struct rapahub_method *methods, void *self);

/* Makes a container of methods of this process that are answered later; they are copied. */
int host_container_lifecycle_inquire(struct host_call *host,
                                     const struct rapahub_container_options *options,
                                     const struct rapahub_inquiries *inquiries);

/* Frees what this process has offered. Owner, at the end of the host. */
void host_container_lifecycle_free_offers(struct host_call *host);

/* Finds a container that serves, is plugged or held, and its life; see asked.h. Waits for its
 * guest, if that is starting, until the deadline. -ETIMEDOUT; -ENOENT if no guest has such a
 * container. */
int host_container_lifecycle_take(struct host_call *host, struct rapahub_container_id target,
                                  uint64_t deadline_ns, struct host_asked *out);

/* Holds calls to the container, or lets them go on. Does not wait. -ENOENT, -ENOTSUP. */
int host_container_lifecycle_hold(struct host_call *host, struct rapahub_container_id target,
                                  bool held);

int host_container_lifecycle_save(struct host_call *host, struct rapahub_container_id target,
                                  struct rapahub_sink *to);
int host_container_lifecycle_save_changes(struct host_call *host,
                                          struct rapahub_container_id target,
                                          struct rapahub_sink *to, bool *whole);
int host_container_lifecycle_load_changes(struct host_call *host,
                                          struct rapahub_container_id target,
                                          struct rapahub_source *from);

#endif
