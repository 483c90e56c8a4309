/* SPDX-License-Identifier: Apache-2.0 */
#include "host/cli/text/table.h"

#include <stdarg.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "hub/base/printable.h"

#define GAP 2

void cli_table_add(struct cli_table *table, const char *const *cells)
{
    struct cli_texts *to = &table->cells;

    while (to->count == 0 && cells[table->columns])
        table->columns++;
    for (unsigned i = 0; i < table->columns; i++) {
        cli_texts_add(to, cells[i]);
        if (!to->failed)
            hub_printable_mend(to->texts[to->count - 1]);
    }
}

const char *cli_table_cell(char to[CLI_TABLE_CELL], const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(to, CLI_TABLE_CELL, format, arguments);
    va_end(arguments);
    return to;
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

    for (unsigned i = column; i < table->cells.count; i += table->columns) {
        unsigned width = cli_table_columns(table->cells.texts[i]);

        most = width > most ? width : most;
    }
    return most;
}

static void print_row(const struct cli_table *table, char *const *cells, FILE *to, unsigned width)
{
    unsigned left = width ? width : 1u << 20, pad = 0;

    for (unsigned i = 0; i < table->columns && left > pad; i++) {
        unsigned columns = cli_table_columns(cells[i]);

        left -= pad;
        fprintf(to, "%*s%.*s", (int)pad, "", bytes_of(cells[i], left), cells[i]);
        left -= columns < left ? columns : left;
        pad = i + 1 < table->columns ? widest(table, i) - columns + GAP : 0;
    }
    fputc('\n', to);
}

void cli_table_print(struct cli_table *table, FILE *to, unsigned width)
{
    for (unsigned i = 0; i < table->cells.count && !table->cells.failed; i += table->columns)
        print_row(table, table->cells.texts + i, to, width);
    cli_texts_fini(&table->cells);
    table->columns = 0;
}

unsigned cli_table_width(FILE *to)
{
    struct winsize size;

    if (!isatty(fileno(to)) || ioctl(fileno(to), TIOCGWINSZ, &size) < 0)
        return 0;
    return size.ws_col;
}
