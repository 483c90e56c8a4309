/* SPDX-License-Identifier: Apache-2.0 */
/* settings: the one table of all that can be set, by an option of rapahubd or by a key of
 * rapahub.yaml. Options, keys, --help and "did you mean" come from it. */
#ifndef DAEMON_SETTINGS_H
#define DAEMON_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rapahub/control.h>
#include <rapahub/log.h>

#define DAEMON_SETTINGS_KEYS  22 /* rows of the table */
#define DAEMON_SETTINGS_WORD  32 /* bytes of a key or option, with its end */
#define DAEMON_SETTINGS_GROUP 64 /* bytes of a group's name, with its end */

enum daemon_settings_type {
    DAEMON_SETTINGS_FOLDER,     /* const char * */
    DAEMON_SETTINGS_NAME,       /* const char *; a part of file names */
    DAEMON_SETTINGS_GROUP_ROLE, /* const char *, "GROUP[:ROLE]"; its parts are at `second` */
    DAEMON_SETTINGS_ADDRESSES,  /* const char *, "HOST:PORT" with commas */
    DAEMON_SETTINGS_METASTORE,  /* const char *, the URL of one that is not in the folder */
    DAEMON_SETTINGS_PROFILE,    /* const char *, of struct rapahub_node_options */
    DAEMON_SETTINGS_SPAN,       /* uint64_t, not 0 */
    DAEMON_SETTINGS_LONG_SPAN,  /* uint64_t, from a second to `max` hours */
    DAEMON_SETTINGS_BUDGET,     /* uint32_t; the period, a uint64_t, is at `second` */
    DAEMON_SETTINGS_COUNT,      /* uint32_t, from 1 to `max` */
    DAEMON_SETTINGS_SIZE,       /* uint64_t, not 0 */
    DAEMON_SETTINGS_SMALL_SIZE, /* uint32_t, not 0 */
    DAEMON_SETTINGS_LEVEL       /* enum rapahub_log_level */
};

struct daemon_settings_key {
    const char *path; /* "log.level"; its option is --log-level. NULL ends the table */
    enum daemon_settings_type type;
    size_t offset, second; /* in struct daemon_settings */
    uint32_t max;
    const char *what;     /* how the value is called: "DIR" */
    const char *fallback; /* the default; NULL: that of the library, or none */
    const char *text;
};
extern const struct daemon_settings_key daemon_settings_keys[DAEMON_SETTINGS_KEYS + 1];

struct daemon_settings_group {
    char name[DAEMON_SETTINGS_GROUP]; /* "": none */
    enum rapahub_control_role role;
};

/* Numbers that are 0 stand for the defaults of struct rapahub_host_options. */
struct daemon_settings {
    char *given[DAEMON_SETTINGS_KEYS]; /* each as it was written; NULL: not given */
    const char *data, *run, *name, *group, *listen, *detection, *cgroup; /* NULL: none */
    const char *metastore, *metastore_tls;
    struct daemon_settings_group members;
    enum rapahub_log_level level;
    uint64_t stop_timeout_ns, reset_after_ns, period_ns, backoff_initial_ns, backoff_max_ns;
    uint64_t keep_ns;
    uint32_t deaths_max;
    uint32_t guests, payload, slot, slots, ring;
    uint64_t memory;
};

void daemon_settings_init(struct daemon_settings *settings);
void daemon_settings_fini(struct daemon_settings *settings);

/* Sets a key of the table by its index. RAPAHUB_ECONFIG says what the value is not. */
int daemon_settings_set(struct daemon_settings *settings, unsigned key, const char *text);

/* Finds faults that no single value shows. RAPAHUB_ECONFIG. */
int daemon_settings_check(const struct daemon_settings *settings);

/* Returns the index of a key by its path, or by its option without dashes; -1: there is none. */
int daemon_settings_find(const char *path);
int daemon_settings_find_option(const char *option);

/* Says whether there are keys below this path, as "log". */
bool daemon_settings_is_group(const char *path);

/* The option of a key, without dashes. */
const char *daemon_settings_option(unsigned key, char to[DAEMON_SETTINGS_WORD]);

/* The key after `before` ("" or "log.") that is nearest to `word`, or the nearest option; NULL:
 * none is near. */
const char *daemon_settings_suggest(const char *before, const char *word,
                                    char to[DAEMON_SETTINGS_WORD]);
const char *daemon_settings_suggest_option(const char *word, char to[DAEMON_SETTINGS_WORD]);

/* An example of a value: "a duration, as 30s". */
const char *daemon_settings_example(enum daemon_settings_type type);

#endif
