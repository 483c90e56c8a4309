/* SPDX-License-Identifier: Apache-2.0 */
#include "host/cli/region/region_commands.h"

#include <stddef.h>

#define FOREIGN_OPTION FLAG("foreign", "by path: also a region of another user")
#define ZERO_OPTION    FLAG("zero", "messages end with a 0 instead of a new line", .letter = '0')
#define WAIT_OPTION \
    VALUE(SPAN, "wait", "DUR", "wait so long until no process takes part in it", .fallback = "0s")
#define MAKE_OPTIONS                                                                               \
    VALUE(CHOICE, "kind", "K",                                                                     \
          "one producer and one consumer, many producers and one consumer, many of both, "         \
          "many producers, each with a ring, and one consumer, positions that stages work on, "    \
          "or the last value of one writer, in one place or in several; required",                 \
          .choices = "spsc|mpsc|fanout|fanin|sequencer|state-v1|state-latch"),                     \
        VALUE(CHOICE, "profile", "P",                                                              \
              "hardened: a death in the wrong moment costs a message, not "                        \
              "the region",                                                                        \
              .choices = "hardened|v1", .fallback = "hardened"),                                   \
        VALUE(COUNT, "cells", "N", "messages that it holds, a power of two; 1024"),                \
        VALUE(COUNT, "cell-bytes", "N",                                                            \
              "bytes of a cell, a multiple of 64; a message has 16 less at most; 1024"),           \
        VALUE(COUNT, "leases", "N", "hardened: producers and consumers at once",                   \
              .fallback = "64"),                                                                   \
        VALUE(COUNT, "value-bytes", "N", "states: bytes of the longest value; 1024"),              \
        VALUE(COUNT, "buffers", "N",                                                               \
              "state-latch: places for a value, 2 to 255; more of them where it is written very "  \
              "often; 2"),                                                                         \
        VALUE(COUNT, "producers", "N",                                                             \
              "fanin: producers, each with a ring, 1 to 255; sequencer: more than one allows any " \
              "number of them; 1"),                                                                \
        VALUE(COUNT, "ring-size", "N", "sequencer: positions at once, a power of two; 1024"),      \
        VALUE(COUNT, "user-bytes", "N",                                                            \
              "sequencer: bytes of a position, a multiple of 8; a line has 4 less; 1024"),         \
        VALUE(COUNT, "stages", "N", "sequencer: stages, 1 to 64; 1"),                              \
        VALUE(TEXT, "after", "LIST", "sequencer: stages that follow others: 1:0,2:0,3:1+2"),       \
        VALUE(CHOICE, "on-death", "P",                                                             \
              "sequencer: a stage that died is waited for, for a while, or not at all",            \
              .choices = "hold|freeze|evict", .fallback = "hold"),                                 \
        VALUE(SPAN, "freeze", "DUR", "sequencer, --on-death freeze: for how long; 1s"),            \
        VALUE(COUNT, "consumers", "N", "fanout: consumers, each with a queue; 1 to 64"),           \
        VALUE(CHOICE, "mode", "M", "fanout: a message is for all consumers, or for one of them",   \
              .choices = "broadcast|work", .fallback = "broadcast"),                               \
        VALUE(CHOICE, "credit", "P",                                                               \
              "fanout: where the queue of a consumer is full: it goes without, the router waits "  \
              "for it, or waits for a while and leaves it out",                                    \
              .choices = "drop|park|detach", .fallback = "drop"),                                  \
        VALUE(COUNT, "credit-max", "N", "fanout: messages in a queue at most; all its cells"),     \
        VALUE(SPAN, "detach-after", "DUR", "fanout, --credit detach: how long it waits; 1s"),      \
        VALUE(TEXT, "file-mode", "MODE", "who may open it, in octal, at most 660",                 \
              .fallback = "600")

static const struct cli_option create_options[] = {MAKE_OPTIONS, END};

static const struct cli_option recreate_options[] = {
    MAKE_OPTIONS, FLAG("in-place", "the same region, empty; takes none of the options above"),
    WAIT_OPTION, END};

static const struct cli_option rm_options[] = {WAIT_OPTION, END};

static const struct cli_option look_options[] = {FOREIGN_OPTION, END};

static const struct cli_option publish_options[] = {
    VALUE(TEXT, "index", "I", "fanin: which producer, from 0 on; the first that is free"),
    VALUE(CHOICE, "on-full", "P", "where the region is full", .choices = "block|drop|fail",
          .fallback = "block"),
    VALUE(CHOICE, "long", "P", "a line that is longer than a message may be",
          .choices = "refuse|cut|split", .fallback = "refuse"),
    VALUE(TEXT, "type", "TYPE",
          "each line is a value of this type: i64, string, {at: u64, load: f64}"),
    ZERO_OPTION,
    FOREIGN_OPTION,
    END};

static const struct cli_option route_options[] = {
    FLAG("standby", "wait until the router that there is dies or ends"), FOREIGN_OPTION, END};

static const struct cli_option tail_options[] = {
    VALUE(TEXT, "consumer", "I", "fanout: which consumer, from 0 on; the first that is free"),
    VALUE(TEXT, "stage", "I", "sequencer: as this stage, from 0 on"),
    FLAG("follow", "wait for further messages until Ctrl-C", .letter = 'f'),
    VALUE(COUNT, "number", "N", "end after so many messages", .letter = 'n'),
    VALUE(CHOICE, "ack", "WHEN",
          "when a message is taken out: before it is written (at most once), or after it (at least "
          "once)",
          .choices = "before|after", .fallback = "before"),
    FLAG("position", "each message after its position and a space; fanin: PRODUCER:POSITION"),
    VALUE(TEXT, "type", "TYPE",
          "messages of this type, as text or JSON; others are told and left out"),
    ZERO_OPTION,
    FOREIGN_OPTION,
    END};

static const struct cli_option get_options[] = {
    FLAG("watch", "this value and each later one, until Ctrl-C; some may be passed over"),
    VALUE(COUNT, "number", "N", "with --watch: end after so many values", .letter = 'n'),
    FLAG("versions", "each value after its version and a space"),
    FLAG("zero", "values end with a 0 instead of a new line", .letter = '0'),
    FOREIGN_OPTION,
    END};

static const struct cli_option stat_options[] = {
    VALUE(SPAN, "every", "DUR", "again and again, with rates, until Ctrl-C", .letter = 'n'),
    FOREIGN_OPTION, END};

#define FIGURES "tail, head, depth, cells, poisoned, reaped, decode_errors"
#define QUEUES                                                                                \
    "queues[{consumer, subscribed, detached, held, depth, credit_max, delivered, dropped}], " \
    "rings[{producer, held, depth, head, tail}], "                                            \
    "stages[{stage, state, held, position, behind, after, on_death, evictions}]"
#define REPORT                                                                                \
    "name, path, verdict, code, class, detail, kind, profile, caps_required, caps_optional, " \
    "generation, id, init_pid, bytes, cell_bytes, producer, consumer, producers, router, "    \
    "mode, credit, "                                                                          \
    "routed, dropped, stuck, writer, version, value_size, value_bytes, buffers, ring_size, "  \
    "user_bytes, shared, " FIGURES

const struct cli_command cli_region_commands[] = {
    {.name = "region ls",
     .operands = "",
     .summary = "this user's event regions",
     .text = "Lists the regions of this user in /dev/shm: kind, profile, messages in them, who\n"
             "takes part, and whether they are sound.",
     .example = "rapahub region ls",
     .schema = "rapahub.region.ls/1",
     .members = "regions[{" REPORT ", action}]",
     .run = cli_region_ls},
    {.name = "region create",
     .operands = "NAME",
     .summary = "make an event region",
     .text = "Makes a region for messages between processes, or for the last value of a state,\n"
             "which stays until `rapahub region rm`. NAME is of letters, digits, '_', '-' and '.', "
             "or a path in a tmpfs. All its\n"
             "memory is reserved at once.",
     .example = "rapahub region create jobs --kind mpsc --cells 4096",
     .schema = "rapahub.region.create/1",
     .members = "name, kind, profile, cells, cell_bytes, value_bytes, ring_size, user_bytes, "
                "stages",
     .options = create_options,
     .operand = CLI_OPERAND_FREE,
     .operands_min = 1,
     .operands_max = 1,
     .run = cli_region_create},
    {.name = "region publish",
     .operands = "NAME",
     .summary = "each line of standard input is a message",
     .text = "Publishes until the end of standard input, or Ctrl-C. A line that is too long is\n"
             "refused by its number; what came before it is published. In a sequencer a line is\n"
             "in the bytes of a position, behind its length.",
     .example =
         "ls | rapahub region publish jobs\n"
         "find . -print0 | rapahub region publish jobs -0\n"
         "echo '{cpu: 0, load: 0.5}' | rapahub region publish loads --type '{cpu: u32, load: "
         "f64}'",
     .schema = "rapahub.region.publish/1",
     .members = "name, published, dropped",
     .options = publish_options,
     .operand = CLI_OPERAND_REGION,
     .operands_min = 1,
     .operands_max = 1,
     .run = cli_region_publish},
    {.name = "region tail",
     .operands = "NAME",
     .summary = "take messages, each a line of standard output",
     .text = "Takes messages until there are none, or with -f until Ctrl-C, as the consumer of\n"
             "the region; what it took is gone. With --ack after a message is taken out when its\n"
             "line is written. Positions that dead producers left empty are told on standard\n"
             "error. With -o json an object for each message. With --stage it takes the lines of\n"
             "a sequencer, as one of its stages.",
     .example = "rapahub region tail jobs -f --ack after | while read -r line; do echo $line; done",
     .schema = "rapahub.region.tail/1",
     .members = "position, skipped, size, message, value, producer",
     .options = tail_options,
     .operand = CLI_OPERAND_REGION,
     .operands_min = 1,
     .operands_max = 1,
     .run = cli_region_tail},
    {.name = "region put",
     .operands = "NAME [VALUE]",
     .summary = "write the value of a state",
     .text =
         "Writes VALUE, or all of standard input, as the value of a region of kind state-v1 or\n"
         "state-latch. Exit status 6 where it has a writer that lives.",
     .example = "rapahub region put board 'all is well'\n"
                "df -h | rapahub region put board",
     .schema = "rapahub.region.put/1",
     .members = "name, size",
     .options = look_options,
     .operand = CLI_OPERAND_REGION,
     .operands_min = 1,
     .operands_max = 2,
     .run = cli_region_state_put},
    {.name = "region get",
     .operands = "NAME",
     .summary = "the value of a state",
     .text = "Writes the last value to standard output, always a whole one, and a new line if it\n"
             "does not end with one. Needs only the right to read the region. Exit status 75\n"
             "where there is none yet, 9 where the writer of a state-v1 died while it wrote.",
     .example = "rapahub region get board\n"
                "rapahub region get board --watch --versions",
     .schema = "rapahub.region.get/1",
     .members = "version, size, value",
     .options = get_options,
     .operand = CLI_OPERAND_REGION,
     .operands_min = 1,
     .operands_max = 1,
     .run = cli_region_state_get},
    {.name = "region route",
     .operands = "NAME",
     .summary = "be the router of a region of kind fanout",
     .text = "Carries messages from the producers to the queues of the consumers, until Ctrl-C.\n"
             "One router at a time; where it dies, the next one goes on where it ended.",
     .example = "rapahub region route jobs\n"
                "rapahub region route jobs --standby",
     .schema = "rapahub.region.route/1",
     .members = "name, routed",
     .options = route_options,
     .operand = CLI_OPERAND_REGION,
     .operands_min = 1,
     .operands_max = 1,
     .run = cli_region_fanout_route},
    {.name = "region detach",
     .operands = "NAME CONSUMER",
     .summary = "leave a consumer out",
     .text = "Consumer CONSUMER of a region of kind fanout gets no messages, whether it runs or\n"
             "not, until it is admitted again.",
     .example = "rapahub region detach jobs 2",
     .schema = "rapahub.region.detach/1",
     .members = "name, consumer",
     .options = look_options,
     .operand = CLI_OPERAND_REGION,
     .operands_min = 2,
     .operands_max = 2,
     .run = cli_region_fanout_detach},
    {.name = "region admit",
     .operands = "NAME CONSUMER",
     .summary = "let a consumer that was detached have messages again",
     .text = "Takes back what `rapahub region detach` did.",
     .example = "rapahub region admit jobs 2",
     .schema = "rapahub.region.admit/1",
     .members = "name, consumer",
     .options = look_options,
     .operand = CLI_OPERAND_REGION,
     .operands_min = 2,
     .operands_max = 2,
     .run = cli_region_fanout_admit},
    {.name = "region evict",
     .operands = "NAME STAGE",
     .summary = "wait no longer for a stage",
     .text =
         "Nobody waits any more for stage STAGE of a region of kind sequencer, whether it lives\n"
         "or not. It is told which positions it left out, and so are the stages that follow it.",
     .example = "rapahub region evict pipeline 2",
     .schema = "rapahub.region.evict/1",
     .members = "name, stage",
     .options = look_options,
     .operand = CLI_OPERAND_REGION,
     .operands_min = 2,
     .operands_max = 2,
     .run = cli_region_stages_evict},
    {.name = "region inspect",
     .operands = "NAME",
     .summary = "what is wrong with a region, and what to do",
     .text = "Looks without taking part: verdict, participants, messages, who is in the way, and\n"
             "in the last line what to do. Exit status 11 where there is a problem.",
     .example = "rapahub region inspect jobs",
     .schema = "rapahub.region.inspect/1",
     .members = REPORT ", blocker{lease, pid, name, position, since_ns}, participants[{lease, "
                       "role, pid, name, alive, since_ns}], " QUEUES ", action",
     .options = look_options,
     .operand = CLI_OPERAND_REGION,
     .operands_min = 1,
     .operands_max = 1,
     .run = cli_region_inspect},
    {.name = "region stat",
     .operands = "NAME",
     .summary = "how many messages went through a region",
     .text = "Positions, messages in it, positions that were poisoned, leases that were taken\n"
             "back; of a state its version and the size of its value. With -n again and again,\n"
             "with rates.",
     .example = "rapahub region stat jobs -n 1s",
     .schema = "rapahub.region.stat/1",
     .members = "name, " FIGURES ", routed, dropped, version, value_size, published_per_s, "
                "taken_per_s, written_per_s",
     .options = stat_options,
     .operand = CLI_OPERAND_REGION,
     .operands_min = 1,
     .operands_max = 1,
     .run = cli_region_stat},
    {.name = "region recreate",
     .operands = "NAME",
     .summary = "a new region in the place of one",
     .text = "Puts a new, empty region in the place of NAME; with --in-place the same one is made\n"
             "anew. Only where no process takes part: exit status 75 names one that does.",
     .example = "rapahub region recreate jobs --kind mpsc\n"
                "rapahub region recreate jobs --in-place",
     .schema = "rapahub.region.recreate/1",
     .members = "name",
     .options = recreate_options,
     .operand = CLI_OPERAND_REGION,
     .operands_min = 1,
     .operands_max = 1,
     .run = cli_region_create_anew},
    {.name = "region rm",
     .operands = "NAME",
     .summary = "remove a region",
     .text =
         "Removes it with the messages in it. Only where no process takes part: exit status 75\n"
         "names one that does.",
     .example = "rapahub region rm jobs",
     .schema = "rapahub.region.rm/1",
     .members = "name",
     .options = rm_options,
     .operand = CLI_OPERAND_REGION,
     .operands_min = 1,
     .operands_max = 1,
     .run = cli_region_rm},
    END};
