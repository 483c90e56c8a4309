/* SPDX-License-Identifier: Apache-2.0 */
/* lines: a ring of pointers; each line has as much memory as it needs. */
#include "host/control/lines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "hub/base/clock.h"
#include "hub/base/mutex.h"
#include "hub/base/own.h"

struct kept {
    uint64_t time_ns;
    enum rapahub_log_level level;
    char *topic, *text; /* allocated together with this struct */
};

struct host_lines {
    struct hub_mutex mutex;
    uint64_t added GUARDED_BY(mutex); /* number of the newest line */
    struct kept *kept[HOST_LINES_COUNT] GUARDED_BY(mutex);
};

int host_lines_create(struct host_lines **out)
{
    struct host_lines *lines = calloc(1, sizeof *lines);

    if (!lines)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for the log of a host");
    hub_mutex_init(&lines->mutex, HUB_MUTEX_LINES);
    *out = lines;
    return 0;
}

void host_lines_release(struct host_lines **lines)
{
    if (!*lines)
        return;
    for (unsigned i = 0; i < HOST_LINES_COUNT; i++)
        free((*lines)->kept[i]);
    hub_mutex_fini(&(*lines)->mutex);
    free(*lines);
    *lines = NULL;
}

static struct kept *keep(enum rapahub_log_level level, const char *topic, const char *text)
{
    size_t topic_size = strnlen(topic, HOST_LINES_TOPIC - 1);
    size_t text_size = strnlen(text, HOST_LINES_TEXT - 1);
    struct kept *kept = calloc(1, sizeof *kept + topic_size + text_size + 2);

    if (!kept)
        return NULL;
    kept->time_ns = hub_clock_wall();
    kept->level = level;
    kept->topic = (char *)(kept + 1);
    kept->text = kept->topic + topic_size + 1;
    memcpy(kept->topic, topic, topic_size);
    memcpy(kept->text, text, text_size);
    return kept;
}

void host_lines_add(struct host_lines *lines, enum rapahub_log_level level, const char *topic,
                    const char *text)
{
    OWN(hub_memory) struct kept *line = keep(level, topic, text);
    struct kept *oldest;
    struct kept **place;

    if (!line)
        return;
    hub_mutex_lock(&lines->mutex);
    place = &lines->kept[lines->added++ % HOST_LINES_COUNT];
    oldest = *place;
    *place = TAKE(line);
    hub_mutex_unlock(&lines->mutex);
    free(oldest);
}

bool host_lines_next(struct host_lines *lines, uint64_t after, struct host_line *out)
{
    const struct kept *kept = NULL;
    uint64_t oldest;

    hub_mutex_lock(&lines->mutex);
    oldest = lines->added > HOST_LINES_COUNT ? lines->added - HOST_LINES_COUNT : 0;
    if (after < oldest)
        after = oldest;
    if (after < lines->added)
        kept = lines->kept[after % HOST_LINES_COUNT];
    if (kept) {
        out->number = after + 1;
        out->time_ns = kept->time_ns;
        out->level = kept->level;
        snprintf(out->topic, sizeof out->topic, "%s", kept->topic);
        snprintf(out->text, sizeof out->text, "%s", kept->text);
    }
    hub_mutex_unlock(&lines->mutex);
    return kept != NULL;
}

uint64_t host_lines_newest(struct host_lines *lines)
{
    uint64_t newest;

    hub_mutex_lock(&lines->mutex);
    newest = lines->added;
    hub_mutex_unlock(&lines->mutex);
    return newest;
}
