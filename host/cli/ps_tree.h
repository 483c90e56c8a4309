/* SPDX-License-Identifier: Apache-2.0 */
/* ps_tree: `rapahub ps --tree`. */
#ifndef CLI_PS_TREE_H
#define CLI_PS_TREE_H

struct cli;

int cli_ps_tree(struct cli *cli);

#endif
