/* SPDX-License-Identifier: Apache-2.0 */
#include "host/cli/texts.h"

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

void cli_texts_add(void *texts, const char *text)
{
    struct cli_texts *list = texts;
    char *copy = grow(list) ? strdup(text) : NULL;

    if (copy)
        list->texts[list->count++] = copy;
    else
        list->failed = true;
}

void cli_texts_fini(struct cli_texts *texts)
{
    for (unsigned i = 0; i < texts->count; i++)
        free(texts->texts[i]);
    free(texts->texts);
    *texts = (struct cli_texts){0};
}
