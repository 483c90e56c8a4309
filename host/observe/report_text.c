/* SPDX-License-Identifier: Apache-2.0 */
/* report_text: prints the report of an end as lines of text. Pure. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include <rapahub/supervise.h>

#include "hub/base/clock.h"

#define MIB (UINT64_C(1) << 20)

struct text {
    char *to;
    size_t size, at; /* `at` also counts text that does not fit */
};

static void add(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add(struct text *text, const char *format, ...)
{
    size_t left = text->at < text->size ? text->size - text->at : 0;
    va_list arguments;
    int n;

    va_start(arguments, format);
    n = vsnprintf(left > 0 ? text->to + text->at : NULL, left, format, arguments);
    va_end(arguments);
    text->at += n > 0 ? (size_t)n : 0;
}

static void add_span(struct text *text, uint64_t ns)
{
    add(text, "%" PRIu64 ".%03" PRIu64 " s", ns / HUB_SECOND, ns % HUB_SECOND / HUB_MILLISECOND);
}

static void add_process(struct text *text, const struct rapahub_report *report)
{
    if (report->pid == 0)
        return;
    add(text, "  pid %" PRId32 ", guest %" PRIu64 ".%" PRIu32 ".%" PRIu32 ", life %" PRIu64 "; ",
        report->pid, report->guest.group, report->guest.peer, report->guest.epoch,
        report->incarnation);
    add_span(text, report->user_ns);
    add(text, " user, ");
    add_span(text, report->system_ns);
    add(text, " system, at most %" PRIu64 ".%" PRIu64 " MiB%s\n", report->memory_max / MIB,
        report->memory_max % MIB * 10 / MIB, report->core ? "; there is a core dump" : "");
}

static void add_calls(struct text *text, const struct rapahub_report *report)
{
    if (report->calls_lost > 0)
        add(text, "  %" PRIu32 " call%s lost%s%s\n", report->calls_lost,
            report->calls_lost == 1 ? "" : "s", report->method[0] ? ", the oldest " : "",
            report->method);
}

static void add_decision(struct text *text, const struct rapahub_report *report)
{
    if (!report->decision[0])
        return;
    add(text, "  then %s", report->decision);
    if (report->due_ns > 0) {
        add(text, " for ");
        add_span(text, report->due_ns);
    }
    if (report->failures_max > 0)
        add(text, ", %" PRIu32 " of %" PRIu32 " restarts used", report->failures,
            report->failures_max);
    add(text, "\n");
}

/* Writes each line of the log with a mark before it. */
static void add_log(struct text *text, const char *log)
{
    while (*log) {
        int size = 0;

        while (log[size] && log[size] != '\n')
            size++;
        add(text, "  | %.*s\n", size, log);
        log += log[size] ? size + 1 : size;
    }
}

size_t rapahub_report_print(const struct rapahub_report *report, char *to, size_t size)
{
    struct text text = {to, size, 0};

    if (size > 0)
        to[0] = '\0';
    add(&text, "%s: ended %s: %s%s%s after ", report->name, report->state, report->cause,
        report->rule[0] ? ", rule " : "", report->rule);
    add_span(&text, report->uptime_ns);
    add(&text, "\n  module %s%s%s\n", report->module, report->build_id[0] ? ", build id " : "",
        report->build_id);
    if (report->step[0])
        add(&text, "  its start failed at the step %s, with %" PRId32 "\n", report->step,
            report->failure);
    add_process(&text, report);
    add_calls(&text, report);
    if (report->last_words[0])
        add(&text, "  %s\n", report->last_words);
    add_decision(&text, report);
    add_log(&text, report->log);
    return text.at;
}
