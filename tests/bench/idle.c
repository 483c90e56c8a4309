/* SPDX-License-Identifier: Apache-2.0 */
/* idle: what a host and its guests cost while nothing happens. */
#include <unistd.h>

#include "tests/bench/spent.h"
#include "tests/bench/stage.h"

#define SETTLE_MS 2500 /* a host rests from the next second on, a guest after two slices of one */

enum idle_kind { BEATING, SILENT };

/* The look itself costs the host more than it does in a second: so at the begin of what is measured
 * the host is looked at last, at the end first. */
static void look(const struct stage *stage, struct spent *host, struct spent *guests, bool begin)
{
    if (!begin)
        *host = spent_by(getpid());
    *guests = (struct spent){0, 0};
    for (uint32_t i = 0; i < stage->count; i++) {
        struct spent one = spent_by(stage->pids[i]);

        guests->cpu_ns += one.cpu_ns;
        guests->wakes += one.wakes;
    }
    if (begin)
        *host = spent_by(getpid());
}

/* BEATING: value: CPU of all in percent of one; second: wake-ups of all per second;
 * batch_ns: CPU of the host in a second.
 * SILENT: value: wake-ups of a guest per second; second: of the host. */
static int run(const struct suite_subject *subject, const struct suite_options *options,
               struct trial *out)
{
    const struct stage_options how = {
        .host = {.heartbeat_ns = subject->kind == SILENT ? UINT64_MAX : 0},
        .trust = RAPAHUB_TRUST_TRUSTED,
        .guests = subject->guests};
    struct spent host[2], guests[2];
    struct stage stage;
    double s = options->idle_s;
    int r = stage_open(subject, &how, out, &stage);

    if (r == 0)
        r = stage_dispatch(&stage, NULL, SETTLE_MS);
    if (r == 0) {
        look(&stage, &host[0], &guests[0], true);
        trial_tell(TRIAL_BEGIN);
        r = stage_dispatch(&stage, NULL, s * 1000);
        trial_tell(TRIAL_END);
        look(&stage, &host[1], &guests[1], false);
    }
    if (r == 0 && subject->kind == BEATING) {
        out->value = (host[1].cpu_ns - host[0].cpu_ns + guests[1].cpu_ns - guests[0].cpu_ns) /
                     (s * 1e9) * 100;
        /* CPU time of the host in a second */
        out->batch_ns = (host[1].cpu_ns - host[0].cpu_ns) / s;
        out->second = (host[1].wakes - host[0].wakes + guests[1].wakes - guests[0].wakes) / s;
    } else if (r == 0) {
        out->value = (guests[1].wakes - guests[0].wakes) / s / stage.count;
        out->second = (host[1].wakes - host[0].wakes) / s;
    }
    stage_close(&stage);
    return r;
}

/* id, what, run, mode, place, kind, size, guests, rounds */
const struct suite_subject idle_subjects[] = {
    {"idle", "16 guests, with heartbeat", run, SUITE_ADAPT, SUITE_FREE, BEATING, 0, 16, 1},
    {"idle-100", "100 guests, with heartbeat", run, SUITE_ADAPT, SUITE_FREE, BEATING, 0, 100, 1},
    {"idle-silent", "16 guests, without", run, SUITE_ADAPT, SUITE_FREE, SILENT, 0, 16, 1},
    {"idle-pair", "1 guest, without", run, SUITE_ADAPT, SUITE_FREE, SILENT, 0, 1, 1},
    {0},
};
