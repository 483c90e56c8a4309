/* SPDX-License-Identifier: Apache-2.0 */
/* decide: what follows the end of a life: a restart, now or later, or none; and who is told. Owner.
 */
#ifndef HOST_DECIDE_H
#define HOST_DECIDE_H

#include "host/guest.h"
#include "host/supervise/tree.h"

/* How a life ended, or how its start failed before there was one. */
struct host_end {
    enum rapahub_exit_class class;
    const struct hub_exit *exit; /* NULL: unknown */
    const char *cause;           /* in words */
    const char *rule;            /* of the protocol, or "" */
    uint64_t ready_ns;           /* how long it served; 0: it never did */
    uint64_t uptime_ns;
    uint32_t calls_lost;
};

/* The guest is EXITED and has no life: that is told, and what follows is decided. */
void host_decide(struct host_guest *guest, const struct host_end *end);

/* Its state was decided: others see it, and are told where it is an end or another beginning. */
struct host_decision;
void host_decide_moved(struct host_guest *guest, const struct host_decision *decision);

/* An event of this guest; kind, cause and the like are set, the rest is filled in. */
void host_decide_tell(const struct host_guest *guest, struct rapahub_event *event);

#endif
