/* SPDX-License-Identifier: Apache-2.0 */
/* tree_values: one function for each type. If 0 means a default to the library and a person writes
 * 0, it is refused, or turned into what was meant, but never into the default. */
#include "host/config/tree_values.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <rapahub/error.h>

#include "host/config/region_options.h"
#include "host/config/suggest.h"
#include "host/config/units.h"
#include "hub/base/names.h"
#include "hub/bus/region.h"

#define SIGNAL_MAX   64
#define RESTARTS_MAX 256

/* Fails at a node of the file, by no rule of the specification. */
#define FAIL(setting, at, ...) config_yaml_fail((setting)->yaml, at, "", __VA_ARGS__)

/* The option that is being set: its node and its value. */
struct setting {
    struct config_yaml *yaml;
    struct config_tree_node *to;
    const struct config_tree_key *key;
    struct fy_node *value;
    const char *text; /* the value's */
};

static int put(const struct setting *s, size_t offset, const void *from, size_t size)
{
    memcpy((char *)s->to + offset, from, size);
    return 0;
}

static int refuse(const struct setting *s)
{
    if (s->text[0] == '\0')
        return FAIL(s, s->value, "%s has no value; write %s", s->key->path,
                    config_tree_keys_example(s->key->type));
    return FAIL(s, s->value, "%s: '%.100s' is not %s", s->key->path, s->text,
                config_tree_keys_example(s->key->type));
}

/* ---- numbers ---- */

static int set_u64(const struct setting *s, uint64_t number)
{
    return put(s, s->key->offset, &number, sizeof number);
}

static bool is_zero(const char *text)
{
    uint64_t span;

    return strcmp(text, "0") == 0 || strcmp(text, "none") == 0 ||
           (config_units_span(text, &span) == 0 && span == 0);
}

static int set_span(const struct setting *s)
{
    enum config_tree_type type = s->key->type;
    uint64_t span;

    if (type == CONFIG_TREE_SPAN_OR_FOREVER && strcmp(s->text, "forever") == 0)
        return set_u64(s, RAPAHUB_FOREVER);
    if (type == CONFIG_TREE_SPAN_OR_NONE && is_zero(s->text))
        return set_u64(s, RAPAHUB_NONE);
    if (type == CONFIG_TREE_SPAN_OR_ZERO && is_zero(s->text))
        return set_u64(s, 0);
    if (config_units_span(s->text, &span) < 0 || span == 0)
        return refuse(s);
    return set_u64(s, span);
}

static int set_size(const struct setting *s)
{
    uint64_t size;
    uint32_t small;

    if (config_units_size(s->text, &size) < 0 || size == 0)
        return refuse(s);
    if ((double)size < s->key->min)
        return FAIL(s, s->value, "%s: '%s' is too little; write %.0f or more", s->key->path,
                    s->text, s->key->min);
    if (s->key->type == CONFIG_TREE_SIZE)
        return set_u64(s, size);
    small = (uint32_t)size;
    if (small != size)
        return FAIL(s, s->value, "%s: '%s' is 4 GiB or more; write less", s->key->path, s->text);
    return put(s, s->key->offset, &small, sizeof small);
}

static int refuse_range(const struct setting *s)
{
    return FAIL(s, s->value, "%s: '%.100s' is no number from %.10g to %.10g", s->key->path, s->text,
                s->key->min, s->key->max);
}

static int set_count(const struct setting *s)
{
    uint64_t number;
    uint32_t small;

    if (s->text[0] == '\0')
        return refuse(s);
    if (config_units_count(s->text, &number) < 0 || (double)number < s->key->min ||
        (double)number > s->key->max)
        return refuse_range(s);
    small = (uint32_t)number;
    return put(s, s->key->offset, &small, sizeof small);
}

static int set_number(const struct setting *s)
{
    char *end = NULL;
    double number = strtod(s->text, &end);

    if (s->text[0] == '\0')
        return refuse(s);
    if (*end || end == s->text || !(number >= s->key->min && number <= s->key->max))
        return refuse_range(s);
    return put(s, s->key->offset, &number, sizeof number);
}

static int set_flag(const struct setting *s)
{
    bool on = strcmp(s->text, "true") == 0 || strcmp(s->text, "yes") == 0;
    bool flag = on != (s->key->type == CONFIG_TREE_NOT_FLAG);

    if (!on && strcmp(s->text, "false") != 0 && strcmp(s->text, "no") != 0)
        return refuse(s);
    return put(s, s->key->offset, &flag, sizeof flag);
}

static int set_index(const struct setting *s)
{
    uint32_t index;

    return config_region_options_index(s->text, &index)
               ? put(s, s->key->offset, &index, sizeof index)
               : refuse(s);
}

static int set_mode(const struct setting *s)
{
    uint32_t mode;

    return config_region_options_mode(s->text, &mode) ? put(s, s->key->offset, &mode, sizeof mode)
                                                      : refuse(s);
}

/* ---- restarts ---- */

static int refuse_zero_budget(const struct setting *s)
{
    return FAIL(s, s->value,
                "%s: 0 restarts give up at the first failure; write none if that is "
                "meant, else a number from 1 to %d",
                s->key->path, RESTARTS_MAX);
}

static int set_times(const struct setting *s)
{
    int32_t times = -1;
    uint64_t number;

    if (strcmp(s->text, "0") == 0)
        return refuse_zero_budget(s);
    if (strcmp(s->text, "none") != 0) {
        if (config_units_count(s->text, &number) < 0 || number > RESTARTS_MAX)
            return refuse(s);
        times = (int32_t)number;
    }
    return put(s, s->key->offset, &times, sizeof times);
}

static int set_budget(const struct setting *s)
{
    uint64_t period;
    int32_t times;

    if (strcmp(s->text, "0") == 0 || strncmp(s->text, "0/", 2) == 0)
        return refuse_zero_budget(s);
    if (config_units_budget(s->text, &times, &period) < 0 || (times > 0 && period == 0))
        return refuse(s);
    put(s, s->key->offset, &times, sizeof times);
    return put(s, s->key->second, &period, sizeof period);
}

/* ---- words ---- */

/* Lists the choices as text: "one_for_one, one_for_all, simple". */
static void list_choices(const struct config_tree_choice *choices, char *to, size_t size)
{
    size_t at = 0;

    to[0] = '\0';
    for (; choices->name && at < size; choices++)
        at += (size_t)snprintf(to + at, size - at, "%s%s", at ? ", " : "", choices->name);
}

static int find_choice(const struct setting *s, struct fy_node *value,
                       const struct config_tree_choice **out)
{
    const char *text = config_yaml_text(value);
    struct config_suggest suggest = {text, NULL, CONFIG_SUGGEST_FAR};
    char all[256];

    for (*out = s->key->choices; (*out)->name; ++*out) {
        if (strcmp((*out)->name, text) == 0)
            return 0;
        config_suggest_consider(&suggest, (*out)->name);
    }
    list_choices(s->key->choices, all, sizeof all);
    return FAIL(s, value, "%s: '%.100s' is none of %s%s%s%s", s->key->path, text, all,
                suggest.nearest ? "; did you mean '" : "", suggest.nearest ? suggest.nearest : "",
                suggest.nearest ? "'?" : "");
}

static int set_choice(const struct setting *s)
{
    const struct config_tree_choice *choice;
    int r = find_choice(s, s->value, &choice);
    bool flag = true;

    if (r < 0)
        return r;
    if (s->key->type == CONFIG_TREE_WORD)
        return put(s, s->key->offset, &flag, sizeof flag);
    return put(s, s->key->offset, &choice->value, sizeof choice->value);
}

static int set_classes(const struct setting *s)
{
    const struct config_tree_choice *choice;
    struct fy_node *item;
    uint32_t mask = 0;
    void *at = NULL;

    while ((item = config_yaml_item(s->value, &at))) {
        if (find_choice(s, item, &choice) < 0)
            return RAPAHUB_ECONFIG;
        mask |= 1u << choice->value;
    }
    if (mask == 0)
        return FAIL(s, s->value, "%s: no end is named; write temporary for none", s->key->path);
    s->to->how.restart = RAPAHUB_RESTART_MASK;
    return put(s, s->key->offset, &mask, sizeof mask);
}

/* ---- signals and statuses ---- */

/* 0: it is none. */
static int signal_of(const char *text)
{
    char *end = NULL;
    long number = strtol(text, &end, 10);

    if (*text >= '0' && *text <= '9')
        return *end == '\0' && number <= SIGNAL_MAX ? (int)number : 0;
    if (strncasecmp(text, "SIG", 3) == 0)
        text += 3;
    for (int i = 1; i < SIGNAL_MAX; i++)
        if (sigabbrev_np(i) && strcasecmp(sigabbrev_np(i), text) == 0)
            return i;
    return 0;
}

static int set_signal(const struct setting *s)
{
    int32_t number = signal_of(s->text);

    if (number == 0)
        return refuse(s);
    return put(s, s->key->offset, &number, sizeof number);
}

/* A number is a status, a name a signal. 0: neither. */
static uint16_t exit_of(const char *text)
{
    char *end = NULL;
    unsigned long status = strtoul(text, &end, 10);
    int number;

    if (*text >= '0' && *text <= '9')
        return *end == '\0' && status <= 255 ? RAPAHUB_STATUS(status) : 0;
    number = signal_of(text);
    return number ? RAPAHUB_SIGNAL(number) : 0;
}

/* ---- lists ---- */

static int check_item(const struct setting *s, struct fy_node *item, unsigned count, unsigned max)
{
    if (count == max)
        return FAIL(s, item, "%s: more than %u; name fewer", s->key->path, max);
    if (config_yaml_kind(item) != CONFIG_YAML_TEXT || config_yaml_text(item)[0] == '\0')
        return FAIL(s, item, "%s: not %s", s->key->path, config_tree_keys_example(s->key->type));
    return 0;
}

/* Sets the next item of a list, which has so many already. */
typedef int set_item(const struct setting *s, struct fy_node *item, unsigned count);

/* A single value stands for a list of one. */
static int set_list(const struct setting *s, unsigned count, unsigned max, set_item *set)
{
    bool is_list = config_yaml_kind(s->value) == CONFIG_YAML_LIST;
    void *at = NULL;
    struct fy_node *item = is_list ? config_yaml_item(s->value, &at) : s->value;
    int r = 0;

    for (; r == 0 && item; item = is_list ? config_yaml_item(s->value, &at) : NULL) {
        r = check_item(s, item, count, max);
        if (r == 0)
            r = set(s, item, count++);
    }
    return r;
}

static int set_text_item(const struct setting *s, struct fy_node *item, unsigned count)
{
    const char *text = config_yaml_text(item);

    return put(s, s->key->offset + count * sizeof text, &text, sizeof text);
}

static int set_texts(const struct setting *s)
{
    return set_list(s, 0, CONFIG_TREE_LIST, set_text_item);
}

static int set_exit_item(const struct setting *s, struct fy_node *item, unsigned count)
{
    uint16_t exit = exit_of(config_yaml_text(item));

    if (exit == 0)
        return FAIL(s, item,
                    "%s: '%.100s' is neither a status from 0 to 255 nor a signal, as "
                    "SIGTERM",
                    s->key->path, config_yaml_text(item));
    return put(s, s->key->offset + count * sizeof exit, &exit, sizeof exit);
}

static int set_exits(const struct setting *s)
{
    return set_list(s, 0, CONFIG_TREE_LIST, set_exit_item);
}

static int set_name_item(const struct setting *s, struct fy_node *item, unsigned count)
{
    s->to->named_at[count] = item;
    s->to->dependencies[count] = (struct rapahub_dependency){
        (enum rapahub_dependency_kind)s->key->second, config_yaml_text(item)};
    s->to->dependencies_count = count + 1;
    return 0;
}

static int set_names(const struct setting *s)
{
    return set_list(s, s->to->dependencies_count, RAPAHUB_DEPENDENCIES_MAX, set_name_item);
}

/* ---- texts ---- */

/* A name may be used in a target, a label and a path: [A-Za-z_][A-Za-z0-9_.-]{0,62}. */
static bool is_name(const char *text)
{
    static const char first[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";

    return strspn(text, first) > 0 && strspn(text, HUB_NAMES_LETTERS) == strlen(text) &&
           strlen(text) < CONFIG_TREE_NAME;
}

static int set_text(const struct setting *s)
{
    if (s->key->type == CONFIG_TREE_NAME_TEXT && s->text[0] && !is_name(s->text))
        return FAIL(s, s->value,
                    "'%.100s' is no name; write letters, digits, '_', '.' and '-', at "
                    "most %d, a letter or '_' first",
                    s->text, CONFIG_TREE_NAME - 1);
    if (s->text[0] == '\0')
        return refuse(s);
    return put(s, s->key->offset, &s->text, sizeof s->text);
}

_Static_assert(RAPAHUB_ROLE_NAME_MAX == RAPAHUB_REGION_NAME_MAX, "names of one length");

/* A name of a region or of a role. */
static int set_label(const struct setting *s)
{
    if (s->text[0] == '\0')
        return refuse(s);
    if (!hub_region_is_name(s->text))
        return FAIL(s, s->value,
                    "%s: '%.100s' is no name; write letters, digits, '_', '-' and '.', at most %d",
                    s->key->path, s->text, RAPAHUB_ROLE_NAME_MAX);
    return put(s, s->key->offset, &s->text, sizeof s->text);
}

static int set_node(const struct setting *s)
{
    return put(s, s->key->offset, &s->value, sizeof s->value);
}

int config_tree_values_set(struct config_yaml *yaml, struct config_tree_node *to,
                           const struct config_tree_key *key, struct fy_node *value)
{
#define SETS(type, setter) [CONFIG_TREE_##type] = setter
    static int (*const setters[])(const struct setting *) = {
        SETS(SPAN, set_span),         SETS(SPAN_OR_NONE, set_span), SETS(SPAN_OR_FOREVER, set_span),
        SETS(SPAN_OR_ZERO, set_span), SETS(SIZE, set_size),         SETS(SMALL_SIZE, set_size),
        SETS(COUNT, set_count),       SETS(NUMBER, set_number),     SETS(FLAG, set_flag),
        SETS(NOT_FLAG, set_flag),     SETS(CHOICE, set_choice),     SETS(WORD, set_choice),
        SETS(TIMES, set_times),       SETS(BUDGET, set_budget),     SETS(NAME_TEXT, set_text),
        SETS(TEXT, set_text),         SETS(TEXTS, set_texts),       SETS(NAMES, set_names),
        SETS(SIGNAL, set_signal),     SETS(EXITS, set_exits),       SETS(CLASSES, set_classes),
        SETS(CHILDREN, set_node),     SETS(SUPERVISOR, set_node),   SETS(LABEL, set_label),
        SETS(INDEX, set_index),       SETS(MODE, set_mode),         SETS(REGIONS, set_node),
        SETS(ROLES, set_node)};
    const struct setting setting = {yaml, to, key, value, config_yaml_text(value)};

    return setters[key->type](&setting);
}
