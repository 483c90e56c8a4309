/* SPDX-License-Identifier: Apache-2.0 */
#include "host/cli/command/help.h"

#include <string.h>

#include <rapahub/error.h>
#include <rapahub/version.h>

#include "host/cli/command/cli.h"
#include "host/cli/command/failure.h"
#include "host/cli/command/listing.h"
#include "host/config/tree_keys.h"

#define INDENT     28 /* where the texts of options begin */
#define COLUMNS    92
#define NAME_WIDTH 12 /* columns for the names in a list */

/* "-o, --output FORM" */
static void print_words(const struct cli_option *option, char *to, size_t size)
{
    char letter[6] = "    ";

    if (option->letter)
        snprintf(letter, sizeof letter, "-%c, ", option->letter);
    snprintf(to, size, "%s--%s%s%s", letter, option->name, option->what ? " " : "",
             option->what ? option->what : "");
}

/* The whole of what there is to say about it, with its default. */
static void print_text(const struct cli_option *option, char *to, size_t size)
{
    size_t at = (size_t)snprintf(to, size, "%s", option->text);

    if (option->choices)
        at += (size_t)snprintf(to + at, size - at, ": %s", option->choices);
    if (option->fallback)
        at += (size_t)snprintf(to + at, size - at, " (default: %s)", option->fallback);
    if (option->repeats)
        at += (size_t)snprintf(to + at, size - at, "; may be repeated");
    if (option->variable)
        snprintf(to + at, size - at, " [%s]", option->variable);
}

/* Breaks a text at spaces, each line indented. */
static void print_wrapped(FILE *to, const char *text, int indent)
{
    size_t room = (size_t)(COLUMNS - indent);

    while (strlen(text) > room) {
        size_t cut = room;

        while (cut > 0 && text[cut] != ' ')
            cut--;
        cut = cut ? cut : room;
        fprintf(to, "%.*s\n%*s", (int)cut, text, indent, "");
        text += cut + (text[cut] == ' ');
    }
    fprintf(to, "%s\n", text);
}

static void print_option(const struct cli_option *option, FILE *to)
{
    char words[64], text[512];

    print_words(option, words, sizeof words);
    print_text(option, text, sizeof text);
    fprintf(to, "  %-*s", INDENT - 2, words);
    if (strlen(words) > INDENT - 4)
        fprintf(to, "\n%*s", INDENT, "");
    print_wrapped(to, text, INDENT);
}

static void print_options(const struct cli_option *options, const char *title, FILE *to)
{
    if (!options)
        return;
    fprintf(to, "\n%s\n", title);
    for (; options->name; options++)
        print_option(options, to);
}

static void print_example(const char *example, FILE *to)
{
    fprintf(to, "\nExample\n  ");
    for (; *example; example++) {
        fputc(*example, to);
        if (*example == '\n')
            fputs("  ", to);
    }
    fputc('\n', to);
}

static void print_command(const struct cli_command *command, FILE *to)
{
    fprintf(to, "rapahub %s%s%s%s: %s\n\n%s\n", command->name,
            command->options ? " [OPTION...]" : "", command->operands[0] ? " " : "",
            command->operands, command->summary, command->text);
    print_options(command->options, "Options", to);
    print_options(cli_command_global, "Options of every command", to);
    print_example(command->example, to);
    fprintf(to, "\nWith -o json: \"%s\": %s\n", command->schema, command->members);
}

/* Says whether a list that is of one group, or of all where that is NULL, has the command. */
static bool is_listed(const struct cli_command *command, const char *group)
{
    return !command->hidden && (!group || cli_command_in_group(command, group));
}

/* The summaries begin two columns after the longest name, and all lists of short names look alike.
 */
static int name_width(const struct cli_command *const *tables, const char *group)
{
    const struct cli_command *c;
    size_t width = NAME_WIDTH;

    for (unsigned i = 0; (c = cli_command_at(tables, i)); i++)
        if (is_listed(c, group) && strlen(c->name) + 2 > width)
            width = strlen(c->name) + 2;
    return (int)width;
}

static void print_list(const struct cli_command *const *tables, const char *group, FILE *to)
{
    int width = name_width(tables, group);
    const struct cli_command *c;

    fprintf(to, "rapahub [OPTION...] %s%s[ARGUMENT...]: plugins in processes of their own\n\n",
            group ? group : "", group ? " COMMAND " : "COMMAND ");
    for (unsigned i = 0; (c = cli_command_at(tables, i)); i++)
        if (is_listed(c, group))
            fprintf(to, "  %-*s%s\n", width, c->name, c->summary);
    print_options(cli_command_global, "Options of every command", to);
    if (!group)
        fputs("\nBegin with: rapahub new calc\n", to);
}

void cli_help_print(const struct cli_arguments *arguments, FILE *to)
{
    if (arguments->command)
        print_command(arguments->command, to);
    else
        print_list(arguments->tables, arguments->group, to);
}

static void write_options(struct cli_json *json, const struct cli_option *options)
{
    cli_json_open(json, "options", CLI_JSON_LIST);
    for (; options && options->name; options++)
        cli_json_object(json, NULL, MEMBER("name", options->name),
                        MEMBER_IF(options->what, "value", options->what),
                        MEMBER_IF(options->fallback, "default", options->fallback),
                        MEMBER("text", options->text));
    cli_json_close(json);
}

static int write_json(const struct cli *cli, const struct cli_arguments *of)
{
    struct cli_listing listing = {.cli = cli};
    const struct cli_command *c;

    cli_listing_begin(&listing, "commands", NULL);
    for (unsigned i = 0; (c = cli_command_at(of->tables, i)); i++) {
        if (c->hidden || (of->command ? of->command != c : !is_listed(c, of->group)))
            continue;
        cli_json_put(&listing.json, BRACKET(CLI_JSON_OBJECT, NULL), MEMBER("name", c->name),
                     MEMBER("operands", c->operands), MEMBER("summary", c->summary),
                     MEMBER("schema", c->schema), MEMBER("members", c->members));
        write_options(&listing.json, c->options);
        cli_json_close(&listing.json);
    }
    return cli_listing_end(&listing, 0);
}

/* Finds what the operands name: a command of one word or two, a group, or, if there are none, all.
 */
static bool find_named(const struct cli_arguments *arguments, struct cli_arguments *out)
{
    char *const *names = arguments->operands;
    bool two = arguments->count > 1;

    *out = (struct cli_arguments){.tables = arguments->tables};
    if (arguments->count == 0)
        return true;
    out->command = cli_command_find_in(out->tables, two ? names[0] : NULL, names[two]);
    if (!out->command && !two && cli_command_is_group(out->tables, names[0]))
        out->group = names[0];
    return out->command || out->group;
}

int cli_help(struct cli *cli)
{
    char *const *names = cli->arguments.operands;
    struct cli_arguments named;

    if (!find_named(&cli->arguments, &named)) {
        cli_failure_hint(cli, "rapahub help");
        return rapahub_fail(RAPAHUB_ECONFIG, "", "unknown command '%s%s%s'", names[0],
                            names[1] ? " " : "", names[1] ? names[1] : "");
    }
    if (cli_json_wanted(cli))
        return write_json(cli, &named);
    cli_help_print(&named, stdout);
    return 0;
}

int cli_help_version(struct cli *cli)
{
    if (!cli_json_wanted(cli)) {
        printf("rapahub %s  segment %d  abi %d\n", rapahub_version(), RAPAHUB_SEGMENT_VERSION,
               RAPAHUB_CHIMOD_ABI);
        return 0;
    }
    return cli_json_print(stdout, "rapahub.version/1", MEMBER("version", rapahub_version()),
                          MEMBER("segment", RAPAHUB_SEGMENT_VERSION),
                          MEMBER("abi", RAPAHUB_CHIMOD_ABI));
}

/* scdoc takes these for marks, but not in what stands around the text. */
static void put(FILE *to, const char *before, const char *text, const char *after)
{
    fputs(before, to);
    for (; *text; text++) {
        if (strchr("*_\\[|]~#.", *text))
            fputc('\\', to);
        fputc(*text, to);
    }
    fputs(after, to);
}

static void put_option(const struct cli_option *option, FILE *to)
{
    char text[512];

    fputc('*', to);
    if (option->letter)
        fprintf(to, "-%c*, *", option->letter);
    put(to, "\\--", option->name, "*");
    if (option->what)
        put(to, " _", option->what, "_");
    print_text(option, text, sizeof text);
    put(to, "\n\t", text, "\n\n");
}

static void put_options(const struct cli_option *options, FILE *to)
{
    fputs("# OPTIONS\n\n", to);
    if (!options)
        fputs("None of its own; those of every command are in *rapahub*(1).\n\n", to);
    for (; options && options->name; options++)
        put_option(options, to);
}

static void put_command(const struct cli_command *command, FILE *to)
{
    put_options(command->options, to);
    put(to, "# OUTPUT\n\nWith *-o json* one document of schema ", command->schema, ": ");
    put(to, "", command->members, ".\n\n");
}

static void put_errors(FILE *to)
{
    int code;

    for (unsigned i = 0; (code = rapahub_error_at(i)) != 0; i++) {
        put(to, "*", rapahub_error_name(code), "*");
        fprintf(to, " (%d), exit status %d\n\t", code, rapahub_error_exit(code));
        put(to, "", rapahub_error_text(code), "");
        if (rapahub_error_hint(code)[0])
            put(to, ". To do: ", rapahub_error_hint(code), "");
        fputs("\n\n", to);
    }
}

static void put_key(const struct config_tree_key *key, FILE *to)
{
    put(to, "*", key->path, "*\n\t");
    put(to, "", config_tree_keys_example(key->type), "");
    for (const struct config_tree_choice *choice = key->choices; choice && choice->name; choice++)
        put(to, choice == key->choices ? ": *" : ", *", choice->name, "*");
    put(to, "; ", key->text, "\n\n");
}

static void put_keys(const char *head, unsigned of, FILE *to)
{
    fprintf(to, "# %s\n\n", head);
    for (const struct config_tree_key *key = config_tree_keys_table; key->path; key++)
        if (key->of == of)
            put_key(key, to);
}

static void put_tree(FILE *to)
{
    put_keys("KEYS OF A GUEST", CONFIG_TREE_OF_GUEST, to);
    put_keys("KEYS OF BOTH", CONFIG_TREE_OF_GUEST | CONFIG_TREE_OF_SUPERVISOR, to);
    put_keys("KEYS OF A SUPERVISOR", CONFIG_TREE_OF_SUPERVISOR, to);
    put_keys("KEYS OF THE FILE", CONFIG_TREE_OF_FILE, to);
    put_keys("KEYS OF A REGION", CONFIG_TREE_OF_REGION, to);
    put_keys("KEYS OF A ROLE", CONFIG_TREE_OF_ROLE, to);
}

/* The page of a command of two words has a dash between them: rapahub-node-ls(1). */
static const struct cli_command *command_of_page(const struct cli_command *const *tables,
                                                 const char *page)
{
    const char *dash = strchr(page, '-');
    char group[CLI_COMMAND_NAME];

    if (!dash)
        return cli_command_find(tables, page);
    snprintf(group, sizeof group, "%.*s", (int)(dash - page), page);
    return cli_command_find_in(tables, group, dash + 1);
}

int cli_help_manual(struct cli *cli)
{
    const char *page = cli->arguments.operands[0];
    const struct cli_command *command = command_of_page(cli->arguments.tables, page);

    if (command)
        put_command(command, stdout);
    else if (strcmp(page, "global") == 0)
        put_options(cli_command_global, stdout);
    else if (strcmp(page, "errors") == 0)
        put_errors(stdout);
    else if (strcmp(page, "tree") == 0)
        put_tree(stdout);
    else
        return rapahub_fail(RAPAHUB_ENOENT, "", "no page '%s'", page);
    return 0;
}
