/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>

#include <rapahub/error.h>
#include <rapahub/sequencer.h>

#include "host/cli/command/cli.h"
#include "host/cli/command/failure.h"
#include "host/cli/region/region_commands.h"
#include "host/cli/region/region_report.h"
#include "host/cli/region/region_stages.h"
#include "host/config/units.h"
#include "hub/base/clock.h"

#define EXIT_PROBLEM 11

struct looking {
    const struct cli *cli;
    struct cli_json json;
};

static uint64_t age_of(uint64_t since_ns)
{
    uint64_t now = hub_clock_now();

    return since_ns < now ? now - since_ns : 0;
}

static int show_participant(void *user, const struct rapahub_region_participant *who)
{
    struct looking *looking = user;
    const char *role = cli_region_report_role(who->role);

    if (cli_json_wanted(looking->cli))
        cli_json_object(&looking->json, NULL, MEMBER("lease", who->lease), MEMBER("role", role),
                        MEMBER("pid", who->pid), MEMBER("name", (const char *)who->name),
                        MEMBER("alive", who->alive), MEMBER("since_ns", who->since_ns));
    else
        printf("lease %-6" PRIu32 " %s, %s, pid %" PRId32 ", %s, for %s\n", who->lease, role,
               who->name, who->pid, who->alive ? "alive" : "dead",
               SPAN_TEXT(age_of(who->since_ns)));
    return 0;
}

static int show_queue(void *user, const struct rapahub_region_queue *queue)
{
    struct looking *looking = user;

    if (cli_json_wanted(looking->cli))
        cli_region_report_write_queue(&looking->json, queue);
    else
        printf("consumer %-3" PRIu32 " %s%s, %s, %" PRIu64 " of %" PRIu32
               " messages, delivered %" PRIu64 ", dropped %" PRIu64 "\n",
               queue->index, queue->subscribed ? "subscribed" : "not subscribed",
               queue->detached ? ", detached" : "", queue->held ? "held" : "free",
               queue->tail - queue->head, queue->credit_max, queue->delivered, queue->dropped);
    return 0;
}

static int show_ring(void *user, const struct rapahub_region_queue *ring)
{
    struct looking *looking = user;

    if (cli_json_wanted(looking->cli))
        cli_region_report_write_ring(&looking->json, ring);
    else
        printf("producer %-3" PRIu32 " %s, %" PRIu64 " of %" PRIu32
               " messages, from position %" PRIu64 " to %" PRIu64 "\n",
               ring->index, ring->held ? "held" : "free", ring->tail - ring->head, ring->credit_max,
               ring->head, ring->tail);
    return 0;
}

static int show_stage(void *user, const struct rapahub_region_stage_report *stage)
{
    struct looking *looking = user;

    if (cli_json_wanted(looking->cli))
        cli_region_stages_write(&looking->json, stage);
    else
        cli_region_stages_print(stage);
    return 0;
}

static void print_messages(const struct rapahub_region_report *report)
{
    uint64_t depth = report->tail - report->head;

    if (report->producers > 0)
        printf("messages     %" PRIu64 ", in %" PRIu32 " rings: %" PRIu64 " published, %" PRIu64
               " taken\n",
               depth, report->producers, report->tail, report->head);
    else
        printf("messages     %" PRIu64 ", from position %" PRIu64 " to %" PRIu64 "\n", depth,
               report->head, report->tail);
    if (report->decode_errors > 0)
        printf("decoding     %" PRIu64 " messages were of another type, or damaged\n",
               report->decode_errors);
}

static void print_state(const struct rapahub_region_report *report)
{
    printf("size         %s, a value of up to %" PRIu32 " bytes", SIZE_TEXT(report->bytes),
           report->value_bytes);
    if (report->buffers > 0)
        printf(", %" PRIu32 " buffers", report->buffers);
    printf("\nvalue        version %" PRIu64 ", %" PRIu32 " bytes%s\n", report->version,
           report->value_size, report->stuck ? "; no whole one can be read" : "");
    printf("roles        writer %s\n", report->writer ? "held" : "free");
}

static void print_sequencer(const struct rapahub_region_report *report)
{
    printf("size         %s, a ring of %" PRIu32 " positions with %" PRIu32 " bytes for each\n",
           SIZE_TEXT(report->bytes), report->ring_size, report->user_bytes);
    printf("positions    %" PRIu64 " %s and not done, from %" PRIu64 " to %" PRIu64 "\n",
           report->tail - report->head, report->shared ? "claimed" : "published", report->head,
           report->tail);
    printf("roles        producer%s %s, stages %s\n", report->shared ? "s" : "",
           report->producer ? "held" : "free", report->consumer ? "held" : "free");
}

static void print_text(const struct rapahub_region_report *report)
{
    printf("path         %s\n", report->path);
    printf("verdict      %s\n", cli_region_report_verdict(report));
    printf("class        %s\n", cli_region_report_class(report));
    printf("detail       %s\n", cli_region_report_detail(report));
    printf("kind         %s, %s, generation %" PRIu32 "\n", cli_region_report_kind(report),
           cli_region_report_profile(report), report->generation);
    printf("capabilities required %#" PRIx64 ", optional %#" PRIx64 "\n", report->caps_required,
           report->caps_optional);
    if (report->value_bytes > 0) {
        print_state(report);
        return;
    }
    if (report->stages > 0) {
        print_sequencer(report);
        return;
    }
    printf("size         %s, %" PRIu32 " cells of %" PRIu32 " bytes\n", SIZE_TEXT(report->bytes),
           report->cells, report->cell_bytes);
    print_messages(report);
    printf("roles        producer %s, consumer %s\n", report->producer ? "held" : "free",
           report->consumer ? "held" : "free");
}

static void print_router(const struct rapahub_region_report *report)
{
    if (report->consumers == 0)
        return;
    printf("router       %s; %s, %s; routed %" PRIu64 ", dropped %" PRIu64 "\n",
           report->router ? "held" : "free", cli_region_report_mode(report),
           cli_region_report_credit(report), report->routed, report->dropped);
}

static void print_blocker(const struct rapahub_region_report *report)
{
    const struct rapahub_region_blocker *blocker = &report->blocker;

    if (!report->stuck)
        printf("blocker      none\n");
    else if (!blocker->known)
        printf("blocker      unknown, at position %" PRIu64 "\n", report->head);
    else
        printf("blocker      lease %" PRIu32 " (%s, pid %" PRId32 ") at position %" PRIu64 "\n",
               blocker->lease, blocker->name, blocker->pid, blocker->position);
}

static int print_all(const struct cli *cli, const char *name,
                     const struct rapahub_region_report *report, bool foreign)
{
    struct looking looking = {.cli = cli};

    int r = 0;

    print_text(report);
    print_router(report);
    print_blocker(report);
    if (report->verdict == 0)
        r = rapahub_region_leases(name, foreign, show_participant, &looking);
    if (report->verdict == 0 && r == 0)
        r = rapahub_region_queues(name, foreign, report->producers > 0 ? show_ring : show_queue,
                                  &looking);
    if (report->verdict == 0 && r == 0)
        r = rapahub_region_stages(name, foreign, show_stage, &looking);
    printf("action: %s\n", report->action);
    return r;
}

static int write_json(const struct cli *cli, const char *name,
                      const struct rapahub_region_report *report, bool foreign)
{
    const struct rapahub_region_blocker *blocker = &report->blocker;
    struct looking looking = {.cli = cli};
    struct cli_json *json = &looking.json;
    int r = 0, end;

    cli_json_begin(json, stdout, cli->command->schema);
    cli_region_report_write(json, name, report);
    if (blocker->known)
        cli_json_object(json, "blocker", MEMBER("lease", blocker->lease),
                        MEMBER("pid", blocker->pid), MEMBER("name", (const char *)blocker->name),
                        MEMBER("position", blocker->position),
                        MEMBER("since_ns", blocker->since_ns));
    cli_json_open(json, "participants", CLI_JSON_LIST);
    if (report->verdict == 0)
        r = rapahub_region_leases(name, foreign, show_participant, &looking);
    cli_json_close(json);
    cli_json_open(json, "queues", CLI_JSON_LIST);
    if (report->verdict == 0 && r == 0 && report->consumers > 0)
        r = rapahub_region_queues(name, foreign, show_queue, &looking);
    cli_json_close(json);
    cli_json_open(json, "rings", CLI_JSON_LIST);
    if (report->verdict == 0 && r == 0 && report->producers > 0)
        r = rapahub_region_queues(name, foreign, show_ring, &looking);
    cli_json_close(json);
    cli_json_open(json, "stages", CLI_JSON_LIST);
    if (report->verdict == 0 && r == 0)
        r = rapahub_region_stages(name, foreign, show_stage, &looking);
    cli_json_close(json);
    cli_json_put(json, MEMBER("action", (const char *)report->action));
    end = cli_json_end(json);
    return r < 0 ? r : end;
}

int cli_region_inspect(struct cli *cli)
{
    const char *name = cli->arguments.operands[0];
    bool foreign = cli_arguments_flag(&cli->arguments, "foreign");
    struct rapahub_region_report report;
    int r = rapahub_region_inspect(name, foreign, &report);

    cli_failure_about(cli, "%s", name);
    if (r == 0)
        r = cli_json_wanted(cli) ? write_json(cli, name, &report, foreign)
                                 : print_all(cli, name, &report, foreign);
    if (r < 0)
        return r;
    return cli_region_report_is_problem(&report) ? EXIT_PROBLEM : 0;
}
