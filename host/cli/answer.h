/* SPDX-License-Identifier: Apache-2.0 */
/* answer: the result of a call, kept in the form in which it came: a C value from a host in this
 * process, bytes from a running host. The other form is made on request. */
#ifndef CLI_ANSWER_H
#define CLI_ANSWER_H

#include <stdint.h>

#include <rapahub/value.h>

/* Must be zeroed before the first use. */
struct cli_answer {
    void *blocks;                 /* memory of the result; see hub/wire/arena.h */
    const void *value;            /* NULL: only the payload came */
    struct rapahub_bytes payload; /* POSTCARD; {NULL, 0}: only the value came */
    uint32_t peer, epoch;
    int32_t pid;
    uint64_t duration_ns; /* how long the last call took */
};

/* Replaces the result by a copy of a value of `type`, with everything that it points to, or of a
 * payload. RAPAHUB_ENOMEM. */
int cli_answer_keep(struct cli_answer *answer, const struct rapahub_type *type, const void *value);
int cli_answer_keep_payload(struct cli_answer *answer, struct rapahub_bytes payload);

/* Return the result as a value, or as a payload, in memory of the answer. RAPAHUB_EPROTOCOL: the
 * payload is not a value of `type`. */
int cli_answer_value(struct cli_answer *answer, const struct rapahub_type *type, const void **out);
int cli_answer_payload(struct cli_answer *answer, const struct rapahub_type *type,
                       struct rapahub_bytes *out);

void cli_answer_fini(struct cli_answer *answer);

#endif
