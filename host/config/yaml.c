/* SPDX-License-Identifier: Apache-2.0 */
/* yaml: libfyaml has the place of a node only for an error about it, so one is reported to it, and
 * collected. */
#include "host/config/yaml.h"

#include <fcntl.h>
#include <libfyaml.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "hub/base/own.h"
#include "hub/base/printable.h"

#define QUOTE_COLUMNS 100 /* only a part of a longer line is shown */
#define QUOTE_BEFORE  60

/* ---- where ---- */

struct place {
    unsigned line, column; /* from 1 on; 0: unknown */
    const char *text;      /* in what was said */
};

/* The last error that libfyaml collected; NULL: none. */
static const struct fy_diag_error *last_error(const struct config_yaml *yaml)
{
    const struct fy_diag_error *error, *last = NULL;
    void *at = NULL;

    while ((error = fy_diag_errors_iterate(yaml->diag, &at)))
        last = error;
    return last;
}

static struct place place_of(const struct fy_diag_error *error)
{
    if (!error)
        return (struct place){.text = "it is no YAML"};
    return (struct place){(unsigned)error->line, (unsigned)error->column, error->msg};
}

static struct place report(struct config_yaml *yaml, struct fy_node *node)
{
    const struct fy_diag_error *before = last_error(yaml), *now;

    if (node)
        fy_node_report(node, FYET_ERROR, "%s", "");
    now = last_error(yaml);
    return place_of(now == before ? NULL : now);
}

/* A value that is left out has no place: its key has. */
static struct place locate(struct config_yaml *yaml, struct fy_node *node)
{
    struct fy_node *map = node ? fy_node_get_parent(node) : NULL;
    struct place place = report(yaml, node);
    struct config_yaml_pair pair;
    void *at = NULL;

    while (place.line == 0 && config_yaml_kind(map) == CONFIG_YAML_MAP &&
           config_yaml_pair(map, &at, &pair))
        if (pair.value == node)
            place = report(yaml, pair.key);
    return place;
}

unsigned config_yaml_line(struct config_yaml *yaml, struct fy_node *node)
{
    return locate(yaml, node).line;
}

/* ---- the line itself ---- */

static const char *find_line(const struct config_yaml *yaml, unsigned line, size_t *size)
{
    const char *at = yaml->bytes, *end = yaml->bytes + yaml->size, *stop;

    for (unsigned i = 1; i < line && at < end; i++) {
        stop = memchr(at, '\n', (size_t)(end - at));
        at = stop ? stop + 1 : end;
    }
    stop = memchr(at, '\n', (size_t)(end - at));
    *size = (size_t)((stop ? stop : end) - at);
    return at;
}

/* Columns are characters. A long line is quoted around the place. */
static void quote(struct config_yaml *yaml, const struct place *place)
{
    unsigned skipped = place->column > QUOTE_COLUMNS ? place->column - QUOTE_BEFORE : 0;
    unsigned column = 0;
    size_t size, to = 0, room = sizeof yaml->quote - QUOTE_COLUMNS - 16;
    const char *line = find_line(yaml, place->line, &size);

    for (size_t i = 0; i < size && to < room && column <= skipped + QUOTE_COLUMNS; i++) {
        column += ((unsigned char)line[i] & 0xc0) != 0x80;
        if (column > skipped)
            yaml->quote[to++] = (unsigned char)line[i] < 0x20 || line[i] == 0x7f ? ' ' : line[i];
    }
    yaml->quote[to] = '\0';
    hub_printable_mend(yaml->quote);
    snprintf(yaml->quote + to, sizeof yaml->quote - to, "\n%*s",
             (int)(place->column - skipped < QUOTE_COLUMNS ? place->column - skipped : 1), "^");
}

static int fail_at(struct config_yaml *yaml, const struct place *place, const char *rule,
                   const char *text)
{
    yaml->quote[0] = '\0';
    if (place->line == 0)
        return rapahub_fail(RAPAHUB_ECONFIG, rule, "%s: %s", yaml->path, text);
    quote(yaml, place);
    return rapahub_fail(RAPAHUB_ECONFIG, rule, "%s:%u:%u: %s", yaml->path, place->line,
                        place->column, text);
}

int config_yaml_fail(struct config_yaml *yaml, struct fy_node *where, const char *rule,
                     const char *format, ...)
{
    const struct place place = locate(yaml, where);
    char text[800];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return fail_at(yaml, &place, rule, text);
}

/* ---- content ---- */

enum config_yaml_kind config_yaml_kind(struct fy_node *node)
{
    return node && fy_node_is_sequence(node)  ? CONFIG_YAML_LIST
           : node && fy_node_is_mapping(node) ? CONFIG_YAML_MAP
                                              : CONFIG_YAML_TEXT;
}

const char *config_yaml_text(struct fy_node *node)
{
    const char *text = node ? fy_node_get_scalar0(node) : NULL;

    return text ? text : "";
}

struct fy_node *config_yaml_item(struct fy_node *list, void **at)
{
    return fy_node_sequence_iterate(list, at);
}

bool config_yaml_pair(struct fy_node *map, void **at, struct config_yaml_pair *out)
{
    struct fy_node_pair *pair = fy_node_mapping_iterate(map, at);

    if (pair)
        *out = (struct config_yaml_pair){fy_node_pair_key(pair), fy_node_pair_value(pair)};
    return pair != NULL;
}

struct config_yaml_pair config_yaml_find(struct fy_node *map, const char *key)
{
    struct config_yaml_pair pair;
    void *at = NULL;

    while (config_yaml_kind(map) == CONFIG_YAML_MAP && config_yaml_pair(map, &at, &pair))
        if (strcmp(config_yaml_text(pair.key), key) == 0)
            return pair;
    return (struct config_yaml_pair){NULL, NULL};
}

/* ---- checks ---- */

static int check(struct config_yaml *yaml, struct fy_node *node, unsigned depth);

static int check_text(struct config_yaml *yaml, struct fy_node *node)
{
    const char *text = config_yaml_text(node);
    size_t size = 0;

    if (fy_node_is_alias(node))
        return config_yaml_fail(yaml, node, "",
                                "aliases are refused; write out what it stands for");
    if (!fy_node_get_scalar(node, &size))
        size = 0;
    for (size_t i = 0, n; i < size; i += n) {
        n = hub_printable_size(text + i, size - i);
        if (n == 0)
            return config_yaml_fail(yaml, node, "",
                                    "a control character or a line break; take it out");
    }
    return 0;
}

static int check_list(struct config_yaml *yaml, struct fy_node *list, unsigned depth)
{
    struct fy_node *item;
    void *at = NULL;
    int r = 0;

    while (r == 0 && (item = config_yaml_item(list, &at)))
        r = check(yaml, item, depth);
    return r;
}

static int check_map(struct config_yaml *yaml, struct fy_node *map, unsigned depth)
{
    struct config_yaml_pair pair;
    void *at = NULL;
    int r = 0;

    while (r == 0 && config_yaml_pair(map, &at, &pair)) {
        if (!pair.key || config_yaml_kind(pair.key) != CONFIG_YAML_TEXT)
            return config_yaml_fail(yaml, pair.key ? pair.key : map, "", "a key is a word");
        r = check(yaml, pair.key, depth);
        if (r == 0)
            r = check(yaml, pair.value, depth);
    }
    return r;
}

/* Not deeper than the limit, which bounds this recursion too. */
static int check(struct config_yaml *yaml, struct fy_node *node, unsigned depth)
{
    enum config_yaml_kind kind = config_yaml_kind(node);
    size_t size;

    if (!node)
        return 0;
    if (kind != CONFIG_YAML_TEXT && depth == CONFIG_YAML_DEPTH)
        return config_yaml_fail(yaml, node, "",
                                "more than %d lists and maps in each other; flatten it",
                                CONFIG_YAML_DEPTH);
    if (fy_node_get_tag(node, &size))
        return config_yaml_fail(yaml, node, "", "tags are refused; leave it out");
    if (kind == CONFIG_YAML_TEXT)
        return check_text(yaml, node);
    return kind == CONFIG_YAML_LIST ? check_list(yaml, node, depth + 1)
                                    : check_map(yaml, node, depth + 1);
}

/* ---- the file ---- */

/* Neither a FIFO, which would block, nor a device, which has no end, is read.
 * r[impl exp.config.limits] */
static int read_file(struct config_yaml *yaml)
{
    OWN(hub_fd) int fd = open(yaml->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat status;
    ssize_t n;

    if (fd < 0 || fstat(fd, &status) < 0)
        return rapahub_fail(-errno, "", "cannot read '%s'", yaml->path);
    if (!S_ISREG(status.st_mode))
        return rapahub_fail(RAPAHUB_ECONFIG, "", "'%s' is no plain file; copy it into one",
                            yaml->path);
    yaml->bytes = malloc(CONFIG_YAML_SIZE + 1);
    if (!yaml->bytes)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for '%s'", yaml->path);
    while ((n = read(fd, yaml->bytes + yaml->size, CONFIG_YAML_SIZE + 1 - yaml->size)) > 0)
        yaml->size += (size_t)n;
    if (n < 0)
        return rapahub_fail(-errno, "", "cannot read '%s'", yaml->path);
    if (yaml->size > CONFIG_YAML_SIZE)
        return rapahub_fail(RAPAHUB_ECONFIG, "", "%s: more than 1 MiB; such a file is refused",
                            yaml->path);
    return 0;
}

static int open_parser(struct config_yaml *yaml)
{
    struct fy_parse_cfg how = {.flags = FYPCF_DISABLE_MMAP_OPT | (int)FYPCF_ALLOW_DUPLICATE_KEYS};
    struct fy_diag_cfg diag;

    fy_diag_cfg_default(&diag);
    diag.fp = NULL;
    yaml->diag = how.diag = fy_diag_create(&diag);
    if (yaml->diag)
        fy_diag_set_collect_errors(yaml->diag, true);
    yaml->parser = yaml->diag ? fy_parser_create(&how) : NULL;
    if (!yaml->parser || fy_parser_set_string(yaml->parser, yaml->bytes, yaml->size) < 0)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for '%s'", yaml->path);
    return 0;
}

static int refuse_more(struct config_yaml *yaml, unsigned most, struct fy_document *more)
{
    struct fy_node *root = fy_document_root(more);

    if (most == 1)
        return config_yaml_fail(yaml, root, "", "a second document; put it into a file of its own");
    return config_yaml_fail(yaml, root, "", "more than %u documents; put this into another file",
                            most);
}

/* An error of the parser is reported once, and ends the stream. */
static int parse(struct config_yaml *yaml, unsigned most)
{
    struct fy_document *next = fy_parse_load_document(yaml->parser);
    int r = 0;

    while (next && yaml->count < most) {
        yaml->documents[yaml->count++] = next;
        next =
            fy_parser_get_stream_error(yaml->parser) ? NULL : fy_parse_load_document(yaml->parser);
    }
    yaml->root = config_yaml_root(yaml, 0);
    if (fy_parser_get_stream_error(yaml->parser)) {
        const struct place place = place_of(last_error(yaml));

        r = fail_at(yaml, &place, "", place.text);
    } else if (next) {
        r = refuse_more(yaml, most, next);
    }
    if (next)
        fy_parse_document_destroy(yaml->parser, next);
    return r;
}

struct fy_node *config_yaml_root(const struct config_yaml *yaml, unsigned index)
{
    return index < yaml->count ? fy_document_root(yaml->documents[index]) : NULL;
}

static int open_file(const char *path, unsigned most, struct config_yaml *out)
{
    int r;

    *out = (struct config_yaml){.path = path};
    r = read_file(out);
    if (r == 0)
        r = open_parser(out);
    if (r == 0)
        r = parse(out, most);
    for (unsigned i = 0; r == 0 && i < out->count; i++)
        r = check(out, config_yaml_root(out, i), 0);
    return r;
}

int config_yaml_open(const char *path, struct config_yaml *out)
{
    return open_file(path, 1, out);
}

int config_yaml_open_all(const char *path, struct config_yaml *out)
{
    return open_file(path, CONFIG_YAML_DOCUMENTS, out);
}

void config_yaml_close(struct config_yaml *yaml)
{
    for (unsigned i = 0; i < yaml->count; i++)
        fy_parse_document_destroy(yaml->parser, yaml->documents[i]);
    if (yaml->parser)
        fy_parser_destroy(yaml->parser);
    if (yaml->diag)
        fy_diag_destroy(yaml->diag);
    free(yaml->bytes);
    *yaml = (struct config_yaml){0};
}
