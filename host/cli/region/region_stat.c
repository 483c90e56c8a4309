/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>

#include <rapahub/error.h>
#include <rapahub/region.h>

#include "host/cli/command/cli.h"
#include "host/cli/command/failure.h"
#include "host/cli/command/interrupt.h"
#include "host/cli/region/region_commands.h"
#include "host/cli/region/region_report.h"
#include "host/cli/text/json.h"
#include "hub/base/clock.h"
#include "hub/base/own.h"

/* The positions at a time. */
struct sample {
    struct rapahub_region_report report;
    uint64_t at_ns;
};

static uint64_t rate(uint64_t before, uint64_t now, uint64_t span_ns)
{
    return span_ns == 0 || now < before
               ? 0
               : (uint64_t)((double)(now - before) * (double)HUB_SECOND / (double)span_ns);
}

static int take(struct cli *cli, struct sample *out)
{
    const struct cli_arguments *arguments = &cli->arguments;
    int r = rapahub_region_inspect(arguments->operands[0], cli_arguments_flag(arguments, "foreign"),
                                   &out->report);

    out->at_ns = hub_clock_now();
    if (r == 0 && out->report.verdict < 0)
        r = rapahub_fail(out->report.verdict, "", "%s: %s", rapahub_error_text(out->report.verdict),
                         out->report.action);
    return r;
}

static void show_state(const struct rapahub_region_report *report, bool rates, uint64_t written)
{
    printf("version %" PRIu64 "  size %" PRIu32 " of %" PRIu32 "  reaped %" PRIu64, report->version,
           report->value_size, report->value_bytes, report->reaped);
    if (rates)
        printf("  written/s %" PRIu64, written);
    putchar('\n');
}

/* Without a sample before there are no rates. */
static int show(const struct cli *cli, const struct sample *before, const struct sample *now)
{
    const struct rapahub_region_report *report = &now->report;
    uint64_t span = before ? now->at_ns - before->at_ns : 0;
    uint64_t published = before ? rate(before->report.tail, report->tail, span) : 0;
    uint64_t taken = before ? rate(before->report.head, report->head, span) : 0;
    uint64_t written = before ? rate(before->report.version, report->version, span) : 0;

    if (cli_json_wanted(cli))
        return cli_json_print(
            stdout, cli->command->schema, MEMBER("name", cli->arguments.operands[0]),
            MEMBER("tail", report->tail), MEMBER("head", report->head),
            MEMBER("depth", report->tail - report->head), MEMBER("cells", report->cells),
            MEMBER("poisoned", report->poisoned), MEMBER("reaped", report->reaped),
            MEMBER("decode_errors", report->decode_errors), MEMBER("routed", report->routed),
            MEMBER("dropped", report->dropped), MEMBER("version", report->version),
            MEMBER("value_size", report->value_size), MEMBER("published_per_s", published),
            MEMBER("taken_per_s", taken), MEMBER("written_per_s", written));
    if (report->value_bytes > 0) {
        show_state(report, before != NULL, written);
        return 0;
    }
    printf("tail %" PRIu64 "  head %" PRIu64 "  depth %" PRIu64 " of %" PRIu64 "  poisoned %" PRIu64
           "  reaped %" PRIu64,
           report->tail, report->head, report->tail - report->head, cli_region_report_room(report),
           report->poisoned, report->reaped);
    if (report->consumers > 0)
        printf("  routed %" PRIu64 "  dropped %" PRIu64, report->routed, report->dropped);
    if (before)
        printf("  published/s %" PRIu64 "  taken/s %" PRIu64, published, taken);
    putchar('\n');
    return 0;
}

/* False: it was interrupted. */
static bool pause_for(uint64_t span_ns, int interrupt)
{
    struct pollfd signals = {.fd = interrupt, .events = POLLIN};
    struct timespec span = hub_clock_timespec(span_ns);

    return ppoll(&signals, 1, &span, NULL) == 0 || !cli_interrupt_take(interrupt);
}

int cli_region_stat(struct cli *cli)
{
    uint64_t every_ns = cli_arguments_number(&cli->arguments, "every");
    OWN(hub_fd) int interrupt = -1;
    struct sample before, now;
    int r;

    cli_failure_about(cli, "%s", cli->arguments.operands[0]);
    r = take(cli, &now);
    if (r == 0)
        r = show(cli, NULL, &now);
    if (r == 0 && every_ns > 0)
        r = cli_interrupt_open(&interrupt);
    while (r == 0 && every_ns > 0 && fflush(stdout) == 0 && pause_for(every_ns, interrupt)) {
        before = now;
        r = take(cli, &now);
        if (r == 0)
            r = show(cli, &before, &now);
    }
    return r;
}
