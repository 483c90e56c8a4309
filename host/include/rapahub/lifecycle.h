/* SPDX-License-Identifier: Apache-2.0 */
/* lifecycle: the steps of a container's life, for programs that move, save and upgrade containers.
 * Owner thread, unless the host has its own. Each function waits for the guest, at most the host's
 * call time-out in all; the time that a sink or a source needs does not count.
 *
 * States: starting, ready, plugged, held, down (its guest is dead or restarts), gone. */
#ifndef RAPAHUB_LIFECYCLE_H
#define RAPAHUB_LIFECYCLE_H

#include <rapahub/host.h>
#include <rapahub/stream.h>

RAPAHUB_BEGIN_DECLS

/* The way in which a container comes to life; rapahub_host_add_container does RAPAHUB_BEGIN_INIT.
 */
enum rapahub_begin { RAPAHUB_BEGIN_INIT, RAPAHUB_BEGIN_RESTART, RAPAHUB_BEGIN_RECOVER };

/* Does as rapahub_host_add_container, in the way given; with `state`, which may be NULL, `load`
 * follows, with the bytes of an earlier rapahub_host_save. If a step fails, the container is gone.
 * A managed container that is down in this guest is begun again, with the token of `options`; it
 * keeps name and params, and if a step fails it is down. */
RAPAHUB_API_CHECKED int rapahub_host_begin(struct rapahub_host *host, struct rapahub_guest_id guest,
                                           const struct rapahub_container_options *options,
                                           enum rapahub_begin how, struct rapahub_source *state);

/* Refuses new calls to a container (RAPAHUB_EPLUGGED), or accepts them again. */
RAPAHUB_API_CHECKED int rapahub_host_plug(struct rapahub_host *host,
                                          struct rapahub_container_id target, bool plugged);

/* Lets new calls to a container wait, or go on again, at once: the guest is not told. The time-out
 * of a call that waits holds. A call that serves to answer a call which runs in the container
 * passes, until the container is drained. It lasts over restarts of the guest; a plugged container
 * refuses its calls also while it is held. Any thread. RAPAHUB_ENOENT; -ENOTSUP for an offer. */
RAPAHUB_API_CHECKED int rapahub_host_hold(struct rapahub_host *host,
                                          struct rapahub_container_id target, bool held);

/* Waits until a container's work_remaining is 0 and no call of this host is open in it; -ETIMEDOUT
 * after `timeout_ns`, or 100 ms if that is more. It must be plugged or held (RAPAHUB_ESTATE). */
RAPAHUB_API_CHECKED int rapahub_host_drain(struct rapahub_host *host,
                                           struct rapahub_container_id target, uint64_t timeout_ns);

/* Asks a container for its work_remaining. */
RAPAHUB_API_CHECKED int rapahub_host_work_remaining(struct rapahub_host *host,
                                                    struct rapahub_container_id target,
                                                    uint64_t *out);

/* Writes a container's state: a head with version, size and CRC32C, then the bytes. It must be
 * plugged or held. The guest serves on, also where this fails: -EMSGSIZE beyond RAPAHUB_STATE_MAX,
 * -ETIMEDOUT. */
RAPAHUB_API_CHECKED int rapahub_host_save(struct rapahub_host *host,
                                          struct rapahub_container_id target,
                                          struct rapahub_sink *to);

/* Writes what has changed since the container's last save or save_changes, or since it began, in
 * the same form. A copy is the bytes of a save and of each of these after it, in their order; after
 * a failure the next one must be a save. Calls go on. A module that has no callback for it gives
 * its whole state, as by rapahub_host_save: *whole is true then, a new copy begins with that, and
 * the container must be plugged (RAPAHUB_ESTATE). */
RAPAHUB_API_CHECKED int rapahub_host_save_changes(struct rapahub_host *host,
                                                  struct rapahub_container_id target,
                                                  struct rapahub_sink *to, bool *whole);

/* Reads such changes into a container that has loaded those before them. It must be plugged or
 * held. A container whose module could not load them takes no calls from then on: remove it.
 * RAPAHUB_EABI: these are no changes, or they are damaged. */
RAPAHUB_API_CHECKED int rapahub_host_load_changes(struct rapahub_host *host,
                                                  struct rapahub_container_id target,
                                                  struct rapahub_source *from);

/* Tell a container that it moves to a node (it must be plugged and drained), and that a node has
 * joined. */
RAPAHUB_API_CHECKED int rapahub_host_migrate(struct rapahub_host *host,
                                             struct rapahub_container_id target,
                                             struct rapahub_node_id node);
RAPAHUB_API_CHECKED int rapahub_host_expand(struct rapahub_host *host,
                                            struct rapahub_container_id target,
                                            struct rapahub_node_id joined);

/* Asks a container where a lost sibling shall be recovered; the answer may be RAPAHUB_NODE_ANY. */
RAPAHUB_API_CHECKED int rapahub_host_schedule_recover(struct rapahub_host *host,
                                                      struct rapahub_container_id target,
                                                      struct rapahub_container_id lost,
                                                      struct rapahub_node_id *out);

/* Asks a container for its health: 0 ready, 1 degraded, 2 unhealthy. */
RAPAHUB_API_CHECKED int rapahub_host_health(struct rapahub_host *host,
                                            struct rapahub_container_id target, uint32_t *out);

/* Ends a container: its `fini` runs, and the id is free again. */
RAPAHUB_API_CHECKED int rapahub_host_remove_container(struct rapahub_host *host,
                                                      struct rapahub_container_id target);

/* A state that goes out of a container or into one, without a wait, in pieces of at most 60 KiB:
 * together the bytes of rapahub_host_save. `piece` is a callback of the host: it runs on the owner,
 * many times, must not wait, and may begin steps and call containers.
 *
 * Out: `data` are the next `size` bytes, valid until it returns; after the last ones it is called
 * once with size 0. It returns 0, and has taken them all. In: it fills in at most `size` bytes, at
 * least one, and returns how many; at the end of the state, where it is asked once more, 0.
 *
 * Both ways: -EAGAIN, to be asked again for the same after rapahub_host_go_on with this `user`, and
 * perhaps before; the state stands still meanwhile, and the time of the step runs. Any other
 * failure ends the step, with that code and the diagnosis that it set by rapahub_fail. */
struct rapahub_pieces {
    int (*piece)(void *user, void *data, size_t size);
    void *user;
};

/* The same steps without a wait, many at a time. on_done runs once, on the owner, unless the
 * function fails; it may begin further steps and call containers. A step that is not done at its
 * time-out ends with -ETIMEDOUT, and if the guest dies, with RAPAHUB_EDIED. Any thread, and in a
 * callback of the host too. Values that this library does not know (`reserved`) are refused. */
struct rapahub_step {
    struct rapahub_container_id target;
    uint64_t timeout_ns;      /* 0: the host's call time-out; for all pieces of a state, too */
    rapahub_on_done *on_done; /* required */
    void *user;
    const struct rapahub_pieces *state; /* for steps that move one, else NULL; copied */
    /* Of a managed container: the token of the life that is meant. A container that is in another
     * life by then, because its guest has died meanwhile, is left alone: RAPAHUB_ESTALE. 0:
     * whatever life it is in; a step that begins a container has 0. */
    uint64_t token;
    uint64_t reserved[2];
};

/* Does as rapahub_host_begin; without `state` of the step it begins without one. `options` name the
 * container, not the step. The guest must be up: else the function fails, as it does if the
 * container is there already. RAPAHUB_EABI: the pieces are no saved state, or a damaged one;
 * RAPAHUB_ERESET: they ended too early; -EMSGSIZE: beyond RAPAHUB_STATE_MAX. */
RAPAHUB_API_CHECKED int rapahub_host_begin_async(struct rapahub_host *host,
                                                 const struct rapahub_step *step,
                                                 struct rapahub_guest_id guest,
                                                 const struct rapahub_container_options *options,
                                                 enum rapahub_begin how);

/* Do as the functions without _async, with the pieces of `state` instead of a stream. While the
 * state of a container is on its way, another one is refused with -EBUSY. The result of
 * save_changes is a const bool *: whether the module has saved its whole state. A failure leaves
 * the container as it was, but after one of save_changes the next one must be a save; and one of
 * its own `load_changes` closes it, as there. */
RAPAHUB_API_CHECKED int rapahub_host_save_async(struct rapahub_host *host,
                                                const struct rapahub_step *step);
RAPAHUB_API_CHECKED int rapahub_host_save_changes_async(struct rapahub_host *host,
                                                        const struct rapahub_step *step);
RAPAHUB_API_CHECKED int rapahub_host_load_changes_async(struct rapahub_host *host,
                                                        const struct rapahub_step *step);

/* Lets the states go on whose `piece` returned -EAGAIN and has this `user`; one told before it
 * returns is not lost. Does not wait. Any thread, and in `piece` itself. */
RAPAHUB_API_CHECKED int rapahub_host_go_on(struct rapahub_host *host, void *user);

RAPAHUB_API_CHECKED int rapahub_host_plug_async(struct rapahub_host *host,
                                                const struct rapahub_step *step, bool plugged);

/* The container must be plugged or held. */
RAPAHUB_API_CHECKED int rapahub_host_drain_async(struct rapahub_host *host,
                                                 const struct rapahub_step *step);

/* Calls that are held look for the container again, and fail with RAPAHUB_ENOENT. */
RAPAHUB_API_CHECKED int rapahub_host_remove_async(struct rapahub_host *host,
                                                  const struct rapahub_step *step);

/* A question to a container. The result of on_done is a const uint64_t * where the question has an
 * answer: the work that remains, the number of a node, the health. ROUTE has a const struct
 * rapahub_query * with mode, number, offset and count, as the container gave them: the host does
 * not know whether the pool has such containers. RAPAHUB_EPROTOCOL: its mode is none. */
enum rapahub_question_kind {
    RAPAHUB_QUESTION_WORK,
    RAPAHUB_QUESTION_MIGRATE,          /* to `node` */
    RAPAHUB_QUESTION_EXPAND,           /* `node` has joined */
    RAPAHUB_QUESTION_SCHEDULE_RECOVER, /* of `lost` */
    RAPAHUB_QUESTION_HEALTH,
    RAPAHUB_QUESTION_ROUTE /* asks about `route` */
};
struct rapahub_question {
    enum rapahub_question_kind kind;
    struct rapahub_node_id node;
    struct rapahub_container_id lost;
    const struct rapahub_route *route; /* copied */
    uint64_t reserved[1];
};
RAPAHUB_API_CHECKED int rapahub_host_ask_async(struct rapahub_host *host,
                                               const struct rapahub_step *step,
                                               const struct rapahub_question *question);

RAPAHUB_END_DECLS

#endif
