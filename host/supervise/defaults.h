/* SPDX-License-Identifier: Apache-2.0 */
/* defaults: the values that 0 stands for in the options of a host and of supervision. Help texts
 * and manual pages print the same numbers, by HOST_DEFAULT_TEXT. A name says its unit. */
#ifndef HOST_SUPERVISE_DEFAULTS_H
#define HOST_SUPERVISE_DEFAULTS_H

#include <stdint.h>

/* a child */
#define HOST_DEFAULT_RESTARTS           5
#define HOST_DEFAULT_PERIOD_S           60
#define HOST_DEFAULT_BACKOFF_INITIAL_MS 100
#define HOST_DEFAULT_BACKOFF_MAX_S      30
#define HOST_DEFAULT_BACKOFF_FACTOR     2
#define HOST_DEFAULT_JITTER_SHARE       0.1
#define HOST_DEFAULT_RESET_AFTER_S      60
#define HOST_DEFAULT_START_TIMEOUT_S    5
#define HOST_DEFAULT_HEARTBEAT_MISSES   2
#define HOST_DEFAULT_ABORT_MS           500
#define HOST_DEFAULT_GOODBYE_MS         500
#define HOST_DEFAULT_TERM_S             2
#define HOST_DEFAULT_FINISH_TIMEOUT_S   5
#define HOST_DEFAULT_LOG_RING_K         64
#define HOST_DEFAULT_LOG_LINE_K         8
#define HOST_DEFAULT_LOG_RATE           200
#define HOST_DEFAULT_PROBE_TIMEOUT_S    1
#define HOST_DEFAULT_PROBE_SUCCESS      1
#define HOST_DEFAULT_PROBE_FAILURE      3

/* a supervisor whose children restart together */
#define HOST_DEFAULT_GROUP_RESTARTS 10

/* a host */
#define HOST_DEFAULT_GUESTS          16
#define HOST_DEFAULT_PAYLOAD_M       1
#define HOST_DEFAULT_SLOT_K          4
#define HOST_DEFAULT_SLOTS           64
#define HOST_DEFAULT_RING            256
#define HOST_DEFAULT_MEMORY_M        256
#define HOST_DEFAULT_STARTS_PARALLEL 4
#define HOST_DEFAULT_STARTS_BURST    256
#define HOST_DEFAULT_STARTS_PER_S    1000

/* In nanoseconds, for a name without its unit. */
#define HOST_DEFAULT_S(name)  (UINT64_C(1000000000) * HOST_DEFAULT_##name##_S)
#define HOST_DEFAULT_MS(name) (UINT64_C(1000000) * HOST_DEFAULT_##name##_MS)

/* The value as a string literal: HOST_DEFAULT_TEXT(PERIOD_S) is "60". */
#define HOST_DEFAULT_TEXT(name)   HOST_DEFAULT_QUOTE(HOST_DEFAULT_##name)
#define HOST_DEFAULT_QUOTE(value) HOST_DEFAULT_WORD(value)
#define HOST_DEFAULT_WORD(value)  #value

#endif
