/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "host/cli/command/cli.h"
#include "host/cli/command/failure.h"
#include "host/cli/command/listing.h"
#include "host/cli/commands.h"

static void print_one(int code)
{
    printf("%s (%d): %s\n", rapahub_error_name(code), code, rapahub_error_text(code));
    if (rapahub_error_hint(code)[0])
        printf("hint: %s\n", rapahub_error_hint(code));
    printf("exit status %d\n", rapahub_error_exit(code));
}

static void show_code(struct cli_listing *listing, int code)
{
    if (cli_json_wanted(listing->cli)) {
        cli_json_object(
            &listing->json, NULL, MEMBER("code", code), MEMBER("name", rapahub_error_name(code)),
            MEMBER("text", rapahub_error_text(code)), MEMBER("hint", rapahub_error_hint(code)),
            MEMBER("exit", rapahub_error_exit(code)));
        return;
    }
    cli_table_add(&listing->table, (const char *[]){rapahub_error_name(code), CELL("%d", code),
                                                    CELL("%d", rapahub_error_exit(code)),
                                                    rapahub_error_text(code), NULL});
}

/* 0 where it is no code. */
static int code_of(const char *text)
{
    char *end = NULL;
    long number = strtol(text, &end, 10);
    int code;

    if (*end || end == text)
        return rapahub_error_of_name(text);
    number = number > 0 ? -number : number;
    for (unsigned i = 0; (code = rapahub_error_at(i)) != 0; i++) {
        if (code == number)
            return code;
    }
    return 0;
}

int cli_explain(struct cli *cli)
{
    const char *name = cli->arguments.count ? cli->arguments.operands[0] : NULL;
    int only = name ? code_of(name) : 0, code;
    struct cli_listing listing = {.cli = cli};

    if (name && only == 0) {
        cli_failure_hint(cli, "rapahub explain lists all codes");
        return rapahub_fail(RAPAHUB_ENOENT, "", "there is no code '%s'", name);
    }
    if (name && !cli_json_wanted(cli)) {
        print_one(only);
        return 0;
    }
    cli_listing_begin(&listing, "codes", NULL);
    if (!cli_json_wanted(cli))
        cli_table_add(&listing.table, (const char *[]){"CODE", "NUMBER", "EXIT", "TEXT", NULL});
    for (unsigned i = 0; (code = rapahub_error_at(i)) != 0; i++) {
        if (only == 0 || only == code)
            show_code(&listing, code);
    }
    return cli_listing_end(&listing, 0);
}
