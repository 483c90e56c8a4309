/* SPDX-License-Identifier: Apache-2.0 */
/* presets: options that are known by a name. */
#include <rapahub/supervise.h>

/* r[impl supervise.preset] */
void rapahub_supervision_seed(unsigned restarts_max, struct rapahub_supervision *out)
{
    *out = (struct rapahub_supervision){
        .start = RAPAHUB_START_LAZY,
        .when_down = RAPAHUB_WHEN_DOWN_WAIT,
        .restarts_max = restarts_max == 0 ? -1 : (int32_t)(restarts_max & INT32_MAX),
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
