/* SPDX-License-Identifier: Apache-2.0 */
/* upgrade: `rapahub upgrade`. */
#ifndef CLI_UPGRADE_H
#define CLI_UPGRADE_H

struct cli;

int cli_upgrade(struct cli *cli);

#endif
