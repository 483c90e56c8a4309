/* SPDX-License-Identifier: Apache-2.0 */
/* arguments: getopt_long reads the command line; its options are made from the table. */
#include "host/cli/command/arguments.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "host/config/units.h"
#include "hub/base/check.h"

#define OPTIONS_MAX 48
#define LONG_ONLY   256 /* values of getopt for options without a letter: this and the index */

/* The options in the form that getopt needs. */
struct words {
    unsigned count;
    const struct cli_option *options[OPTIONS_MAX];
    struct option long_words[OPTIONS_MAX + 1];
    char letters[2 * OPTIONS_MAX + 4];
};

static void add_word(struct words *words, const struct cli_option *option)
{
    unsigned index = words->count++;
    size_t at = strlen(words->letters);

    CHECK(index < OPTIONS_MAX);
    words->options[index] = option;
    words->long_words[index] =
        (struct option){.name = option->name,
                        .has_arg = option->value == CLI_FLAG ? no_argument : required_argument,
                        .val = LONG_ONLY + (int)index};
    if (!option->letter)
        return;
    words->letters[at++] = option->letter;
    if (option->value != CLI_FLAG)
        words->letters[at] = ':';
}

/* "-" hands out operands in their place; ":" tells a missing value from an unknown option. */
static void make_words(const struct cli_command *command, struct words *out)
{
    *out = (struct words){.letters = "-:"};
    for (const struct cli_option *o = cli_command_global; o->name; o++)
        add_word(out, o);
    for (const struct cli_option *o = command ? command->options : NULL; o && o->name; o++)
        add_word(out, o);
}

static const struct cli_option *option_of(const struct words *words, int value)
{
    for (unsigned i = 0; i < words->count; i++) {
        if (value == LONG_ONLY + (int)i ||
            (value < LONG_ONLY && value == words->options[i]->letter))
            return words->options[i];
    }
    return NULL;
}

/* The index of a word in "a|b|c"; -1: it is none of them. */
static int index_of(const char *choices, const char *word)
{
    size_t size = strlen(word), n;

    for (int index = 0; *choices; index++, choices += n + (choices[n] == '|')) {
        n = strcspn(choices, "|");
        if (n == size && memcmp(choices, word, n) == 0)
            return index;
    }
    return -1;
}

/* Leaves the number alone where the option has none. */
static int parse_number(const struct cli_option *option, const char *text, uint64_t *out)
{
    return option->value == CLI_SPAN    ? config_units_span(text, out)
           : option->value == CLI_COUNT ? config_units_count(text, out)
                                        : 0;
}

static int check_value(const struct cli_option *option, const char *from, const char *value)
{
    char text[512];
    uint64_t number;
    int r = parse_number(option, value, &number);

    if (option->value == CLI_CHOICE && index_of(option->choices, value) < 0)
        r = rapahub_fail(RAPAHUB_ECONFIG, "", "'%s' is none of %s", value, option->choices);
    if (r == 0)
        return 0;
    snprintf(text, sizeof text, "%s", rapahub_last_error()->text);
    return rapahub_fail(RAPAHUB_ECONFIG, "", "%s: %s", from, text);
}

static int add_given(struct cli_arguments *arguments, const struct cli_option *option,
                     const char *value)
{
    char from[64];

    if (arguments->given_count == CLI_ARGUMENTS_GIVEN)
        return rapahub_fail(RAPAHUB_ECONFIG, "", "more than %d options", CLI_ARGUMENTS_GIVEN);
    arguments->given[arguments->given_count++] = (struct cli_given){option, value};
    snprintf(from, sizeof from, "--%s", option->name);
    return value ? check_value(option, from, value) : 0;
}

static int refuse_option(char **argv, int result)
{
    const char *word = argv[optind - 1];

    if (result == ':')
        return rapahub_fail(RAPAHUB_ECONFIG, "", "option '%s' needs a value", word);
    if (optopt > 0 && optopt < LONG_ONLY)
        return rapahub_fail(RAPAHUB_ECONFIG, "", "unknown option '-%c'", optopt);
    if (optopt >= LONG_ONLY)
        return rapahub_fail(RAPAHUB_ECONFIG, "", "option '%s' takes no value", word);
    return rapahub_fail(RAPAHUB_ECONFIG, "", "unknown option '%s'", word);
}

/* "-40", "-.5", "-inf" are never options, because no option's letter is a digit. */
static bool is_negative_number(const char *word)
{
    return word && word[0] == '-' &&
           ((word[1] >= '0' && word[1] <= '9') || word[1] == '.' || strcmp(word, "-inf") == 0);
}

static int refuse_command(const struct cli_arguments *arguments, const char *word)
{
    const char *group = arguments->group;
    char name[CLI_COMMAND_NAME];
    const char *near;

    snprintf(name, sizeof name, "%s%s%s", group ? group : "", group ? " " : "", word);
    near = cli_command_suggest(arguments->tables, name);
    return rapahub_fail(RAPAHUB_ECONFIG, "", "unknown command '%s%s%s'%s%s%s", group ? group : "",
                        group ? " " : "", word, near ? ", did you mean '" : "", near ? near : "",
                        near ? "'?" : "");
}

/* Takes a word of the command's name. The word of a group waits for the second one. */
static int take_name(struct cli_arguments *arguments, struct words *words, const char *word)
{
    arguments->command = cli_command_find_in(arguments->tables, arguments->group, word);
    if (arguments->command) {
        arguments->group = NULL;
        make_words(arguments->command, words);
        return 0;
    }
    if (arguments->group || !cli_command_is_group(arguments->tables, word))
        return refuse_command(arguments, word);
    arguments->group = word;
    return 0;
}

static int take_operand(struct cli_arguments *arguments, struct words *words, char *word)
{
    if (!arguments->command)
        return take_name(arguments, words, word);
    arguments->operands[arguments->count++] = word;
    return 0;
}

static int take_next(int argc, char **argv, struct cli_arguments *arguments, struct words *words)
{
    const struct cli_option *option;
    int result;

    if (is_negative_number(argv[optind]))
        return take_operand(arguments, words, argv[optind++]);
    result = getopt_long(argc, argv, words->letters, words->long_words, NULL);
    if (result == -1)
        return 1;
    if (result == 1)
        return take_operand(arguments, words, optarg);
    option = option_of(words, result);
    if (!option)
        return refuse_option(argv, result);
    return add_given(arguments, option, optarg);
}

static int check_operands(const struct cli_arguments *arguments)
{
    const struct cli_command *command = arguments->command;

    if (cli_arguments_flag(arguments, "help") || cli_arguments_flag(arguments, "version"))
        return 0;
    if (!command)
        return arguments->group
                   ? rapahub_fail(RAPAHUB_ECONFIG, "", "'%s' needs a second word", arguments->group)
                   : 0;
    if (arguments->count < command->operands_min)
        return rapahub_fail(RAPAHUB_ECONFIG, "", "%s is missing", command->operands);
    if (command->operands_max >= 0 && arguments->count > command->operands_max)
        return rapahub_fail(RAPAHUB_ECONFIG, "", "'%s' is one argument too many",
                            arguments->operands[command->operands_max]);
    return 0;
}

static int check_variables(const struct words *words)
{
    int r = 0;

    for (unsigned i = 0; i < words->count && r == 0; i++) {
        const char *name = words->options[i]->variable;
        const char *value = name ? getenv(name) : NULL;

        if (value && *value)
            r = check_value(words->options[i], name, value);
    }
    return r;
}

int cli_arguments_parse(const struct cli_command *const *tables, int argc, char **argv,
                        struct cli_arguments *out)
{
    struct words words;
    int r = 0;

    *out = (struct cli_arguments){.tables = tables,
                                  .operands = calloc((size_t)argc + 1, sizeof *out->operands)};
    if (!out->operands)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for the command line");
    make_words(NULL, &words);
    optind = 0;
    opterr = 0;
    /* A first call with the index 0 starts getopt anew; argv[0] is never looked at as a number. */
    while (r == 0 && (optind == 0 || optind <= argc))
        r = take_next(argc, argv, out, &words);
    if (r < 0)
        return r;
    while (r == 1 && optind < argc)
        if (take_operand(out, &words, argv[optind++]) < 0)
            r = RAPAHUB_ECONFIG;
    if (r == 1)
        r = check_variables(&words);
    return r < 0 ? r : check_operands(out);
}

void cli_arguments_fini(struct cli_arguments *arguments)
{
    free(arguments->operands);
    arguments->operands = NULL;
}

/* NULL: not given. */
static const struct cli_given *find_given(const struct cli_arguments *arguments, const char *name)
{
    for (unsigned i = arguments->given_count; i-- > 0;) {
        if (strcmp(arguments->given[i].option->name, name) == 0)
            return &arguments->given[i];
    }
    return NULL;
}

const char *cli_arguments_text(const struct cli_arguments *arguments, const char *name)
{
    const struct cli_given *given = find_given(arguments, name);
    const struct cli_option *option = cli_command_option(arguments->command, name);
    const char *value;

    CHECK(option);
    if (given)
        return given->value;
    value = option->variable ? getenv(option->variable) : NULL;
    return value && *value ? value : option->fallback;
}

bool cli_arguments_flag(const struct cli_arguments *arguments, const char *name)
{
    CHECK(cli_command_option(arguments->command, name));
    return find_given(arguments, name) != NULL;
}

unsigned cli_arguments_choice(const struct cli_arguments *arguments, const char *name)
{
    const struct cli_option *option = cli_command_option(arguments->command, name);
    int index = index_of(option->choices, cli_arguments_text(arguments, name));

    return index < 0 ? 0 : (unsigned)index;
}

uint64_t cli_arguments_number(const struct cli_arguments *arguments, const char *name)
{
    const char *text = cli_arguments_text(arguments, name);
    uint64_t number = 0;
    int r = text ? parse_number(cli_command_option(arguments->command, name), text, &number) : 0;

    return r == 0 ? number : 0;
}

unsigned cli_arguments_all(const struct cli_arguments *arguments, const char *name,
                           const char *to[CLI_ARGUMENTS_GIVEN + 1])
{
    unsigned count = 0;

    for (unsigned i = 0; i < arguments->given_count; i++)
        if (strcmp(arguments->given[i].option->name, name) == 0)
            to[count++] = arguments->given[i].value;
    to[count] = NULL;
    return count;
}
