/* SPDX-License-Identifier: Apache-2.0 */
/* warden: the process that people and the service manager see. It has the lock of the data folder,
 * runs the daemon as its child, ends all that a dead daemon left, and starts it again. It has no
 * part in what the daemon does. */
#ifndef DAEMON_WARDEN_H
#define DAEMON_WARDEN_H

#include "cluster/daemon/notify.h"
#include "cluster/daemon/options.h"

/* Runs until all is over. Returns the status for the process, or a failure before anything was
 * started. `given`: the service manager's. */
int daemon_warden_run(const struct daemon_options *options,
                      const struct daemon_notify_given *given);

#endif
