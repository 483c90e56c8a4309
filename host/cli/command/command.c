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

const struct cli_command *cli_command_find(const struct cli_command *commands, const char *name)
{
    for (const struct cli_command *c = commands; c->name; c++) {
        if (strcmp(c->name, name) == 0)
            return c;
    }
    return NULL;
}

const char *cli_command_suggest(const struct cli_command *commands, const char *name)
{
    struct config_suggest suggest = {name, NULL, CONFIG_SUGGEST_FAR};

    for (const struct cli_command *c = commands; c->name; c++)
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
