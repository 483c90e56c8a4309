/* SPDX-License-Identifier: Apache-2.0 */
/* suggest: the candidate that was probably meant, for "did you mean". */
#ifndef CONFIG_SUGGEST_H
#define CONFIG_SUGGEST_H

#define CONFIG_SUGGEST_FAR 3 /* changes that make another word of it */

/* The best candidate so far; begins as {name, NULL, CONFIG_SUGGEST_FAR}. */
struct config_suggest {
    const char *name, *nearest; /* NULL: none is near */
    unsigned least;
};

void config_suggest_consider(struct config_suggest *suggest, const char *candidate);

#endif
