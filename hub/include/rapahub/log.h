/* SPDX-License-Identifier: Apache-2.0 */
/* log: lines for people. The library returns its errors, and logs only events that are no
 * function's result: changes of state, deaths, restarts, output of guests. */
#ifndef RAPAHUB_LOG_H
#define RAPAHUB_LOG_H

#include <rapahub/export.h>

RAPAHUB_BEGIN_DECLS

enum rapahub_log_level { RAPAHUB_LOG_ERROR, RAPAHUB_LOG_WARN, RAPAHUB_LOG_INFO, RAPAHUB_LOG_DEBUG };

/* Receives one line, without its newline. `topic` is the name of a file of the library ("guest"),
 * or "guest.NAME" for the output of a guest. It may run on any thread, for one line at a time, and
 * must not call the library. Both strings hold until it returns. */
typedef void rapahub_log_sink(void *user, enum rapahub_log_level level, const char *topic,
                              const char *text);

/* Sends all lines from now on to `sink`, or to standard error if it is NULL. Lines below the
 * importance of `level` are not made. Default: warnings and errors, to standard error. Any thread.
 */
RAPAHUB_API void rapahub_log_to(rapahub_log_sink *sink, void *user, enum rapahub_log_level level);

/* Logs a line. The text is cut at 8 KiB, and its control characters become '?'. errno is kept. Any
 * thread. */
RAPAHUB_API void rapahub_log(enum rapahub_log_level level, const char *topic, const char *format,
                             ...) RAPAHUB_PRINTF(3, 4);

/* Returns "error", "warn", "info" or "debug". Any thread. */
RAPAHUB_API const char *rapahub_log_level_name(enum rapahub_log_level level);

RAPAHUB_END_DECLS

#endif
