/* SPDX-License-Identifier: Apache-2.0 */
#include "host/config/units.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include <rapahub/error.h>

#define SECOND UINT64_C(1000000000)

struct unit {
    const char *name;
    uint64_t factor;
};

static const struct unit span_units[] = {
    {"ns", 1},     {"us", 1000},       {"µs", 1000},         {"ms", 1000000},
    {"s", SECOND}, {"m", 60 * SECOND}, {"h", 3600 * SECOND}, {NULL, 0}};
static const struct unit size_units[] = {{"", 1},          {"B", 1},          {"K", 1024},
                                         {"KB", 1024},     {"KiB", 1024},     {"M", 1048576},
                                         {"MB", 1048576},  {"MiB", 1048576},  {"G", 1u << 30},
                                         {"GB", 1u << 30}, {"GiB", 1u << 30}, {NULL, 0}};

static const struct unit *find_unit(const struct unit *units, const char *name)
{
    while (units->name && strcasecmp(units->name, name) != 0)
        units++;
    return units->name ? units : NULL;
}

/* Parses a decimal number that is not negative, and the unit after it. */
static int parse(const char *text, const struct unit *units, uint64_t *out)
{
    const struct unit *unit;
    char *end = NULL;
    double value;

    if (*text < '0' || *text > '9')
        return RAPAHUB_ECONFIG;
    value = strtod(text, &end);
    unit = find_unit(units, end);
    if (!unit || value * (double)unit->factor >= 9.2e18)
        return RAPAHUB_ECONFIG;
    *out = (uint64_t)(value * (double)unit->factor + 0.5);
    return 0;
}

int config_units_span(const char *text, uint64_t *out)
{
    if (parse(text, span_units, out) < 0)
        return rapahub_fail(RAPAHUB_ECONFIG, "",
                            "'%s' is no duration: a number and ns, us, ms, s, m or h", text);
    return 0;
}

int config_units_size(const char *text, uint64_t *out)
{
    if (parse(text, size_units, out) < 0)
        return rapahub_fail(RAPAHUB_ECONFIG, "", "'%s' is no size: a number and B, K, M or G",
                            text);
    return 0;
}

int config_units_count(const char *text, uint64_t *out)
{
    char *end = NULL;

    errno = 0;
    *out = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || errno || *out == 0)
        return rapahub_fail(RAPAHUB_ECONFIG, "", "'%s' is no whole number from 1 on", text);
    return 0;
}

int config_units_budget(const char *text, int32_t *count, uint64_t *period_ns)
{
    char *end = NULL;
    unsigned long value;

    if (strcmp(text, "none") == 0) {
        *count = -1;
        *period_ns = 0;
        return 0;
    }
    value = strtoul(text, &end, 10);
    if (*text < '1' || *text > '9' || value > 256 || *end != '/')
        return rapahub_fail(RAPAHUB_ECONFIG, "",
                            "'%s' is no budget: restarts from 1 to 256 and a period, as 5/60s, or "
                            "none",
                            text);
    *count = (int32_t)value;
    return config_units_span(end + 1, period_ns);
}

/* Three digits that count. */
static void print_scaled(double value, const char *unit, char to[CONFIG_UNITS_TEXT])
{
    int digits = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;

    snprintf(to, CONFIG_UNITS_TEXT, "%.*f %s", digits, value, unit);
}

const char *config_units_print_span(uint64_t ns, char to[CONFIG_UNITS_TEXT])
{
    double value = (double)ns;

    if (ns < 1000)
        snprintf(to, CONFIG_UNITS_TEXT, "%" PRIu64 " ns", ns);
    else if (value < 999.5e3)
        print_scaled(value / 1e3, "µs", to);
    else if (value < 999.5e6)
        print_scaled(value / 1e6, "ms", to);
    else if (value < 300e9)
        print_scaled(value / 1e9, "s", to);
    else if (ns < 7200 * SECOND)
        snprintf(to, CONFIG_UNITS_TEXT, "%" PRIu64 " m", ns / (60 * SECOND));
    else
        snprintf(to, CONFIG_UNITS_TEXT, "%" PRIu64 " h %" PRIu64 " m", ns / (3600 * SECOND),
                 ns / (60 * SECOND) % 60);
    return to;
}

const char *config_units_print_size(uint64_t bytes, char to[CONFIG_UNITS_TEXT])
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double value = (double)bytes / 1024;
    unsigned unit = 0;

    if (bytes < 1024) {
        snprintf(to, CONFIG_UNITS_TEXT, "%" PRIu64 " B", bytes);
        return to;
    }
    for (; value >= 1023.5 && unit < 5; unit++)
        value /= 1024;
    snprintf(to, CONFIG_UNITS_TEXT, value < 9.95 && unit > 0 ? "%.1f %s" : "%.0f %s", value,
             units[unit]);
    return to;
}

const char *config_units_print_count(uint64_t count, char to[CONFIG_UNITS_TEXT])
{
    char digits[24];
    int length = snprintf(digits, sizeof digits, "%" PRIu64, count);
    char *at = to;

    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0)
            *at++ = ',';
        *at++ = digits[i];
    }
    *at = '\0';
    return to;
}

const char *config_units_print_time(uint64_t ns, char to[CONFIG_UNITS_TEXT])
{
    const time_t seconds = (time_t)(ns / SECOND);
    struct tm parts;
    size_t size = strftime(to, CONFIG_UNITS_TEXT, "%Y-%m-%dT%H:%M:%S", gmtime_r(&seconds, &parts));

    snprintf(to + size, CONFIG_UNITS_TEXT - size, ".%09" PRIu64 "Z", ns % SECOND);
    return to;
}

const char *config_units_print_clock(uint64_t ns, char to[CONFIG_UNITS_TEXT])
{
    const time_t seconds = (time_t)(ns / SECOND);
    struct tm parts;
    size_t size = strftime(to, CONFIG_UNITS_TEXT, "%H:%M:%S", localtime_r(&seconds, &parts));

    snprintf(to + size, CONFIG_UNITS_TEXT - size, ".%03" PRIu64, ns % SECOND / 1000000);
    return to;
}
