/* SPDX-License-Identifier: Apache-2.0 */
/* stream_files: the streams of one call as a person names them: @FILE, or - for standard input or
 * output. */
#ifndef CLI_STREAM_FILES_H
#define CLI_STREAM_FILES_H

#include <stdbool.h>

#include <rapahub/stream.h>

#define CLI_STREAM_FILES_MAX 16

struct cli_stream_files {
    unsigned count;
    int fds[CLI_STREAM_FILES_MAX];
    bool is_sink[CLI_STREAM_FILES_MAX];
    void *streams[CLI_STREAM_FILES_MAX]; /* struct rapahub_source *, or sink */
    bool to_stdout;                      /* so nothing else may go there */
};

/* Opens the next one, and puts it to *value. A file that is written is made, or emptied; not where
 * it is one that is read too: -EINVAL. */
int cli_stream_files_add(struct cli_stream_files *files, const struct rapahub_type *type,
                         const char *text, void *value);

void cli_stream_files_fini(struct cli_stream_files *files);

#endif
