/* SPDX-License-Identifier: Apache-2.0 */
/* listing: the items of a command, as a list in a document or as rows of a table. */
#ifndef CLI_LISTING_H
#define CLI_LISTING_H

#include "host/cli/text/json.h"
#include "host/cli/text/table.h"

struct cli;

struct cli_listing {
    const struct cli *cli;
    struct cli_json json;   /* open for an item where JSON is wanted */
    struct cli_table table; /* open for a row where neither JSON nor names are wanted */
    bool whole;             /* rows are not cut to the terminal */
};

/* Opens the list with this key in a document, or begins a table with this head; NULL: there is
 * none. */
void cli_listing_begin(struct cli_listing *listing, const char *key, const char *const *head);

/* Prints what was collected, also after a failure. Returns `r`, or the failure to print. */
int cli_listing_end(struct cli_listing *listing, int r);

#endif
