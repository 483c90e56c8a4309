/* SPDX-License-Identifier: Apache-2.0 */
#include "host/cli/target/target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

/* The colon that ends a path, which a signature's own colons follow; NULL where there is no path.
 */
static const char *end_of_path(const char *text)
{
    const char *colon = strchr(text, ':'), *bracket = strchr(text, '(');
    size_t size;

    if (!colon || (bracket && bracket < colon))
        return NULL;
    size = (size_t)(colon - text);
    if (memchr(text, '/', size) || memmem(text, size, ".so", 3))
        return colon;
    return NULL;
}

static int parse_file(const char *text, const char *colon, struct cli_target *out)
{
    size_t size = (size_t)(colon - text);

    if (size >= sizeof out->file)
        return rapahub_fail(RAPAHUB_ECONFIG, "", "the path is too long");
    out->is_file = true;
    memcpy(out->file, text, size);
    out->file[size] = '\0';
    out->method = colon + 1;
    return 0;
}

static bool parse_container(const char *text, const char *end, uint32_t *out)
{
    char *stopped = NULL;
    unsigned long number = strtoul(text, &stopped, 10);

    *out = (uint32_t)number;
    return *text >= '0' && *text <= '9' && stopped == end && number <= UINT32_MAX;
}

static int parse_name(const char *text, struct cli_target *out)
{
    const char *dot = strchr(text, '.'), *end = text + strcspn(text, ".#");

    if (!dot || end == text || (size_t)(end - text) >= sizeof out->name ||
        (end < dot && !parse_container(end + 1, dot, &out->container)))
        return rapahub_fail(RAPAHUB_ECONFIG, "",
                            "'%s' is no target: NAME.METHOD, NAME#2.METHOD or FILE.so:METHOD",
                            text);
    snprintf(out->name, sizeof out->name, "%.*s", (int)(end - text), text);
    out->method = dot + 1;
    return 0;
}

int cli_target_parse(const char *text, struct cli_target *out)
{
    const char *colon = end_of_path(text);
    int r;

    *out = (struct cli_target){.is_file = false};
    r = colon ? parse_file(text, colon, out) : parse_name(text, out);
    if (r == 0 && !out->method[0])
        r = rapahub_fail(RAPAHUB_ECONFIG, "", "'%s' names no method", text);
    return r;
}
