/* SPDX-License-Identifier: Apache-2.0 */
/* region_commands: the table of `rapahub region ...`, and the functions that carry its commands
 * out, each in the file of its name. They use <rapahub/region.h> alone. */
#ifndef CLI_REGION_COMMANDS_H
#define CLI_REGION_COMMANDS_H

#include <stdint.h>

#include "host/cli/command/command.h"

/* Ends with an entry that has no name. */
extern const struct cli_command cli_region_commands[];

int cli_region_fanout_admit(struct cli *cli);
int cli_region_create(struct cli *cli);
int cli_region_create_anew(struct cli *cli);
int cli_region_fanout_detach(struct cli *cli);
int cli_region_inspect(struct cli *cli);
int cli_region_ls(struct cli *cli);
int cli_region_publish(struct cli *cli);
int cli_region_fanout_route(struct cli *cli);
int cli_region_stages_evict(struct cli *cli);
int cli_region_rm(struct cli *cli);
int cli_region_stat(struct cli *cli);
int cli_region_state_get(struct cli *cli);
int cli_region_state_put(struct cli *cli);
int cli_region_tail(struct cli *cli);

/* `rapahub region tail --stage`. */
int cli_region_stage_tail(struct cli *cli);

/* Reads the number of a consumer, producer or stage, from 0 on. RAPAHUB_ECONFIG: `whose` it would
 * be. */
int cli_region_fanout_index(const char *text, const char *whose, uint32_t *out);

#endif
