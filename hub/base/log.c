/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include <rapahub/log.h>

#include "hub/base/lock_rank.h"
#include "hub/base/mutex.h"
#include "hub/base/printable.h"

#define LINE_MAX_BYTES  8192
#define TOPIC_MAX_BYTES 100 /* on standard error, so that a line always has its end */

/* Process-wide: the program decides where a library's lines go. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static rapahub_log_sink *sink_now;
static void *sink_user;
static enum rapahub_log_level level_now = RAPAHUB_LOG_WARN;

const char *rapahub_log_level_name(enum rapahub_log_level level)
{
    static const char *const names[] = {"error", "warn", "info", "debug"};

    return (unsigned)level < sizeof names / sizeof *names ? names[level] : "?";
}

/* Each line is one write, so that lines of several processes do not mix. */
static void to_standard_error(enum rapahub_log_level level, const char *topic, const char *text)
{
    char line[LINE_MAX_BYTES + TOPIC_MAX_BYTES + 32];
    int n = snprintf(line, sizeof line, "%s %.*s: %s", rapahub_log_level_name(level),
                     TOPIC_MAX_BYTES, topic, text);

    hub_printable_mend(line);
    line[n] = '\n';
    if (write(STDERR_FILENO, line, (size_t)n + 1) < 0)
        return; /* there is no place to report it */
}

void rapahub_log_to(rapahub_log_sink *sink, void *user, enum rapahub_log_level level)
{
    hub_lock_rank_enter(HUB_MUTEX_LOG);
    pthread_mutex_lock(&lock);
    sink_now = sink;
    sink_user = user;
    level_now = level;
    pthread_mutex_unlock(&lock);
    hub_lock_rank_leave(HUB_MUTEX_LOG);
}

void rapahub_log(enum rapahub_log_level level, const char *topic, const char *format, ...)
{
    char text[LINE_MAX_BYTES];
    int kept = errno;
    va_list arguments;

    hub_lock_rank_enter(HUB_MUTEX_LOG);
    pthread_mutex_lock(&lock);
    if (level <= level_now) {
        va_start(arguments, format);
        vsnprintf(text, sizeof text, format, arguments);
        va_end(arguments);
        hub_printable_mend(text);
        if (sink_now)
            sink_now(sink_user, level, topic, text);
        else
            to_standard_error(level, topic, text);
    }
    pthread_mutex_unlock(&lock);
    hub_lock_rank_leave(HUB_MUTEX_LOG);
    errno = kept;
}
