/* SPDX-License-Identifier: Apache-2.0 */
/* methods: the signatures of a guest, and the choice of one. */
#ifndef CLI_METHODS_H
#define CLI_METHODS_H

#include "host/cli/text/texts.h"
#include "hub/wire/signature.h"

/* The method that is searched, by its name or its whole signature. Among several methods of a name,
 * the one with this many arguments is preferred. */
struct cli_methods_wanted {
    const char *text;
    int arguments; /* -1: unknown */
};

/* Finds it. RAPAHUB_ENOMETHOD suggests similar names. */
int cli_methods_find(const struct cli_texts *methods, const char *guest,
                     const struct cli_methods_wanted *wanted, struct hub_signature **out);

#endif
