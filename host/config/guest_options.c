/* SPDX-License-Identifier: Apache-2.0 */
#include "host/config/guest_options.h"

#include <stdio.h>
#include <string.h>

#include "host/config/tree_keys.h"
#include "host/config/tree_map.h"

#define OF        CONFIG_TREE_OF_GUEST
#define PATH_SIZE 64

/* An option that was read, and its value in the file. */
struct telling {
    const struct config_guest_options *options;
    const struct config_tree_key *key;
    struct fy_node *value;
};

static int fail(const struct telling *t, const char *text)
{
    return config_yaml_fail(t->options->yaml, t->value, "", "%s: %s", t->key->path, text);
}

static const void *at(const struct telling *t, size_t offset)
{
    return (const char *)t->options->to + offset;
}

static int tell_number(const struct telling *t, uint64_t number)
{
    const struct config_guest_option option = {t->key->path, "", number};

    return t->options->visit(t->options->user, &option);
}

static int tell_word(const struct telling *t, const char *word)
{
    const struct config_guest_option option = {t->key->path, word, 0};

    if (strlen(word) > CONFIG_GUEST_OPTIONS_WORD)
        return fail(t, "a word of more than 63 bytes; write a shorter one");
    return t->options->visit(t->options->user, &option);
}

static int tell_span(const struct telling *t)
{
    uint64_t span;

    memcpy(&span, at(t, t->key->offset), sizeof span);
    if (span == RAPAHUB_NONE && t->key->type == CONFIG_TREE_SPAN_OR_FOREVER)
        return tell_word(t, "forever");
    return span == RAPAHUB_NONE || span == 0 ? tell_word(t, "none") : tell_number(t, span);
}

static int tell_large(const struct telling *t)
{
    uint64_t number;

    memcpy(&number, at(t, t->key->offset), sizeof number);
    return tell_number(t, number);
}

static int tell_small(const struct telling *t)
{
    uint32_t number;

    memcpy(&number, at(t, t->key->offset), sizeof number);
    return tell_number(t, number);
}

static int tell_real(const struct telling *t)
{
    double number;
    char text[32];

    memcpy(&number, at(t, t->key->offset), sizeof number);
    snprintf(text, sizeof text, "%g", number);
    return tell_word(t, text);
}

static int tell_flag(const struct telling *t)
{
    bool flag;

    memcpy(&flag, at(t, t->key->offset), sizeof flag);
    return tell_word(t, flag != (t->key->type == CONFIG_TREE_NOT_FLAG) ? "true" : "false");
}

/* The first of several words with one meaning. */
static int tell_choice(const struct telling *t)
{
    const struct config_tree_choice *choice = t->key->choices;
    int value;

    memcpy(&value, at(t, t->key->offset), sizeof value);
    while (choice->value != value)
        choice++;
    return tell_word(t, choice->name);
}

static int tell_only_word(const struct telling *t)
{
    return tell_word(t, t->key->choices->name);
}

static int tell_times(const struct telling *t)
{
    int32_t times;

    memcpy(&times, at(t, t->key->offset), sizeof times);
    return times < 0 ? tell_word(t, "none") : tell_number(t, (uint64_t)times);
}

/* A budget has the same members as its two parts, whose rows name them. */
static int tell_budget(const struct telling *t)
{
    struct telling part = *t;
    char path[PATH_SIZE];
    int32_t times;
    int r;

    memcpy(&times, at(t, t->key->offset), sizeof times);
    snprintf(path, sizeof path, "%s.max", t->key->path);
    part.key = config_tree_keys_find(path, OF, CONFIG_YAML_TEXT);
    r = tell_times(&part);
    if (r != 0 || times < 0)
        return r;
    snprintf(path, sizeof path, "%s.period", t->key->path);
    part.key = config_tree_keys_find(path, OF, CONFIG_YAML_TEXT);
    return tell_span(&part);
}

static int tell_text(const struct telling *t)
{
    const char *text;

    memcpy(&text, at(t, t->key->offset), sizeof text);
    return tell_word(t, text);
}

static int tell_texts(const struct telling *t)
{
    const char *const *texts = at(t, t->key->offset);
    int r = 0;

    for (; r == 0 && *texts; texts++)
        r = tell_word(t, *texts);
    return r;
}

static int tell_exits(const struct telling *t)
{
    const uint16_t *exits = at(t, t->key->offset);
    int r = 0;

    for (; r == 0 && *exits; exits++)
        r = tell_number(t, *exits);
    return r;
}

static int tell_classes(const struct telling *t)
{
    uint32_t mask;
    int r = 0;

    memcpy(&mask, at(t, t->key->offset), sizeof mask);
    for (const struct config_tree_choice *choice = t->key->choices; r == 0 && choice->name;
         choice++)
        if (mask & 1u << choice->value)
            r = tell_word(t, choice->name);
    return r;
}

static int refuse_names(const struct telling *t)
{
    return fail(t, "a guest of this file has no siblings; take it away");
}

static int refuse_roles(const struct telling *t)
{
    return fail(t, "a guest of this file has no regions; take it away");
}

static int tell(const struct config_guest_options *options, const struct config_tree_key *key,
                struct fy_node *value)
{
#define TELLS(type, function) [CONFIG_TREE_##type] = function
    static int (*const tellers[])(const struct telling *) = {
        TELLS(SPAN, tell_span),         TELLS(SPAN_OR_NONE, tell_span),
        TELLS(SPAN_OR_ZERO, tell_span), TELLS(SPAN_OR_FOREVER, tell_span),
        TELLS(SIZE, tell_large),        TELLS(SMALL_SIZE, tell_small),
        TELLS(COUNT, tell_small),       TELLS(NUMBER, tell_real),
        TELLS(FLAG, tell_flag),         TELLS(NOT_FLAG, tell_flag),
        TELLS(CHOICE, tell_choice),     TELLS(WORD, tell_only_word),
        TELLS(TIMES, tell_times),       TELLS(BUDGET, tell_budget),
        TELLS(NAME_TEXT, tell_text),    TELLS(TEXT, tell_text),
        TELLS(TEXTS, tell_texts),       TELLS(NAMES, refuse_names),
        TELLS(SIGNAL, tell_times),      TELLS(EXITS, tell_exits),
        TELLS(CLASSES, tell_classes),   TELLS(ROLES, refuse_roles)};
    const struct telling telling = {options, key, value};

    return tellers[key->type](&telling);
}

static int tell_all(const struct config_guest_options *options, const char *before,
                    struct fy_node *map)
{
    struct config_yaml_pair pair;
    char path[PATH_SIZE], inner[PATH_SIZE + 1];
    void *next = NULL;
    int r = 0;

    while (r == 0 && config_yaml_pair(map, &next, &pair)) {
        enum config_yaml_kind shape = config_yaml_kind(pair.value);

        snprintf(path, sizeof path, "%s%s", before, config_yaml_text(pair.key));
        snprintf(inner, sizeof inner, "%s.", path);
        r = shape == CONFIG_YAML_MAP ? tell_all(options, inner, pair.value)
                                     : tell(options, config_tree_keys_find(path, OF, shape),
                                            pair.value ? pair.value : pair.key);
    }
    return r;
}

int config_guest_options_read(const struct config_guest_options *options, const char *before,
                              struct fy_node *map)
{
    int r = config_tree_map_read(options->yaml, options->to, OF, before, map);

    return r == 0 ? tell_all(options, before, map) : r;
}
