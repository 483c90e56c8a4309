/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/daemon/restarts.h"

#include <string.h>
#include <sys/wait.h>

#include "hub/base/check.h"

#define WHO             "rapahubd"
#define STATUS_SIGNALED 128 /* and the number of the signal: as shells have it */

const struct hub_states daemon_restarts_states = {
    "warden",
    {[DAEMON_RESTARTS_WAITING] = {"WAITING", HUB_TO(DAEMON_RESTARTS_STARTING) |
                                                 HUB_TO(DAEMON_RESTARTS_WAITING) |
                                                 HUB_TO(DAEMON_RESTARTS_ENDED)},
     [DAEMON_RESTARTS_STARTING] = {"STARTING", HUB_TO(DAEMON_RESTARTS_SERVING) |
                                                   HUB_TO(DAEMON_RESTARTS_STOPPING) |
                                                   HUB_TO(DAEMON_RESTARTS_CLEARING)},
     [DAEMON_RESTARTS_SERVING] = {"SERVING", HUB_TO(DAEMON_RESTARTS_STOPPING) |
                                                 HUB_TO(DAEMON_RESTARTS_CLEARING)},
     [DAEMON_RESTARTS_STOPPING] = {"STOPPING", HUB_TO(DAEMON_RESTARTS_CLEARING)},
     [DAEMON_RESTARTS_CLEARING] = {"CLEARING",
                                   HUB_TO(DAEMON_RESTARTS_WAITING) | HUB_TO(DAEMON_RESTARTS_ENDED)},
     [DAEMON_RESTARTS_ENDED] = {"ENDED", 0}}};

static void move(struct daemon_restarts *restarts, enum daemon_restarts_state to, const char *why)
{
    hub_states_move(&daemon_restarts_states, &restarts->state, to, WHO, why);
}

void daemon_restarts_init(struct daemon_restarts *restarts,
                          const struct daemon_restarts_options *options, uint64_t now_ns)
{
    CHECK(options->deaths_max > 0 && options->deaths_max <= DAEMON_RESTARTS_DEATHS);
    *restarts = (struct daemon_restarts){
        .options = *options, .state = DAEMON_RESTARTS_WAITING, .due_ns = now_ns};
}

enum daemon_restarts_act daemon_restarts_next(const struct daemon_restarts *restarts,
                                              uint64_t now_ns)
{
    if (restarts->state == DAEMON_RESTARTS_ENDED)
        return DAEMON_RESTARTS_END;
    return restarts->state == DAEMON_RESTARTS_WAITING && now_ns >= restarts->due_ns
               ? DAEMON_RESTARTS_START
               : DAEMON_RESTARTS_WAIT;
}

void daemon_restarts_on_begun(struct daemon_restarts *restarts)
{
    move(restarts, DAEMON_RESTARTS_STARTING, "a life begins");
    restarts->ready_ns = 0;
    restarts->lives++;
}

void daemon_restarts_on_ready(struct daemon_restarts *restarts, uint64_t now_ns)
{
    if (restarts->state != DAEMON_RESTARTS_STARTING)
        return;
    move(restarts, DAEMON_RESTARTS_SERVING, "READY");
    restarts->ready_ns = now_ns;
    restarts->has_served = true;
}

/* ---- deaths that count ---- */

static void forget_deaths(struct daemon_restarts *restarts)
{
    restarts->count = 0;
    restarts->alarm = false;
}

/* Forgets deaths that are older than the period, and keeps the last `deaths_max`. */
static void keep_death(struct daemon_restarts *restarts, uint64_t now_ns)
{
    uint64_t *deaths = restarts->deaths;
    uint32_t old = 0;

    while (old < restarts->count && now_ns - deaths[old] > restarts->options.period_ns)
        old++;
    if (old == 0 && restarts->count == restarts->options.deaths_max)
        old = 1;
    restarts->count -= old;
    memmove(deaths, deaths + old, restarts->count * sizeof *deaths);
    deaths[restarts->count++] = now_ns;
    restarts->alarm = restarts->count == restarts->options.deaths_max;
}

/* The delay after the last of the deaths that are kept. */
static uint64_t delay_of(const struct daemon_restarts *restarts)
{
    const struct daemon_restarts_options *options = &restarts->options;
    uint64_t delay = options->backoff_initial_ns;

    if (restarts->alarm)
        return options->backoff_max_ns;
    if (restarts->count < 2)
        return 0;
    for (uint32_t i = 2; i < restarts->count && delay < options->backoff_max_ns; i++)
        delay *= 2;
    return delay < options->backoff_max_ns ? delay : options->backoff_max_ns;
}

/* r[impl cluster.warden.restart] */
static void plan_next(struct daemon_restarts *restarts, uint64_t now_ns)
{
    if (restarts->ready_ns != 0 && now_ns - restarts->ready_ns >= restarts->options.reset_after_ns)
        forget_deaths(restarts);
    else
        keep_death(restarts, now_ns);
    restarts->due_ns = now_ns + delay_of(restarts);
}

/* ---- ends ---- */

void daemon_restarts_on_failed(struct daemon_restarts *restarts, uint64_t now_ns)
{
    restarts->ready_ns = 0;
    plan_next(restarts, now_ns);
    move(restarts, DAEMON_RESTARTS_WAITING, "no process");
}

/* A first life that ended by itself before it was READY has said what is wrong; another one would
 * say it again. */
static bool is_last(const struct daemon_restarts *restarts, const struct hub_exit *how)
{
    return restarts->state == DAEMON_RESTARTS_STOPPING ||
           (how->code == CLD_EXITED &&
            (how->status == 0 || (!restarts->has_served && restarts->lives == 1)));
}

enum daemon_restarts_act daemon_restarts_on_died(struct daemon_restarts *restarts,
                                                 const struct hub_exit *how, uint64_t now_ns)
{
    if (is_last(restarts, how)) {
        restarts->ends = true;
        restarts->status = how->code == CLD_EXITED ? how->status : STATUS_SIGNALED + how->status;
    } else {
        plan_next(restarts, now_ns);
    }
    move(restarts, DAEMON_RESTARTS_CLEARING, "it is dead");
    return DAEMON_RESTARTS_CLEAR;
}

enum daemon_restarts_act daemon_restarts_on_cleared(struct daemon_restarts *restarts)
{
    if (restarts->ends) {
        move(restarts, DAEMON_RESTARTS_ENDED, "all its children are dead");
        return DAEMON_RESTARTS_END;
    }
    move(restarts, DAEMON_RESTARTS_WAITING, "all its children are dead");
    return DAEMON_RESTARTS_WAIT;
}

enum daemon_restarts_act daemon_restarts_on_stop(struct daemon_restarts *restarts)
{
    restarts->ends = true;
    switch (restarts->state) {
    case DAEMON_RESTARTS_WAITING:
        move(restarts, DAEMON_RESTARTS_ENDED, "asked to end");
        return DAEMON_RESTARTS_END;
    case DAEMON_RESTARTS_STARTING:
    case DAEMON_RESTARTS_SERVING:
        move(restarts, DAEMON_RESTARTS_STOPPING, "asked to end");
        return DAEMON_RESTARTS_FORWARD;
    case DAEMON_RESTARTS_STOPPING:
        return DAEMON_RESTARTS_FORWARD;
    default:
        return restarts->state == DAEMON_RESTARTS_ENDED ? DAEMON_RESTARTS_END
                                                        : DAEMON_RESTARTS_WAIT;
    }
}
