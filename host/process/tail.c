/* SPDX-License-Identifier: Apache-2.0 */
#include "host/process/tail.h"

#include <stdlib.h>
#include <string.h>

void host_tail_release(struct host_tail *tail)
{
    free(tail->data);
    *tail = (struct host_tail){NULL, 0, 0};
}

static void put(struct host_tail *tail, const char *data, size_t size)
{
    size_t skipped = size < tail->max ? 0 : size - tail->max, at, first;

    data += skipped;
    size -= skipped;
    tail->written += skipped;
    at = (size_t)(tail->written % tail->max);
    first = size < tail->max - at ? size : tail->max - at;
    memcpy(tail->data + at, data, first);
    memcpy(tail->data, data + first, size - first);
    tail->written += size;
}

/* r[impl supervise.log.kept] */
void host_tail_add(struct host_tail *tail, size_t max, const char *line)
{
    if (!tail->data && max > 0) {
        tail->data = malloc(max);
        tail->max = max;
    }
    if (!tail->data)
        return;
    put(tail, line, strlen(line));
    put(tail, "\n", 1);
}

size_t host_tail_size(const struct host_tail *tail)
{
    return tail->written < tail->max ? (size_t)tail->written : tail->max;
}

static char byte_at(const struct host_tail *tail, uint64_t position)
{
    return tail->data[position % tail->max];
}

/* Returns the start of the first line after `from`, or `from` itself if there is none. */
static uint64_t line_behind(const struct host_tail *tail, uint64_t from)
{
    uint64_t at = from;

    if (from == 0 || (tail->written - from < tail->max && byte_at(tail, from - 1) == '\n'))
        return from;
    while (at < tail->written && byte_at(tail, at) != '\n')
        at++;
    return at + 1 < tail->written ? at + 1 : from;
}

size_t host_tail_read(const struct host_tail *tail, char *to, size_t size)
{
    size_t kept = host_tail_size(tail), count = 0;
    uint64_t from;

    if (size == 0)
        return 0;
    if (kept > size - 1)
        kept = size - 1;
    if (kept > 0)
        for (from = line_behind(tail, tail->written - kept); from < tail->written; from++)
            to[count++] = byte_at(tail, from);
    to[count] = '\0';
    return count;
}
