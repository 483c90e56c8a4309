/* SPDX-License-Identifier: Apache-2.0 */
/* supervisor: events and time in, decisions out. What happened and what somebody asks for is told
 * by these functions; then host_machine_next gives, until there is no more, what is to be carried
 * out, in order. Pure: no clock, no thread, no I/O; memory only where a machine is made.
 *
 * What happened to a life names its incarnation: of another one than the present it changes nothing
 * and is RAPAHUB_ESTALE. r[impl supervise.incarnation] */
#ifndef HOST_SUPERVISE_SUPERVISOR_H
#define HOST_SUPERVISE_SUPERVISOR_H

#include "host/supervise/failure.h"
#include "host/supervise/machine.h"

/* Adds a child, or a supervisor with `plan->group`; one that is eager starts when its time has
 * come. Fails as host_tree_add does; RAPAHUB_ESTATE where its supervisor comes down or has ended.
 */
int host_supervisor_add(struct host_machine *machine, const struct host_tree_plan *plan,
                        uint64_t now_ns, uint32_t *out);

/* ---- what somebody asks for ---- */

/* Now, whatever its delay; its requirements with it. RAPAHUB_EGIVENUP where it is FAILED,
 * RAPAHUB_ECLOSED, RAPAHUB_ESTATE where its supervisor does not run. */
int host_supervisor_start(struct host_machine *machine, uint32_t place, uint64_t now_ns);

/* It, and those that may not run without it. It stays down when its supervisor starts again. */
int host_supervisor_stop(struct host_machine *machine, uint32_t place, uint64_t now_ns);

/* The same, and all of it is killed at `deadline_ns`; of a supervisor. */
int host_supervisor_stop_by(struct host_machine *machine, uint32_t place, uint64_t deadline_ns,
                            uint64_t now_ns);

/* Stops and starts it, and those that may not run without it; counts nothing. */
int host_supervisor_restart(struct host_machine *machine, uint32_t place, uint64_t now_ns);

/* FAILED: its budget is cleared and it starts. RAPAHUB_ESTATE where it is not. */
int host_supervisor_reset(struct host_machine *machine, uint32_t place, uint64_t now_ns);

/* Stops it, and it is CLOSED then, with its children. */
int host_supervisor_close(struct host_machine *machine, uint32_t place, uint64_t now_ns);

/* Somebody waits for it: one that is lazy starts when its delay is over. */
int host_supervisor_call(struct host_machine *machine, uint32_t place, uint64_t now_ns);

/* Of a child: is it started again, and does that wait for host_supervisor_call? */
enum host_outlook host_supervisor_outlook(const struct host_machine *machine, uint32_t place);

/* ---- what happened to a life ---- */

int host_supervisor_attached(struct host_machine *machine, uint32_t place, uint64_t incarnation);
int host_supervisor_ready(struct host_machine *machine, uint32_t place, uint64_t incarnation,
                          uint64_t now_ns);

/* Another process took its place, and its calls with it: the same child, another life.
 * RAPAHUB_ESTATE where it is not up, or is to go. It stays READY or DEGRADED, as it is. r[impl
 * supervise.upgrade.child] */
int host_supervisor_replaced(struct host_machine *machine, uint32_t place, uint64_t incarnation,
                             uint64_t now_ns, uint64_t *out);

/* It takes no calls for the time being; host_supervisor_ready ends that. */
int host_supervisor_degraded(struct host_machine *machine, uint32_t place, uint64_t incarnation);

/* It goes by itself, or is being killed for a cause of its own. */
int host_supervisor_leaving(struct host_machine *machine, uint32_t place, uint64_t incarnation);

/* Its death is proven, or its start failed before there was a process. */
int host_supervisor_exited(struct host_machine *machine, uint32_t place, uint64_t incarnation,
                           const struct host_ending *ending, uint64_t now_ns);

/* Its start could not be tried now; that is no failure. It is tried again at `due_ns`. */
int host_supervisor_deferred(struct host_machine *machine, uint32_t place, uint64_t incarnation,
                             uint64_t due_ns, uint64_t now_ns);

/* ---- time ---- */

void host_supervisor_tick(struct host_machine *machine, uint64_t now_ns);

/* When the next tick is due; HUB_NEVER: none is. */
uint64_t host_supervisor_due(struct host_machine *machine, uint64_t now_ns);

#endif
