/* SPDX-License-Identifier: Apache-2.0 */
#include "host/upgrade/upgrade_transfer.h"

#include "host/observe/observe.h"
#include "host/upgrade/upgrade_post.h"
#include "hub/base/clock.h"

#define RETURN_WITHIN HUB_SECOND /* for the old process to learn that it keeps serving */

/* ---- begin, in the new process, while the old one serves ---- */

static void begin_next(struct host_upgrade *upgrade);

static void on_begun(void *user, int code, struct hub_answer *answer)
{
    struct host_upgrade *upgrade = user;

    if (!host_upgrade_post_answered(upgrade, HOST_UPGRADE_BEGINNING, code, upgrade->to) ||
        !host_upgrade_post_take(upgrade, upgrade->to, answer, HUB_LIFECYCLE_BEGIN, NULL))
        return;
    upgrade->at++;
    begin_next(upgrade);
}

/* A container with roles begins when it has them. */
static void begin_next(struct host_upgrade *upgrade)
{
    while (!host_upgrade_post_over(upgrade) && host_upgrade_post_current(upgrade)->roles)
        upgrade->at++;
    if (host_upgrade_post_over(upgrade))
        upgrade->events->happens(upgrade, HOST_UPGRADE_BEGUN);
    else
        host_upgrade_post_begin(upgrade, on_begun, begin_next);
}

void host_upgrade_transfer_begin(struct host_upgrade *upgrade)
{
    upgrade->at = 0;
    begin_next(upgrade);
}

/* ---- plug: the old containers learn that no more calls come ---- */

static void plug_next(struct host_upgrade *upgrade);

static void on_plugged(void *user, int code, struct hub_answer *answer)
{
    struct host_upgrade *upgrade = user;

    if (!host_upgrade_post_answered(upgrade, HOST_UPGRADE_HOLDING, code, upgrade->from) ||
        !host_upgrade_post_take(upgrade, upgrade->from, answer, HUB_LIFECYCLE_PLUG, NULL))
        return;
    upgrade->at++;
    plug_next(upgrade);
}

/* A container that is plugged already need not be told. */
static void plug_next(struct host_upgrade *upgrade)
{
    const bool plugged = true;
    const void *arguments[] = {NULL, &plugged, NULL};

    while (!host_upgrade_post_over(upgrade) && host_upgrade_post_current(upgrade)->plugged)
        upgrade->at++;
    if (host_upgrade_post_over(upgrade)) {
        upgrade->events->happens(upgrade, HOST_UPGRADE_HELD);
        return;
    }
    arguments[0] = &host_upgrade_post_current(upgrade)->handle;
    host_upgrade_post(
        upgrade, upgrade->from,
        (struct host_request_message){HUB_LIFECYCLE_PLUG, arguments, on_plugged, NULL, 0},
        plug_next);
}

void host_upgrade_transfer_plug(struct host_upgrade *upgrade)
{
    upgrade->at = 0;
    plug_next(upgrade);
}

/* ---- drain: no call of this host is open in them, and they have no work of their own ---- */

static void ask_next(struct host_upgrade *upgrade);

static void on_work(void *user, int code, struct hub_answer *answer)
{
    struct host_upgrade *upgrade = user;
    uint64_t work = 0;

    if (!host_upgrade_post_answered(upgrade, HOST_UPGRADE_DRAINING, code, upgrade->from) ||
        !host_upgrade_post_take(upgrade, upgrade->from, answer, HUB_LIFECYCLE_WORK, &work))
        return;
    if (work > 0) {
        host_upgrade_post_again(upgrade, host_upgrade_transfer_drain);
        return;
    }
    upgrade->at++;
    ask_next(upgrade);
}

static void ask_next(struct host_upgrade *upgrade)
{
    const void *arguments[] = {NULL, NULL};

    if (host_upgrade_post_over(upgrade)) {
        upgrade->at = 0;
        upgrade->events->happens(upgrade, HOST_UPGRADE_DRAINED);
        return;
    }
    arguments[0] = &host_upgrade_post_current(upgrade)->handle;
    host_upgrade_post(
        upgrade, upgrade->from,
        (struct host_request_message){HUB_LIFECYCLE_WORK, arguments, on_work, NULL, 0}, ask_next);
}

void host_upgrade_transfer_drain(struct host_upgrade *upgrade)
{
    upgrade->at = 0;
    for (uint32_t i = 0; i < upgrade->holding.count; i++)
        if (!host_gate_is_idle(upgrade->host, upgrade->holding.list[i])) {
            host_upgrade_post_await(upgrade, host_upgrade_transfer_drain);
            return;
        }
    host_gate_seal(&upgrade->holding);
    ask_next(upgrade);
}

/* ---- save: the state of one container goes from process to process ---- */

static void go_on_with_save(struct host_upgrade *upgrade);
static void go_on_with_load(struct host_upgrade *upgrade);

/* Neither of the two is asked any more: the answers to come are ignored. */
static void fail_to_move(struct host_upgrade *upgrade, int r)
{
    struct host_verdict verdict;

    host_verdict_take(&verdict, r);
    host_state_pipe_drop(&upgrade->pipe);
    r = host_verdict_give(&verdict);
    if (r == RAPAHUB_ETIMEDOUT)
        upgrade->events->late(upgrade);
    else
        upgrade->events->fails(upgrade, r);
}

/* Says whether that much is done. If there is no space for a message, `again` runs in a moment. */
static bool is_done(struct host_upgrade *upgrade, int r,
                    void (*again)(struct host_upgrade *upgrade))
{
    if (r == -EAGAIN)
        host_upgrade_post_again(upgrade, again);
    else if (r < 0)
        fail_to_move(upgrade, r);
    return r == 0;
}

/* The upgrade may have failed meanwhile, for another reason. */
static void on_answer(void *user, int r)
{
    struct host_upgrade *upgrade = user;
    bool saves = upgrade->state == HOST_UPGRADE_SAVING;

    if (!saves && upgrade->state != HOST_UPGRADE_LOADING)
        return;
    if (r < 0)
        fail_to_move(upgrade, r);
    else if (saves)
        go_on_with_save(upgrade);
    else
        go_on_with_load(upgrade);
}

static void go_on_with_save(struct host_upgrade *upgrade)
{
    if (!is_done(upgrade, host_state_pipe_go_on(&upgrade->pipe), go_on_with_save))
        return;
    upgrade->result.state_bytes += upgrade->pipe.out.saved.size;
    upgrade->events->happens(upgrade, HOST_UPGRADE_SAVED);
}

/* Without a container there is nothing to save. r[impl supervise.upgrade.state] */
void host_upgrade_transfer_save(struct host_upgrade *upgrade)
{
    if (host_upgrade_post_over(upgrade)) {
        upgrade->events->happens(upgrade, HOST_UPGRADE_SAVED);
        return;
    }
    upgrade->pipe = (struct host_state_pipe){.host = HOST_CALL(upgrade->host),
                                             .from = upgrade->from,
                                             .to = upgrade->to,
                                             .container = host_upgrade_post_current(upgrade),
                                             .deadline_ns = host_upgrade_post_deadline(upgrade),
                                             .doing = "the upgrade",
                                             .on_answer = on_answer,
                                             .user = upgrade};
    go_on_with_save(upgrade);
}

/* ---- load ---- */

static void go_on_behind_load(struct host_upgrade *upgrade)
{
    if (!host_upgrade_post_over(upgrade))
        upgrade->at++;
    upgrade->events->happens(upgrade, host_upgrade_post_over(upgrade) ? HOST_UPGRADE_LOADED_ALL
                                                                      : HOST_UPGRADE_LOADED);
}

static void on_plug_restored(void *user, int code, struct hub_answer *answer)
{
    struct host_upgrade *upgrade = user;

    if (host_upgrade_post_answered(upgrade, HOST_UPGRADE_LOADING, code, upgrade->to) &&
        host_upgrade_post_take(upgrade, upgrade->to, answer, HUB_LIFECYCLE_PLUG, NULL))
        go_on_behind_load(upgrade);
}

static void restore_plug(struct host_upgrade *upgrade)
{
    const bool plugged = true;
    const void *const arguments[] = {&host_upgrade_post_current(upgrade)->handle, &plugged, NULL};

    host_upgrade_post(
        upgrade, upgrade->to,
        (struct host_request_message){HUB_LIFECYCLE_PLUG, arguments, on_plug_restored, NULL, 0},
        restore_plug);
}

static void go_on_with_load(struct host_upgrade *upgrade)
{
    if (!is_done(upgrade, host_state_pipe_load(&upgrade->pipe), go_on_with_load))
        return;
    host_state_pipe_drop(&upgrade->pipe);
    if (host_upgrade_post_current(upgrade)->plugged)
        restore_plug(upgrade);
    else
        go_on_behind_load(upgrade);
}

void host_upgrade_transfer_load(struct host_upgrade *upgrade)
{
    if (host_upgrade_post_over(upgrade))
        go_on_behind_load(upgrade);
    else
        go_on_with_load(upgrade);
}

/* ---- return: the old containers learn that calls come again ---- */

static void unplug_next(struct host_upgrade *upgrade);

/* A container that does not answer still gets its calls. */
static void on_unplugged(void *user, int code, struct hub_answer *answer)
{
    struct host_upgrade *upgrade = user;

    (void)code;
    (void)answer;
    upgrade->awaited--;
    if (upgrade->state != HOST_UPGRADE_RETURNING)
        return;
    upgrade->at++;
    unplug_next(upgrade);
}

static void unplug_next(struct host_upgrade *upgrade)
{
    const bool plugged = false;
    const void *arguments[] = {NULL, &plugged, NULL};

    while (!host_upgrade_post_over(upgrade) && host_upgrade_post_current(upgrade)->plugged)
        upgrade->at++;
    if (host_upgrade_post_over(upgrade) || hub_clock_left(upgrade->end_by_ns) == 0) {
        upgrade->events->happens(upgrade, HOST_UPGRADE_RETURNED);
        return;
    }
    arguments[0] = &host_upgrade_post_current(upgrade)->handle;
    host_upgrade_post(upgrade, upgrade->from,
                      (struct host_request_message){HUB_LIFECYCLE_PLUG, arguments, on_unplugged,
                                                    NULL, upgrade->end_by_ns},
                      unplug_next);
}

void host_upgrade_transfer_return(struct host_upgrade *upgrade)
{
    upgrade->at = 0;
    upgrade->end_by_ns = hub_clock_after(RETURN_WITHIN);
    unplug_next(upgrade);
}
