/* SPDX-License-Identifier: Apache-2.0 */
/* cli: a run of the program `rapahub`: its arguments, and the form of its output. For one thread.
 */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include <stdbool.h>
#include <stdint.h>

#include "host/cli/command/arguments.h"
#include "host/cli/command/command.h"
#include "host/control/client.h"

/* In the order of the choices of --output. */
enum cli_output {
    CLI_OUTPUT_TABLE,
    CLI_OUTPUT_WIDE,
    CLI_OUTPUT_JSON,
    CLI_OUTPUT_NDJSON,
    CLI_OUTPUT_NAME
};

struct cli {
    const struct cli_command *command;
    struct cli_arguments arguments;
    enum cli_output output;
    bool quiet, verbose, progress;
    bool color_out, color_error; /* colours on standard output, on standard error */
    uint64_t timeout_ns;
    char what[256];             /* subject of an error: `error: WHAT: ...`; "" for none */
    char hint[1200];            /* instead of the code's own; "" for that */
    char quote[512];            /* the line of a file it is in, and a caret below it; "" for none */
    int exit_status;            /* instead of the code's own; 0 for that */
    struct host_client *client; /* kept until the error is printed: it owns the rule's text */
};

/* JSON is wanted. */
static inline bool cli_json_wanted(const struct cli *cli)
{
    return cli->output == CLI_OUTPUT_JSON || cli->output == CLI_OUTPUT_NDJSON;
}

#endif
