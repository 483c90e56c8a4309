/* SPDX-License-Identifier: Apache-2.0 */
#include "host/cli/target/stream_files.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rapahub/error.h>

/* The file is truncated only after it is known not to be one that is read. */
static int open_stream(const char *text, bool is_sink, int *out)
{
    if (text[0] == '@')
        *out = open(text + 1, (is_sink ? O_WRONLY | O_CREAT : O_RDONLY) | O_CLOEXEC, 0666);
    else
        *out = fcntl(is_sink ? STDOUT_FILENO : STDIN_FILENO, F_DUPFD_CLOEXEC, 0);
    if (*out >= 0)
        return 0;
    return text[0] == '@'
               ? rapahub_fail(-errno, "", "cannot open '%s'", text + 1)
               : rapahub_fail(-errno, "", "there is no standard %s", is_sink ? "output" : "input");
}

static bool is_same(const struct stat *a, int other)
{
    struct stat b;

    return fstat(other, &b) == 0 && S_ISREG(b.st_mode) && a->st_dev == b.st_dev &&
           a->st_ino == b.st_ino;
}

/* A file cannot be read and written at once. */
static int check_apart(const struct cli_stream_files *files, int fd, bool is_sink, const char *text)
{
    struct stat status;

    if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode))
        return 0;
    for (unsigned i = 0; i < files->count; i++)
        if ((is_sink || files->is_sink[i]) && is_same(&status, files->fds[i]))
            return rapahub_fail(RAPAHUB_EINVAL, "", "'%s' is another stream's file too", text);
    if (is_sink && text[0] == '@' && ftruncate(fd, 0) < 0)
        return rapahub_fail(-errno, "", "cannot empty '%s'", text + 1);
    return 0;
}

static int make_stream(int fd, bool is_sink, void **out)
{
    struct rapahub_source *source;
    struct rapahub_sink *sink;
    int r;

    if (is_sink) {
        r = rapahub_sink_of_fd(fd, &sink);
        *out = r < 0 ? NULL : (void *)sink;
    } else {
        r = rapahub_source_of_fd(fd, &source);
        *out = r < 0 ? NULL : (void *)source;
    }
    return r;
}

int cli_stream_files_add(struct cli_stream_files *files, const struct rapahub_type *type,
                         const char *text, void *value)
{
    bool is_sink = type->kind == RAPAHUB_KIND_SINK;
    bool standard = strcmp(text, "-") == 0;
    unsigned at = files->count;
    int fd = -1, r;

    if (at == CLI_STREAM_FILES_MAX)
        return rapahub_fail(RAPAHUB_EINVAL, "", "more than %d streams", CLI_STREAM_FILES_MAX);
    if (!standard && text[0] != '@')
        return rapahub_fail(RAPAHUB_EINVAL, "", "a %s is a file: @%s, or - for standard %s",
                            type->word, text, is_sink ? "output" : "input");
    r = open_stream(text, is_sink, &fd);
    if (r == 0)
        r = check_apart(files, fd, is_sink, text);
    if (r == 0)
        r = make_stream(fd, is_sink, &files->streams[at]);
    if (r < 0) {
        if (fd >= 0)
            close(fd);
        return r;
    }
    files->fds[at] = fd;
    files->is_sink[at] = is_sink;
    files->to_stdout = files->to_stdout || (standard && is_sink);
    memcpy(value, &files->streams[at], sizeof files->streams[at]);
    files->count++;
    return 0;
}

void cli_stream_files_fini(struct cli_stream_files *files)
{
    for (unsigned i = 0; i < files->count; i++) {
        if (files->is_sink[i])
            rapahub_sink_destroy(files->streams[i]);
        else
            rapahub_source_destroy(files->streams[i]);
        close(files->fds[i]);
    }
    files->count = 0;
}
