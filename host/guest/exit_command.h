/* SPDX-License-Identifier: Apache-2.0 */
/* exit_command: the command that runs after the end of a life, before the decision about what
 * follows. Its end is an event of the loop; no thread blocks for it. Owner. */
#ifndef HOST_GUEST_EXIT_COMMAND_H
#define HOST_GUEST_EXIT_COMMAND_H

#include <stdbool.h>

struct host_end;
struct host_exit_command;
struct host_guest;
struct rapahub_supervision;

/* Copies the command, which need not have been checked. *out stays NULL if there is no command. */
int host_exit_command_create(struct host_guest *guest, const struct rapahub_supervision *how,
                             struct host_exit_command **out);

/* Kills a running command and waits for its end. Accepts NULL. */
void host_exit_command_release(struct host_exit_command **finish);

/* Starts the command of a guest that has no life any more. True if it runs: the decision about what
 * follows comes after its end. False if there is no command, or it cannot be started. */
bool host_exit_command_begin(struct host_guest *guest, const struct host_end *end);

/* Sends SIGKILL to the command and to all that it started. If the life has not ended yet, the
 * command does not run after it. */
void host_exit_command_kill(struct host_guest *guest);

bool host_exit_command_runs(const struct host_guest *guest);

#endif
