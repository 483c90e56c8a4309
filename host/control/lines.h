/* SPDX-License-Identifier: Apache-2.0 */
/* lines: keeps the last lines of a log for later requests. Any thread adds, any thread reads. */
#ifndef HOST_CONTROL_LINES_H
#define HOST_CONTROL_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rapahub/log.h>

#define HOST_LINES_COUNT 1024
#define HOST_LINES_TOPIC 80
#define HOST_LINES_TEXT  8192

struct host_lines;

struct host_line {
    uint64_t number;  /* from 1 on; missing numbers are lines that were dropped */
    uint64_t time_ns; /* wall clock */
    enum rapahub_log_level level;
    char topic[HOST_LINES_TOPIC];
    char text[HOST_LINES_TEXT];
};

/* Returns 0 or -ENOMEM. */
int host_lines_create(struct host_lines **out);
void host_lines_release(struct host_lines **lines);

/* Adds a line, cut at the sizes above, and drops the oldest one if the list is full. Without memory
 * the line is lost. */
void host_lines_add(struct host_lines *lines, enum rapahub_log_level level, const char *topic,
                    const char *text);

/* Returns the number of the newest line; 0: there was none. */
uint64_t host_lines_newest(struct host_lines *lines);

/* Copies the first line whose number is above `after`; false if there is none. */
bool host_lines_next(struct host_lines *lines, uint64_t after, struct host_line *out);

#endif
