/* SPDX-License-Identifier: Apache-2.0 */
/* limits: reads the option --limit KEY=N,... into the options of a host. */
#ifndef CLI_LIMITS_H
#define CLI_LIMITS_H

#include <rapahub/host.h>

#include "host/cli/command/arguments.h"

/* Sets the given limits in `out` and leaves the others unchanged. RAPAHUB_ECONFIG names the wrong
 * key or value. */
int cli_limits_take(const struct cli_arguments *arguments, struct rapahub_host_options *out);

#endif
