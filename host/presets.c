/* SPDX-License-Identifier: Apache-2.0 */
/* presets: options that are known by a name. */
#include <rapahub/supervise.h>

/* 0 would mean the default, so no restarts is -1. A number that `restarts_max` cannot hold becomes
 * one that is refused, with the reason, where the options are used. */
static int32_t in_all(unsigned restarts)
{
    if (restarts == 0)
        return -1;
    return restarts > INT32_MAX ? INT32_MIN : (int32_t)restarts;
}

/* r[impl supervise.preset] */
void rapahub_supervision_seed(unsigned restarts_max, struct rapahub_supervision *out)
{
    *out = (struct rapahub_supervision){
        .start = RAPAHUB_START_LAZY,
        .when_down = RAPAHUB_WHEN_DOWN_WAIT,
        .restarts_max = in_all(restarts_max),
        .period_ns = RAPAHUB_FOREVER,
        .on_exhausted = RAPAHUB_EXHAUSTED_PARK,
        .backoff_initial_ns = RAPAHUB_NONE,
    };
}

void rapahub_supervision_never(struct rapahub_supervision *out)
{
    rapahub_supervision_seed(0, out);
    out->restart = RAPAHUB_RESTART_TEMPORARY;
}
