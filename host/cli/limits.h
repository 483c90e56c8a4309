/* SPDX-License-Identifier: Apache-2.0 */
/* limits: the option --limit KEY=N,... as options of a host. */
#ifndef CLI_LIMITS_H
#define CLI_LIMITS_H

#include <rapahub/host.h>

#include "host/cli/arguments.h"

/* Sets what was given and leaves the rest; RAPAHUB_ECONFIG names what is wrong. */
int cli_limits_take(const struct cli_arguments *arguments, struct rapahub_host_options *out);

#endif
