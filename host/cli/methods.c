/* SPDX-License-Identifier: Apache-2.0 */
#include "host/cli/methods.h"

#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "hub/base/own.h"

void cli_methods_add(void *user, const char *signature)
{
    struct cli_methods *methods = user;
    char *text = strdup(signature);

    if (text && methods->count == methods->room) {
        unsigned room = methods->room ? 2 * methods->room : 16;
        char **texts = realloc(methods->texts, room * sizeof *texts);

        if (texts) {
            methods->texts = texts;
            methods->room = room;
        }
    }
    if (!text || methods->count == methods->room) {
        free(text);
        return;
    }
    methods->texts[methods->count++] = text;
}

void cli_methods_fini(struct cli_methods *methods)
{
    for (unsigned i = 0; i < methods->count; i++)
        free(methods->texts[i]);
    free(methods->texts);
    *methods = (struct cli_methods){0};
}

static size_t name_size(const char *signature)
{
    return strcspn(signature, "(");
}

/* How many characters at the start are the same. */
static size_t likeness(const char *a, const char *b)
{
    size_t size = 0;

    while (a[size] && a[size] == b[size] && b[size] != '(')
        size++;
    return size;
}

static const char *nearest(const struct cli_methods *methods, const char *wanted)
{
    const char *best = methods->count ? methods->texts[0] : NULL;

    for (unsigned i = 1; i < methods->count; i++) {
        if (likeness(methods->texts[i], wanted) > likeness(best, wanted))
            best = methods->texts[i];
    }
    return best;
}

static int refuse(const struct cli_methods *methods, const char *guest, const char *wanted)
{
    const char *near = nearest(methods, wanted);

    if (!near)
        return rapahub_fail(RAPAHUB_ENOMETHOD, "", "%s has no methods", guest);
    return rapahub_fail(RAPAHUB_ENOMETHOD, "", "%s has no method '%s'; near: %s", guest, wanted,
                        near);
}

int cli_methods_find(const struct cli_methods *methods, const char *guest, const char *wanted,
                     struct hub_signature **out)
{
    OWN(hub_signature) struct hub_signature *given = NULL;
    const char *text = wanted;

    if (strchr(wanted, '(')) {
        int r = hub_signature_parse(wanted, &given);

        if (r < 0)
            return r;
        text = given->text;
    }
    for (unsigned i = 0; i < methods->count; i++) {
        const char *has = methods->texts[i];

        if (given ? strcmp(has, text) == 0
                  : strlen(text) == name_size(has) && memcmp(has, text, strlen(text)) == 0)
            return hub_signature_parse(has, out);
    }
    return refuse(methods, guest, wanted);
}
