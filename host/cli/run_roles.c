/* SPDX-License-Identifier: Apache-2.0 */
#include "host/cli/run_roles.h"

#include <stdio.h>
#include <string.h>

#include <rapahub/error.h>

#include "host/cli/command/cli.h"
#include "host/cli/command/failure.h"
#include "host/config/region_options.h"
#include "host/config/suggest.h"
#include "host/config/tree_keys.h"

static int refuse(const char *given)
{
    return rapahub_fail(RAPAHUB_ECONFIG, "",
                        "--role: '%.160s' is not like NAME=KIND:REGION or NAME=KIND:REGION#INDEX",
                        given);
}

static void list_choices(const struct config_tree_choice *choice, char *to, size_t size)
{
    size_t at = 0;

    for (to[0] = '\0'; choice->name && at < size; choice++)
        at += (size_t)snprintf(to + at, size - at, "%s%s", at ? ", " : "", choice->name);
}

/* A word of a key of a role in a tree file. */
static int find_choice(const char *key, const char *word, int *out)
{
    struct config_suggest suggest = {word, NULL, CONFIG_SUGGEST_FAR};
    const struct config_tree_choice *choices =
        config_tree_keys_find(key, CONFIG_TREE_OF_ROLE, CONFIG_YAML_TEXT)->choices;
    char list[80];

    for (const struct config_tree_choice *choice = choices; choice->name; choice++) {
        if (strcmp(choice->name, word) == 0) {
            *out = choice->value;
            return 0;
        }
        config_suggest_consider(&suggest, choice->name);
    }
    list_choices(choices, list, sizeof list);
    return rapahub_fail(RAPAHUB_ECONFIG, "", "--role: '%.80s' is none of %s%s%s%s", word, list,
                        suggest.nearest ? "; did you mean '" : "",
                        suggest.nearest ? suggest.nearest : "", suggest.nearest ? "'?" : "");
}

/* Ends the text at a mark, and returns the rest after it; NULL: there is no such mark. */
static char *cut(char *text, char mark)
{
    char *at = strchr(text, mark);

    if (at)
        *at++ = '\0';
    return at;
}

static int take_option(const char *option, struct rapahub_role *out)
{
    static const char on_full[] = "on_full=";
    int value = 0, r;

    if (strcmp(option, "deliver") == 0) {
        out->deliver = true;
        return 0;
    }
    if (strncmp(option, on_full, sizeof on_full - 1) != 0)
        return rapahub_fail(RAPAHUB_ECONFIG, "",
                            "--role: '%.80s' is no option of a role: deliver, or on_full=WHAT",
                            option);
    r = find_choice("on_full", option + sizeof on_full - 1, &value);
    out->on_full = (enum rapahub_on_full)value;
    return r;
}

static int take_options(char *options, struct rapahub_role *out)
{
    int r = 0;

    while (r == 0 && options) {
        char *rest = cut(options, ',');

        r = take_option(options, out);
        options = rest;
    }
    return r;
}

static int take_one(const char *given, char text[CLI_RUN_ROLE_TEXT], struct rapahub_role *out)
{
    char *kind, *region, *index, *options;
    int r, value = 0;

    if (strlen(given) >= CLI_RUN_ROLE_TEXT)
        return refuse(given);
    memcpy(text, given, strlen(given) + 1);
    options = cut(text, ',');
    kind = cut(text, '=');
    region = kind ? cut(kind, ':') : NULL;
    index = region ? cut(region, '#') : NULL;
    if (!region || !text[0] || !region[0])
        return refuse(given);
    out->name = text;
    out->region = region;
    r = find_choice("role", kind, &value);
    out->kind = (enum rapahub_region_role)value;
    if (r == 0 && !config_region_options_index(index ? index : "any", &out->index))
        r = rapahub_fail(RAPAHUB_ECONFIG, "",
                         "--role: index '%.80s' is not a number from 0 on, or any", index);
    return r == 0 ? take_options(options, out) : r;
}

int cli_run_roles_take(const struct cli *cli, struct cli_run_roles *out)
{
    const char *given[CLI_ARGUMENTS_GIVEN + 1];
    unsigned count = cli_arguments_all(&cli->arguments, "role", given);
    int r = 0;

    *out = (struct cli_run_roles){.count = count};
    if (count > RAPAHUB_ROLES_MAX)
        return rapahub_fail(RAPAHUB_ECONFIG, "",
                            "more than %d options --role; a module has no more", RAPAHUB_ROLES_MAX);
    for (unsigned i = 0; r == 0 && i < count; i++)
        r = take_one(given[i], out->texts[i], &out->of[i]);
    return r;
}

int cli_run_roles_check(const struct cli_run_roles *roles, unsigned modules,
                        enum rapahub_trust trust)
{
    if (roles->count > 0 && modules != 1)
        return rapahub_fail(RAPAHUB_ECONFIG, "", "--role needs a single module; name its FILE");
    return roles->count == 0 || trust == RAPAHUB_TRUST_TRUSTED
               ? 0
               : rapahub_fail(RAPAHUB_ECONFIG, "supervise.role.private",
                              "--role needs --trust trusted, for a region is memory that guests "
                              "share");
}

static bool is_open(const struct cli_run_roles *roles, unsigned index)
{
    for (unsigned i = 0; i < index; i++)
        if (strcmp(roles->of[i].region, roles->of[index].region) == 0)
            return true;
    return false;
}

int cli_run_roles_open(struct cli *cli, const struct cli_run_roles *roles,
                       struct rapahub_host *host)
{
    int r = 0;

    for (unsigned i = 0; r == 0 && i < roles->count; i++) {
        const char *region = roles->of[i].region;

        if (is_open(roles, i))
            continue;
        cli_failure_about(cli, "region %s", region);
        r = rapahub_host_region(host, region, NULL, NULL);
        if (r == RAPAHUB_ENOENT)
            cli_failure_hint(cli, "rapahub region ls, or rapahub region create %s --kind K",
                             region);
    }
    if (r == 0)
        cli_failure_about(cli, "%s", "");
    return r;
}
