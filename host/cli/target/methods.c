/* SPDX-License-Identifier: Apache-2.0 */
#include "host/cli/target/methods.h"

#include <string.h>

#include <rapahub/error.h>

/* How many characters at the start are the same. */
static size_t likeness(const char *a, const char *b)
{
    size_t size = 0;

    while (a[size] && a[size] == b[size] && b[size] != '(')
        size++;
    return size;
}

static const char *nearest(const struct cli_texts *methods, const char *wanted)
{
    const char *best = methods->count ? methods->texts[0] : NULL;

    for (unsigned i = 1; i < methods->count; i++) {
        if (likeness(methods->texts[i], wanted) > likeness(best, wanted))
            best = methods->texts[i];
    }
    return best;
}

static int refuse(const struct cli_texts *methods, const char *guest, const char *wanted)
{
    const char *near = nearest(methods, wanted);

    if (!near)
        return rapahub_fail(RAPAHUB_ENOMETHOD, "", "%s has no methods", guest);
    return rapahub_fail(RAPAHUB_ENOMETHOD, "", "%s has no method '%s'; near: %s", guest, wanted,
                        near);
}

/* The first of that name that takes so many arguments, or the first of that name. */
static int find_named(const struct cli_texts *methods, const struct cli_methods_wanted *wanted,
                      struct hub_signature **out)
{
    size_t size = strlen(wanted->text);
    int r = RAPAHUB_ENOMETHOD;

    *out = NULL;
    for (unsigned i = 0; i < methods->count; i++) {
        const char *has = methods->texts[i];
        struct hub_signature *found = NULL;

        if (size != strcspn(has, "(") || memcmp(has, wanted->text, size) != 0)
            continue;
        r = hub_signature_parse(has, &found);
        if (r < 0)
            return r;
        if ((int)found->argument_count == wanted->arguments) {
            hub_signature_release(out);
            *out = found;
            return 0;
        }
        if (*out)
            hub_signature_release(&found);
        else
            *out = found;
    }
    return r;
}

/* A whole signature, as the guest writes it. */
static int find_exactly(const struct cli_texts *methods, const char *wanted,
                        struct hub_signature **out)
{
    int r = hub_signature_parse(wanted, out);

    for (unsigned i = 0; r == 0 && i < methods->count; i++)
        if (strcmp(methods->texts[i], (*out)->text) == 0)
            return 0;
    if (r == 0)
        hub_signature_release(out);
    return r < 0 ? r : RAPAHUB_ENOMETHOD;
}

int cli_methods_find(const struct cli_texts *methods, const char *guest,
                     const struct cli_methods_wanted *wanted, struct hub_signature **out)
{
    int r = strchr(wanted->text, '(') ? find_exactly(methods, wanted->text, out)
                                      : find_named(methods, wanted, out);

    return r == RAPAHUB_ENOMETHOD ? refuse(methods, guest, wanted->text) : r;
}
