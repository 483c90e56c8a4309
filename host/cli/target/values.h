/* SPDX-License-Identifier: Apache-2.0 */
/* values: the arguments of one call, as C values and as POSTCARD. */
#ifndef CLI_VALUES_H
#define CLI_VALUES_H

#include <rapahub/value.h>

#include "host/cli/target/stream_files.h"
#include "hub/wire/signature.h"
#include "hub/wire/text.h"

#define CLI_VALUES_FILE_MAX ((size_t)64 << 20) /* bytes of @FILE */

struct cli_values {
    struct hub_text_arena arena;
    const void *values[HUB_SIGNATURE_ARGUMENTS_MAX + 1];
    struct rapahub_bytes payload; /* the same as a POSTCARD tuple; a stream is its number */
    struct cli_stream_files files;
};

/* Parses the arguments as people write them. RAPAHUB_EARGUMENTS names the argument. */
int cli_values_parse(const struct hub_signature *signature, int count, char *const *texts,
                     struct cli_values *out);

/* Reads the tuple itself: a text, @FILE, - or hex:00ff. */
int cli_values_parse_raw(const struct hub_signature *signature, const char *text,
                         struct cli_values *out);

void cli_values_fini(struct cli_values *values);

#endif
