/* SPDX-License-Identifier: Apache-2.0 */
/* region_state: `put` and `get`, the last value of a state. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>
#include <rapahub/region.h>

#include "host/cli/command/cli.h"
#include "host/cli/command/failure.h"
#include "host/cli/command/interrupt.h"
#include "host/cli/region/region_commands.h"
#include "host/cli/text/json.h"
#include "hub/base/clock.h"
#include "hub/base/own.h"

#define LOOK (100 * HUB_MILLISECOND) /* then the signals are looked at */

struct value {
    uint8_t *bytes;
    size_t room, size;
    uint64_t version;
};

/* Room for the longest value. */
static int begin_value(struct cli *cli, struct value *value, bool foreign)
{
    struct rapahub_region_report report;
    int r = rapahub_region_inspect(cli->arguments.operands[0], foreign, &report);

    if (r < 0)
        return r;
    value->room = (size_t)report.value_bytes + 1;
    value->bytes = malloc(value->room);
    return value->bytes ? 0 : rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a value");
}

/* ---- put ---- */

/* The value is an operand, or all of standard input; one byte too many is seen by the region. */
static int take_value(const struct cli *cli, struct value *value)
{
    const char *operand = cli->arguments.count > 1 ? cli->arguments.operands[1] : NULL;

    if (operand) {
        value->size = strnlen(operand, value->room);
        memcpy(value->bytes, operand, value->size);
        return 0;
    }
    value->size = fread(value->bytes, 1, value->room, stdin);
    return ferror(stdin) ? rapahub_fail(RAPAHUB_EIO, "", "cannot read standard input") : 0;
}

static int put(struct cli *cli, struct rapahub_region *region, struct value *value)
{
    struct rapahub_writer *writer;
    int r = rapahub_writer_open(region, &writer);

    if (r < 0)
        return r;
    r = take_value(cli, value);
    if (r == 0)
        r = rapahub_writer_write(writer, value->bytes, value->size);
    rapahub_writer_close(writer);
    if (r == 0 && cli_json_wanted(cli))
        r = cli_json_print(stdout, cli->command->schema, MEMBER("name", cli->arguments.operands[0]),
                           MEMBER("size", (uint64_t)value->size));
    return r;
}

int cli_region_state_put(struct cli *cli)
{
    const struct rapahub_region_open_options options = {
        .foreign = cli_arguments_flag(&cli->arguments, "foreign")};
    struct rapahub_region *region = NULL;
    struct value value = {0};
    int r;

    cli_failure_about(cli, "%s", cli->arguments.operands[0]);
    r = rapahub_region_open(cli->arguments.operands[0], &options, &region);
    if (r == 0)
        r = begin_value(cli, &value, options.foreign);
    if (r == 0)
        r = put(cli, region, &value);
    (void)rapahub_region_close(region);
    free(value.bytes);
    return r;
}

/* ---- get ---- */

struct getting {
    struct cli *cli;
    struct rapahub_reader *reader;
    struct value value;
    bool versions;
    char end;      /* the byte after each value that does not end with it */
    uint64_t left; /* values until the end; UINT64_MAX: no end */
    int interrupt; /* -1: no value is waited for */
};

static int write_value(const struct getting *getting)
{
    const struct value *value = &getting->value;
    const struct rapahub_string text = {(const char *)value->bytes, value->size};

    if (cli_json_wanted(getting->cli))
        return cli_json_print(stdout, getting->cli->command->schema,
                              MEMBER("version", value->version),
                              MEMBER("size", (uint64_t)value->size), MEMBER("value", text));
    if (getting->versions)
        printf("%" PRIu64 " ", value->version);
    if (value->size > 0)
        (void)fwrite(value->bytes, 1, value->size, stdout);
    if (value->size == 0 || value->bytes[value->size - 1] != (uint8_t)getting->end)
        putchar(getting->end);
    return fflush(stdout) == 0 && !ferror(stdout)
               ? 0
               : rapahub_fail(RAPAHUB_EPIPE, "", "cannot write to standard output");
}

static int read_value(struct getting *getting)
{
    struct value *value = &getting->value;
    int r = rapahub_reader_read(getting->reader, value->bytes, value->room, &value->size,
                                &value->version);

    return r == RAPAHUB_EEMPTY ? rapahub_fail(r, "", "nothing was written to the state yet") : r;
}

/* The next value; what cannot be read now is waited for. Returns 1 when it was interrupted. */
static int next_value(struct getting *getting)
{
    uint64_t last = getting->value.version;

    for (;;) {
        int r = rapahub_reader_wait(getting->reader, last, LOOK);

        if (r == RAPAHUB_EPEERDEAD)
            cli_failure_note(getting->cli, "the writer is dead; waiting for another one");
        if (r == 0) {
            r = read_value(getting);
            if (r == RAPAHUB_EPEERDEAD || r == RAPAHUB_EWRITERBUSY)
                hub_clock_pause(LOOK); /* the version that there is cannot be read yet */
        }
        if (r == 0 ||
            (r != RAPAHUB_ETIMEDOUT && r != RAPAHUB_EPEERDEAD && r != RAPAHUB_EWRITERBUSY))
            return r;
        if (cli_interrupt_take(getting->interrupt))
            return 1;
    }
}

static int get_all(struct getting *getting)
{
    int r = 0;

    if (getting->interrupt < 0) {
        r = read_value(getting);
        return r == 0 ? write_value(getting) : r;
    }
    while (r == 0 && getting->left > 0) {
        r = next_value(getting);
        if (r == 0)
            r = write_value(getting);
        getting->left -= getting->left != UINT64_MAX;
    }
    return r > 0 ? 0 : r;
}

static int open_all(struct getting *getting, struct rapahub_region **region)
{
    const struct cli_arguments *arguments = &getting->cli->arguments;
    const struct rapahub_region_open_options options = {
        .foreign = cli_arguments_flag(arguments, "foreign"), .read_only = true};
    int r = rapahub_region_open(arguments->operands[0], &options, region);

    if (r == 0)
        r = rapahub_reader_open(*region, &getting->reader);
    if (r == 0)
        r = begin_value(getting->cli, &getting->value, options.foreign);
    return r == 0 && cli_arguments_flag(arguments, "watch")
               ? cli_interrupt_open(&getting->interrupt)
               : r;
}

int cli_region_state_get(struct cli *cli)
{
    const struct cli_arguments *arguments = &cli->arguments;
    uint64_t number = cli_arguments_number(arguments, "number");
    struct getting getting = {.cli = cli,
                              .versions = cli_arguments_flag(arguments, "versions"),
                              .end = cli_arguments_flag(arguments, "zero") ? '\0' : '\n',
                              .left = number > 0 ? number : UINT64_MAX,
                              .interrupt = -1};
    struct rapahub_region *region = NULL;
    int r;

    cli_failure_about(cli, "%s", arguments->operands[0]);
    r = open_all(&getting, &region);
    if (r == 0)
        r = get_all(&getting);
    rapahub_reader_close(getting.reader);
    (void)rapahub_region_close(region);
    free(getting.value.bytes);
    hub_fd_release(&getting.interrupt);
    return r == RAPAHUB_EPIPE ? 0 : r;
}
