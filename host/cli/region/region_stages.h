/* SPDX-License-Identifier: Apache-2.0 */
/* region_stages: the stages of a sequencer, as options and as text. */
#ifndef CLI_REGION_STAGES_H
#define CLI_REGION_STAGES_H

#include <rapahub/sequencer.h>

#include "host/cli/command/cli.h"
#include "host/cli/text/json.h"
#include "host/config/region_options.h"

/* Reads --stages, --after, --on-death and --freeze, and makes `options` refer to `list`.
 * RAPAHUB_ECONFIG names the fault. */
int cli_region_stages_read(const struct cli *cli,
                           struct rapahub_region_stage list[CONFIG_REGION_STAGES],
                           struct rapahub_region_options *options);

/* Writes a line, or an object, for a stage. */
void cli_region_stages_print(const struct rapahub_region_stage_report *stage);
void cli_region_stages_write(struct cli_json *json,
                             const struct rapahub_region_stage_report *stage);

#endif
