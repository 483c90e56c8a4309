/* SPDX-License-Identifier: Apache-2.0 */
/* output: reads the output of a guest from its two pipes and passes it on line by line, cut,
 * escaped, and limited to a number of lines in a second; further lines are only read and counted. A
 * slow host never delays a guest, nor the reverse. Owner thread. */
#ifndef HOST_PROCESS_OUTPUT_H
#define HOST_PROCESS_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host/owner/loop.h"

#define HOST_OUTPUT_LINE 8192 /* limit */
#define HOST_OUTPUT_RATE 200

struct host_output;

struct host_output_pipe {
    struct host_output *output;
    struct host_watch watch; /* fd -1: closed */
    char line[HOST_OUTPUT_LINE];
    size_t size;
};

struct host_output {
    struct host_loop *loop;
    void (*on_line)(void *user, const char *line); /* receives an escaped line */
    void *user;
    struct host_output_pipe pipes[2];
    uint32_t line_max;  /* bytes of a line, escaped, with its 0 */
    uint32_t rate;      /* lines in a second */
    uint64_t second_ns; /* start of the current second */
    uint32_t lines;     /* passed on in the current second */
    uint32_t dropped;   /* dropped in the current second */
    uint64_t dropped_all;
    char words[512]; /* the last words of its guest; or "" */
    char last[256];  /* start of the last line, unescaped */
    size_t last_size;
};

/* Makes the pipes. `ends` gets the two ends for the child, both CLOEXEC. */
int host_output_open(struct host_output *output, struct host_loop *loop, int ends[2]);
void host_output_close(struct host_output *output);

/* Starts reading. */
int host_output_watch(struct host_output *output);

/* Writes the last line, passed on or not, or "", as a reason of death. Escaped, cut at `size`. */
void host_output_last(const struct host_output *output, char *to, size_t size);

/* Reads everything left, for the last time before a report. True if both pipes have ended. */
bool host_output_finish(struct host_output *output);

/* Writes `text` with control characters and bytes that are not UTF-8 as \xNN, cut at `size`, ended
 * by 0. */
void host_output_escape(const char *text, size_t length, char *to, size_t size);

#endif
