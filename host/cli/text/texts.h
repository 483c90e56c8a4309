/* SPDX-License-Identifier: Apache-2.0 */
/* texts: a list of texts that grows. */
#ifndef CLI_TEXTS_H
#define CLI_TEXTS_H

#include <stdbool.h>

#include <rapahub/export.h>

/* Must be zeroed before the first use. */
struct cli_texts {
    char **texts;
    unsigned count, room;
    bool failed; /* there was no memory: at least one is left out */
};

/* Adds a copy; `texts` is a struct cli_texts, so that this can be a visit of the library. */
void cli_texts_add(void *texts, const char *text);

/* Adds a text that is printed so. */
void cli_texts_print(struct cli_texts *texts, const char *format, ...) RAPAHUB_PRINTF(2, 3);
void cli_texts_fini(struct cli_texts *texts);

#endif
