/* SPDX-License-Identifier: Apache-2.0 */
/* links: the roles of a container in one life of its guest: granted, built, suspended, ended.
 *
 * A new life's links are built aside: each role is granted and taken up, and its record says for
 * which life. They stand from the moment that `linked` of the guest names that life, which is one
 * store. A life that ends before has changed nothing. Owner. r[impl supervise.role.again] */
#ifndef HOST_ROLES_LINKS_H
#define HOST_ROLES_LINKS_H

#include "host/process/guest.h"
#include "host/registry/containers.h"
#include "host/roles/regions.h"
#include "hub/wire/lifecycle.h"

/* Grants a role to a life, and sends the description of the region by its doorbell. `out` is the
 * message ROLE, which names it; its text is the role's. RAPAHUB_EROLETAKEN: another process has it,
 * or no index is free; the errors of hub_grant_make; -EAGAIN: the doorbell takes nothing now. */
int host_links_grant(const struct host_life *life, struct host_role *role, struct hub_granted *out);

/* The life has taken the role up. */
void host_links_built(const struct host_life *life, struct host_role *role);

/* A life is proven dead: takes back at once what it held in all regions. Its relations are
 * suspended by that. r[impl supervise.role.suspended] */
void host_links_suspend(const struct host_life *life);

/* Its guest will not run again, or the container is gone: its subscriptions end, and its roles are
 * free. r[impl supervise.role.gone] */
void host_links_end(struct host_container *container);

/* In an upgrade the container's roles go from one process to another: from now on its subscriptions
 * are held up by that and not suspended, or no longer. */
void host_links_keep(const struct host_container *container, bool keep);

/* In an upgrade: its guest's process may have let the container's roles go. */
void host_links_let_go(const struct host_container *container);

/* All of them stand for a life that has them. */
void host_links_stand(const struct host_container *container, const struct host_life *life);

/* Finds the first role that was let go, and is not built again; false: there is none. */
bool host_links_is_let_go(const struct host_container *container, uint32_t *index);

/* Says whether a container of this host has the role for all of its lives. A role whose container
 * is gone for now is free: a guest that is started again later may find it taken. */
bool host_links_promised(const struct host_role *role, uint32_t index);

/* Says whether a role stands: its guest lives, and has it. */
bool host_links_stands(const struct host_role *role);

#endif
