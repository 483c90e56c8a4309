/* SPDX-License-Identifier: Apache-2.0 */
#include "host/cli/table.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "hub/base/printable.h"

#define GAP 2

static bool grow(struct cli_table *table)
{
    unsigned room = table->rows_room ? 2 * table->rows_room : 16;
    void *cells;

    if (table->rows < table->rows_room)
        return true;
    cells = realloc(table->cells, room * sizeof *table->cells);
    if (!cells)
        return false;
    table->cells = cells;
    table->rows_room = room;
    return true;
}

void cli_table_add(struct cli_table *table, const char *const *cells)
{
    if (table->failed || !grow(table)) {
        table->failed = true;
        return;
    }
    if (table->rows == 0) {
        while (cells[table->columns] && table->columns < CLI_TABLE_COLUMNS)
            table->columns++;
    }
    for (unsigned i = 0; i < table->columns; i++) {
        table->cells[table->rows][i] = strdup(cells[i]);
        table->failed |= !table->cells[table->rows][i];
        if (table->cells[table->rows][i])
            hub_printable_mend(table->cells[table->rows][i]);
    }
    table->rows++;
}

unsigned cli_table_columns(const char *text)
{
    unsigned columns = 0;

    for (; *text; text++)
        columns += ((unsigned char)*text & 0xc0) != 0x80;
    return columns;
}

/* Bytes of the first `columns` characters. */
static int bytes_of(const char *text, unsigned columns)
{
    int bytes = 0;

    for (; text[bytes]; bytes++) {
        if (((unsigned char)text[bytes] & 0xc0) != 0x80 && columns-- == 0)
            break;
    }
    return bytes;
}

static unsigned widest(const struct cli_table *table, unsigned column)
{
    unsigned most = 0;

    for (unsigned row = 0; row < table->rows; row++) {
        unsigned width = cli_table_columns(table->cells[row][column]);

        most = width > most ? width : most;
    }
    return most;
}

static void print_row(const struct cli_table *table, unsigned row, FILE *to, unsigned width)
{
    unsigned left = width ? width : 1u << 20, pad = 0;

    for (unsigned i = 0; i < table->columns && left > pad; i++) {
        const char *cell = table->cells[row][i];
        unsigned columns = cli_table_columns(cell);

        left -= pad;
        fprintf(to, "%*s%.*s", (int)pad, "", bytes_of(cell, left), cell);
        left -= columns < left ? columns : left;
        pad = i + 1 < table->columns ? widest(table, i) - columns + GAP : 0;
    }
    fputc('\n', to);
}

static void empty(struct cli_table *table)
{
    for (unsigned row = 0; row < table->rows; row++)
        for (unsigned i = 0; i < table->columns; i++)
            free(table->cells[row][i]);
    free(table->cells);
    *table = (struct cli_table){0};
}

void cli_table_print(struct cli_table *table, FILE *to, unsigned width)
{
    for (unsigned row = 0; row < table->rows && !table->failed; row++)
        print_row(table, row, to, width);
    empty(table);
}

unsigned cli_table_width(FILE *to)
{
    struct winsize size;

    if (!isatty(fileno(to)) || ioctl(fileno(to), TIOCGWINSZ, &size) < 0)
        return 0;
    return size.ws_col;
}
