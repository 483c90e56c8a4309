/* SPDX-License-Identifier: Apache-2.0 */
/* region_options: options of a new region as people write them, on the command line and in a file:
 * defaults, and texts that are neither a number nor a word. */
#ifndef CONFIG_REGION_OPTIONS_H
#define CONFIG_REGION_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include <rapahub/region.h>
#include <rapahub/sequencer.h>

#define CONFIG_REGION_STAGES 64 /* the most that a region has */

/* Sets what is not given: 1,024 cells or positions, of 1,024 bytes, or a value of so many. */
void config_region_options_complete(struct rapahub_region_options *options);

/* Adds to the stages of a list those that each follows: "1:0,3:1+2". */
bool config_region_options_after(const char *text,
                                 struct rapahub_region_stage list[CONFIG_REGION_STAGES]);

/* Returns the first stage that follows others and that there is not, among `count`; else 64. */
uint32_t config_region_options_beyond(const struct rapahub_region_stage list[CONFIG_REGION_STAGES],
                                      uint32_t count);
#define CONFIG_REGION_AFTER "is not like 1:0,3:1+2, stages from 0 to 63 and those that each follows"

/* Reads the index of a role: a number from 0 on, or "any", which is RAPAHUB_ROLE_ANY. */
bool config_region_options_index(const char *text, uint32_t *out);

/* Reads the mode of a file, in octal, of at most 660. */
bool config_region_options_mode(const char *text, uint32_t *out);

#endif
