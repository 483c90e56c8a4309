/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/cli/show.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "host/cli/command/cli.h"
#include "host/cli/text/document.h"
#include "host/cli/text/table.h"
#include "host/config/units.h"

#define COLUMNS_MAX 24
#define COLUMNS_FEW 8 /* unless all are wanted: -o wide */
#define CELL_SIZE   CLI_TABLE_CELL

static bool ends_in(const char *key, const char *end)
{
    size_t size = strlen(key), tail = strlen(end);

    return size > tail && strcmp(key + size - tail, end) == 0;
}

/* Says whether a value has a place in a cell: it is no object, and no list of these. */
static bool is_plain(const struct json_t *value)
{
    return !cli_document_is_object(value) && !cli_document_is_object(cli_document_item(value, 0)) &&
           !cli_document_is_list(cli_document_item(value, 0));
}

static void print_items(const struct json_t *list, char to[CELL_SIZE])
{
    const struct json_t *item;
    size_t at = 0;

    snprintf(to, CELL_SIZE, "-");
    for (unsigned i = 0; at < CELL_SIZE && (item = cli_document_item(list, i)); i++) {
        char text[CELL_SIZE];

        cli_document_print(item, text, sizeof text);
        at += (size_t)snprintf(to + at, CELL_SIZE - at, "%s%s", i ? ", " : "", text);
    }
}

static void print_value(const char *key, const struct json_t *value, char to[CELL_SIZE])
{
    int64_t number;

    if (cli_document_is_list(value))
        print_items(value, to);
    else if (cli_document_number(value, &number) && number >= 0 && ends_in(key, "_ns"))
        snprintf(to, CELL_SIZE, "%s", SPAN_TEXT((uint64_t)number));
    else if (cli_document_number(value, &number) && number >= 0 && ends_in(key, "_bytes"))
        snprintf(to, CELL_SIZE, "%s", SIZE_TEXT((uint64_t)number));
    else
        cli_document_print(value, to, CELL_SIZE);
}

/* A key as people read it: uptime_ns is "uptime". */
static void print_key(const char *key, bool capitals, char to[CELL_SIZE])
{
    size_t size = strlen(key);

    size -= ends_in(key, "_ns") ? 3 : ends_in(key, "_bytes") ? 6 : 0;
    snprintf(to, CELL_SIZE, "%.*s", (int)size, key);
    for (char *c = to; *c; c++)
        *c = *c == '_' ? ' ' : capitals ? (char)toupper((unsigned char)*c) : *c;
}

/* ---- tables ---- */

struct columns {
    unsigned count;
    const char *keys[COLUMNS_MAX + 1];
};

static bool has_column(const struct columns *columns, const char *key)
{
    for (unsigned i = 0; i < columns->count; i++)
        if (strcmp(columns->keys[i], key) == 0)
            return true;
    return false;
}

/* A list without items may be one of objects in another row. */
static bool is_column(const struct json_t *value)
{
    return is_plain(value) && (!cli_document_is_list(value) || cli_document_count(value) > 0);
}

/* A member that only some rows have is a column, too. */
static struct columns choose_columns(const struct cli *cli, const struct json_t *list)
{
    unsigned most = cli->output == CLI_OUTPUT_WIDE ? COLUMNS_MAX : COLUMNS_FEW;
    struct columns columns = {.count = 0};
    const struct json_t *row, *value;
    const char *key;

    for (unsigned n = 0; (row = cli_document_item(list, n)); n++)
        for (unsigned i = 0; columns.count < most && (value = cli_document_nth(row, i, &key)); i++)
            if (is_column(value) && !has_column(&columns, key))
                columns.keys[columns.count++] = key;
    return columns;
}

static void add_row(struct cli_table *table, const struct columns *columns,
                    const struct json_t *row)
{
    char texts[COLUMNS_MAX][CELL_SIZE];
    const char *cells[COLUMNS_MAX + 1] = {NULL};

    for (unsigned i = 0; i < columns->count; i++) {
        if (row)
            print_value(columns->keys[i], cli_document_member(row, columns->keys[i]), texts[i]);
        else
            print_key(columns->keys[i], true, texts[i]);
        cells[i] = texts[i];
    }
    cli_table_add(table, cells);
}

static void print_table(const struct cli *cli, const struct json_t *list)
{
    struct columns columns = choose_columns(cli, list);
    struct cli_table table = {.columns = 0};
    const struct json_t *row;

    if (columns.count == 0)
        return;
    add_row(&table, &columns, NULL);
    for (unsigned i = 0; (row = cli_document_item(list, i)); i++)
        add_row(&table, &columns, row);
    cli_table_print(&table, stdout, cli->output == CLI_OUTPUT_WIDE ? 0 : cli_table_width(stdout));
}

/* The first member of a row names it. */
static void print_names(const struct json_t *list)
{
    struct cli_table names = {.columns = 0};
    const struct json_t *row;
    char text[CELL_SIZE];
    const char *key;

    for (unsigned i = 0; (row = cli_document_item(list, i)); i++) {
        cli_document_print(cli_document_nth(row, 0, &key), text, sizeof text);
        cli_table_add(&names, (const char *[]){text, NULL});
    }
    cli_table_print(&names, stdout, 0);
}

/* ---- documents ---- */

/* The node's document, which has a schema; it was read before, so that nothing but JSON goes out.
 */
static void print_json(struct rapahub_string text)
{
    printf("%.*s\n", (int)text.size, text.data);
}

int cluster_show_list(const struct cli *cli, const char *key, struct rapahub_string text)
{
    const struct json_t *list;
    struct cli_document document;
    int r = cli_document_read(text, &document);

    if (r < 0)
        return r;
    list = cli_document_member(document.root, key);
    if (cli_json_wanted(cli))
        print_json(text);
    else if (cli->output == CLI_OUTPUT_NAME)
        print_names(list);
    else
        print_table(cli, list);
    cli_document_fini(&document);
    return 0;
}

static void print_members(const struct json_t *object)
{
    struct cli_table table = {.columns = 0};
    const struct json_t *value;
    char name[CELL_SIZE], text[CELL_SIZE];
    const char *key;

    for (unsigned i = 0; (value = cli_document_nth(object, i, &key)); i++) {
        if (!is_plain(value) || strcmp(key, "schema") == 0)
            continue;
        print_key(key, false, name);
        print_value(key, value, text);
        cli_table_add(&table, (const char *[]){name, text, NULL});
    }
    cli_table_print(&table, stdout, 0);
}

static void print_object(const struct cli *cli, const struct json_t *object)
{
    const struct json_t *value;
    const char *key;

    print_members(object);
    for (unsigned i = 0; (value = cli_document_nth(object, i, &key)); i++) {
        if (!cli_document_is_object(cli_document_item(value, 0)))
            continue;
        fputc('\n', stdout);
        print_table(cli, value);
    }
}

int cluster_show_object(const struct cli *cli, struct rapahub_string text)
{
    struct cli_document document;
    int r = cli_document_read(text, &document);

    if (r < 0)
        return r;
    if (cli_json_wanted(cli))
        print_json(text);
    else
        print_object(cli, document.root);
    cli_document_fini(&document);
    return 0;
}
