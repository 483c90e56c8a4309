/* SPDX-License-Identifier: Apache-2.0 */
/* near: "did you mean". */
#ifndef CONFIG_NEAR_H
#define CONFIG_NEAR_H

#define CLI_NEAR_FAR 3 /* changes that make another word of it */

/* The best candidate so far; begins as {name, NULL, CLI_NEAR_FAR}. */
struct cli_near {
    const char *name, *nearest; /* NULL: none is near */
    unsigned least;
};

void cli_near_look(struct cli_near *near, const char *candidate);

#endif
