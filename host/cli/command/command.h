/* SPDX-License-Identifier: Apache-2.0 */
/* command: how a command and its options are described. Parsing, --help, completion and the option
 * parts of the man pages come from one table of these, which the program hands down (commands.h).
 * r[impl exp.table] */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include <stdbool.h>

struct cli;

enum cli_value {
    CLI_FLAG,   /* takes no value */
    CLI_TEXT,   /* anything */
    CLI_CHOICE, /* a word of `choices` */
    CLI_SPAN,   /* a duration */
    CLI_COUNT,  /* a number from 1 on */
    CLI_FOLDER  /* a path */
};

/* The kinds of operands, which decide the candidates of completion. */
enum cli_operand {
    CLI_OPERAND_NONE,
    CLI_OPERAND_FREE, /* unknown */
    CLI_OPERAND_FILE,
    CLI_OPERAND_FOLDER,
    CLI_OPERAND_GUEST,         /* a running guest or host */
    CLI_OPERAND_FILE_OR_GUEST, /* either */
    CLI_OPERAND_TARGET,        /* GUEST.METHOD or FILE:METHOD */
    CLI_OPERAND_CODE,          /* a code of error.h */
    CLI_OPERAND_REGION,        /* an event region, by name or path */
    CLI_OPERAND_COMMAND,
    CLI_OPERAND_SHELL
};

struct cli_option {
    const char *name; /* without dashes; NULL ends a list */
    char letter;      /* 0: none */
    bool repeats;
    enum cli_value value;
    const char *what;     /* how the value is called, "DUR"; NULL of a flag */
    const char *choices;  /* "a|b|c" of CLI_CHOICE */
    const char *fallback; /* the default, as text; NULL: none */
    const char
        *variable; /* environment variable that is used if the option is not given; NULL: none */
    const char *text;
};

/* Rows of a list of options: name and text of a flag, or kind, name, name of the value and text of
 * another one; then what else there is; and the end. */
#define FLAG(name_, ...)                   \
    {                                      \
        .name = name_, .text = __VA_ARGS__ \
    }
#define VALUE(kind_, name_, what_, ...)                                         \
    {                                                                           \
        .name = name_, .value = CLI_##kind_, .what = what_, .text = __VA_ARGS__ \
    }
#define END \
    {       \
        0   \
    }

struct cli_command {
    /* One word or two: "run", "node ls". The first of two names a group, and is no command itself.
     * NULL ends the table. */
    const char *name;
    const char *operands;
    const char *summary;
    const char *text; /* more, for the man page and --help; lines of at most 80 columns */
    const char *example;
    const char *schema;               /* schema of --json */
    const char *members;              /* members of the document */
    const struct cli_option *options; /* NULL: none of its own */
    enum cli_operand operand;
    int operands_min, operands_max; /* -1: any number */
    bool hidden;
    int (*run)(struct cli *cli); /* 0 or less than 0: a code; more than 0: the exit status */
};

#define CLI_COMMAND_NAME 64 /* bytes of a name, with its end */

/* The options that each command has. */
extern const struct cli_option cli_command_global[];

/* The commands of a program are those of a list of tables, ended by NULL, which its main function
 * hands down: so a room above adds commands that this one does not know. */

/* Returns the command of that index in all tables together, or NULL. A command of a later table
 * replaces the one of the same name, in its place. */
const struct cli_command *cli_command_at(const struct cli_command *const *tables, unsigned index);

/* Returns the command of that name, or NULL. The second looks for the two words `group` and `name`,
 * or for `name` if `group` is NULL. */
const struct cli_command *cli_command_find(const struct cli_command *const *tables,
                                           const char *name);
const struct cli_command *cli_command_find_in(const struct cli_command *const *tables,
                                              const char *group, const char *name);

/* Returns the second word of a command of this group, or NULL if it is none of these. */
const char *cli_command_in_group(const struct cli_command *command, const char *group);

/* Says whether there is a command, not a hidden one, whose first word of two this is. */
bool cli_command_is_group(const struct cli_command *const *tables, const char *word);

/* Returns the nearest name, for "did you mean"; NULL if none is near. */
const char *cli_command_suggest(const struct cli_command *const *tables, const char *name);

/* Returns an option of a command, or a global one; NULL if there is none. */
const struct cli_option *cli_command_option(const struct cli_command *command, const char *name);

#endif
