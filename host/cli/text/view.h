/* SPDX-License-Identifier: Apache-2.0 */
/* view: what frames say, as text: their texts have a size and no 0 at their end. */
#ifndef CLI_VIEW_H
#define CLI_VIEW_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <rapahub/host.h>
#include <rapahub/value.h>

/* A text as the arguments of "%.*s". */
#define VIEW(text) (int)(text).size, (text).size > 0 ? (text).data : ""

/* Copies a text, cut at `size`, and ends it with a 0. */
static inline void cli_view_copy(char *to, size_t size, struct rapahub_string text)
{
    snprintf(to, size, "%.*s", VIEW(text));
}

/* Prints a text, and the end of a line. */
static inline void cli_view_print(struct rapahub_string text)
{
    printf("%.*s\n", VIEW(text));
}

/* The word for a level of enum rapahub_trust. */
static inline const char *cli_view_trust(unsigned trust)
{
    return trust == RAPAHUB_TRUST_STANDARD  ? "standard"
           : trust == RAPAHUB_TRUST_STRICT  ? "strict"
           : trust == RAPAHUB_TRUST_TRUSTED ? "trusted"
                                            : "?";
}

static inline bool cli_view_is(struct rapahub_string text, const char *word)
{
    return text.size == strlen(word) && memcmp(text.data, word, text.size) == 0;
}

#endif
