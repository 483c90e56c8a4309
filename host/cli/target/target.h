/* SPDX-License-Identifier: Apache-2.0 */
/* target: the text that names a method and its guest or file. */
#ifndef CLI_TARGET_H
#define CLI_TARGET_H

#include <stdbool.h>
#include <stdint.h>

#include "host/cli/target/runtime.h"

#define CLI_TARGET_FILE 4096

struct cli_target {
    bool is_file;
    char file[CLI_TARGET_FILE];      /* for FILE:METHOD */
    char name[2 * CLI_RUNTIME_NAME]; /* for NAME.METHOD: GUEST or HOST/GUEST */
    uint32_t container;              /* for NAME#N.METHOD */
    const char *method;              /* a name or a signature; into the text */
};

/* Parses a text. RAPAHUB_ECONFIG if it is none of GUEST.METHOD, GUEST#N.METHOD, FILE:METHOD. */
int cli_target_parse(const char *text, struct cli_target *out);

#endif
