/* SPDX-License-Identifier: Apache-2.0 */
/* output: what a guest prints, read from its two pipes and handed on line by line: cut, escaped,
 * and so many in a second; what is more is read and counted only. A guest is never held up by a
 * host that is slow, nor the other way round. Owner thread. */
#ifndef HOST_PROCESS_OUTPUT_H
#define HOST_PROCESS_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host/owner/loop.h"

#define HOST_OUTPUT_LINE 8192 /* at most */
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
    void (*on_line)(void *user, const char *line); /* escaped */
    void *user;
    struct host_output_pipe pipes[2];
    uint32_t line_max;  /* bytes of a line, escaped, with its 0 */
    uint32_t rate;      /* lines in a second */
    uint64_t second_ns; /* when the running second began */
    uint32_t lines;     /* in it */
    uint32_t dropped;   /* in it */
    uint64_t dropped_all;
    char words[512]; /* the last words of its guest; or "" */
    char last[256];  /* of the last line, as it came */
    size_t last_size;
};

/* Makes the pipes; `ends` gets the two for the child, both CLOEXEC. */
int host_output_open(struct host_output *output, struct host_loop *loop, int ends[2]);
void host_output_close(struct host_output *output);

/* Begins to read. */
int host_output_watch(struct host_output *output);

/* The last line, told or not, or "": for a reason of death. Escaped, cut at `size`. */
void host_output_last(const struct host_output *output, char *to, size_t size);

/* Reads what is there, for the last time before a report; true where both pipes have ended. */
bool host_output_finish(struct host_output *output);

/* `text` with control characters and bytes that are no UTF-8 as \xNN, cut at `size`, ended by 0. */
void host_output_escape(const char *text, size_t length, char *to, size_t size);

#endif
