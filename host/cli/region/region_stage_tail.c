/* SPDX-License-Identifier: Apache-2.0 */
/* `rapahub region tail --stage`: the lines of a sequencer, as one of its stages. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <rapahub/error.h>
#include <rapahub/sequencer.h>

#include "host/cli/command/cli.h"
#include "host/cli/command/failure.h"
#include "host/cli/command/interrupt.h"
#include "host/cli/region/region_commands.h"
#include "host/cli/region/region_line.h"
#include "host/cli/region/region_tailing.h"
#include "host/cli/text/json.h"
#include "hub/base/clock.h"
#include "hub/base/own.h"

#define WAIT_FOR (100 * HUB_MILLISECOND) /* then the signals are looked at */

struct staging {
    const struct cli *cli;
    struct rapahub_region *region;
    struct rapahub_stage *stage;
    struct cli_region_tailing how;
    uint64_t skipped; /* that were told */
    uint32_t user_bytes;
    char *bytes; /* `user_bytes` of them */
    int interrupt;
};

static void note_skipped(struct staging *s, uint64_t position)
{
    uint64_t skipped = rapahub_stage_skipped(s->stage);

    if (skipped > s->skipped)
        cli_failure_note(s->cli,
                         "%" PRIu64 " positions before %" PRIu64
                         " were left unfinished by producers that died",
                         skipped - s->skipped, position);
    s->skipped = skipped;
}

static int write_json(const struct staging *s, uint64_t position, struct rapahub_string line)
{
    return cli_json_print(stdout, s->cli->command->schema, MEMBER("position", position),
                          MEMBER("size", line.size), MEMBER("message", line));
}

/* Without user bytes there is a position alone. */
static int write_line(const struct staging *s, uint64_t position, size_t length)
{
    const struct rapahub_string line = {s->bytes ? s->bytes + sizeof(uint32_t) : NULL, length};
    int r = 0;

    if (length > cli_region_line_room(s->user_bytes)) {
        cli_failure_note(s->cli, "position %" PRIu64 " is left out: it has no line", position);
        return 0;
    }
    if (cli_json_wanted(s->cli)) {
        r = write_json(s, position, line);
    } else {
        if (s->how.position || !s->bytes)
            printf("%" PRIu64 "%s", position, s->bytes ? " " : "");
        if (length > 0)
            (void)fwrite(line.data, 1, length, stdout);
        putchar(s->how.end);
    }
    return r == 0 && (fflush(stdout) != 0 || ferror(stdout))
               ? rapahub_fail(RAPAHUB_EPIPE, "", "cannot write to standard output")
               : r;
}

/* The line is copied before it is acknowledged, and acknowledged before or after it is written. */
static int take(struct staging *s, uint64_t position)
{
    const void *user = rapahub_region_user(s->region, position);
    size_t length = user ? cli_region_line_get(user, s->user_bytes, s->bytes) : 0;
    int r = s->how.after ? 0 : rapahub_stage_advance(s->stage, 1);

    note_skipped(s, position);
    if (r == 0)
        r = write_line(s, position, length);
    if (r == 0 && s->how.after)
        r = rapahub_stage_advance(s->stage, 1);
    if (r == 0)
        cli_region_tailing_count(&s->how);
    return r;
}

static int take_next(struct staging *s)
{
    uint64_t first = 0;
    uint32_t count;
    int r = rapahub_stage_next(s->stage, s->how.follow ? WAIT_FOR : CLI_REGION_TAILING_AT_THE_END,
                               &first, &count);

    if (r == 0)
        r = take(s, first);
    if (r == RAPAHUB_EGAP) {
        cli_failure_note(s->cli, "%s", rapahub_last_error()->text);
        return 0;
    }
    return s->how.follow && (cli_region_tailing_is_empty(r) || r == RAPAHUB_EBLOCKED) ? 0 : r;
}

static int take_all(struct staging *s)
{
    int r = 0;

    while (r == 0 && s->how.left > 0 && !cli_interrupt_take(s->interrupt))
        r = take_next(s);
    return cli_region_tailing_is_empty(r) ? 0 : r;
}

static int open_all(struct cli *cli, struct staging *s)
{
    const struct rapahub_region_open_options options = {
        .kind = RAPAHUB_REGION_SEQUENCER,
        .foreign = cli_arguments_flag(&cli->arguments, "foreign")};
    struct rapahub_stage_options stage = {0};
    struct rapahub_region_report report;
    int r = cli_region_fanout_index(cli_arguments_text(&cli->arguments, "stage"), "stage",
                                    &stage.index);

    if (r == 0)
        r = cli_interrupt_open(&s->interrupt);
    if (r == 0)
        r = rapahub_region_open(cli->arguments.operands[0], &options, &s->region);
    if (r == 0)
        r = rapahub_region_inspect(cli->arguments.operands[0], options.foreign, &report);
    if (r < 0)
        return r;
    s->user_bytes = rapahub_region_user(s->region, 0) ? report.user_bytes : 0;
    s->bytes = s->user_bytes > 0 ? malloc(s->user_bytes) : NULL;
    if (s->user_bytes > 0 && !s->bytes)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a line");
    return rapahub_stage_open(s->region, &stage, &s->stage);
}

int cli_region_stage_tail(struct cli *cli)
{
    struct staging s = {.cli = cli, .how = cli_region_tailing_read(cli), .interrupt = -1};
    int r = open_all(cli, &s);

    if (r == 0)
        r = take_all(&s);
    rapahub_stage_close(s.stage);
    (void)rapahub_region_close(s.region);
    free(s.bytes);
    hub_fd_release(&s.interrupt);
    return r == RAPAHUB_EPIPE ? 0 : r;
}
