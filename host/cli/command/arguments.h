/* SPDX-License-Identifier: Apache-2.0 */
/* arguments: the command line, checked against the table. */
#ifndef CLI_ARGUMENTS_H
#define CLI_ARGUMENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "host/cli/command/command.h"

#define CLI_ARGUMENTS_GIVEN 64 /* options on one command line */

struct cli_given {
    const struct cli_option *option;
    const char *value; /* from the command line; NULL for a flag */
};

struct cli_arguments {
    const struct cli_command *const *tables; /* the commands they were checked against */
    const char *group; /* the first of two words, if no second one follows; else NULL */
    const struct cli_command *command; /* NULL: none was named */
    unsigned given_count;
    struct cli_given given[CLI_ARGUMENTS_GIVEN];
    int count; /* number of operands */
    char **operands;
};

/* Parses a command line. Options may stand before and after the command and its operands; a
 * negative number is an operand; after `--` all words are. `tables` are those of the program
 * and stay the caller's. `operands` is allocated and shows argv. RAPAHUB_ECONFIG says what is
 * wrong. */
int cli_arguments_parse(const struct cli_command *const *tables, int argc, char **argv,
                        struct cli_arguments *out);
void cli_arguments_fini(struct cli_arguments *arguments);

/* Returns the option's last value on the command line, else that of its variable, else the default;
 * NULL: none. The option must be in the table. */
const char *cli_arguments_text(const struct cli_arguments *arguments, const char *name);

/* Says whether an option is on the command line. */
bool cli_arguments_flag(const struct cli_arguments *arguments, const char *name);

/* Returns the index of a checked option's word among its choices; 0 where it is none of them. */
unsigned cli_arguments_choice(const struct cli_arguments *arguments, const char *name);

/* Returns the number, or the ns, of a checked option; 0: it has no value. */
uint64_t cli_arguments_number(const struct cli_arguments *arguments, const char *name);

/* Collects all values of an option from the command line, with NULL after the last. Returns how
 * many there are. */
unsigned cli_arguments_all(const struct cli_arguments *arguments, const char *name,
                           const char *to[CLI_ARGUMENTS_GIVEN + 1]);

#endif
