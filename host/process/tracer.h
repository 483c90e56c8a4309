/* SPDX-License-Identifier: Apache-2.0 */
/* tracer: detects that a guest is being debugged. A guest that arranges its own tracing is not
 * excused by it. */
#ifndef HOST_PROCESS_TRACER_H
#define HOST_PROCESS_TRACER_H

#include <stdbool.h>
#include <sys/types.h>

struct host_life_process;

/* Says whether the process of a life is traced now by a foreign process: one that is neither a
 * descendant of it, nor in its process group, nor in its own cgroup. Reads /proc. Owner. */
bool host_tracer_has(const struct host_life_process *process);

/* Returns the pid of the tracer in the text of /proc/PID/status; 0 if there is none. The text also
 * has the name of a thread, which may be anything, so the field must begin a line. Pure. */
pid_t host_tracer_of(const char *status);

/* Returns parent and process group from the text of /proc/PID/stat, whatever its name field holds;
 * false if the text is not of that form. Pure. */
struct host_tracer_kin {
    pid_t parent, group;
};
bool host_tracer_kin(const char *stat, struct host_tracer_kin *out);

#endif
