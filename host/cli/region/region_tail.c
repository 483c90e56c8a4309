/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/envelope.h>
#include <rapahub/error.h>

#include "host/cli/command/cli.h"
#include "host/cli/command/failure.h"
#include "host/cli/command/interrupt.h"
#include "host/cli/region/region_commands.h"
#include "host/cli/region/region_tailing.h"
#include "host/cli/region/region_value.h"
#include "host/cli/text/json.h"
#include "hub/base/own.h"
#include "hub/wire/text.h"

#define MESSAGE_MAX  65536
#define LONGEST_REST 1000 /* ms between two looks of a follower */

struct tailing {
    const struct cli *cli;
    struct rapahub_consumer *consumer;
    struct cli_region_tailing how;
    bool fanin; /* positions are those of a producer */
    int interrupt;
    uint8_t *bytes;               /* MESSAGE_MAX of them */
    struct cli_region_value type; /* the option --type */
};

/* The message is its text, or the JSON of its value. */
static int write_json(const struct tailing *tailing, const struct rapahub_message *message,
                      const char *value)
{
    const struct rapahub_string text = {message->data, message->size};

    return cli_json_print(stdout, tailing->cli->command->schema,
                          MEMBER("position", message->position),
                          MEMBER("skipped", message->skipped), MEMBER("size", message->size),
                          MEMBER_IF(tailing->fanin, "producer", message->producer - 1),
                          value ? cli_json_raw("value", value) : MEMBER("message", text));
}

/* Decodes a copy, for other processes can write what a peek shows. Returns 1 for a message that is
 * not of the type: it is told, and left out. */
static int print_value(const struct tailing *tailing, const struct rapahub_message *shown,
                       char **out)
{
    const struct cli_region_value *type = &tailing->type;
    struct rapahub_message message = *shown;
    int r;

    if (message.data != tailing->bytes && message.size > 0)
        memcpy(tailing->bytes, message.data, message.size);
    message.data = tailing->bytes;
    r = rapahub_consumer_value(tailing->consumer, &message, type->type, type->value);
    if (r < 0) {
        cli_failure_note(tailing->cli, "position %" PRIu64 " is left out: %s", message.position,
                         rapahub_last_error()->text);
        return 1;
    }
    *out = cli_json_wanted(tailing->cli) ? hub_text_json(type->type, type->value)
                                         : hub_text_print(type->type, type->value);
    return *out ? 0 : rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a value");
}

static void note_skipped(const struct tailing *tailing, const struct rapahub_message *message)
{
    if (message->skipped > 0)
        cli_failure_note(tailing->cli,
                         "%" PRIu64 " messages before position %" PRIu64
                         " were left unfinished by producers that died",
                         message->skipped, message->position);
}

static int write_line(const struct tailing *tailing, const struct rapahub_message *message)
{
    OWN(hub_memory) char *value = NULL;
    int r = tailing->type.type ? print_value(tailing, message, &value) : 0;

    if (r != 0)
        return r < 0 ? r : 0;
    if (cli_json_wanted(tailing->cli))
        return write_json(tailing, message, value);
    if (tailing->how.position && tailing->fanin)
        printf("%" PRIu32 ":", message->producer - 1);
    if (tailing->how.position)
        printf("%" PRIu64 " ", message->position);
    if (value)
        fputs(value, stdout);
    else if (message->size > 0)
        (void)fwrite(message->data, 1, message->size, stdout);
    putchar(tailing->how.end);
    return 0;
}

/* A message is written as a whole before it is done; a closed pipe ends it, and it stays then. */
static int write_out(const struct tailing *tailing, const struct rapahub_message *message)
{
    int r;

    note_skipped(tailing, message);
    r = write_line(tailing, message);
    if (r == 0 && (fflush(stdout) != 0 || ferror(stdout)))
        r = rapahub_fail(RAPAHUB_EPIPE, "", "cannot write to standard output");
    return r;
}

/* The message is copied before it is written: other processes can write into the region. */
static int take_after(const struct tailing *tailing, uint64_t timeout_ns)
{
    struct rapahub_message message;
    size_t count;
    int r = rapahub_consumer_peek(tailing->consumer, &message, 1, timeout_ns, &count);

    if (r == 0)
        r = write_out(tailing, &message);
    return r == 0 ? rapahub_consumer_done(tailing->consumer, 1) : r;
}

static int take_before(const struct tailing *tailing, uint64_t timeout_ns)
{
    struct rapahub_message message;
    int r =
        rapahub_consumer_pop(tailing->consumer, tailing->bytes, MESSAGE_MAX, timeout_ns, &message);

    return r == 0 ? write_out(tailing, &message) : r;
}

/* Returns 1 when it was interrupted. */
static int rest(const struct tailing *tailing)
{
    struct pollfd fds[] = {{.fd = rapahub_consumer_fd(tailing->consumer), .events = POLLIN},
                           {.fd = tailing->interrupt, .events = POLLIN}};

    if (fds[0].fd < 0)
        return fds[0].fd;
    (void)poll(fds, 2, LONGEST_REST);
    return cli_interrupt_take(tailing->interrupt);
}

static int take_all(struct tailing *tailing)
{
    uint64_t timeout_ns = tailing->how.follow ? 0 : CLI_REGION_TAILING_AT_THE_END;
    int r = 0;

    while (r == 0 && tailing->how.left > 0) {
        r = tailing->how.after ? take_after(tailing, timeout_ns) : take_before(tailing, timeout_ns);
        if (r == 0)
            cli_region_tailing_count(&tailing->how);
        if (cli_region_tailing_is_empty(r) && !tailing->how.follow)
            return 0;
        if (cli_region_tailing_is_empty(r) || (r == 0 && cli_interrupt_take(tailing->interrupt)))
            r = r == 0 ? 1 : rest(tailing);
    }
    return r > 0 ? 0 : r;
}

static int read_consumer(const struct cli *cli, struct rapahub_consumer_options *out)
{
    const char *text = cli_arguments_text(&cli->arguments, "consumer");

    *out = (struct rapahub_consumer_options){.index = RAPAHUB_CONSUMER_ANY};
    return text ? cli_region_fanout_index(text, "consumer", &out->index) : 0;
}

static int open_all(struct cli *cli, struct tailing *tailing, struct rapahub_region **region)
{
    const struct rapahub_region_open_options options = {
        .foreign = cli_arguments_flag(&cli->arguments, "foreign")};
    struct rapahub_consumer_options consumer;
    struct rapahub_region_report report;
    const char *type = cli_arguments_text(&cli->arguments, "type");
    int r = read_consumer(cli, &consumer);

    if (r == 0 && type)
        r = cli_region_value_parse(type, &tailing->type);
    if (r == 0)
        r = cli_interrupt_open(&tailing->interrupt);
    tailing->bytes = malloc(MESSAGE_MAX);
    if (r == 0 && !tailing->bytes)
        r = rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a message");
    if (r == 0)
        r = rapahub_region_open(cli->arguments.operands[0], &options, region);
    if (r == 0)
        r = rapahub_region_inspect(cli->arguments.operands[0], options.foreign, &report);
    if (r == 0)
        tailing->fanin = report.kind == RAPAHUB_REGION_FANIN;
    return r == 0 ? rapahub_consumer_open(*region, &consumer, &tailing->consumer) : r;
}

int cli_region_tail(struct cli *cli)
{
    const struct cli_arguments *arguments = &cli->arguments;
    struct tailing tailing = {.cli = cli, .how = cli_region_tailing_read(cli), .interrupt = -1};
    struct rapahub_region *region = NULL;
    int r;

    cli_failure_about(cli, "%s", arguments->operands[0]);
    if (cli_arguments_text(arguments, "stage"))
        return cli_region_stage_tail(cli);
    r = open_all(cli, &tailing, &region);
    if (r == RAPAHUB_EBADKIND)
        cli_failure_hint(cli, "rapahub region tail %s --stage I takes the lines of a sequencer",
                         arguments->operands[0]);
    if (r == 0)
        r = take_all(&tailing);
    rapahub_consumer_close(tailing.consumer);
    (void)rapahub_region_close(region);
    free(tailing.bytes);
    cli_region_value_fini(&tailing.type);
    hub_fd_release(&tailing.interrupt);
    return r == RAPAHUB_EPIPE ? 0 : r;
}
