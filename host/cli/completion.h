/* SPDX-License-Identifier: Apache-2.0 */
/* completion: scripts for shells, and the candidates they ask for. */
#ifndef CLI_COMPLETION_H
#define CLI_COMPLETION_H

struct cli;

int cli_completion(struct cli *cli);
int cli_completion_words(struct cli *cli);

#endif
