/* SPDX-License-Identifier: Apache-2.0 */
#include "host/cli/command/limits.h"

#include <stdio.h>
#include <string.h>

#include "host/config/units.h"

static int set_limit(struct rapahub_host_options *host, const char *key, const char *text)
{
    const struct {
        const char *key;
        uint32_t *to;
    } limits[] = {{"guests", &host->guests_max},
                  {"slot", &host->slot_size},
                  {"slots", &host->slot_count},
                  {"ring", &host->ring_size},
                  {"payload", &host->payload_max}};
    uint64_t value;
    int r = config_units_size(text, &value);

    if (r == 0 && value > 0 && strcmp(key, "memory") == 0) {
        host->var_bytes_max = value;
        return 0;
    }
    if (r == 0 && (value == 0 || value > UINT32_MAX))
        r = rapahub_fail(RAPAHUB_ECONFIG, "", "--limit %s=%s is out of range", key, text);
    for (unsigned i = 0; r == 0 && i < sizeof limits / sizeof *limits; i++) {
        if (strcmp(limits[i].key, key) == 0) {
            *limits[i].to = (uint32_t)value;
            return 0;
        }
    }
    return r < 0
               ? r
               : rapahub_fail(RAPAHUB_ECONFIG, "",
                              "--limit: '%s' is none of guests, payload, slot, slots, ring, memory",
                              key);
}

/* "payload=4M,guests=64" */
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

int cli_limits_take(const struct cli_arguments *arguments, struct rapahub_host_options *out)
{
    const char *texts[CLI_ARGUMENTS_GIVEN + 1];
    unsigned count = cli_arguments_all(arguments, "limit", texts);
    int r = 0;

    for (unsigned i = 0; r == 0 && i < count; i++)
        r = set_limits(out, texts[i]);
    return r;
}
