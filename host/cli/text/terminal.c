/* SPDX-License-Identifier: Apache-2.0 */
#include "host/cli/text/terminal.h"

#include <stdlib.h>
#include <unistd.h>

#include "hub/base/printable.h"

#define KEPT "\t\n"

/* r[impl exp.terminal] */
void cli_terminal_put(FILE *to, struct rapahub_string text)
{
    size_t size;
    char *escaped;

    if (text.size == 0)
        return;
    if (!isatty(fileno(to))) {
        fwrite(text.data, 1, text.size, to);
        return;
    }
    size = hub_printable_escape(text.data, text.size, KEPT, NULL, 0);
    escaped = malloc(size + 1);
    if (!escaped)
        return;
    (void)hub_printable_escape(text.data, text.size, KEPT, escaped, size + 1);
    fwrite(escaped, 1, size, to);
    free(escaped);
}

int cli_terminal_print(FILE *to, const char *text)
{
    cli_terminal_put(to, rapahub_string_of(text));
    fputc('\n', to);
    return 0;
}
