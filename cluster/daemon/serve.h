/* SPDX-License-Identifier: Apache-2.0 */
/* serve: the daemon: a host that is a node, with its control socket, and the loop that owns it. */
#ifndef DAEMON_SERVE_H
#define DAEMON_SERVE_H

#include "cluster/daemon/options.h"

/* Serves until it is asked to end, by a signal or at the control socket: then in order, within
 * `stop_timeout`; a second signal ends all at once. When its warden is dead it ends all guests and
 * itself. Returns 0 after an end that was asked for, else the failure. */
int daemon_serve_run(const struct daemon_options *options);

#endif
