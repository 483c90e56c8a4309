/* SPDX-License-Identifier: Apache-2.0 */
/* call_options: options that several commands have, and those of `call`, which a room above may
 * replace. */
#ifndef CLI_CALL_OPTIONS_H
#define CLI_CALL_OPTIONS_H

#include "host/cli/command/command.h"
#include "host/supervise/defaults.h"

#define CLI_PLAIN_OPTION                                                                   \
    VALUE(TEXT, "plain", "SIG",                                                            \
          "a function of a library that knows nothing of rapahub: 'gcd(u64, u64) -> u64'", \
          .repeats = true)

#define CLI_PARAMS_OPTION \
    VALUE(TEXT, "params", "TEXT", "handed to the init of the container, as the module wants it")

#define CLI_LIMIT_OPTION                                                                                                      \
    VALUE(                                                                                                                    \
        TEXT, "limit", "KEY=N,...",                                                                                           \
        "guests of the host; bytes of a message; bytes of the smallest slots, how many, and ring "                            \
        "entries, of a guest; bytes of slots of all sizes",                                                                   \
        .repeats = true,                                                                                                      \
        .fallback = "guests=" HOST_DEFAULT_TEXT(GUESTS) ",payload=" HOST_DEFAULT_TEXT(PAYLOAD_M) "M,slot=" HOST_DEFAULT_TEXT( \
            SLOT_K) "K,slots=" HOST_DEFAULT_TEXT(SLOTS) ",ring=" HOST_DEFAULT_TEXT(RING) ",memory"                            \
                                                                                         "=" HOST_DEFAULT_TEXT(               \
                                                                                             MEMORY_M) "M")

#define CLI_CALL_OPTIONS                                                                      \
    VALUE(SPAN, "deadline", "DUR", "how long the answer may take", .fallback = "30s"),        \
        VALUE(COUNT, "repeat", "N",                                                           \
              "call so often; the last result is printed, the time of one on standard error", \
              .fallback = "1"),                                                               \
        CLI_LIMIT_OPTION, CLI_PLAIN_OPTION, CLI_PARAMS_OPTION,                                \
        FLAG("raw", "one argument, the POSTCARD tuple; the result as POSTCARD")

#endif
