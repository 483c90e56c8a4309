/* SPDX-License-Identifier: Apache-2.0 */
/* run_group: the group whose members may use the host of `rapahub run`. */
#ifndef CLI_RUN_GROUP_H
#define CLI_RUN_GROUP_H

#include <rapahub/control.h>

#define CLI_RUN_GROUP_NAME 64

struct cli;
struct cli_run_tree;

struct cli_run_group {
    char name[CLI_RUN_GROUP_NAME]; /* "": none */
    enum rapahub_control_role role;
};

/* Takes the option --control-group. RAPAHUB_ECONFIG. */
int cli_run_group_take(const struct cli *cli, struct cli_run_group *out);

/* Takes what a tree file says, unless the option was given. RAPAHUB_ECONFIG. */
int cli_run_group_of_tree(const struct cli_run_tree *tree, struct cli_run_group *out);

/* Adds it to the options of a control socket, which show the name. */
void cli_run_group_add(const struct cli_run_group *group, struct rapahub_control_options *to);

/* Sets the hint for a socket that could not be opened to the group: `r` is why. */
void cli_run_group_hint(struct cli *cli, const struct cli_run_group *group, int r);

#endif
