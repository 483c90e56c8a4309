/* SPDX-License-Identifier: Apache-2.0 */
/* run_roles: the roles of a module that `rapahub run` starts by its file, in regions that are
 * there.
 */
#ifndef CLI_RUN_ROLES_H
#define CLI_RUN_ROLES_H

#include <rapahub/host.h>
#include <rapahub/roles.h>

#define CLI_RUN_ROLE_TEXT 192 /* bytes of NAME=KIND:REGION#INDEX,OPTION,OPTION, with its end */

struct cli;

struct cli_run_roles {
    unsigned count;
    struct rapahub_role of[RAPAHUB_ROLES_MAX + 1]; /* ended by one without a name */
    char texts[RAPAHUB_ROLES_MAX][CLI_RUN_ROLE_TEXT];
};

/* Takes the options --role. RAPAHUB_ECONFIG says what is wrong with one. `out` holds pointers into
 * itself. r[impl exp.config.regions] */
int cli_run_roles_take(const struct cli *cli, struct cli_run_roles *out);

/* Refuses roles where there is not one module, or it is not trusted. RAPAHUB_ECONFIG. */
int cli_run_roles_check(const struct cli_run_roles *roles, unsigned modules,
                        enum rapahub_trust trust);

/* Opens the regions that they name, in a host without regions. */
int cli_run_roles_open(struct cli *cli, const struct cli_run_roles *roles,
                       struct rapahub_host *host);

#endif
