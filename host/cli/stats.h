/* SPDX-License-Identifier: Apache-2.0 */
/* stats: the command of that name. */
#ifndef CLI_STATS_H
#define CLI_STATS_H

struct cli;

int cli_stats(struct cli *cli);

#endif
