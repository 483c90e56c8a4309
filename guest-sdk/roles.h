/* SPDX-License-Identifier: Apache-2.0 */
/* roles: the roles that the containers of this process have in regions. A role is built before its
 * container begins, and goes after its container has ended. Serving thread, unless a function says
 * otherwise. r[impl supervise.role.grant] */
#ifndef GUEST_SDK_ROLES_H
#define GUEST_SDK_ROLES_H

#include <stdbool.h>
#include <stdint.h>

#include <rapahub/region.h>

#include "guest-sdk/role_arrivals.h"
#include "hub/base/atomic.h"
#include "hub/base/list.h"
#include "hub/wire/lifecycle.h"

struct guest;
struct guest_container;
struct hub_reader;

struct guest_role {
    uint64_t handle; /* its container's, which may not have begun yet */
    char *name;
    enum rapahub_region_role kind;
    struct rapahub_region *region; /* NULL: it was let go, and its handle has no role */
    bool opened;                   /* its guest is READY */
    /* the one of its kind; the others are NULL */
    struct rapahub_producer *producer;
    struct rapahub_consumer *consumer;
    struct rapahub_writer *writer;
    struct rapahub_reader *reader;
    struct hub_list link;
    /* the rest is for delivery.h */
    struct guest *guest;
    void *copy;         /* a message's bytes; NULL: the role does not deliver */
    size_t room;        /* its size in bytes */
    struct hub_a32 due; /* there may be something; set by the thread of its watcher */
    uint64_t gap_ns;    /* how long the message that stays was put off last; 0: none */
    uint64_t dead_letters;
};

struct guest_roles {
    struct guest_role_arrivals arrivals;
    struct hub_list list; /* in the order in which they were built */
    struct hub_a32 due;   /* a role may have something to deliver; any thread */
};

void guest_roles_init(struct guest_roles *roles);

/* Closes all roles, before the link is closed, which their threads nudge. A zeroed struct is
 * allowed, also for fini, which follows when no descriptor can come any more. */
void guest_roles_close(struct guest_roles *roles);
void guest_roles_fini(struct guest_roles *roles);

/* Serves the message ROLE: builds a role for the container that begins next under its handle, or
 * gives one back that it has let go, into the handle that the module has. Takes up the descriptor
 * that came for it, maps and checks the region, and opens the handle. A role of the same name that
 * an earlier try left is closed first. RAPAHUB_EPROTOCOL: no such descriptor came, or it is not
 * what was named; RAPAHUB_EARGUMENTS; RAPAHUB_ESTATE: the container has begun, and has not let such
 * a role go; the errors of rapahub_region_open. r[impl supervise.role.holder] */
int guest_roles_build(struct guest *guest, struct hub_reader *arguments);

/* Serves the message ROLES; `what` is of enum hub_roles. OPEN: its guest is READY: the roles of
 * this container are given messages and values, and are delivered; those that are open already stay
 * so. LET_GO: another version takes over: tells the container, which waits in no call, and gives
 * its roles back; their handles stay, without a role. -ENOMEM, errors of the start of a thread;
 * RAPAHUB_EARGUMENTS. r[impl supervise.role.upgrade] */
int guest_roles_change(struct guest *guest, struct guest_container *container, uint8_t what);

/* The container has ended, or did not begin: closes its roles. Subscriptions are the host's to
 * end. */
void guest_roles_drop(struct guest_roles *roles, uint64_t handle);

#endif
