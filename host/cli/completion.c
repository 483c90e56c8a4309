/* SPDX-License-Identifier: Apache-2.0 */
/* completion: the scripts only ask `rapahub __complete WORD...`, which answers from the table. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <rapahub/error.h>
#include <rapahub/region.h>

#include "host/cli/command/cli.h"
#include "host/cli/commands.h"
#include "host/cli/target/remote.h"
#include "host/cli/target/runtime.h"
#include "host/cli/text/json.h"
#include "host/cli/text/view.h"

/* COMP_WORDBREAKS would cut at ':' and '='; a target has the first. */
static const char bash_script[] =
    "_rapahub() {\n"
    "    local IFS=$'\\n' line=\"${COMP_LINE:0:COMP_POINT}\" words\n"
    "    read -r -a words <<<\"${line// /$'\\n'}\" -d ''\n"
    "    [[ \"$line\" == *' ' ]] && words+=('')\n"
    "    mapfile -t COMPREPLY < <(rapahub __complete -- \"${words[@]}\" 2>/dev/null)\n"
    "    if [[ \"${COMPREPLY[0]}\" == @file ]]; then\n"
    "        mapfile -t COMPREPLY < <(compgen -f -- \"${words[-1]}\")\n"
    "    elif [[ \"${words[-1]}\" == *:* ]]; then\n"
    "        COMPREPLY=(\"${COMPREPLY[@]#\"${words[-1]%\"${words[-1]##*:}\"}\"}\")\n"
    "    fi\n"
    "    [[ \"${COMPREPLY[0]}\" == *. ]] && compopt -o nospace\n"
    "    return 0\n"
    "}\n"
    "complete -o filenames -F _rapahub rapahub\n";

static const char zsh_script[] =
    "#compdef rapahub\n"
    "_rapahub() {\n"
    "    local -a found\n"
    "    found=(\"${(@f)$(rapahub __complete -- \"${(@)words[1,CURRENT]}\" 2>/dev/null)}\")\n"
    "    if [[ \"$found[1]\" == @file ]]; then\n"
    "        _files\n"
    "    else\n"
    "        compadd -- $found\n"
    "    fi\n"
    "}\n"
    "compdef _rapahub rapahub\n";

static const char fish_script[] =
    "function __rapahub_complete\n"
    "    set -l found (rapahub __complete -- (commandline -opc) (commandline -ct) 2>/dev/null)\n"
    "    if test \"$found[1]\" = @file\n"
    "        __fish_complete_path (commandline -ct)\n"
    "    else\n"
    "        printf '%s\\n' $found\n"
    "    end\n"
    "end\n"
    "complete -c rapahub -f -a '(__rapahub_complete)'\n";

static const struct {
    const char *name, *script;
} shells[] = {{"bash", bash_script}, {"zsh", zsh_script}, {"fish", fish_script}};

int cli_completion(struct cli *cli)
{
    const char *shell = cli->arguments.operands[0];

    for (unsigned i = 0; i < sizeof shells / sizeof *shells; i++) {
        if (strcmp(shells[i].name, shell) != 0)
            continue;
        if (!cli_json_wanted(cli)) {
            fputs(shells[i].script, stdout);
            return 0;
        }
        return cli_json_print(stdout, cli->command->schema, MEMBER("shell", shell),
                              MEMBER("script", shells[i].script));
    }
    return rapahub_fail(RAPAHUB_ECONFIG, "", "'%s' is none of bash, zsh, fish", shell);
}

struct completing {
    struct cli *cli;
    const char *word; /* the beginning of all candidates */
};

static void offer(const struct completing *completing, const char *format, ...)
    RAPAHUB_PRINTF(2, 3);

static void offer(const struct completing *completing, const char *format, ...)
{
    char text[1200];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (strncmp(text, completing->word, strlen(completing->word)) == 0)
        puts(text);
}

static void offer_options(const struct completing *completing, const struct cli_option *options)
{
    for (; options && options->name; options++)
        offer(completing, "--%s", options->name);
}

static void offer_choices(const struct completing *completing, const char *choices)
{
    while (*choices) {
        size_t size = strcspn(choices, "|");

        offer(completing, "%.*s", (int)size, choices);
        choices += size + (choices[size] == '|');
    }
}

/* Says whether an earlier command has the same first word, which was offered then. */
static bool was_offered(const struct cli_command *const *tables, unsigned index, size_t first)
{
    const char *name = cli_command_at(tables, index)->name;

    for (unsigned i = 0; i < index; i++) {
        const struct cli_command *c = cli_command_at(tables, i);

        if (!c->hidden && strncmp(c->name, name, first) == 0 &&
            (c->name[first] == ' ' || c->name[first] == '\0'))
            return true;
    }
    return false;
}

/* The first words of all commands, or the second ones of a group. */
static void offer_commands(const struct completing *completing, const char *group)
{
    const struct cli_command *const *tables = completing->cli->arguments.tables;
    const struct cli_command *c;

    for (unsigned i = 0; (c = cli_command_at(tables, i)); i++) {
        const char *word = group ? cli_command_in_group(c, group) : c->name;
        size_t first = word ? strcspn(word, " ") : 0;

        if (!c->hidden && word && (group || !was_offered(tables, i, first)))
            offer(completing, "%.*s", (int)first, word);
    }
}

static void offer_codes(const struct completing *completing)
{
    int code;

    for (unsigned i = 0; (code = rapahub_error_at(i)) != 0; i++) {
        offer(completing, "%s", rapahub_error_name(code));
        offer(completing, "%s", rapahub_error_name(code) + strlen("RAPAHUB_"));
    }
}

static int offer_guest(void *user, const char *host, const struct control_guest *guest)
{
    if (guest)
        offer(user, "%.*s", VIEW(guest->name));
    else
        offer(user, "%s", host);
    return 0;
}

/* Prints the methods of calc as candidates after "calc.". */
static void offer_methods(const struct completing *completing, const char *dot)
{
    char guest[2 * CLI_RUNTIME_NAME];
    struct cli_runtime_place place;
    struct cli_texts methods = {0};

    snprintf(guest, sizeof guest, "%.*s", (int)(dot - completing->word), completing->word);
    if (cli_runtime_find(completing->cli, guest, CLI_RUNTIME_GUESTS, &place) == 0 &&
        cli_remote_methods(completing->cli, place.guest, &methods) == 0) {
        for (unsigned i = 0; i < methods.count; i++)
            offer(completing, "%s.%.*s", guest, (int)strcspn(methods.texts[i], "("),
                  methods.texts[i]);
    }
    cli_texts_fini(&methods);
}

static int offer_target(void *user, const char *host, const struct control_guest *guest)
{
    (void)host;
    if (guest)
        offer(user, "%.*s.", VIEW(guest->name));
    return 0;
}

static void offer_targets(struct completing *completing)
{
    const char *dot = strchr(completing->word, '.');

    if (strchr(completing->word, '/'))
        puts("@file");
    else if (dot)
        offer_methods(completing, dot);
    else
        (void)cli_runtime_each(completing->cli, offer_target, completing);
}

static int offer_region(void *user, const char *name)
{
    offer(user, "%s", name);
    return 0;
}

static void offer_regions(struct completing *completing)
{
    if (strchr(completing->word, '/') || rapahub_region_list(offer_region, completing) < 0)
        puts("@file");
}

static void offer_operands(struct completing *completing, enum cli_operand operand)
{
    if (operand == CLI_OPERAND_FILE || operand == CLI_OPERAND_FOLDER)
        puts("@file");
    else if (operand == CLI_OPERAND_FILE_OR_GUEST && strchr(completing->word, '/'))
        puts("@file");
    else if (operand == CLI_OPERAND_GUEST || operand == CLI_OPERAND_FILE_OR_GUEST)
        (void)cli_runtime_each(completing->cli, offer_guest, completing);
    else if (operand == CLI_OPERAND_TARGET)
        offer_targets(completing);
    else if (operand == CLI_OPERAND_CODE)
        offer_codes(completing);
    else if (operand == CLI_OPERAND_REGION)
        offer_regions(completing);
    else if (operand == CLI_OPERAND_COMMAND)
        offer_commands(completing, NULL);
    else if (operand == CLI_OPERAND_SHELL)
        offer_choices(completing, "bash|zsh|fish");
}

/* The option whose value is the word after `word`; NULL: there is none. */
static const struct cli_option *waits_for_value(const struct cli_command *command, const char *word)
{
    const struct cli_option *option = NULL;

    if (strncmp(word, "--", 2) == 0 && !strchr(word, '='))
        option = cli_command_option(command, word + 2);
    else if (strcmp(word, "-o") == 0)
        option = cli_command_option(command, "output");
    return option && option->value != CLI_FLAG ? option : NULL;
}

/* `group` gets the first of two words, if the second one is not there yet; else NULL. */
static const struct cli_command *find_command(const struct cli_command *const *tables,
                                              char *const *words, int count, const char **group)
{
    *group = NULL;
    for (int i = 1; i < count; i++) {
        const struct cli_command *command = cli_command_find_in(tables, *group, words[i]);

        if (command)
            return command;
        if (!*group && cli_command_is_group(tables, words[i]))
            *group = words[i];
    }
    return NULL;
}

/* The words are those of the line, the program's name first, the one to complete last. */
int cli_completion_words(struct cli *cli)
{
    int count = cli->arguments.count;
    char *const *words = cli->arguments.operands;
    struct completing completing = {cli, count > 0 ? words[count - 1] : ""};
    const char *group;
    const struct cli_command *command =
        find_command(cli->arguments.tables, words, count - 1, &group);
    const struct cli_option *option = count > 1 ? waits_for_value(command, words[count - 2]) : NULL;

    cli->quiet = true;
    if (option && option->choices) {
        offer_choices(&completing, option->choices);
    } else if (option) {
        if (option->value == CLI_FOLDER)
            puts("@file");
    } else if (completing.word[0] == '-') {
        offer_options(&completing, command ? command->options : NULL);
        offer_options(&completing, cli_command_global);
    } else if (!command) {
        offer_commands(&completing, group);
    } else {
        offer_operands(&completing, command->operand);
    }
    return 0;
}
