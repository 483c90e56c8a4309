/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/lines.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LINE    UINT64_C(64)
#define COME_MS 20000
#define LOOK    1024 /* lines between two looks for the note: far fewer than warming up prints */

static void touch(struct lines *lines, uint64_t line)
{
    for (uint32_t i = 0; i < lines->count; i++)
        if (lines->touched[i] == line)
            return;
    if (lines->count < LINES_MAX)
        lines->touched[lines->count++] = line;
}

/* The host has stored its mark: an operation has ended, another one begins. */
static void next_operation(struct lines *lines)
{
    if (lines->marks++ > 0) {
        lines->all += lines->count;
        lines->operations++;
    }
    lines->count = 0;
}

/* " L 1ffeffe7e,8", " S ...", " M ...": a load, a store, both. */
static void look_at(struct lines *lines, const char *text)
{
    uint64_t address, size;

    if (text[0] != ' ' || (text[1] != 'L' && text[1] != 'S' && text[1] != 'M') ||
        sscanf(text + 2, " %" SCNx64 ",%" SCNu64, &address, &size) != 2)
        return;
    if (address == lines->mark && text[1] != 'L')
        next_operation(lines);
    else if (lines->marks > 0 && address >= lines->low && address < lines->high)
        for (uint64_t at = address / LINE; at <= (address + size - 1) / LINE; at++)
            touch(lines, at);
}

/* Written before the host warms up. The fifo holds little compared with the output of the warm-up,
 * so this is read before the first mark. */
static void look_for_note(struct lines *lines)
{
    FILE *file = fopen(lines->note, "re");
    char end = '\0';

    if (file && (fscanf(file, "%" SCNx64 " %" SCNx64 " %" SCNx64 "%c", &lines->low, &lines->high,
                        &lines->mark, &end) != 4 ||
                 end != '\n'))
        lines->mark = 0;
    if (file)
        fclose(file);
}

static FILE *open_trace(const char *path)
{
    struct pollfd come = {.fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), .events = POLLIN};
    FILE *file = NULL;

    if (come.fd >= 0 && poll(&come, 1, COME_MS) == 1 && fcntl(come.fd, F_SETFL, 0) == 0)
        file = fdopen(come.fd, "r");
    if (!file && come.fd >= 0)
        close(come.fd);
    return file;
}

void *lines_read(void *user)
{
    struct lines *lines = user;
    FILE *file = open_trace(lines->trace);
    char text[256];

    if (!file) {
        lines->failure = -ETIMEDOUT;
        return NULL;
    }
    for (uint64_t n = 0; fgets(text, sizeof text, file); n++) {
        if (lines->mark == 0 && n % LOOK == 0)
            look_for_note(lines);
        if (lines->mark != 0)
            look_at(lines, text);
    }
    fclose(file);
    if (lines->operations == 0)
        lines->failure = -ENODATA;
    return NULL;
}
