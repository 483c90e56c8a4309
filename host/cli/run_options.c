/* SPDX-License-Identifier: Apache-2.0 */
#include "host/cli/run_options.h"

#include <stdio.h>
#include <string.h>

#include "host/cli/cli.h"
#include "host/cli/units.h"

static int set_limit(struct rapahub_host_options *host, const char *key, const char *text)
{
    const struct {
        const char *key;
        uint32_t *to;
    } limits[] = {{"guests", &host->guests_max},
                  {"slot", &host->slot_size},
                  {"slots", &host->slot_count},
                  {"ring", &host->ring_size}};
    uint64_t value;
    int r = cli_units_size(text, &value);

    if (r == 0 && (value == 0 || value > UINT32_MAX))
        r = rapahub_fail(RAPAHUB_ECONFIG, "", "--limit %s=%s is out of range", key, text);
    for (unsigned i = 0; r == 0 && i < sizeof limits / sizeof *limits; i++) {
        if (strcmp(limits[i].key, key) == 0) {
            *limits[i].to = (uint32_t)value;
            return 0;
        }
    }
    return r < 0 ? r
                 : rapahub_fail(RAPAHUB_ECONFIG, "",
                                "--limit: '%s' is none of guests, slot, slots, ring", key);
}

/* "slot=4M,guests=64" */
static int set_limits(struct rapahub_host_options *host, const char *text)
{
    int r = 0;

    while (*text && r == 0) {
        char item[64], *value;
        size_t size = strcspn(text, ",");

        snprintf(item, sizeof item, "%.*s", size < sizeof item ? (int)size : 0, text);
        value = strchr(item, '=');
        if (!value)
            return rapahub_fail(RAPAHUB_ECONFIG, "", "--limit: '%.*s' is no KEY=N", (int)size,
                                text);
        *value++ = '\0';
        r = set_limit(host, item, value);
        text += size + (text[size] == ',');
    }
    return r;
}

static int index_of(const char *value, const char *const *names)
{
    int index = 0;

    while (names[index] && strcmp(names[index], value) != 0)
        index++;
    return index;
}

int cli_run_options_take(struct cli *cli, struct cli_run_options *out)
{
    static const char *const trusts[] = {"standard", "strict", "trusted", NULL};
    static const char *const restarts[] = {"permanent", "transient", "temporary", NULL};
    const struct cli_arguments *arguments = &cli->arguments;
    const char *limit, *plain;
    int r;

    *out = (struct cli_run_options){
        .trust = (enum rapahub_trust)index_of(cli_arguments_text(arguments, "trust"), trusts),
        .supervision.restart =
            (enum rapahub_restart)index_of(cli_arguments_text(arguments, "restart"), restarts)};
    out->host.anonymous = cli_arguments_flag(arguments, "anonymous");
    out->host.path = cli_arguments_text(arguments, "hub-path");
    if (arguments->count == 0 && !out->host.anonymous)
        return rapahub_fail(RAPAHUB_ECONFIG, "", "FILE|DIR... is missing");
    if (out->host.path && !out->host.anonymous)
        return rapahub_fail(RAPAHUB_ECONFIG, "", "--hub-path needs --anonymous");
    r = cli_units_budget(cli_arguments_text(arguments, "budget"), &out->supervision.restarts_max,
                         &out->supervision.period_ns);
    for (unsigned i = 0; r == 0 && (limit = cli_arguments_each(arguments, "limit", i)); i++)
        r = set_limits(&out->host, limit);
    for (unsigned i = 0;
         r == 0 && i < CLI_RUN_PLAIN_MAX && (plain = cli_arguments_each(arguments, "plain", i));
         i++)
        out->plain[i] = plain;
    return r;
}
