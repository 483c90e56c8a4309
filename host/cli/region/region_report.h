/* SPDX-License-Identifier: Apache-2.0 */
/* region_report: the words for what is in a report of a region, and its members in a document. */
#ifndef CLI_REGION_REPORT_H
#define CLI_REGION_REPORT_H

#include <rapahub/region.h>

#include "host/cli/text/json.h"

const char *cli_region_report_kind(const struct rapahub_region_report *report);
const char *cli_region_report_profile(const struct rapahub_region_report *report);
const char *cli_region_report_mode(const struct rapahub_region_report *report);
const char *cli_region_report_credit(const struct rapahub_region_report *report);
const char *cli_region_report_role(enum rapahub_region_role role);
const char *cli_region_report_detail(const struct rapahub_region_report *report);
const char *cli_region_report_class(const struct rapahub_region_report *report);

/* "sound", or the text of the code. */
const char *cli_region_report_verdict(const struct rapahub_region_report *report);

/* Says whether there is something to do. */
bool cli_region_report_is_problem(const struct rapahub_region_report *report);

/* Adds an object for the queue of a consumer. */
void cli_region_report_write_queue(struct cli_json *json, const struct rapahub_region_queue *queue);

/* Adds an object for the ring of a producer. */
void cli_region_report_write_ring(struct cli_json *json, const struct rapahub_region_queue *ring);

/* Returns how many messages the region holds, over all its rings. */
uint64_t cli_region_report_room(const struct rapahub_region_report *report);

/* Adds the members of a report to the open object. */
void cli_region_report_write(struct cli_json *json, const char *name,
                             const struct rapahub_region_report *report);

#endif
