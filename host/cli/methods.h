/* SPDX-License-Identifier: Apache-2.0 */
/* methods: the signatures of a guest, and the choice of one. */
#ifndef CLI_METHODS_H
#define CLI_METHODS_H

#include "hub/wire/signature.h"

struct cli;

struct cli_methods {
    char **texts;
    unsigned count, room;
};

/* Adds a copy; for visits of rapahub_host_methods. Without memory it is left out. */
void cli_methods_add(void *methods, const char *signature);
void cli_methods_fini(struct cli_methods *methods);

/* The method that is searched, by its name or its whole signature. Among several methods of a name,
 * the one with this many arguments is preferred. */
struct cli_methods_wanted {
    const char *text;
    int arguments; /* -1: unknown */
};

/* Finds it. RAPAHUB_ENOMETHOD suggests similar names. */
int cli_methods_find(const struct cli_methods *methods, const char *guest,
                     const struct cli_methods_wanted *wanted, struct hub_signature **out);

#endif
