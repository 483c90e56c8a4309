/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/daemon/options.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#define WORD        64 /* bytes of an option, with its end */
#define AS_WARDEN   "--as-warden"
#define AS_DAEMON   "--as-daemon="
#define INDENT      30 /* where the texts of options begin */
#define NAME_WARDEN "rapahub-warden"
#define NAME_DAEMON "rapahubd"

struct words {
    int argc, at;
    char *const *argv;
};

/* "--name=value", or "--name" and the next word. NULL: there is none. */
static const char *value_of(struct words *words, const char *equals)
{
    if (equals)
        return equals + 1;
    return words->at + 1 < words->argc ? words->argv[++words->at] : NULL;
}

static int refuse_option(const char *word)
{
    char near[DAEMON_SETTINGS_WORD];
    const char *nearest = daemon_settings_suggest_option(word, near);

    if (nearest)
        return rapahub_fail(RAPAHUB_ECONFIG, "", "unknown option '--%.100s', did you mean '--%s'?",
                            word, nearest);
    return rapahub_fail(RAPAHUB_ECONFIG, "", "unknown option '--%.100s'", word);
}

static int take_setting(struct daemon_options *options, unsigned key, const char *name,
                        const char *value)
{
    char why[300];
    int r;

    if (options->settings.given[key])
        return rapahub_fail(RAPAHUB_ECONFIG, "", "--%s is given twice", name);
    r = daemon_settings_set(&options->settings, key, value);
    if (r != RAPAHUB_ECONFIG)
        return r;
    snprintf(why, sizeof why, "%s", rapahub_last_error()->text);
    return rapahub_fail(RAPAHUB_ECONFIG, "", "--%s: %s", name, why);
}

static bool take_flag(struct daemon_options *options, const char *name)
{
    const struct {
        const char *name;
        bool *to;
    } flags[] = {{"help", &options->help},
                 {"h", &options->help},
                 {"version", &options->version},
                 {"V", &options->version},
                 {"check", &options->check}};

    for (unsigned i = 0; i < sizeof flags / sizeof *flags; i++) {
        if (strcmp(flags[i].name, name) == 0)
            return *flags[i].to = true;
    }
    return false;
}

static int take_option(struct daemon_options *options, struct words *words)
{
    const char *word = words->argv[words->at] + 2, *equals = strchr(word, '='), *value;
    size_t size = equals ? (size_t)(equals - word) : strlen(word);
    char name[WORD];
    int key;

    if (size >= sizeof name)
        return refuse_option(word);
    snprintf(name, sizeof name, "%.*s", (int)size, word);
    if (!equals && size > 1 && take_flag(options, name))
        return 0;
    key = daemon_settings_find_option(name);
    if (key < 0 && strcmp(name, "config") != 0)
        return refuse_option(name);
    value = value_of(words, equals);
    if (!value)
        return rapahub_fail(RAPAHUB_ECONFIG, "", "--%s has no value", name);
    if (key >= 0)
        return take_setting(options, (unsigned)key, name, value);
    if (options->config || !value[0])
        return rapahub_fail(RAPAHUB_ECONFIG, "",
                            value[0] ? "--config is given twice" : "--config: '' is no file");
    options->config = value;
    return 0;
}

static int take_word(struct daemon_options *options, struct words *words)
{
    const char *word = words->argv[words->at];

    if (strncmp(word, "--", 2) == 0 && word[2])
        return take_option(options, words);
    if (word[0] == '-' && word[1] && !word[2] && take_flag(options, word + 1))
        return 0;
    return rapahub_fail(RAPAHUB_ECONFIG, "", "'%.100s' is no option; rapahubd takes options only",
                        word);
}

/* "LOCK:WARDEN:REPORT:TURN" */
static int take_ties(const char *text, struct daemon_options_ties *out)
{
    int end = -1;

    // NOLINTNEXTLINE(cert-err34-c): the warden wrote it, and descriptors are looked at later
    if (sscanf(text, "%d:%d:%d:%" SCNu32 "%n", &out->lock, &out->warden, &out->report,
               &out->turn_ms, &end) == 4 &&
        end > 0 && !text[end])
        return 0;
    return rapahub_fail(RAPAHUB_ECONFIG, "", AS_DAEMON "%.100s is for the warden alone", text);
}

static int take_role(struct daemon_options *options, struct words *words)
{
    const char *first = words->argc > 1 ? words->argv[1] : "";

    words->at = 2;
    if (strcmp(first, AS_WARDEN) == 0) {
        options->role = DAEMON_OPTIONS_WARDEN;
        return 0;
    }
    if (strncmp(first, AS_DAEMON, strlen(AS_DAEMON)) == 0) {
        options->role = DAEMON_OPTIONS_DAEMON;
        return take_ties(first + strlen(AS_DAEMON), &options->ties);
    }
    words->at = 1;
    return 0;
}

int daemon_options_parse(int argc, char *const *argv, struct daemon_options *out)
{
    struct words words = {.argc = argc, .argv = argv};
    int r;

    *out = (struct daemon_options){.ties = {-1, -1, -1, 0}};
    daemon_settings_init(&out->settings);
    r = take_role(out, &words);
    for (; r == 0 && words.at < argc; words.at++)
        r = take_word(out, &words);
    return r;
}

void daemon_options_fini(struct daemon_options *options)
{
    daemon_settings_fini(&options->settings);
}

/* ---- the arguments of the other processes ---- */

static int put_role(enum daemon_options_role role, const struct daemon_options_ties *ties,
                    char **to)
{
    to[0] = strdup(role == DAEMON_OPTIONS_WARDEN ? NAME_WARDEN : NAME_DAEMON);
    if (role == DAEMON_OPTIONS_WARDEN)
        to[1] = strdup(AS_WARDEN);
    else if (asprintf(&to[1], AS_DAEMON "%d:%d:%d:%" PRIu32, ties->lock, ties->warden, ties->report,
                      ties->turn_ms) < 0)
        to[1] = NULL;
    return to[0] && to[1] ? 0 : RAPAHUB_ENOMEM;
}

static int put_settings(const struct daemon_settings *settings, char **to)
{
    unsigned count = 0;

    for (unsigned i = 0; i < DAEMON_SETTINGS_KEYS; i++) {
        char name[DAEMON_SETTINGS_WORD];

        if (!settings->given[i])
            continue;
        if (asprintf(&to[count], "--%s=%s", daemon_settings_option(i, name), settings->given[i]) <
            0) {
            to[count] = NULL;
            return RAPAHUB_ENOMEM;
        }
        count++;
    }
    return 0;
}

int daemon_options_arguments(const struct daemon_options *options, enum daemon_options_role role,
                             const struct daemon_options_ties *ties, char ***out)
{
    char **arguments = calloc(DAEMON_SETTINGS_KEYS + 3, sizeof *arguments);
    int r = arguments ? put_role(role, ties, arguments) : RAPAHUB_ENOMEM;

    if (r == 0)
        r = put_settings(&options->settings, arguments + 2);
    if (r < 0) {
        daemon_options_drop(arguments);
        return rapahub_fail(r, "", "no memory for the arguments of a process");
    }
    *out = arguments;
    return 0;
}

void daemon_options_drop(char **arguments)
{
    for (unsigned i = 0; arguments && i < DAEMON_SETTINGS_KEYS + 3; i++)
        free(arguments[i]);
    free(arguments);
}

/* ---- help ---- */

static void print_option(FILE *to, const char *words, const char *text, const char *fallback)
{
    fprintf(to, "  %-*s%s%s", INDENT - 2, words, strlen(words) < INDENT - 2 ? "" : "\n", "");
    if (strlen(words) >= INDENT - 2)
        fprintf(to, "%*s", INDENT, "");
    fprintf(to, "%s%s%s%s\n", text, fallback ? " (" : "", fallback ? fallback : "",
            fallback ? ")" : "");
}

void daemon_options_help(FILE *to)
{
    fputs(
        "usage: rapahubd [OPTION...]\n\n"
        "Keeps pools of containers running on this machine, through the deaths of guests, of\n"
        "itself and of the machine. Each key of rapahub.yaml is an option, and goes before it.\n\n",
        to);
    print_option(to, "    --config FILE",
                 "settings; else $RAPAHUB_CONFIG, ~/.config/rapahub/rapahub.yaml, "
                 "/etc/rapahub/rapahub.yaml",
                 NULL);
    for (unsigned i = 0; i < DAEMON_SETTINGS_KEYS; i++) {
        const struct daemon_settings_key *key = &daemon_settings_keys[i];
        char name[DAEMON_SETTINGS_WORD], words[WORD + 40];

        snprintf(words, sizeof words, "    --%s %s", daemon_settings_option(i, name), key->what);
        print_option(to, words, key->text, key->fallback);
    }
    print_option(to, "    --check", "look at all settings, start nothing, and end", NULL);
    print_option(to, "-h, --help", "say how the program is used, and end", NULL);
    print_option(to, "-V, --version", "print the version, and end", NULL);
}
