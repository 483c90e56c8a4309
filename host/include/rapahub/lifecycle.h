/* SPDX-License-Identifier: Apache-2.0 */
/* lifecycle: the rest of a container's life, for who moves, saves and upgrades. Owner thread,
 * unless the host has its own; every function waits for the guest, at most the host's call time-out
 * in all, of which what a sink or a source takes does not count.
 *
 * States: starting, ready, plugged, down (its guest is dead or restarts), gone. */
#ifndef RAPAHUB_LIFECYCLE_H
#define RAPAHUB_LIFECYCLE_H

#include <rapahub/host.h>
#include <rapahub/stream.h>

RAPAHUB_BEGIN_DECLS

/* How a container comes to life; RAPAHUB_BEGIN_INIT is what rapahub_host_add_container does. */
enum rapahub_begin { RAPAHUB_BEGIN_INIT, RAPAHUB_BEGIN_RESTART, RAPAHUB_BEGIN_RECOVER };

/* As rapahub_host_add_container, in the way given; with `state` not NULL its `load` follows, with
 * the bytes of an earlier rapahub_host_save. Where any step fails the container is gone. */
RAPAHUB_API_CHECKED int rapahub_host_begin(struct rapahub_host *host, struct rapahub_guest_id guest,
                                           const struct rapahub_container_options *options,
                                           enum rapahub_begin how, struct rapahub_source *state);

/* No new calls reach it (RAPAHUB_EPLUGGED), or they do again. */
RAPAHUB_API_CHECKED int rapahub_host_plug(struct rapahub_host *host,
                                          struct rapahub_container_id target, bool plugged);

/* Waits until its work_remaining is 0 and no call of this host is open in it; -ETIMEDOUT after
 * `timeout_ns`, or 100 ms if that is more. It must be plugged (RAPAHUB_ESTATE). */
RAPAHUB_API_CHECKED int rapahub_host_drain(struct rapahub_host *host,
                                           struct rapahub_container_id target, uint64_t timeout_ns);

/* work_remaining, as the container says. */
RAPAHUB_API_CHECKED int rapahub_host_work_remaining(struct rapahub_host *host,
                                                    struct rapahub_container_id target,
                                                    uint64_t *out);

/* Writes its state: a head with version, size and CRC32C, then the bytes. It must be plugged. The
 * guest serves on, also where this fails: -EMSGSIZE beyond RAPAHUB_STATE_MAX, -ETIMEDOUT. */
RAPAHUB_API_CHECKED int rapahub_host_save(struct rapahub_host *host,
                                          struct rapahub_container_id target,
                                          struct rapahub_sink *to);

/* `migrate`: plugged and drained, it is told where it goes. `expand`: a node has joined. */
RAPAHUB_API_CHECKED int rapahub_host_migrate(struct rapahub_host *host,
                                             struct rapahub_container_id target,
                                             struct rapahub_node_id node);
RAPAHUB_API_CHECKED int rapahub_host_expand(struct rapahub_host *host,
                                            struct rapahub_container_id target,
                                            struct rapahub_node_id joined);

/* Where it wants a lost sibling to be recovered; RAPAHUB_NODE_ANY is an answer. */
RAPAHUB_API_CHECKED int rapahub_host_schedule_recover(struct rapahub_host *host,
                                                      struct rapahub_container_id target,
                                                      struct rapahub_container_id lost,
                                                      struct rapahub_node_id *out);

/* As it judges itself: 0 ready, 1 degraded, 2 unhealthy. */
RAPAHUB_API_CHECKED int rapahub_host_health(struct rapahub_host *host,
                                            struct rapahub_container_id target, uint32_t *out);

/* Ends it: its `fini` runs; the id is free again. */
RAPAHUB_API_CHECKED int rapahub_host_remove_container(struct rapahub_host *host,
                                                      struct rapahub_container_id target);

RAPAHUB_END_DECLS

#endif
