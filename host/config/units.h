/* SPDX-License-Identifier: Apache-2.0 */
/* units: durations, sizes and counts as people write and read them. */
#ifndef CONFIG_UNITS_H
#define CONFIG_UNITS_H

#include <stdint.h>

#define CONFIG_UNITS_TEXT 40 /* space for any of the texts */

/* "1.5s", "200ms"; units ns us ms s m h. RAPAHUB_ECONFIG. */
int config_units_span(const char *text, uint64_t *out);

/* "64K", "4M", "1G", "65536", "4MB"; powers of 1024. RAPAHUB_ECONFIG. */
int config_units_size(const char *text, uint64_t *out);

/* A whole number from 1 on. RAPAHUB_ECONFIG. */
int config_units_count(const char *text, uint64_t *out);

/* "5/60s": restarts and period; "none" gives -1. RAPAHUB_ECONFIG. */
int config_units_budget(const char *text, int32_t *count, uint64_t *period_ns);

/* "1.20 ms" in three digits; "15 KiB"; "1,204,331". Return `to`. */
const char *config_units_print_span(uint64_t ns, char to[CONFIG_UNITS_TEXT]);
const char *config_units_print_size(uint64_t bytes, char to[CONFIG_UNITS_TEXT]);
const char *config_units_print_count(uint64_t count, char to[CONFIG_UNITS_TEXT]);

/* The same, in a text that lives as long as the block around it. */
#define SPAN_TEXT(ns)     config_units_print_span(ns, (char[CONFIG_UNITS_TEXT]){0})
#define SIZE_TEXT(bytes)  config_units_print_size(bytes, (char[CONFIG_UNITS_TEXT]){0})
#define COUNT_TEXT(count) config_units_print_count(count, (char[CONFIG_UNITS_TEXT]){0})

/* Wall-clock nanoseconds: RFC 3339 UTC with nanoseconds, and "12:03:01.123" of the local day. */
const char *config_units_print_time(uint64_t ns, char to[CONFIG_UNITS_TEXT]);
const char *config_units_print_clock(uint64_t ns, char to[CONFIG_UNITS_TEXT]);

#endif
