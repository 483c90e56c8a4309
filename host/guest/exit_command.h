/* SPDX-License-Identifier: Apache-2.0 */
/* exit_command: the command that runs when a life of a child has ended, before it is decided what
 * follows. Its end is an event of the loop; nobody waits for it in a blocked thread. Owner. */
#ifndef HOST_GUEST_EXIT_COMMAND_H
#define HOST_GUEST_EXIT_COMMAND_H

#include <stdbool.h>

struct host_end;
struct host_exit_command;
struct host_guest;
struct rapahub_supervision;

/* A copy of the command, which need not be checked yet; *out stays NULL where there is none. */
int host_exit_command_create(struct host_guest *guest, const struct rapahub_supervision *how,
                             struct host_exit_command **out);

/* One that runs is killed, and its end waited for. Accepts NULL. */
void host_exit_command_release(struct host_exit_command **finish);

/* The guest has no life any more. True: the command runs, and what follows is decided behind it;
 * false: there is none, or it cannot be started. */
bool host_exit_command_begin(struct host_guest *guest, const struct host_end *end);

/* SIGKILL, with what it has started. Where the life has not ended yet it will not run behind it. */
void host_exit_command_kill(struct host_guest *guest);

bool host_exit_command_runs(const struct host_guest *guest);

#endif
