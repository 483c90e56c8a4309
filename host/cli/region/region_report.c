/* SPDX-License-Identifier: Apache-2.0 */
#include "host/cli/region/region_report.h"

#include <string.h>

const char *cli_region_report_kind(const struct rapahub_region_report *report)
{
    switch (report->kind) {
    case RAPAHUB_REGION_SPSC:
        return "spsc";
    case RAPAHUB_REGION_MPSC:
        return "mpsc";
    case RAPAHUB_REGION_FANOUT:
        return "fanout";
    case RAPAHUB_REGION_SEQUENCER:
        return "sequencer";
    case RAPAHUB_REGION_FANIN:
        return "fanin";
    case RAPAHUB_REGION_STATE_V1:
        return "state-v1";
    case RAPAHUB_REGION_STATE_LATCH:
        return "state-latch";
    default:
        return "-";
    }
}

const char *cli_region_report_profile(const struct rapahub_region_report *report)
{
    return report->kind == 0 ? "-" : report->profile == RAPAHUB_REGION_HARDENED ? "hardened" : "v1";
}

const char *cli_region_report_mode(const struct rapahub_region_report *report)
{
    return report->consumers == 0                     ? "-"
           : report->mode == RAPAHUB_REGION_BROADCAST ? "broadcast"
                                                      : "work";
}

const char *cli_region_report_credit(const struct rapahub_region_report *report)
{
    static const char *const words[] = {"drop", "park", "detach"};

    return report->consumers == 0 ? "-" : words[report->credit];
}

const char *cli_region_report_role(enum rapahub_region_role role)
{
    static const char *const words[] = {"none", "producer", "consumer", "router", "writer"};

    return words[role];
}

void cli_region_report_write_queue(struct cli_json *json, const struct rapahub_region_queue *queue)
{
    cli_json_object(json, NULL, MEMBER("consumer", queue->index),
                    MEMBER("subscribed", queue->subscribed), MEMBER("detached", queue->detached),
                    MEMBER("held", queue->held), MEMBER("depth", queue->tail - queue->head),
                    MEMBER("credit_max", queue->credit_max), MEMBER("delivered", queue->delivered),
                    MEMBER("dropped", queue->dropped));
}

void cli_region_report_write_ring(struct cli_json *json, const struct rapahub_region_queue *ring)
{
    cli_json_object(json, NULL, MEMBER("producer", ring->index), MEMBER("held", ring->held),
                    MEMBER("depth", ring->tail - ring->head), MEMBER("head", ring->head),
                    MEMBER("tail", ring->tail));
}

uint64_t cli_region_report_room(const struct rapahub_region_report *report)
{
    if (report->stages > 0)
        return report->ring_size;
    return (uint64_t)report->cells * (report->producers > 0 ? report->producers : 1);
}

const char *cli_region_report_detail(const struct rapahub_region_report *report)
{
    static const char *const words[] = {"none", "busy, alive", "busy, dead", "retired"};

    return report->verdict == RAPAHUB_ENOTINITIALIZED ? words[report->detail] : "-";
}

const char *cli_region_report_class(const struct rapahub_region_report *report)
{
    static const char *const words[] = {"-",         "transient", "policy", "incompatible",
                                        "corrupted", "peer dead"};

    return words[rapahub_region_class(report->verdict)];
}

const char *cli_region_report_verdict(const struct rapahub_region_report *report)
{
    return report->verdict == 0 ? "sound" : rapahub_error_text(report->verdict);
}

bool cli_region_report_is_problem(const struct rapahub_region_report *report)
{
    return strcmp(report->action, "none") != 0;
}

static void write_figures(struct cli_json *json, const struct rapahub_region_report *report)
{
    cli_json_put(json, MEMBER("tail", report->tail), MEMBER("head", report->head),
                 MEMBER("depth", report->tail - report->head), MEMBER("cells", report->cells),
                 MEMBER("poisoned", report->poisoned), MEMBER("reaped", report->reaped),
                 MEMBER("decode_errors", report->decode_errors));
}

void cli_region_report_write(struct cli_json *json, const char *name,
                             const struct rapahub_region_report *report)
{
    cli_json_put(json, MEMBER("name", name), MEMBER("path", report->path),
                 MEMBER("verdict", cli_region_report_verdict(report)),
                 MEMBER("code", report->verdict), MEMBER("class", cli_region_report_class(report)),
                 MEMBER("detail", cli_region_report_detail(report)),
                 MEMBER("kind", cli_region_report_kind(report)),
                 MEMBER("profile", cli_region_report_profile(report)),
                 MEMBER("caps_required", report->caps_required),
                 MEMBER("caps_optional", report->caps_optional),
                 MEMBER("generation", report->generation), MEMBER("id", report->id),
                 MEMBER("init_pid", report->init_pid), MEMBER("bytes", report->bytes),
                 MEMBER("cell_bytes", report->cell_bytes), MEMBER("producer", report->producer),
                 MEMBER("consumer", report->consumer), MEMBER("producers", report->producers),
                 MEMBER("router", report->router), MEMBER("mode", cli_region_report_mode(report)),
                 MEMBER("credit", cli_region_report_credit(report)),
                 MEMBER("routed", report->routed), MEMBER("dropped", report->dropped),
                 MEMBER("stuck", report->stuck));
    cli_json_put(json, MEMBER("writer", report->writer), MEMBER("version", report->version),
                 MEMBER("value_size", report->value_size),
                 MEMBER("value_bytes", report->value_bytes), MEMBER("buffers", report->buffers),
                 MEMBER("ring_size", report->ring_size), MEMBER("user_bytes", report->user_bytes),
                 MEMBER("shared", report->shared));
    write_figures(json, report);
}
