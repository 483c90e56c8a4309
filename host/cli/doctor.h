/* SPDX-License-Identifier: Apache-2.0 */
/* doctor: the command of that name. */
#ifndef CLI_DOCTOR_H
#define CLI_DOCTOR_H

struct cli;

int cli_doctor(struct cli *cli);

#endif
