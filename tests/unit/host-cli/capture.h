/* SPDX-License-Identifier: Apache-2.0 */
/* capture: what a function prints to standard output or standard error, as text. */
#ifndef TESTS_UNIT_HOST_CLI_CAPTURE_H
#define TESTS_UNIT_HOST_CLI_CAPTURE_H

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/support/testing.h"

struct capture {
    FILE *stream;
    int before, kept;
    char text[16384];
};

static inline void capture_begin(struct capture *capture, FILE *stream)
{
    fflush(stream);
    capture->stream = stream;
    capture->before = dup(fileno(stream));
    capture->kept = memfd_create("capture", MFD_CLOEXEC);
    assert_true(capture->before >= 0 && capture->kept >= 0);
    assert_true(dup2(capture->kept, fileno(stream)) >= 0);
}

static inline void capture_end(struct capture *capture)
{
    ssize_t n;

    fflush(capture->stream);
    assert_true(dup2(capture->before, fileno(capture->stream)) >= 0);
    n = pread(capture->kept, capture->text, sizeof capture->text - 1, 0);
    assert_true(n >= 0);
    capture->text[n] = '\0';
    close(capture->before);
    close(capture->kept);
}

#endif
