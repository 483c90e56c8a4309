/* SPDX-License-Identifier: Apache-2.0 */
/* answer: the result of a call, as bytes, and who gave it. */
#ifndef CLI_ANSWER_H
#define CLI_ANSWER_H

#include <stdint.h>

#include <rapahub/value.h>

struct cli_answer {
    struct rapahub_bytes payload; /* POSTCARD; allocated */
    uint32_t peer, epoch;
    int32_t pid;
    uint64_t duration_ns; /* of the last call */
};

/* Keeps a copy of the payload in place of an earlier one. */
int cli_answer_keep(struct cli_answer *answer, struct rapahub_bytes payload);
void cli_answer_fini(struct cli_answer *answer);

#endif
