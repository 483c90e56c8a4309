/* SPDX-License-Identifier: Apache-2.0 */
/* answer: the result of a call, kept as a payload, as it comes from a running host. */
#ifndef CLI_ANSWER_H
#define CLI_ANSWER_H

#include <stdint.h>
#include <stdio.h>

#include <rapahub/value.h>

/* Must be zeroed before the first use. */
struct cli_answer {
    void *blocks;                 /* memory of the result; see hub/wire/arena.h */
    struct rapahub_bytes payload; /* POSTCARD */
    uint32_t peer, epoch;
    int32_t pid;
    uint64_t duration_ns; /* how long the last call took */
};

/* Replaces the result by a value of `type`, which may go then, or by a copy of a payload.
 * RAPAHUB_ENOMEM. */
int cli_answer_keep(struct cli_answer *answer, const struct rapahub_type *type, const void *value);
int cli_answer_keep_payload(struct cli_answer *answer, struct rapahub_bytes payload);

/* Returns the result as a value, in memory of the answer; NULL: it is void. RAPAHUB_EPROTOCOL: the
 * payload is not a value of `type`. */
int cli_answer_value(struct cli_answer *answer, const struct rapahub_type *type, const void **out);

/* Prints a value as text, or nothing for NULL. Bytes go to a file or a pipe on standard output as
 * they are. RAPAHUB_ENOMEM, or the failure to print. */
int cli_answer_print(const struct rapahub_type *type, const void *value, FILE *to);

void cli_answer_fini(struct cli_answer *answer);

#endif
