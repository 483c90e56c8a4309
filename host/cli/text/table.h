/* SPDX-License-Identifier: Apache-2.0 */
/* table: rows in aligned columns, without borders, cut to the terminal. */
#ifndef CLI_TABLE_H
#define CLI_TABLE_H

#include <stdio.h>

#include <rapahub/export.h>

#include "host/cli/text/texts.h"

struct cli_table {
    unsigned columns;
    struct cli_texts
        cells; /* row by row, the head first; if there was no memory, none is printed */
};

/* Adds a row, with as many cells as the first row has; NULL follows the last one. Texts are copied.
 */
void cli_table_add(struct cli_table *table, const char *const *cells);

/* A cell that is printed so, cut at its size; it lives as long as the block around it. */
#define CLI_TABLE_CELL 512
#define CELL(...)      cli_table_cell((char[CLI_TABLE_CELL]){0}, __VA_ARGS__)
const char *cli_table_cell(char to[CLI_TABLE_CELL], const char *format, ...) RAPAHUB_PRINTF(2, 3);

/* Prints and empties it. `width` 0: nothing is cut. */
void cli_table_print(struct cli_table *table, FILE *to, unsigned width);

/* Columns of the terminal of a stream; 0: it is no terminal. */
unsigned cli_table_width(FILE *to);

/* How many columns a text takes: its characters, not its bytes. */
unsigned cli_table_columns(const char *text);

#endif
