/* SPDX-License-Identifier: Apache-2.0 */
/* finish: the command that runs when a life of a child has ended, before it is decided what
 * follows. Its end is an event of the loop; nobody waits for it in a blocked thread. Owner. */
#ifndef HOST_GUEST_FINISH_H
#define HOST_GUEST_FINISH_H

#include <stdbool.h>

struct host_end;
struct host_finish;
struct host_guest;
struct rapahub_supervision;

/* A copy of the command, which need not be checked yet; *out stays NULL where there is none. */
int host_finish_create(struct host_guest *guest, const struct rapahub_supervision *how,
                       struct host_finish **out);

/* One that runs is killed, and its end waited for. Accepts NULL. */
void host_finish_release(struct host_finish **finish);

/* The guest has no life any more. True: the command runs, and what follows is decided behind it;
 * false: there is none, or it cannot be started. */
bool host_finish_begin(struct host_guest *guest, const struct host_end *end);

/* SIGKILL, with what it has started. Where the life has not ended yet it will not run behind it. */
void host_finish_kill(struct host_guest *guest);

bool host_finish_runs(const struct host_guest *guest);

#endif
