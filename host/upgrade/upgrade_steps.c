/* SPDX-License-Identifier: Apache-2.0 */
#include "host/upgrade/upgrade_steps.h"

#define STEP(state, event, next, action) \
    [HOST_UPGRADE_##                     \
        state][HOST_UPGRADE_##event] = {true, {HOST_UPGRADE_##next, HOST_UPGRADE_##action}}

/* Before calls are held the old process has noticed nothing: the new one just ends. */
#define BEFORE(state)                                                         \
    STEP(state, FAILED, ENDING, END_NEW), STEP(state, LATE, ENDING, END_NEW), \
        STEP(state, NEW_LOST, ENDING, END_NEW), STEP(state, OLD_LOST, ENDING, END_NEW)

/* While calls are held, the new process ends first. Then the old containers are told, before a call
 * reaches them; unless the old process is gone. */
#define BEHIND(state)                                                             \
    STEP(state, FAILED, CLEARING, END_NEW), STEP(state, LATE, CLEARING, END_NEW), \
        STEP(state, NEW_LOST, CLEARING, END_NEW), STEP(state, OLD_LOST, ENDING, LET_GO)

/* r[impl supervise.upgrade.steps] r[impl supervise.upgrade.rollback] */
static const struct {
    bool is_there;
    struct host_upgrade_step step;
} table[HOST_UPGRADE_STATES][HOST_UPGRADE_EVENTS] = {
    STEP(STARTING, READY, BEGINNING, BEGIN),
    STEP(STARTING, MATCHES, DISMISSING, END_NEW),
    BEFORE(STARTING),
    STEP(BEGINNING, BEGUN, HOLDING, HOLD),
    BEFORE(BEGINNING),
    STEP(HOLDING, HELD, DRAINING, DRAIN),
    BEHIND(HOLDING),
    STEP(DRAINING, DRAINED, RELEASING, RELEASE),
    BEHIND(DRAINING),
    STEP(RELEASING, RELEASED, LINKING, LINK),
    BEHIND(RELEASING),
    STEP(LINKING, LINKED, SAVING, SAVE),
    BEHIND(LINKING),
    STEP(SAVING, SAVED, LOADING, LOAD),
    BEHIND(SAVING),
    STEP(LOADING, LOADED, SAVING, SAVE),
    STEP(LOADING, LOADED_ALL, SWITCHING, SWITCH),
    BEHIND(LOADING),
    STEP(SWITCHING, SWITCHED, RETIRING, RETIRE),
    BEHIND(SWITCHING),
    STEP(RETIRING, GONE, DONE, FINISH),
    STEP(CLEARING, GONE, RETURNING, RETURN),
    STEP(CLEARING, OLD_LOST, ENDING, LET_GO),
    STEP(RETURNING, RETURNED, ENDING, LET_GO),
    STEP(RETURNING, OLD_LOST, ENDING, LET_GO),
    STEP(ENDING, GONE, REFUSED, FINISH),
    STEP(DISMISSING, GONE, DONE, FINISH),
};

bool host_upgrade_steps_find(enum host_upgrade_state state, enum host_upgrade_event event,
                             struct host_upgrade_step *out)
{
    *out = table[state][event].step;
    return table[state][event].is_there;
}

bool host_upgrade_steps_holds(enum host_upgrade_state state)
{
    return (state >= HOST_UPGRADE_HOLDING && state <= HOST_UPGRADE_SWITCHING) ||
           state == HOST_UPGRADE_CLEARING || state == HOST_UPGRADE_RETURNING;
}

bool host_upgrade_steps_undecided(enum host_upgrade_state state)
{
    return state <= HOST_UPGRADE_SWITCHING;
}

bool host_upgrade_steps_over(enum host_upgrade_state state)
{
    return state == HOST_UPGRADE_DONE || state == HOST_UPGRADE_REFUSED;
}

const char *host_upgrade_steps_word(enum host_upgrade_state state)
{
    static const char *const words[HOST_UPGRADE_STATES] = {
        [HOST_UPGRADE_STARTING] = "the new version did not start",
        [HOST_UPGRADE_BEGINNING] = "the new version did not begin its containers",
        [HOST_UPGRADE_HOLDING] = "the running version could not be told",
        [HOST_UPGRADE_DRAINING] = "calls did not end",
        [HOST_UPGRADE_RELEASING] = "the running version did not let its roles go",
        [HOST_UPGRADE_LINKING] = "the new version did not begin with the roles",
        [HOST_UPGRADE_SAVING] = "the state was not saved",
        [HOST_UPGRADE_LOADING] = "the new version did not load the state",
        [HOST_UPGRADE_SWITCHING] = "the switch was not possible",
    };

    return words[state] ? words[state] : "";
}
