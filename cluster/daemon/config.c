/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/daemon/config.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "host/config/yaml.h"

#define FILE_NAME "rapahub/rapahub.yaml"

static bool is_there(const char *text)
{
    return text && text[0];
}

static bool copy(const char *folder, const char *file, char to[DAEMON_CONFIG_PATH])
{
    return snprintf(to, DAEMON_CONFIG_PATH, "%s%s", folder, file) < DAEMON_CONFIG_PATH;
}

bool daemon_config_find(const struct daemon_config_places *places, char to[DAEMON_CONFIG_PATH])
{
    if (is_there(places->option))
        return copy(places->option, "", to);
    if (is_there(places->variable))
        return copy(places->variable, "", to);
    if (is_there(places->config_home)) {
        if (copy(places->config_home, "/" FILE_NAME, to) && access(to, F_OK) == 0)
            return true;
    } else if (is_there(places->home)) {
        if (copy(places->home, "/.config/" FILE_NAME, to) && access(to, F_OK) == 0)
            return true;
    }
    return copy(places->system, "", to) && access(to, F_OK) == 0;
}

#ifdef RAPAHUB_WITH_YAML

/* The file, and the keys of it that were seen. */
struct reading {
    struct config_yaml yaml;
    struct daemon_settings *settings;
    bool optional[DAEMON_SETTINGS_KEYS]; /* an option was given, which goes first */
};

#define FAIL(reading, at, ...) config_yaml_fail(&(reading)->yaml, at, "", __VA_ARGS__)

static int refuse_key(struct reading *reading, const char *before, struct fy_node *key)
{
    const char *word = config_yaml_text(key);
    char near[DAEMON_SETTINGS_WORD];
    const char *nearest = daemon_settings_suggest(before, word, near);

    if (nearest)
        return FAIL(reading, key, "unknown key '%.100s', did you mean '%s'?", word, nearest);
    return FAIL(reading, key, "unknown key '%.100s'; man rapahub.yaml has those there are", word);
}

/* A relative path would begin where the service manager happens to start the program. */
static int check_path(struct reading *reading, const struct daemon_settings_key *key,
                      struct fy_node *value)
{
    const char *text = config_yaml_text(value);

    if (key->type != DAEMON_SETTINGS_FOLDER || text[0] == '/' || text[0] == '\0')
        return 0;
    return FAIL(reading, value, "%s: '%.100s' does not begin with '/'; write the whole path",
                key->path, text);
}

/* A value that an option replaces is to be sound, too: the next start may lack the option. */
static int look_at(unsigned key, const char *text)
{
    struct daemon_settings settings;
    int r;

    daemon_settings_init(&settings);
    r = daemon_settings_set(&settings, key, text);
    daemon_settings_fini(&settings);
    return r;
}

static int set(struct reading *reading, unsigned key, const struct config_yaml_pair *pair)
{
    const struct daemon_settings_key *row = &daemon_settings_keys[key];
    struct fy_node *where = pair->value ? pair->value : pair->key;
    const char *text = config_yaml_text(pair->value);
    char why[300];
    int r;

    if (!pair->value || config_yaml_kind(pair->value) != CONFIG_YAML_TEXT || !text[0])
        return FAIL(reading, where, "%s has no value; write %s", row->path,
                    daemon_settings_example(row->type));
    r = check_path(reading, row, where);
    if (r < 0)
        return r;
    r = reading->optional[key] ? look_at(key, text)
                               : daemon_settings_set(reading->settings, key, text);
    if (r != RAPAHUB_ECONFIG)
        return r;
    snprintf(why, sizeof why, "%s", rapahub_last_error()->text);
    return FAIL(reading, where, "%s: %s", row->path, why);
}

static int check_duplicate(struct reading *reading, struct fy_node *map, struct fy_node *key)
{
    const char *word = config_yaml_text(key);
    struct config_yaml_pair first = config_yaml_find(map, word);

    if (first.key == key)
        return 0;
    return FAIL(reading, key, "'%.100s' is said in line %u already; take one away", word,
                config_yaml_line(&reading->yaml, first.key));
}

static int read_map(struct reading *reading, const char *before, struct fy_node *map);

/* Paths of the table are short, so a longer one is none of them; that bounds the recursion too. */
static int read_pair(struct reading *reading, const char *before,
                     const struct config_yaml_pair *pair)
{
    char path[2 * DAEMON_SETTINGS_WORD];
    int size = snprintf(path, sizeof path - 1, "%s%s", before, config_yaml_text(pair->key));
    bool fits = (size_t)size < sizeof path - 1;
    int key = fits ? daemon_settings_find(path) : -1;

    if (key >= 0 && strchr(config_yaml_text(pair->key), '.'))
        return FAIL(reading, pair->key, "'%s' is no key; write %.*s: {%s: ...}", path,
                    (int)(strrchr(path, '.') - path), path, strrchr(path, '.') + 1);
    if (key >= 0)
        return set(reading, (unsigned)key, pair);
    if (!fits || !daemon_settings_is_group(path))
        return refuse_key(reading, before, pair->key);
    if (config_yaml_kind(pair->value) != CONFIG_YAML_MAP)
        return FAIL(reading, pair->value ? pair->value : pair->key,
                    "%s: a map of its keys belongs here", path);
    path[size] = '.';
    path[size + 1] = '\0';
    return read_map(reading, path, pair->value);
}

static int read_map(struct reading *reading, const char *before, struct fy_node *map)
{
    struct config_yaml_pair pair;
    void *at = NULL;
    int r = 0;

    while (r == 0 && config_yaml_pair(map, &at, &pair)) {
        r = check_duplicate(reading, map, pair.key);
        if (r == 0)
            r = read_pair(reading, before, &pair);
    }
    return r;
}

/* A file without anything in it sets nothing. */
static int read_root(struct reading *reading)
{
    struct fy_node *root = reading->yaml.root;
    enum config_yaml_kind kind = config_yaml_kind(root);

    if (kind == CONFIG_YAML_MAP)
        return read_map(reading, "", root);
    if (kind == CONFIG_YAML_TEXT && !config_yaml_text(root)[0])
        return 0;
    return FAIL(reading, root, "a map of keys belongs here");
}

int daemon_config_read(const char *path, struct daemon_settings *settings,
                       char quote[DAEMON_CONFIG_QUOTE])
{
    struct reading reading = {.settings = settings};
    int r = config_yaml_open(path, &reading.yaml);

    for (unsigned i = 0; i < DAEMON_SETTINGS_KEYS; i++)
        reading.optional[i] = settings->given[i] != NULL;
    if (r == 0)
        r = read_root(&reading);
    snprintf(quote, DAEMON_CONFIG_QUOTE, "%s", r < 0 ? reading.yaml.quote : "");
    config_yaml_close(&reading.yaml);
    return r;
}

#else

int daemon_config_read(const char *path, struct daemon_settings *settings,
                       char quote[DAEMON_CONFIG_QUOTE])
{
    (void)settings;
    quote[0] = '\0';
    return rapahub_fail(RAPAHUB_ENOTSUP, "",
                        "'%s' cannot be read: this rapahubd was built without libfyaml; each key "
                        "is an option too",
                        path);
}

#endif
