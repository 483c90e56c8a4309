/* SPDX-License-Identifier: Apache-2.0 */
/* tree_keys: the one table of the keys of a tree file. Parsing, "did you mean" and the page
 * rapahub-tree(5) come from it. A new option of rapahub/supervise.h is one more row. */
#ifndef CONFIG_TREE_KEYS_H
#define CONFIG_TREE_KEYS_H

#include "host/config/tree.h"

/* The types of values: name, shapes of the value, and how it is written. The comment is the form in
 * struct config_tree_node. */
#define CONFIG_TREE_TYPES(X)                                                                      \
    X(SPAN, TEXT, "a duration, as 500ms or 30s")                    /* u64 */                     \
    X(SPAN_OR_NONE, TEXT, "a duration, as 500ms, or none")          /* 0, none: RAPAHUB_NONE */   \
    X(SPAN_OR_FOREVER, TEXT, "a duration, as 60s, or forever")      /* RAPAHUB_FOREVER */         \
    X(SPAN_OR_ZERO, TEXT, "a duration, as 500ms, or none")          /* 0, none: 0 */              \
    X(SIZE, TEXT, "a size, as 64M")                                 /* at least `min`; u64 */     \
    X(SMALL_SIZE, TEXT, "a size, as 64K")                           /* u32 */                     \
    X(COUNT, TEXT, "a whole number")                                /* u32 from `min` to `max` */ \
    X(NUMBER, TEXT, "a number")                                     /* the same; double */        \
    X(FLAG, TEXT, "true or false")                                  /* bool */                    \
    X(NOT_FLAG, TEXT, "true or false")                              /* the other way round */     \
    X(CHOICE, TEXT, "a word")                                       /* an enum of `choices` */    \
    X(WORD, TEXT, "a word")                                         /* the only choice; bool */   \
    X(TIMES, TEXT, "a number from 1 to 256, or none")               /* restarts; i32 */           \
    X(BUDGET, TEXT, "a budget, as 5/60s, or none")                  /* i32, u64 at `second` */    \
    X(NAME_TEXT, TEXT, "a name")                                    /* a child's; const char * */ \
    X(TEXT, TEXT, "a text")                                         /* const char * */            \
    X(TEXTS, TEXT_OR_LIST, "a list of texts")                       /* their end is NULL */       \
    X(NAMES, TEXT_OR_LIST, "names of siblings, as [store, log]")    /* kind `second` */           \
    X(SIGNAL, TEXT, "a signal, as SIGTERM")                         /* or a number; i32 */        \
    X(EXITS, TEXT_OR_LIST, "statuses and signals, as [3, SIGTERM]") /* u16, 0 ends them */        \
    X(CLASSES, LIST, "a list of ends, as [signal, oom]")            /* bits of `choices`; u32 */  \
    X(CHILDREN, LIST, "a list of guests and supervisors")           /* the node */                \
    X(SUPERVISOR, MAP, "a map with the keys of a supervisor")       /* the node */                \
    X(LABEL, TEXT, "a name")                                        /* const char * */            \
    X(INDEX, TEXT, "a number from 0 on, or any")                    /* u32 */                     \
    X(MODE, TEXT, "a mode in octal, at most 660")                   /* u32 */                     \
    X(REGIONS, LIST, "a list of regions")                           /* the node */                \
    X(ROLES, LIST, "a list of roles")                               /* the node */

#define CONFIG_TREE_TYPE(name, shapes, example) CONFIG_TREE_##name,
enum config_tree_type { CONFIG_TREE_TYPES(CONFIG_TREE_TYPE) };

struct config_tree_choice {
    const char *name; /* NULL ends a list */
    int value;
};

enum {
    CONFIG_TREE_OF_GUEST = 1,
    CONFIG_TREE_OF_SUPERVISOR = 2,
    CONFIG_TREE_OF_FILE = 4,
    CONFIG_TREE_OF_ITEM = 8,
    CONFIG_TREE_OF_REGION = 16,
    CONFIG_TREE_OF_ROLE = 32
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
