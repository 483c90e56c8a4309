/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/guests/spec_options.h"

#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "host/config/tree_keys.h"

/* A pair, and where its value goes. */
struct setting {
    struct cluster_spec_options *to;
    const struct config_tree_key *key;
    const char *word; /* "": it is the number */
    uint64_t number;
};

static int refuse(const struct setting *s)
{
    if (s->word[0] != '\0')
        return rapahub_fail(RAPAHUB_ECONFIG, "", "%s: '%s' is not %s", s->key->path, s->word,
                            config_tree_keys_example(s->key->type));
    return rapahub_fail(RAPAHUB_ECONFIG, "", "%s: %llu is not %s", s->key->path,
                        (unsigned long long)s->number, config_tree_keys_example(s->key->type));
}

static void *at(const struct setting *s, size_t offset)
{
    return (char *)&s->to->node + offset;
}

static int put(const struct setting *s, const void *from, size_t size)
{
    memcpy(at(s, s->key->offset), from, size);
    return 0;
}

static bool is_word(const struct setting *s, const char *word)
{
    return strcmp(s->word, word) == 0;
}

static int set_span(const struct setting *s)
{
    uint64_t span = s->number;

    if (is_word(s, "none") && s->key->type == CONFIG_TREE_SPAN_OR_NONE)
        span = RAPAHUB_NONE;
    else if (is_word(s, "forever") && s->key->type == CONFIG_TREE_SPAN_OR_FOREVER)
        span = RAPAHUB_FOREVER;
    else if (is_word(s, "none") && s->key->type == CONFIG_TREE_SPAN_OR_ZERO)
        span = 0;
    else if (s->word[0] != '\0' || span == 0)
        return refuse(s);
    return put(s, &span, sizeof span);
}

static int set_large(const struct setting *s)
{
    if (s->word[0] != '\0' || s->number == 0 || (double)s->number < s->key->min)
        return refuse(s);
    return put(s, &s->number, sizeof s->number);
}

static int set_small(const struct setting *s)
{
    uint32_t small = (uint32_t)s->number;

    if (s->word[0] != '\0' || small != s->number || small == 0 || (double)small < s->key->min ||
        (s->key->max > 0 && (double)small > s->key->max))
        return refuse(s);
    return put(s, &small, sizeof small);
}

static int set_real(const struct setting *s)
{
    char *end = NULL;
    double number = strtod(s->word, &end);

    if (s->word[0] == '\0' || *end != '\0' || !(number >= s->key->min && number <= s->key->max))
        return refuse(s);
    return put(s, &number, sizeof number);
}

static int set_flag(const struct setting *s)
{
    bool flag = is_word(s, "true") != (s->key->type == CONFIG_TREE_NOT_FLAG);

    return is_word(s, "true") || is_word(s, "false") ? put(s, &flag, sizeof flag) : refuse(s);
}

static const struct config_tree_choice *choice_of(const struct setting *s)
{
    const struct config_tree_choice *choice = s->key->choices;

    while (choice->name && !is_word(s, choice->name))
        choice++;
    return choice->name ? choice : NULL;
}

static int set_choice(const struct setting *s)
{
    const struct config_tree_choice *choice = choice_of(s);
    bool only = true;

    if (!choice)
        return refuse(s);
    return s->key->type == CONFIG_TREE_WORD ? put(s, &only, sizeof only)
                                            : put(s, &choice->value, sizeof choice->value);
}

/* Ends are words of a list, and go with a restart of just these. */
static int set_class(const struct setting *s)
{
    const struct config_tree_choice *choice = choice_of(s);

    if (!choice)
        return refuse(s);
    s->to->node.how.restart = RAPAHUB_RESTART_MASK;
    s->to->node.how.restart_mask |= 1u << choice->value;
    return 0;
}

static int set_times(const struct setting *s)
{
    int32_t times = is_word(s, "none") ? -1 : (int32_t)s->number;

    if ((s->word[0] != '\0' && times != -1) || (times != -1 && (times < 1 || s->number > 256)))
        return refuse(s);
    return put(s, &times, sizeof times);
}

static int set_text(const struct setting *s)
{
    const char *text = s->to->words[s->to->words_count];
    const char **list = at(s, s->key->offset);
    unsigned count = 0;

    while (list[count])
        count++;
    if (s->word[0] == '\0' || count == CONFIG_TREE_LIST)
        return refuse(s);
    memcpy(s->to->words[s->to->words_count++], s->word, strlen(s->word) + 1);
    list[count] = text;
    return 0;
}

static int set_exit(const struct setting *s)
{
    uint16_t *list = at(s, s->key->offset);
    unsigned count = 0;

    while (list[count] != 0)
        count++;
    if (s->word[0] != '\0' || (s->number >> 8 != 1 && s->number >> 8 != 2) ||
        count == CONFIG_TREE_LIST)
        return refuse(s);
    list[count] = (uint16_t)s->number;
    return 0;
}

static int set(const struct setting *s)
{
#define SETS(type, function) [CONFIG_TREE_##type] = function
    static int (*const setters[])(const struct setting *) = {
        SETS(SPAN, set_span),         SETS(SPAN_OR_NONE, set_span),
        SETS(SPAN_OR_ZERO, set_span), SETS(SPAN_OR_FOREVER, set_span),
        SETS(SIZE, set_large),        SETS(SMALL_SIZE, set_small),
        SETS(COUNT, set_small),       SETS(NUMBER, set_real),
        SETS(FLAG, set_flag),         SETS(NOT_FLAG, set_flag),
        SETS(CHOICE, set_choice),     SETS(WORD, set_choice),
        SETS(TIMES, set_times),       SETS(BUDGET, refuse),
        SETS(NAME_TEXT, refuse),      SETS(TEXT, refuse),
        SETS(TEXTS, set_text),        SETS(NAMES, refuse),
        SETS(SIGNAL, set_times),      SETS(EXITS, set_exit),
        SETS(CLASSES, set_class),     SETS(CHILDREN, refuse),
        SETS(SUPERVISOR, refuse)};

    return setters[s->key->type](s);
}

/* A word of `restart` that is no choice is one of a list of ends. */
static const struct config_tree_key *find_key(const char *path, struct setting *s)
{
    s->key = config_tree_keys_find(path, CONFIG_TREE_OF_GUEST, CONFIG_YAML_TEXT);
    if (s->key && s->key->type == CONFIG_TREE_CHOICE && !choice_of(s)) {
        const struct config_tree_key *list =
            config_tree_keys_find(path, CONFIG_TREE_OF_GUEST, CONFIG_YAML_LIST);

        s->key = list ? list : s->key;
    }
    return s->key;
}

static void copy(struct rapahub_string from, char to[CLUSTER_KEYS_NAME_MAX + 1])
{
    size_t size = from.size < CLUSTER_KEYS_NAME_MAX ? from.size : CLUSTER_KEYS_NAME_MAX;

    if (size > 0)
        memcpy(to, from.data, size);
    to[size] = '\0';
}

static int set_option(struct cluster_spec_options *to, const struct cluster_pool_option *option)
{
    char path[CLUSTER_KEYS_NAME_MAX + 1], word[CLUSTER_KEYS_NAME_MAX + 1];
    struct setting setting = {.to = to, .word = word, .number = option->number};

    copy(option->key, path);
    copy(option->word, word);
    if (!find_key(path, &setting))
        return rapahub_fail(RAPAHUB_ECONFIG, "", "the guests of a pool have no option '%s'", path);
    return set(&setting);
}

static int set_trust(struct cluster_spec_options *to, struct rapahub_string trust)
{
    struct cluster_pool_option option = {.key = rapahub_string_of("trust"), .word = trust};

    return trust.size > 0 ? set_option(to, &option) : 0;
}

/* r[impl cluster.node.options] */
int cluster_spec_options_read(const struct cluster_pool_spec *spec,
                              struct cluster_spec_options *out)
{
    struct cluster_list options = spec->options;
    struct cluster_pool_option option;
    struct rapahub_supervision *how = &out->node.how;
    int status;

    memset(out, 0, sizeof *out);
    how->when_down = RAPAHUB_WHEN_DOWN_WAIT; /* a call outlives the guest that was to take it */
    status = set_trust(out, spec->trust);
    while (status == 0 && cluster_pool_spec_next_option(&options, &option))
        status = set_option(out, &option);
    how->success_exit = out->node.success[0] ? out->node.success : NULL;
    how->prevent_exit = out->node.prevent[0] ? out->node.prevent : NULL;
    how->force_exit = out->node.force[0] ? out->node.force : NULL;
    how->finish = out->node.finish[0] ? out->node.finish : NULL;
    how->keep_fds = out->node.keep_fds[0] ? out->node.keep_fds : NULL;
    return status;
}
