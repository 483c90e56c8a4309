/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/daemon/settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "cluster/link/host_port.h"
#include "cluster/metastore/kinds/store_kinds.h"
#include "host/config/suggest.h"
#include "host/config/units.h"
#include "host/socket/role.h"
#include "hub/base/clock.h"
#include "hub/base/names.h"

#define AT(member) offsetof(struct daemon_settings, member)

/* Path, type, member, how its value is called, text for people, and more. */
#define KEY(path_, type_, member_, what_, ...)                                                \
    {                                                                                         \
        .path = path_, .type = DAEMON_SETTINGS_##type_, .offset = AT(member_), .what = what_, \
        .text = __VA_ARGS__                                                                   \
    }

const struct daemon_settings_key daemon_settings_keys[DAEMON_SETTINGS_KEYS + 1] = {
    KEY("data", FOLDER, data, "DIR",
        "the folder of all that is kept (root: /var/lib/rapahub; else "
        "$XDG_STATE_HOME/rapahub, ~/.local/state/rapahub)"),
    KEY("run", FOLDER, run, "DIR",
        "the folder of the sockets (root, or with a group: /run/rapahub; else "
        "$XDG_RUNTIME_DIR/rapahub, /dev/shm/rapahub-UID)"),
    KEY("name", NAME, name, "NAME", "of the node and of its sockets", .fallback = "node"),
    KEY("group", GROUP_ROLE, group, "GROUP[:ROLE]",
        "whose members may use the sockets, as viewer, operator or admin (none; as viewer)",
        .second = AT(members)),
    KEY("listen", ADDRESSES, listen, "HOST:PORT[,...]",
        "where clients with a certificate may come over the network, HOST in numbers or * (none)"),
    KEY("detection", PROFILE, detection, "PROFILE",
        "how soon nodes that do not live are found: lan, fast, wan or seed", .fallback = "lan"),
    KEY("stop_timeout", SPAN, stop_timeout_ns, "DUR",
        "the longest an end in order may take; then all is ended at once", .fallback = "60s"),
    KEY("metastore.url", METASTORE, metastore, "URL",
        "where the metastore is, if not in the data folder: etcd://HOST:PORT,.../PREFIX, or "
        "etcds:// "
        "by TLS (as the folder says)"),
    KEY("metastore.tls", FOLDER, metastore_tls, "DIR",
        "the folder with ca.pem, client.pem and client.key for etcds:// (DATA/etcd)"),
    KEY("metastore.keep", LONG_SPAN, keep_ns, "DUR",
        "how long the metastore in the data folder tells what was overwritten; then that is "
        "forgotten",
        .fallback = "1h", .max = 720),
    KEY("log.level", LEVEL, level, "LEVEL", "error, warn, info or debug", .fallback = "info"),
    KEY("warden.reset_after", SPAN, reset_after_ns, "DUR",
        "a daemon that was ready for so long is started again at once; an earlier death counts",
        .fallback = "10s"),
    KEY("warden.budget", BUDGET, deaths_max, "N/DUR",
        "so many deaths that count within this time are an alarm", .second = AT(period_ns),
        .fallback = "5/60s"),
    KEY("warden.backoff.initial", SPAN, backoff_initial_ns, "DUR",
        "the delay after the second death that counts; it doubles", .fallback = "100ms"),
    KEY("warden.backoff.max", SPAN, backoff_max_ns, "DUR", "the longest, and that after an alarm",
        .fallback = "5s"),
    KEY("limits.guests", COUNT, guests, "N", "processes of guests", .fallback = "255", .max = 255),
    KEY("limits.payload", SMALL_SIZE, payload, "SIZE", "bytes of a message (1M)"),
    KEY("limits.slot", SMALL_SIZE, slot, "SIZE", "bytes of the smallest slots (4K)"),
    KEY("limits.slots", COUNT, slots, "N", "of those, for each guest (64)", .max = 65536),
    KEY("limits.ring", COUNT, ring, "N", "entries of a ring, a power of two (256)", .max = 65536),
    KEY("limits.memory", SIZE, memory, "SIZE", "bytes of slots of all sizes (256M)"),
    KEY("cgroup", FOLDER, cgroup, "DIR",
        "a cgroup v2 without processes, for those of the guests (the own one)"),
    {0}};

static const char *const examples[] = {
    [DAEMON_SETTINGS_FOLDER] = "a folder",
    [DAEMON_SETTINGS_NAME] = "a name of at most 63 letters, digits, '-', '_' and '.'",
    [DAEMON_SETTINGS_GROUP_ROLE] = "GROUP, GROUP:viewer, GROUP:operator or GROUP:admin",
    [DAEMON_SETTINGS_ADDRESSES] = "HOST:PORT, as 192.0.2.7:9413 or *:9413, or several with commas",
    [DAEMON_SETTINGS_METASTORE] = "etcd://HOST:PORT,HOST:PORT/PREFIX, or etcds:// for TLS",
    [DAEMON_SETTINGS_PROFILE] = "lan, fast, wan or seed",
    [DAEMON_SETTINGS_SPAN] = "a duration, as 30s",
    [DAEMON_SETTINGS_LONG_SPAN] = "a duration from 1s to 720h",
    [DAEMON_SETTINGS_BUDGET] = "a budget, as 5/60s",
    [DAEMON_SETTINGS_COUNT] = "a whole number",
    [DAEMON_SETTINGS_SIZE] = "a size, as 64M",
    [DAEMON_SETTINGS_SMALL_SIZE] = "a size below 4G, as 64K",
    [DAEMON_SETTINGS_LEVEL] = "error, warn, info or debug"};

const char *daemon_settings_example(enum daemon_settings_type type)
{
    return examples[type];
}

/* ---- values ---- */

static bool parse_name(const char *text)
{
    size_t size = strlen(text);

    return size > 0 && size < 64 && text[0] != '.' && text[0] != '-' &&
           strspn(text, HUB_NAMES_LETTERS) == size;
}

static bool parse_addresses(const char *text)
{
    struct cluster_host_port_address address;
    struct cluster_host_port where;
    int r;

    if (!text[0])
        return false;
    while ((r = cluster_host_port_next(&text, &where)) > 0)
        if (!cluster_host_port_in_numbers(&where, &address))
            return false;
    if (r < 0)
        rapahub_clear_error();
    return r == 0;
}

static bool parse_profile(const char *text)
{
    static const char *const profiles[] = {"lan", "fast", "wan", "seed"};

    for (unsigned i = 0; i < sizeof profiles / sizeof *profiles; i++)
        if (strcmp(text, profiles[i]) == 0)
            return true;
    return false;
}

static bool parse_group(const char *text, struct daemon_settings_group *out)
{
    const char *colon = strchr(text, ':');
    size_t size = colon ? (size_t)(colon - text) : strlen(text);

    if (size == 0 || size >= sizeof out->name)
        return false;
    *out = (struct daemon_settings_group){.role = RAPAHUB_CONTROL_VIEWER};
    memcpy(out->name, text, size);
    return !colon || host_role_of_word(colon + 1, &out->role);
}

static bool parse_level(const char *text, enum rapahub_log_level *out)
{
    for (unsigned level = RAPAHUB_LOG_ERROR; level <= RAPAHUB_LOG_DEBUG; level++) {
        if (strcmp(rapahub_log_level_name((enum rapahub_log_level)level), text) != 0)
            continue;
        *out = (enum rapahub_log_level)level;
        return true;
    }
    return false;
}

static bool parse_small(bool is_size, const char *text, uint32_t max, uint32_t *out)
{
    uint64_t value;
    int r = is_size ? config_units_size(text, &value) : config_units_count(text, &value);

    if (r < 0 || value == 0 || value > max)
        return false;
    *out = (uint32_t)value;
    return true;
}

static bool parse_budget(const char *text, uint32_t *count, uint64_t *period_ns)
{
    int32_t value;

    if (config_units_budget(text, &value, period_ns) < 0 || value < 1 || *period_ns == 0)
        return false;
    *count = (uint32_t)value;
    return true;
}

static bool parse_long_span(const char *text, uint32_t hours_max, uint64_t *out)
{
    return config_units_span(text, out) == 0 && *out >= HUB_SECOND &&
           *out <= hours_max * 3600 * HUB_SECOND;
}

static bool parse_number(const struct daemon_settings_key *key, const char *text, void *to,
                         void *second)
{
    switch (key->type) {
    case DAEMON_SETTINGS_SPAN:
        return config_units_span(text, to) == 0 && *(uint64_t *)to > 0;
    case DAEMON_SETTINGS_LONG_SPAN:
        return parse_long_span(text, key->max, to);
    case DAEMON_SETTINGS_SIZE:
        return config_units_size(text, to) == 0 && *(uint64_t *)to > 0;
    case DAEMON_SETTINGS_BUDGET:
        return parse_budget(text, to, second);
    case DAEMON_SETTINGS_COUNT:
        return parse_small(false, text, key->max, to);
    default:
        return parse_small(true, text, UINT32_MAX, to);
    }
}

/* Texts stay where they are. */
static bool parse(const struct daemon_settings_key *key, const char *text,
                  struct daemon_settings *settings)
{
    char *to = (char *)settings + key->offset, *second = (char *)settings + key->second;
    bool is_text = key->type <= DAEMON_SETTINGS_PROFILE;

    if (key->type == DAEMON_SETTINGS_LEVEL)
        return parse_level(text, (void *)to);
    if (!is_text)
        return parse_number(key, text, to, second);
    if ((key->type == DAEMON_SETTINGS_FOLDER && !text[0]) ||
        (key->type == DAEMON_SETTINGS_NAME && !parse_name(text)) ||
        (key->type == DAEMON_SETTINGS_ADDRESSES && !parse_addresses(text)) ||
        (key->type == DAEMON_SETTINGS_METASTORE && cluster_store_kinds_check(text) < 0) ||
        (key->type == DAEMON_SETTINGS_PROFILE && !parse_profile(text)) ||
        (key->type == DAEMON_SETTINGS_GROUP_ROLE && !parse_group(text, (void *)second)))
        return false;
    memcpy(to, &text, sizeof text);
    return true;
}

void daemon_settings_init(struct daemon_settings *settings)
{
    *settings = (struct daemon_settings){0};
    for (unsigned i = 0; i < DAEMON_SETTINGS_KEYS; i++)
        if (daemon_settings_keys[i].fallback)
            (void)parse(&daemon_settings_keys[i], daemon_settings_keys[i].fallback, settings);
}

void daemon_settings_fini(struct daemon_settings *settings)
{
    for (unsigned i = 0; i < DAEMON_SETTINGS_KEYS; i++)
        free(settings->given[i]);
    *settings = (struct daemon_settings){0};
}

/* A value that is refused leaves the one before. r[impl cluster.daemon.settings] */
int daemon_settings_set(struct daemon_settings *settings, unsigned key, const char *text)
{
    const struct daemon_settings_key *row = &daemon_settings_keys[key];
    struct daemon_settings changed = *settings;
    char *copy = strdup(text);

    if (!copy)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for the settings");
    if (!parse(row, copy, &changed)) {
        free(copy);
        if (row->type == DAEMON_SETTINGS_METASTORE) /* it knows more of what is wrong */
            return cluster_store_kinds_check(text);
        if (row->type == DAEMON_SETTINGS_COUNT)
            return rapahub_fail(RAPAHUB_ECONFIG, "", "'%.100s' is no whole number from 1 to %u",
                                text, row->max);
        return rapahub_fail(RAPAHUB_ECONFIG, "", "'%.100s' is not %s", text, examples[row->type]);
    }
    free(settings->given[key]);
    changed.given[key] = copy;
    *settings = changed;
    return 0;
}

/* r[impl cluster.daemon.metastore] */
static int check_metastore(const struct daemon_settings *settings)
{
    const char *url = settings->metastore;

    if (!url)
        return 0;
    if (settings->metastore_tls && !cluster_store_kinds_by_tls(url))
        return rapahub_fail(RAPAHUB_ECONFIG, "",
                            "metastore.tls is given, and metastore.url (%.100s) goes without TLS; "
                            "write etcds://, or take metastore.tls away",
                            url);
    if (settings->given[daemon_settings_find("metastore.keep")])
        return rapahub_fail(RAPAHUB_ECONFIG, "",
                            "metastore.keep is for a metastore in the data folder, and "
                            "metastore.url names another; etcd has --auto-compaction-retention");
    return 0;
}

int daemon_settings_check(const struct daemon_settings *settings)
{
    if (settings->backoff_initial_ns > settings->backoff_max_ns)
        return rapahub_fail(RAPAHUB_ECONFIG, "",
                            "warden.backoff.initial (%s) is longer than warden.backoff.max (%s)",
                            SPAN_TEXT(settings->backoff_initial_ns),
                            SPAN_TEXT(settings->backoff_max_ns));
    return check_metastore(settings);
}

/* ---- names ---- */

const char *daemon_settings_option(unsigned key, char to[DAEMON_SETTINGS_WORD])
{
    snprintf(to, DAEMON_SETTINGS_WORD, "%s", daemon_settings_keys[key].path);
    for (char *at = to; *at; at++)
        if (*at == '.' || *at == '_')
            *at = '-';
    return to;
}

int daemon_settings_find(const char *path)
{
    for (int i = 0; daemon_settings_keys[i].path; i++)
        if (strcmp(daemon_settings_keys[i].path, path) == 0)
            return i;
    return -1;
}

int daemon_settings_find_option(const char *option)
{
    char name[DAEMON_SETTINGS_WORD];

    for (int i = 0; daemon_settings_keys[i].path; i++)
        if (strcmp(daemon_settings_option((unsigned)i, name), option) == 0)
            return i;
    return -1;
}

bool daemon_settings_is_group(const char *path)
{
    size_t size = strlen(path);

    for (unsigned i = 0; daemon_settings_keys[i].path; i++)
        if (strncmp(daemon_settings_keys[i].path, path, size) == 0 &&
            daemon_settings_keys[i].path[size] == '.')
            return true;
    return false;
}

/* The candidate lives in `to` as long as it is the best. */
static void consider(struct config_suggest *suggest, const char *candidate,
                     char to[DAEMON_SETTINGS_WORD])
{
    config_suggest_consider(suggest, candidate);
    if (suggest->nearest == candidate) {
        snprintf(to, DAEMON_SETTINGS_WORD, "%s", candidate);
        suggest->nearest = to;
    }
}

const char *daemon_settings_suggest(const char *before, const char *word,
                                    char to[DAEMON_SETTINGS_WORD])
{
    struct config_suggest suggest = {word, NULL, CONFIG_SUGGEST_FAR};
    size_t size = strlen(before);

    for (unsigned i = 0; daemon_settings_keys[i].path; i++) {
        const char *rest = daemon_settings_keys[i].path + size;
        char candidate[DAEMON_SETTINGS_WORD];

        if (strncmp(daemon_settings_keys[i].path, before, size) != 0)
            continue;
        snprintf(candidate, sizeof candidate, "%.*s", (int)strcspn(rest, "."), rest);
        consider(&suggest, candidate, to);
    }
    return suggest.nearest;
}

const char *daemon_settings_suggest_option(const char *word, char to[DAEMON_SETTINGS_WORD])
{
    static const char *const others[] = {"config", "check", "help", "version"};
    struct config_suggest suggest = {word, NULL, CONFIG_SUGGEST_FAR};
    char candidate[DAEMON_SETTINGS_WORD];

    for (unsigned i = 0; daemon_settings_keys[i].path; i++)
        consider(&suggest, daemon_settings_option(i, candidate), to);
    for (unsigned i = 0; i < sizeof others / sizeof *others; i++)
        consider(&suggest, others[i], to);
    return suggest.nearest;
}
