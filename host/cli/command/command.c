/* SPDX-License-Identifier: Apache-2.0 */
#include "host/cli/command/command.h"

#include <stddef.h>
#include <string.h>

#include "host/config/suggest.h"

const struct cli_option cli_command_global[] = {
    VALUE(CHOICE, "output", "FORM", "form of the results on standard output", .letter = 'o',
          .choices = "table|wide|json|ndjson|name", .fallback = "table",
          .variable = "RAPAHUB_OUTPUT"),
    FLAG("json", "the same as -o json"),
    FLAG("quiet", "no progress and no notes; errors only", .letter = 'q'),
    FLAG("verbose", "also the library's own log on standard error", .letter = 'v'),
    VALUE(SPAN, "timeout", "DUR", "the longest any command waits, but run and logs -f",
          .fallback = "30s", .variable = "RAPAHUB_TIMEOUT"),
    VALUE(CHOICE, "color", "WHEN", "colours; auto: on a terminal, unless NO_COLOR is set",
          .choices = "auto|always|never", .fallback = "auto"),
    FLAG("no-progress", "no lines about what is being done"),
    FLAG("yes", "answer every question with yes", .letter = 'y'),
    FLAG("help", "say how the command is used, and end", .letter = 'h'),
    FLAG("version", "print the version, and end", .letter = 'V'),
    END};

/* The command of that name in the first table that has it. */
static const struct cli_command *find_in_tables(const struct cli_command *const *tables,
                                                const char *name)
{
    for (; *tables; tables++)
        for (const struct cli_command *c = *tables; c->name; c++)
            if (strcmp(c->name, name) == 0)
                return c;
    return NULL;
}

const struct cli_command *cli_command_at(const struct cli_command *const *tables, unsigned index)
{
    for (const struct cli_command *const *table = tables; *table; table++) {
        for (const struct cli_command *c = *table; c->name; c++) {
            const struct cli_command *later = find_in_tables(table + 1, c->name);

            /* A command that replaces another one has its place, and none of its own. */
            if (find_in_tables(tables, c->name) == c && index-- == 0)
                return later ? later : c;
        }
    }
    return NULL;
}

const struct cli_command *cli_command_find(const struct cli_command *const *tables,
                                           const char *name)
{
    const struct cli_command *c;

    for (unsigned i = 0; (c = cli_command_at(tables, i)); i++)
        if (strcmp(c->name, name) == 0)
            return c;
    return NULL;
}

const char *cli_command_in_group(const struct cli_command *command, const char *group)
{
    size_t size = strlen(group);

    return strncmp(command->name, group, size) == 0 && command->name[size] == ' '
               ? command->name + size + 1
               : NULL;
}

const struct cli_command *cli_command_find_in(const struct cli_command *const *tables,
                                              const char *group, const char *name)
{
    const struct cli_command *c;

    if (!group)
        return cli_command_find(tables, name);
    for (unsigned i = 0; (c = cli_command_at(tables, i)); i++) {
        const char *second = cli_command_in_group(c, group);

        if (second && strcmp(second, name) == 0)
            return c;
    }
    return NULL;
}

bool cli_command_is_group(const struct cli_command *const *tables, const char *word)
{
    const struct cli_command *c;

    for (unsigned i = 0; (c = cli_command_at(tables, i)); i++)
        if (!c->hidden && cli_command_in_group(c, word))
            return true;
    return false;
}

const char *cli_command_suggest(const struct cli_command *const *tables, const char *name)
{
    struct config_suggest suggest = {name, NULL, CONFIG_SUGGEST_FAR};
    const struct cli_command *c;

    for (unsigned i = 0; (c = cli_command_at(tables, i)); i++)
        if (!c->hidden)
            config_suggest_consider(&suggest, c->name);
    return suggest.nearest;
}

static const struct cli_option *find_option(const struct cli_option *options, const char *name)
{
    for (; options && options->name; options++) {
        if (strcmp(options->name, name) == 0)
            return options;
    }
    return NULL;
}

const struct cli_option *cli_command_option(const struct cli_command *command, const char *name)
{
    const struct cli_option *option = find_option(command ? command->options : NULL, name);

    return option ? option : find_option(cli_command_global, name);
}
