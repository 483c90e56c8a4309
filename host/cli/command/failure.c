/* SPDX-License-Identifier: Apache-2.0 */
#include "host/cli/command/failure.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <rapahub/error.h>

#include "host/cli/command/cli.h"
#include "host/cli/text/json.h"

void cli_failure_about(struct cli *cli, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(cli->what, sizeof cli->what, format, arguments);
    va_end(arguments);
}

void cli_failure_hint(struct cli *cli, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(cli->hint, sizeof cli->hint, format, arguments);
    va_end(arguments);
}

void cli_failure_note(const struct cli *cli, const char *format, ...)
{
    va_list arguments;

    if (cli->quiet)
        return;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
}

struct told {
    int code, exit, application;
    const char *rule, *text, *hint;
};

static void write_json(const struct cli *cli, const struct told *told)
{
    char message[1400];

    snprintf(message, sizeof message, "%s%s%s", cli->what, cli->what[0] ? ": " : "", told->text);
    /* The exit status stays that of the error. */
    (void)cli_json_print(stderr, "rapahub.error/1",
                         MEMBER_OBJECT("error", MEMBER("code", told->code),
                                       MEMBER("name", rapahub_error_name(told->code)),
                                       MEMBER("rule", told->rule), MEMBER("message", message),
                                       MEMBER_IF(told->code == RAPAHUB_EAPPLICATION, "application",
                                                 told->application),
                                       MEMBER("hint", told->hint), MEMBER("exit", told->exit)));
}

/* Each of its lines, set in. */
static void put_quote(const char *quote)
{
    while (*quote) {
        int size = (int)strcspn(quote, "\n");

        fprintf(stderr, "    %.*s\n", size, quote);
        quote += size + (quote[size] == '\n');
    }
}

static void write_text(const struct cli *cli, const struct told *told)
{
    fprintf(stderr, "%serror:%s %s%s%s\n", cli->color_error ? "\033[1;31m" : "",
            cli->color_error ? "\033[0m" : "", cli->what, cli->what[0] ? ": " : "", told->text);
    put_quote(cli->quote);
    fprintf(stderr, "  code %s", rapahub_error_name(told->code));
    if (told->code == RAPAHUB_EAPPLICATION)
        fprintf(stderr, " (%s)", rapahub_error_name(told->application));
    if (told->rule[0])
        fprintf(stderr, "  rule %s", told->rule);
    fputc('\n', stderr);
    if (told->hint[0])
        fprintf(stderr, "hint: %s\n", told->hint);
}

/* Some texts begin with the name already. */
static void drop_double(struct cli *cli, const char *text)
{
    size_t size = strlen(cli->what);

    if (size > 0 && strncmp(text, cli->what, size) == 0 && text[size] == ':')
        cli->what[0] = '\0';
}

int cli_failure_report(struct cli *cli, int code)
{
    const struct rapahub_diagnosis *last = rapahub_last_error();
    struct told told = {.code = code,
                        .exit = cli->exit_status ? cli->exit_status : rapahub_error_exit(code),
                        .rule = "",
                        .text = rapahub_error_text(code),
                        .hint = cli->hint[0] ? cli->hint : rapahub_error_hint(code)};

    if (last->code == code) {
        told.rule = last->rule;
        told.text = last->text[0] ? last->text : told.text;
        told.application = last->application;
    }
    drop_double(cli, told.text);
    if (cli_json_wanted(cli))
        write_json(cli, &told);
    else
        write_text(cli, &told);
    return told.exit;
}
