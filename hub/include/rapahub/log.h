/* SPDX-License-Identifier: Apache-2.0 */
/* log: lines for people. A library returns its errors and logs what nobody waits for: moves of
 * state, deaths, restarts, what a guest printed. */
#ifndef RAPAHUB_LOG_H
#define RAPAHUB_LOG_H

#include <rapahub/export.h>

RAPAHUB_BEGIN_DECLS

enum rapahub_log_level { RAPAHUB_LOG_ERROR, RAPAHUB_LOG_WARN, RAPAHUB_LOG_INFO, RAPAHUB_LOG_DEBUG };

/* Gets one line without its end. `topic` is the name of a file of the library ("guest"), or
 * "guest.NAME" for what a guest printed. Runs on any thread, one line at a time; must not call the
 * library. Both strings hold until it returns. */
typedef void rapahub_log_sink(void *user, enum rapahub_log_level level, const char *topic,
                              const char *text);

/* Where lines go from now on, and from which level on they are made. NULL: standard error.
 * Default: warnings and errors, to standard error. Any thread. */
RAPAHUB_API void rapahub_log_to(rapahub_log_sink *sink, void *user, enum rapahub_log_level level);

/* Logs a line; cut at 8 KiB; control characters become '?'. Keeps errno. Any thread. */
RAPAHUB_API void rapahub_log(enum rapahub_log_level level, const char *topic, const char *format,
                             ...) RAPAHUB_PRINTF(3, 4);

/* "error", "warn", "info", "debug". */
RAPAHUB_API const char *rapahub_log_level_name(enum rapahub_log_level level);

RAPAHUB_END_DECLS

#endif
