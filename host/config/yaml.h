/* SPDX-License-Identifier: Apache-2.0 */
/* yaml: reads a YAML file with libfyaml, within limits; errors show the place. No other file knows
 * libfyaml; without it neither this file nor the reader of trees is compiled. */
#ifndef CONFIG_YAML_H
#define CONFIG_YAML_H

#include <stdbool.h>
#include <stddef.h>

#include <rapahub/export.h>

#define CONFIG_YAML_SIZE      ((size_t)1 << 20) /* bytes of a file */
#define CONFIG_YAML_DEPTH     32                /* lists and maps in each other */
#define CONFIG_YAML_DOCUMENTS 64                /* if a file may have several */

/* Types of libfyaml. Nodes are valid as long as the file is open. */
struct fy_node;
struct fy_diag;
struct fy_parser;
struct fy_document;

enum config_yaml_kind { CONFIG_YAML_TEXT, CONFIG_YAML_LIST, CONFIG_YAML_MAP };

struct config_yaml {
    const char *path; /* the caller's */
    char *bytes;
    size_t size;
    struct fy_diag *diag;
    struct fy_parser *parser;
    struct fy_document *documents[CONFIG_YAML_DOCUMENTS];
    unsigned count;       /* documents */
    struct fy_node *root; /* the first document's */
    char quote[512];      /* the line of the last failure, and a caret below it */
};

/* RAPAHUB_ECONFIG: no YAML, or more than the limits, or with aliases, tags, keys that are no text,
 * control characters, a second document. `out` is to be closed in any case, also a zeroed one.
 * r[impl exp.config.limits] */
int config_yaml_open(const char *path, struct config_yaml *out);
void config_yaml_close(struct config_yaml *yaml);

/* The same for a file that may have several documents; the root of each, NULL after the last, and
 * of one that is empty. */
int config_yaml_open_all(const char *path, struct config_yaml *out);
struct fy_node *config_yaml_root(const struct config_yaml *yaml, unsigned index);

/* NULL, for a key without a value, is a text, "". */
enum config_yaml_kind config_yaml_kind(struct fy_node *node);
const char *config_yaml_text(struct fy_node *node);

/* The next item of a list, or the next pair of a map, from `*at` on, which begins as NULL. */
struct fy_node *config_yaml_item(struct fy_node *list, void **at);
struct config_yaml_pair {
    struct fy_node *key, *value;
};
bool config_yaml_pair(struct fy_node *map, void **at, struct config_yaml_pair *out);

/* The pair of this key; `key` NULL where there is none. */
struct config_yaml_pair config_yaml_find(struct fy_node *map, const char *key);

/* Returns the line, from 1 on; 0: unknown. */
unsigned config_yaml_line(struct config_yaml *yaml, struct fy_node *node);

/* RAPAHUB_ECONFIG with "PATH:LINE:COLUMN: " and the text, and the line itself in yaml->quote.
 * `rule` is a constant. */
int config_yaml_fail(struct config_yaml *yaml, struct fy_node *where, const char *rule,
                     const char *format, ...) RAPAHUB_PRINTF(4, 5);

#endif
