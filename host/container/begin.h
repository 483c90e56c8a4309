/* SPDX-License-Identifier: Apache-2.0 */
/* begin: a container enters the table before its guest begins it, and is shown to calls or
 * withdrawn after that. Owner. */
#ifndef HOST_CONTAINER_BEGIN_H
#define HOST_CONTAINER_BEGIN_H

#include <rapahub/lifecycle.h>

#include "host/call/request.h"
#include "host/process/life.h"
#include "host/registry/containers.h"

struct host_call;

/* -EINVAL, RAPAHUB_ENAME and so on: no container can begin so. */
int host_begin_check(const struct rapahub_container_options *options, enum rapahub_begin how);

/* Finds the life of a guest that is up, and holds it. RAPAHUB_ESTALE; -EBUSY: it is being upgraded.
 */
int host_begin_find(struct host_call *host, struct rapahub_guest_id id, struct host_life **out);

/* Enters the container, STARTING, with its roles. `guest` NULL: it is of this process. A container
 * of the same id whose guest has ended for good is removed first, and a managed one that is down in
 * this guest is begun again, with the roles that it has. -EEXIST, RAPAHUB_EFULL, -ENOMEM; what
 * host_role_options_take says. */
int host_begin_enter(struct host_call *host, const struct rapahub_container_options *options,
                     const struct host_guest *guest, struct host_container **out);

/* The message ROLE for a role of a container, in the order of its options. */
struct host_begin_role {
    int r; /* a failure: the role cannot be had, and nothing was sent */
    struct hub_granted granted;
    const void *arguments[3];
};

/* Grants the role of this index to a life, and sends its region; `out` must stay where it is.
 * False: the container has no more roles. */
bool host_begin_role(const struct host_life *life, const struct host_container *container,
                     uint32_t index, struct host_begin_role *out);

/* The guest has answered that message: 0 if it has taken the role up, or its code. */
int host_begin_take_role(struct host_life *life, const struct host_container *container,
                         uint32_t index, struct hub_answer *answer);

/* The same message once more, without a deadline, where its answer did not come: the guest may have
 * dropped it, and then has a description of the region that no message names. It takes that up, and
 * closes it with the container, which it is told to end after that. -EAGAIN or -EBUSY: there is no
 * space. r[impl supervise.role.holder] */
int host_begin_name_role(struct host_life *life, const struct host_begin_role *role);

/* Makes it reachable for calls, and its roles stand, which its guest has opened. RAPAHUB_EDIED: its
 * guest died after its last answer. */
int host_begin_show(struct host_call *host, struct host_life *life,
                    struct host_container *container);

/* From now on, or no longer, the guest may have, or lack, a container other than the host knows:
 * calls name theirs meanwhile. The second one may be left out, which only costs bytes. */
void host_begin_unsure(struct host_life *life);
void host_begin_sure(struct host_life *life);

/* The guest is to end a container that it may have begun, or begins yet: it gets the message after
 * that begin, however long it takes. Nothing waits for that. Counts as unsure, and no longer when
 * the guest has answered. -EAGAIN or -EBUSY: there is no space. */
int host_begin_take_back(struct host_life *life, uint64_t handle);

/* Says whether the result of FINI shows that the guest does not have the container. The second one
 * is for an answer that is not decoded yet. */
bool host_begin_is_ended(int r);
bool host_begin_answers_end(struct host_life *life, int code, struct hub_answer *answer);

/* It did not begin: it is gone, or down as it was before. */
void host_begin_withdraw(struct host_call *host, struct host_container *container);

#endif
