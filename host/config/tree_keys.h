/* SPDX-License-Identifier: Apache-2.0 */
/* tree_keys: the one table of the keys of a tree file. Parsing, "did you mean" and the page
 * rapahub-tree(5) come from it. A new option of rapahub/supervise.h is one more row. */
#ifndef CONFIG_TREE_KEYS_H
#define CONFIG_TREE_KEYS_H

#include <stdint.h>

#include "host/config/tree.h"

/* How a value is written, and what it is in struct config_tree_node. */
enum config_tree_type {
    CONFIG_TREE_SPAN,            /* a duration; u64 */
    CONFIG_TREE_SPAN_OR_NONE,    /* the same; 0 and none are RAPAHUB_NONE */
    CONFIG_TREE_SPAN_OR_FOREVER, /* the same; forever is RAPAHUB_FOREVER */
    CONFIG_TREE_SPAN_OR_ZERO,    /* the same; 0 and none are 0 */
    CONFIG_TREE_SIZE,            /* bytes, at least `min`; u64 */
    CONFIG_TREE_SMALL_SIZE,      /* bytes; u32 */
    CONFIG_TREE_COUNT,           /* a whole number from `min` to `max`; u32 */
    CONFIG_TREE_NUMBER,          /* from `min` to `max`; double */
    CONFIG_TREE_FLAG,            /* true, false; bool */
    CONFIG_TREE_NOT_FLAG,        /* the other way round */
    CONFIG_TREE_CHOICE,          /* a word of `choices`; an enum */
    CONFIG_TREE_WORD,            /* the only one of `choices`; bool */
    CONFIG_TREE_TIMES,           /* restarts, none; i32 */
    CONFIG_TREE_BUDGET,          /* restarts/duration, none; i32 here, u64 at `second` */
    CONFIG_TREE_NAME_TEXT,       /* a child's name; const char * */
    CONFIG_TREE_TEXT,            /* const char * */
    CONFIG_TREE_TEXTS,           /* a list of them; const char *[] ended by NULL */
    CONFIG_TREE_NAMES,           /* dependencies of kind `second` */
    CONFIG_TREE_SIGNAL,          /* SIGTERM, 15; i32 */
    CONFIG_TREE_EXITS,           /* a list of statuses and signals; uint16_t[] ended by 0 */
    CONFIG_TREE_CLASSES,   /* a list of `choices`; a mask, u32, and the restart that asks it */
    CONFIG_TREE_CHILDREN,  /* a list of guests and supervisors */
    CONFIG_TREE_SUPERVISOR /* a map */
};

struct config_tree_choice {
    const char *name; /* NULL ends a list */
    int value;
};

enum {
    CONFIG_TREE_OF_GUEST = 1,
    CONFIG_TREE_OF_SUPERVISOR = 2,
    CONFIG_TREE_OF_FILE = 4,
    CONFIG_TREE_OF_ITEM = 8
};

struct config_tree_key {
    const char *path; /* "backoff.max"; NULL ends the table */
    unsigned of;      /* kinds of maps that may have it */
    enum config_tree_type type;
    size_t offset, second; /* in struct config_tree_node */
    const char *member,
        *second_member; /* members of rapahub/supervise.h; NULL: the option is none of these */
    double min, max;
    const struct config_tree_choice *choices;
    const char *text; /* for the manual, with the default */
};

extern const struct config_tree_key config_tree_keys_table[];

/* Returns the row of a path whose values have this shape, else a row of the path with any shape;
 * NULL: no such key. */
const struct config_tree_key *config_tree_keys_find(const char *path, unsigned of,
                                                    enum config_yaml_kind shape);

/* Says whether there are keys below this path. */
bool config_tree_keys_is_group(const char *path, unsigned of);

/* Returns the key after `before` ("" or "backoff.") that is nearest to `word`; NULL: none is near.
 */
const char *config_tree_keys_suggest(const char *before, const char *word, unsigned of,
                                     char to[32]);

/* Returns the path of a member of struct rapahub_supervision; NULL if it has none. */
const char *config_tree_keys_of_member(const char *member, unsigned of);

/* Says whether a word is a choice of any key. */
bool config_tree_keys_is_choice(const char *word);

/* An example of a value of that type, and whether a value has its shape. */
const char *config_tree_keys_example(enum config_tree_type type);
bool config_tree_keys_fits(enum config_tree_type type, enum config_yaml_kind shape);

#endif
