/* SPDX-License-Identifier: Apache-2.0 */
/* yaml: a file of configuration as libfyaml reads it, within limits, and errors that show where.
 * The one place that knows libfyaml; built without it, opening fails. */
#ifndef CONFIG_YAML_H
#define CONFIG_YAML_H

#include <stdbool.h>
#include <stddef.h>

#include <rapahub/export.h>

#define CLI_YAML_SIZE  ((size_t)1 << 20) /* bytes of a file */
#define CLI_YAML_DEPTH 32                /* lists and maps in each other */

/* Of libfyaml. They live as long as the file is open. */
struct fy_node;
struct fy_diag;
struct fy_parser;
struct fy_document;

enum cli_yaml_kind { CLI_YAML_TEXT, CLI_YAML_LIST, CLI_YAML_MAP };

struct cli_yaml {
    const char *path; /* the caller's */
    char *bytes;
    size_t size;
    struct fy_diag *diag;
    struct fy_parser *parser;
    struct fy_document *document;
    struct fy_node *root;
    char said[1024]; /* by libfyaml, last */
    char quote[512]; /* the line of the last failure, and a caret below it */
};

/* RAPAHUB_ECONFIG: no YAML, or more than the limits, or with aliases, tags, keys that are no text,
 * control characters, a second document. `out` is to be closed in any case, also a zeroed one.
 * r[impl exp.config.limits] */
int cli_yaml_open(const char *path, struct cli_yaml *out);
void cli_yaml_close(struct cli_yaml *yaml);

/* NULL, for a key without a value, is a text, "". */
enum cli_yaml_kind cli_yaml_kind(struct fy_node *node);
const char *cli_yaml_text(struct fy_node *node);

/* The next item of a list, or the next pair of a map, from `*at` on, which begins as NULL. */
struct fy_node *cli_yaml_item(struct fy_node *list, void **at);
struct cli_yaml_pair {
    struct fy_node *key, *value;
};
bool cli_yaml_pair(struct fy_node *map, void **at, struct cli_yaml_pair *out);

/* The pair of this key; `key` NULL where there is none. */
struct cli_yaml_pair cli_yaml_find(struct fy_node *map, const char *key);

/* From 1 on; 0: unknown. */
unsigned cli_yaml_line(struct cli_yaml *yaml, struct fy_node *node);

/* RAPAHUB_ECONFIG with "PATH:LINE:COLUMN: " and the text, and the line itself in yaml->quote.
 * `rule` is a constant. */
int cli_yaml_fail(struct cli_yaml *yaml, struct fy_node *where, const char *rule,
                  const char *format, ...) RAPAHUB_PRINTF(4, 5);

#endif
