/* SPDX-License-Identifier: Apache-2.0 */
#include "host/registry/methods.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "hub/wire/lifecycle.h"

#define NEAR_MAX      3 /* methods named as similar */
#define NEAR_DISTANCE 2 /* letters inserted, left out or changed */

struct host_methods *host_methods_create(void)
{
    struct host_methods *methods = calloc(1, sizeof *methods);

    if (methods)
        hub_store_relaxed(&methods->holders, 1);
    return methods;
}

struct host_methods *host_methods_hold(struct host_methods *methods)
{
    if (methods)
        hub_add(&methods->holders, 1);
    return methods;
}

void host_methods_release(struct host_methods **methods)
{
    struct host_methods *gone = *methods;

    *methods = NULL;
    if (!gone || hub_add(&gone->holders, UINT32_MAX) != 1)
        return;
    for (uint32_t i = 0; i < gone->count; i++)
        hub_signature_release(&gone->list[i]);
    free(gone);
}

static int refuse_own(struct hub_signature *signature)
{
    int r = rapahub_fail(RAPAHUB_EFORMAT, "sec.call.own",
                         "'%.80s' has the id of a message of the host's own: rename the method",
                         signature->text);

    hub_signature_release(&signature);
    return r;
}

/* A guest that called a method with such an id would be blamed for it. r[impl sec.call.own] */
int host_methods_add(struct host_methods *methods, struct hub_signature *signature)
{
    if (hub_lifecycle_of_id(signature->id) != HUB_LIFECYCLE_COUNT)
        return refuse_own(signature);
    if (methods->count == HOST_METHODS_MAX) {
        hub_signature_release(&signature);
        return rapahub_fail(RAPAHUB_EFULL, "", "more than %d methods", HOST_METHODS_MAX);
    }
    methods->list[methods->count++] = signature;
    return 0;
}

static int add_line(struct host_methods *methods, const char *line, size_t size)
{
    char text[RAPAHUB_SIGNATURE_MAX + 1];
    struct hub_signature *signature;

    if (size >= sizeof text)
        return rapahub_fail(RAPAHUB_EFORMAT, "", "a signature of %zu bytes", size);
    memcpy(text, line, size);
    text[size] = '\0';
    if (strlen(text) != size || hub_signature_parse(text, &signature) < 0)
        return rapahub_fail(RAPAHUB_EFORMAT, "", "'%.80s' is no signature", text);
    return host_methods_add(methods, signature);
}

int host_methods_add_lines(struct host_methods *methods, struct rapahub_string lines)
{
    int r = 0;

    while (lines.size > 0 && r == 0) {
        const char *end = memchr(lines.data, '\n', lines.size);
        size_t size = end ? (size_t)(end - lines.data) : lines.size;

        r = add_line(methods, lines.data, size);
        size += end ? 1 : 0;
        lines.data += size;
        lines.size -= size;
    }
    return r;
}

const struct hub_signature *host_methods_of_id(const struct host_methods *methods, uint64_t id)
{
    for (uint32_t i = 0; i < methods->count; i++)
        if (methods->list[i]->id == id)
            return methods->list[i];
    return NULL;
}

bool host_methods_takes_streams(const struct rapahub_type *const *types)
{
    while (*types && !hub_signature_is_stream(*types))
        types++;
    return *types != NULL;
}

int host_methods_refuse_streams(void)
{
    return rapahub_fail(RAPAHUB_EBUSY, "", "the streams of the call were not known in time");
}

const struct hub_signature *host_methods_of_name(const struct host_methods *methods,
                                                 const char *name)
{
    for (uint32_t i = 0; i < methods->count; i++)
        if (!strcmp(methods->list[i]->name, name))
            return methods->list[i];
    return NULL;
}

/* Returns the number of letters to change between two names, which have at most 63 bytes. */
static unsigned distance(const char *a, const char *b)
{
    unsigned row[RAPAHUB_METHOD_NAME_MAX + 1];
    size_t width = strlen(b);

    for (size_t j = 0; j <= width; j++)
        row[j] = (unsigned)j;
    for (size_t i = 0; a[i]; i++) {
        unsigned corner = row[0];

        row[0] = (unsigned)i + 1;
        for (size_t j = 0; j < width; j++) {
            unsigned change = corner + (a[i] != b[j]);
            unsigned other = (row[j] < row[j + 1] ? row[j] : row[j + 1]) + 1;

            corner = row[j + 1];
            row[j + 1] = change < other ? change : other;
        }
    }
    return row[width];
}

static int refuse_name(const struct host_methods *methods, const char *who, const char *name)
{
    char near[512] = "";
    size_t size = 0;
    int count = 0;

    for (uint32_t i = 0; i < methods->count && count < NEAR_MAX; i++) {
        if (distance(name, methods->list[i]->name) > NEAR_DISTANCE || size >= sizeof near)
            continue;
        size += (size_t)snprintf(near + size, sizeof near - size, "%s%s", count++ ? "; " : "",
                                 methods->list[i]->text);
    }
    return rapahub_fail(RAPAHUB_ENOMETHOD, "", "%s has no method '%s'%s%s", who, name,
                        count ? "; near: " : "", near);
}

/* Returns the arguments of a canonical signature, with the brackets. */
static size_t arguments_of(const char *text, const char **out)
{
    const char *end = NULL;

    *out = strchr(text, '(');
    if (!*out)
        return 0;
    for (const char *at = strstr(*out, ") -> "); at; at = strstr(at + 1, ") -> "))
        end = at;
    return end ? (size_t)(end + 1 - *out) : strlen(*out);
}

static int refuse_types(const char *has, const char *asked, const char *name)
{
    const char *takes, *given;
    size_t takes_size = arguments_of(has, &takes), given_size = arguments_of(asked, &given);

    if (takes_size == given_size && !strncmp(takes, given, given_size))
        return rapahub_fail(RAPAHUB_EARGUMENTS, "", "the method is %s, not %s", has, asked);
    return rapahub_fail(RAPAHUB_EARGUMENTS, "", "%s takes %.*s, %.*s given", name, (int)takes_size,
                        takes, (int)given_size, given);
}

int host_methods_refuse(const struct host_methods *methods, const char *who, const char *asked)
{
    char name[RAPAHUB_METHOD_NAME_MAX + 1];
    size_t size = strcspn(asked, "(");
    const struct hub_signature *has;

    if (size >= sizeof name)
        size = sizeof name - 1;
    memcpy(name, asked, size);
    name[size] = '\0';
    has = host_methods_of_name(methods, name);
    return has && asked[size] == '(' ? refuse_types(has->text, asked, name)
                                     : refuse_name(methods, who, name);
}
