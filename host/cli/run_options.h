/* SPDX-License-Identifier: Apache-2.0 */
/* run_options: the options of `rapahub run`, as options of the library. */
#ifndef CLI_RUN_OPTIONS_H
#define CLI_RUN_OPTIONS_H

#include <rapahub/host.h>

#include "host/cli/arguments.h"

struct cli;

struct cli_run_options {
    struct rapahub_host_options host; /* its limits */
    struct rapahub_supervision supervision;
    enum rapahub_trust trust;
    bool check;                                 /* and no more */
    const char *plain[CLI_ARGUMENTS_GIVEN + 1]; /* ended by NULL */
};

/* RAPAHUB_ECONFIG says which option is wrong. */
int cli_run_options_take(struct cli *cli, struct cli_run_options *out);

#endif
