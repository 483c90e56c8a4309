/* SPDX-License-Identifier: Apache-2.0 */
#include "host/cli/text/texts.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool grow(struct cli_texts *list)
{
    unsigned room = list->room ? 2 * list->room : 16;
    char **texts;

    if (list->count < list->room)
        return true;
    texts = realloc(list->texts, room * sizeof *texts);
    if (!texts)
        return false;
    list->texts = texts;
    list->room = room;
    return true;
}

/* The list takes the text; NULL: there was no memory for it. */
static void take(struct cli_texts *list, char *text)
{
    if (text && grow(list)) {
        list->texts[list->count++] = text;
        return;
    }
    free(text);
    list->failed = true;
}

void cli_texts_add(void *texts, const char *text)
{
    take(texts, strdup(text));
}

void cli_texts_print(struct cli_texts *texts, const char *format, ...)
{
    va_list arguments;
    char *text;

    va_start(arguments, format);
    if (vasprintf(&text, format, arguments) < 0)
        text = NULL;
    va_end(arguments);
    take(texts, text);
}

void cli_texts_fini(struct cli_texts *texts)
{
    for (unsigned i = 0; i < texts->count; i++)
        free(texts->texts[i]);
    free(texts->texts);
    *texts = (struct cli_texts){0};
}
