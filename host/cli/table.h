/* SPDX-License-Identifier: Apache-2.0 */
/* table: rows in aligned columns, without borders, cut to the terminal. */
#ifndef CLI_TABLE_H
#define CLI_TABLE_H

#include <stdio.h>

#include "host/cli/texts.h"

struct cli_table {
    unsigned columns;
    struct cli_texts
        cells; /* row by row, the head first; if there was no memory, none is printed */
};

/* Adds a row, with as many cells as the first row has; NULL follows the last one. Texts are copied.
 */
void cli_table_add(struct cli_table *table, const char *const *cells);

/* Prints and empties it. `width` 0: nothing is cut. */
void cli_table_print(struct cli_table *table, FILE *to, unsigned width);

/* Columns of the terminal of a stream; 0: it is no terminal. */
unsigned cli_table_width(FILE *to);

/* How many columns a text takes: its characters, not its bytes. */
unsigned cli_table_columns(const char *text);

#endif
