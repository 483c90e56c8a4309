/* SPDX-License-Identifier: Apache-2.0 */
/* supervisor: events and time go in, decisions come out. These functions report events and
 * requests; then host_machine_next returns, until there are no more, the decisions to carry out, in
 * order. Pure: no clock, no thread, no I/O; memory is allocated only when a machine is made.
 *
 * An event of a life names its incarnation. If that is not the present one, nothing changes and the
 * result is RAPAHUB_ESTALE. r[impl supervise.incarnation]
 */
#ifndef HOST_SUPERVISE_SUPERVISOR_H
#define HOST_SUPERVISE_SUPERVISOR_H

#include "host/supervise/failure.h"
#include "host/supervise/machine.h"

/* Adds a child, or a supervisor if `plan->group` is set. An eager one starts when its time has
 * come. Errors as for host_tree_add; RAPAHUB_ESTATE if its supervisor is stopping or has ended. */
int host_supervisor_add(struct host_machine *machine, const struct host_tree_plan *plan,
                        uint64_t now_ns, uint32_t *out);

/* ---- requests ---- */

/* Starts the child now, whatever its delay, with its requirements. RAPAHUB_EGIVENUP if it is
 * FAILED, RAPAHUB_ECLOSED, RAPAHUB_ESTATE if its supervisor does not run. */
int host_supervisor_start(struct host_machine *machine, uint32_t place, uint64_t now_ns);

/* Stops the child, and those that may not run without it. It stays down when its supervisor
 * restarts. */
int host_supervisor_stop(struct host_machine *machine, uint32_t place, uint64_t now_ns);

/* The same for a supervisor; everything left of it is killed at `deadline_ns`. */
int host_supervisor_stop_by(struct host_machine *machine, uint32_t place, uint64_t deadline_ns,
                            uint64_t now_ns);

/* Stops and starts the child, and those that may not run without it. Counts no failure. */
int host_supervisor_restart(struct host_machine *machine, uint32_t place, uint64_t now_ns);

/* Clears the budget of a FAILED child and starts it. RAPAHUB_ESTATE if it is not FAILED. */
int host_supervisor_reset(struct host_machine *machine, uint32_t place, uint64_t now_ns);

/* Stops the child for good: it becomes CLOSED, with its children. */
int host_supervisor_close(struct host_machine *machine, uint32_t place, uint64_t now_ns);

/* A call waits for the child: a lazy one starts when its delay is over. */
int host_supervisor_call(struct host_machine *machine, uint32_t place, uint64_t now_ns);

/* Says whether a child will be started again, and whether that waits for host_supervisor_call. */
enum host_outlook host_supervisor_outlook(const struct host_machine *machine, uint32_t place);

/* ---- events of a life ---- */

int host_supervisor_attached(struct host_machine *machine, uint32_t place, uint64_t incarnation);
int host_supervisor_ready(struct host_machine *machine, uint32_t place, uint64_t incarnation,
                          uint64_t now_ns);

/* Another process replaced the child's, with its calls: the same child, another life.
 * RAPAHUB_ESTATE if the child is not up, or shall stop. Its state READY or DEGRADED stays.
 * r[impl supervise.upgrade.child] */
int host_supervisor_replaced(struct host_machine *machine, uint32_t place, uint64_t incarnation,
                             uint64_t now_ns, uint64_t *out);

/* The child takes no calls for now; host_supervisor_ready ends that. */
int host_supervisor_degraded(struct host_machine *machine, uint32_t place, uint64_t incarnation);

/* The child leaves by itself, or is being killed for a cause of its own. */
int host_supervisor_leaving(struct host_machine *machine, uint32_t place, uint64_t incarnation);

/* The child's death is proven, or its start failed before there was a process. */
int host_supervisor_exited(struct host_machine *machine, uint32_t place, uint64_t incarnation,
                           const struct host_ending *ending, uint64_t now_ns);

/* The start could not be tried now, which is no failure. It is tried again at `due_ns`. */
int host_supervisor_deferred(struct host_machine *machine, uint32_t place, uint64_t incarnation,
                             uint64_t due_ns, uint64_t now_ns);

/* ---- time ---- */

void host_supervisor_tick(struct host_machine *machine, uint64_t now_ns);

/* Returns the time of the next tick; HUB_NEVER: none is due. */
uint64_t host_supervisor_due(struct host_machine *machine, uint64_t now_ns);

#endif
