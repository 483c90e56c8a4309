/* SPDX-License-Identifier: Apache-2.0 */
/* tracer: does somebody debug a guest? A guest that has itself traced is not excused by that. */
#ifndef HOST_PROCESS_TRACER_H
#define HOST_PROCESS_TRACER_H

#include <stdbool.h>
#include <sys/types.h>

struct host_life;

/* Is its process traced now, by one that is none of its own: no descendant of it, and neither in
 * its process group nor in the cgroup that it has for itself? Reads /proc. Owner. */
bool host_tracer_has(const struct host_life *life);

/* The tracer in the text of /proc/PID/status: 0 where there is none. The name of a thread is in
 * that text, too, and may be anything: so only a line's beginning counts. */
pid_t host_tracer_of(const char *status);

/* Parent and process group in the text of /proc/PID/stat, of whatever name: false where it is none.
 */
struct host_tracer_kin {
    pid_t parent, group;
};
bool host_tracer_kin(const char *stat, struct host_tracer_kin *out);

#endif
