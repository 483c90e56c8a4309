/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rapahub/envelope.h>
#include <rapahub/error.h>
#include <rapahub/sequencer.h>

#include "host/cli/command/cli.h"
#include "host/cli/command/failure.h"
#include "host/cli/command/interrupt.h"
#include "host/cli/region/region_commands.h"
#include "host/cli/region/region_line.h"
#include "host/cli/region/region_value.h"
#include "host/cli/text/json.h"
#include "hub/base/clock.h"
#include "hub/base/own.h"
#include "hub/wire/text.h"

#define CHUNK     65536
#define TEXT_MAX  ((size_t)1 << 20)       /* bytes of a line that is the text of a value */
#define BLOCK_FOR (100 * HUB_MILLISECOND) /* then the signals are looked at */

/* In the order of the choices of --long. */
enum too_long { TOO_LONG_REFUSE, TOO_LONG_CUT, TOO_LONG_SPLIT };

struct publishing {
    const struct cli *cli;
    struct rapahub_producer *producer;
    struct rapahub_region *sequencer; /* NULL: it has messages */
    enum too_long too_long;
    char end;   /* the byte that ends a line */
    char *line; /* the bytes of it so far */
    size_t size, max;
    bool any;        /* a line was begun */
    uint64_t number; /* the number of the line, from 1 on */
    uint64_t published;
    int interrupt;
    struct cli_region_value type; /* the option --type */
};

/* The line is in the user bytes of a position. */
static int put_line(struct publishing *p)
{
    uint64_t position;
    int r = rapahub_producer_claim(p->producer, 1, BLOCK_FOR, &position);

    if (r < 0)
        return r;
    cli_region_line_put(rapahub_region_user(p->sequencer, position), p->line, p->size);
    return rapahub_producer_publish(p->producer, position, 1);
}

static int push_once(struct publishing *p)
{
    if (p->sequencer && !p->type.type)
        return put_line(p);
    return p->type.type
               ? rapahub_producer_push_value(p->producer, p->type.type, p->type.value, BLOCK_FOR)
               : rapahub_producer_push(p->producer, p->line, p->size, BLOCK_FOR);
}

/* A region that stays full is waited for until Ctrl-C; a consumer that died may come again. */
static int push_when_there_is_room(struct publishing *p)
{
    int r;

    do {
        r = push_once(p);
        if ((r == RAPAHUB_ETIMEDOUT || r == RAPAHUB_EPEERDEAD) && cli_interrupt_take(p->interrupt))
            return RAPAHUB_EINTR;
    } while (r == RAPAHUB_ETIMEDOUT || r == RAPAHUB_EPEERDEAD);
    return r;
}

static int parse(struct publishing *p, struct hub_text_arena *arena)
{
    int r = p->type.type ? hub_text_parse(p->type.type, p->line, p->size, p->type.value, arena) : 0;

    return r < 0 ? rapahub_fail(r, "region.decode", "line %" PRIu64 ": %s", p->number,
                                rapahub_last_error()->text)
                 : r;
}

/* A value refers to memory of its text until it is published. */
static int push(struct publishing *p)
{
    struct hub_text_arena arena = {0};
    int r = parse(p, &arena);

    if (r == 0)
        r = push_when_there_is_room(p);
    hub_text_arena_fini(&arena);
    p->published += r == 0;
    p->size = 0;
    return r == RAPAHUB_EFULL
               ? rapahub_fail(r, "region.full", "line %" PRIu64 " finds it full", p->number)
               : r;
}

/* Adds to the line; the rest of a long line is refused, left out, or makes a message of its own. */
static int add(struct publishing *p, const char *text, size_t size)
{
    size_t room = p->max - p->size;
    int r = 0;

    p->any = true;
    while (size > room && p->too_long == TOO_LONG_SPLIT && r == 0) {
        memcpy(p->line + p->size, text, room);
        p->size += room;
        text += room;
        size -= room;
        r = push(p);
        room = p->max;
    }
    if (size > room && p->too_long == TOO_LONG_REFUSE)
        return rapahub_fail(RAPAHUB_EMSGSIZE, "region.cell",
                            "line %" PRIu64 " is longer than %zu bytes", p->number, p->max);
    size = size > room ? room : size;
    memcpy(p->line + p->size, text, size);
    p->size += size;
    return r;
}

static int end_line(struct publishing *p)
{
    int r = push(p);

    p->number++;
    p->any = false;
    return r;
}

static int take_chunk(struct publishing *p, const char *text, size_t size)
{
    int r = 0;

    while (size > 0 && r == 0) {
        const char *end = memchr(text, p->end, size);
        size_t part = end ? (size_t)(end - text) : size;

        r = add(p, text, part);
        if (end && r == 0)
            r = end_line(p);
        part += end != NULL;
        text += part;
        size -= part;
    }
    return r;
}

/* Returns the bytes; 0: the end of the input, or an interrupt. */
static ssize_t read_chunk(const struct publishing *p, char *to)
{
    struct pollfd fds[] = {{.fd = STDIN_FILENO, .events = POLLIN},
                           {.fd = p->interrupt, .events = POLLIN}};
    ssize_t r;

    do
        r = poll(fds, 2, -1);
    while (r < 0 && errno == EINTR);
    if (fds[1].revents & POLLIN)
        return 0;
    do
        r = read(STDIN_FILENO, to, CHUNK);
    while (r < 0 && errno == EINTR);
    return r < 0
               ? rapahub_fail(-errno, "", "cannot read standard input: %s", strerrordesc_np(errno))
               : r;
}

static int publish_all(struct publishing *p)
{
    OWN(hub_memory) char *chunk = malloc(CHUNK);
    ssize_t r = 1;

    p->line = malloc(p->max + 1);
    if (!chunk || !p->line)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a line");
    while (r > 0) {
        r = read_chunk(p, chunk);
        if (r > 0) {
            int taken = take_chunk(p, chunk, (size_t)r);

            r = taken < 0 ? taken : r;
        }
    }
    if (r == 0 && p->any)
        r = end_line(p); /* a last line without an end */
    return (int)r;
}

/* The text of a value is not cut, and makes one message. */
static int read_type(const struct cli *cli, struct publishing *p)
{
    const char *text = cli_arguments_text(&cli->arguments, "type");

    if (!text)
        return 0;
    if (p->too_long != TOO_LONG_REFUSE)
        return rapahub_fail(RAPAHUB_EINVAL, "",
                            "--type and --long %s: the text of a value is neither cut nor split",
                            p->too_long == TOO_LONG_CUT ? "cut" : "split");
    return cli_region_value_parse(text, &p->type);
}

static int find_room(struct publishing *p, struct rapahub_region *region,
                     const struct rapahub_region_report *report)
{
    p->max = p->type.type ? TEXT_MAX : report->message_max;
    if (report->stages > 0 && rapahub_region_user(region, 0)) {
        p->sequencer = region;
        p->max = cli_region_line_room(report->user_bytes);
    } else if (report->stages > 0) {
        return rapahub_fail(RAPAHUB_EMSGSIZE, "region.sequencer.user",
                            "its positions have no bytes: make it with --user-bytes");
    }
    return report->message_max > 0 || report->value_bytes > 0 || report->stages > 0
               ? 0
               : rapahub_fail(RAPAHUB_ESTALE, "region.generation",
                              "the region was removed meanwhile");
}

static int open_all(struct cli *cli, struct publishing *p, struct rapahub_region **region)
{
    static const enum rapahub_on_full policies[] = {RAPAHUB_ON_FULL_BLOCK, RAPAHUB_ON_FULL_DROP,
                                                    RAPAHUB_ON_FULL_FAIL};
    const struct cli_arguments *arguments = &cli->arguments;
    const struct rapahub_region_open_options options = {
        .foreign = cli_arguments_flag(arguments, "foreign")};
    const char *index = cli_arguments_text(arguments, "index");
    struct rapahub_producer_options producer = {
        .on_full = policies[cli_arguments_choice(arguments, "on-full")],
        .index = RAPAHUB_PRODUCER_ANY};
    struct rapahub_region_report report;
    int r = index ? cli_region_fanout_index(index, "producer", &producer.index) : 0;

    if (r == 0)
        r = read_type(cli, p);
    if (r == 0)
        r = cli_interrupt_open(&p->interrupt);
    if (r == 0)
        r = rapahub_region_open(arguments->operands[0], &options, region);
    if (r == 0)
        r = rapahub_region_inspect(arguments->operands[0], options.foreign, &report);
    if (r == 0)
        r = find_room(p, *region, &report);
    return r == 0 ? rapahub_producer_open(*region, &producer, &p->producer) : r;
}

static int tell(const struct publishing *p)
{
    uint64_t dropped = rapahub_producer_dropped(p->producer);

    if (cli_json_wanted(p->cli))
        return cli_json_print(
            stdout, p->cli->command->schema, MEMBER("name", p->cli->arguments.operands[0]),
            MEMBER("published", p->published - dropped), MEMBER("dropped", dropped));
    if (dropped > 0)
        cli_failure_note(p->cli, "%" PRIu64 " messages were dropped: the region was full", dropped);
    return 0;
}

int cli_region_publish(struct cli *cli)
{
    struct publishing p = {.cli = cli,
                           .too_long = (enum too_long)cli_arguments_choice(&cli->arguments, "long"),
                           .end = cli_arguments_flag(&cli->arguments, "zero") ? '\0' : '\n',
                           .number = 1,
                           .interrupt = -1};
    struct rapahub_region *region = NULL;
    int r;

    cli_failure_about(cli, "%s", cli->arguments.operands[0]);
    r = open_all(cli, &p, &region);
    if (r == 0)
        r = publish_all(&p);
    if (r == 0 || r == RAPAHUB_EINTR)
        r = tell(&p);
    rapahub_producer_close(p.producer);
    (void)rapahub_region_close(region);
    free(p.line);
    cli_region_value_fini(&p.type);
    hub_fd_release(&p.interrupt);
    return r;
}
