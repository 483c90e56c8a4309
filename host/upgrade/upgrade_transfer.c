/* SPDX-License-Identifier: Apache-2.0 */
#include "host/upgrade/upgrade_transfer.h"

#include <errno.h>

#include "host/call/request.h"
#include "host/observe/observe.h"
#include "hub/base/clock.h"

#define AGAIN_LEAST   (200 * HUB_MICROSECOND) /* while calls may be held */
#define AGAIN_PART    8          /* the part of the time gone by which a wait may be too long */
#define RETURN_WITHIN HUB_SECOND /* for the old process to learn that it keeps serving */

static struct host_container *current(const struct host_upgrade *upgrade)
{
    return upgrade->holding.list[upgrade->at];
}

static bool is_past_all(const struct host_upgrade *upgrade)
{
    return upgrade->at == upgrade->holding.count;
}

void host_upgrade_transfer_await(struct host_upgrade *upgrade,
                                 void (*again)(struct host_upgrade *upgrade))
{
    upgrade->again = again;
    upgrade->again_ns = HUB_NEVER;
}

/* Calls `again` in a moment. This is for what only the other process knows and does not tell: that
 * its work is done, or that it has space for a message. The more time has gone by, the longer is
 * the moment, so long waits need few looks. */
static void ask_again(struct host_upgrade *upgrade, void (*again)(struct host_upgrade *upgrade))
{
    uint64_t gone = hub_clock_now() - (upgrade->held_ns ? upgrade->held_ns : upgrade->began_ns);
    uint64_t moment = gone / AGAIN_PART;

    upgrade->again = again;
    upgrade->again_ns = hub_clock_after(moment > AGAIN_LEAST ? moment : AGAIN_LEAST);
    if (!host_loop_is_set(&upgrade->timer) || upgrade->again_ns < upgrade->timer.due_ns)
        host_loop_set(&HOST_OWNER(upgrade->host)->loop, &upgrade->timer, upgrade->again_ns);
}

static uint64_t deadline_of(const struct host_upgrade *upgrade)
{
    return upgrade->hold_until_ns != 0 ? upgrade->hold_until_ns : upgrade->deadline_ns;
}

/* Sends a message of the present step. If there is no space for it, `again` runs in a moment. */
static void post(struct host_upgrade *upgrade, struct host_life *life,
                 struct host_request_message message, void (*again)(struct host_upgrade *upgrade))
{
    int r;

    message.user = upgrade;
    if (message.deadline_ns == 0)
        message.deadline_ns = deadline_of(upgrade);
    r = host_request_send(life, &message);
    if (r == 0)
        upgrade->awaited++;
    else if (r == -EAGAIN)
        ask_again(upgrade, again);
    else
        upgrade->events->fails(upgrade, r);
}

/* Says whether the present step was answered with success. An answer to an earlier step is
 * ignored. */
static bool is_answered(struct host_upgrade *upgrade, enum host_upgrade_state asked, int code,
                        struct host_life *life)
{
    upgrade->awaited--;
    if (upgrade->state != asked)
        return false;
    if (code == 0)
        return true;
    if (code == RAPAHUB_ETIMEDOUT)
        upgrade->events->late(upgrade);
    else
        upgrade->events->fails(upgrade, host_life_explain(life, code, "the upgrade"));
    return false;
}

static bool take(struct host_upgrade *upgrade, struct host_life *life, struct hub_answer *answer,
                 enum hub_lifecycle_method method, void *result)
{
    const struct hub_lifecycle_entry *entry = &hub_lifecycle_table[method];
    int r = host_request_decode(life, answer, entry->name, entry->types[0], result);

    if (r < 0)
        upgrade->events->fails(upgrade, r);
    return r >= 0;
}

/* ---- begin, in the new process, while the old one serves ---- */

static void begin_next(struct host_upgrade *upgrade);

static void on_begun(void *user, int code, struct hub_answer *answer)
{
    struct host_upgrade *upgrade = user;

    if (!is_answered(upgrade, HOST_UPGRADE_BEGINNING, code, upgrade->to) ||
        !take(upgrade, upgrade->to, answer, HUB_LIFECYCLE_BEGIN, NULL))
        return;
    upgrade->at++;
    begin_next(upgrade);
}

static void begin_next(struct host_upgrade *upgrade)
{
    struct hub_begin begin;
    uint64_t token;
    const void *const arguments[] = {&begin, &token, NULL};
    enum hub_lifecycle_method method;

    if (is_past_all(upgrade)) {
        upgrade->events->happens(upgrade, HOST_UPGRADE_BEGUN);
        return;
    }
    token = current(upgrade)->token != 0 ? current(upgrade)->token + 1 : 0;
    method = host_containers_describe(current(upgrade), token, &begin);
    begin.how = HUB_BEGIN_INIT;
    begin.load_follows = true;
    post(upgrade, upgrade->to, (struct host_request_message){method, arguments, on_begun, NULL, 0},
         begin_next);
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

    if (!is_answered(upgrade, HOST_UPGRADE_HOLDING, code, upgrade->from) ||
        !take(upgrade, upgrade->from, answer, HUB_LIFECYCLE_PLUG, NULL))
        return;
    upgrade->at++;
    plug_next(upgrade);
}

/* A container that is plugged already need not be told. */
static void plug_next(struct host_upgrade *upgrade)
{
    const bool plugged = true;
    const void *arguments[] = {NULL, &plugged, NULL};

    while (!is_past_all(upgrade) && current(upgrade)->plugged)
        upgrade->at++;
    if (is_past_all(upgrade)) {
        upgrade->events->happens(upgrade, HOST_UPGRADE_HELD);
        return;
    }
    arguments[0] = &current(upgrade)->handle;
    post(upgrade, upgrade->from,
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

    if (!is_answered(upgrade, HOST_UPGRADE_DRAINING, code, upgrade->from) ||
        !take(upgrade, upgrade->from, answer, HUB_LIFECYCLE_WORK, &work))
        return;
    if (work > 0) {
        ask_again(upgrade, host_upgrade_transfer_drain);
        return;
    }
    upgrade->at++;
    ask_next(upgrade);
}

static void ask_next(struct host_upgrade *upgrade)
{
    const void *arguments[] = {NULL, NULL};

    if (is_past_all(upgrade)) {
        upgrade->at = 0;
        upgrade->events->happens(upgrade, HOST_UPGRADE_DRAINED);
        return;
    }
    arguments[0] = &current(upgrade)->handle;
    post(upgrade, upgrade->from,
         (struct host_request_message){HUB_LIFECYCLE_WORK, arguments, on_work, NULL, 0}, ask_next);
}

void host_upgrade_transfer_drain(struct host_upgrade *upgrade)
{
    upgrade->at = 0;
    for (uint32_t i = 0; i < upgrade->holding.count; i++)
        if (!host_gate_is_idle(upgrade->host, upgrade->holding.list[i])) {
            host_upgrade_transfer_await(upgrade, host_upgrade_transfer_drain);
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
        ask_again(upgrade, again);
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
    if (is_past_all(upgrade)) {
        upgrade->events->happens(upgrade, HOST_UPGRADE_SAVED);
        return;
    }
    upgrade->pipe = (struct host_state_pipe){.host = HOST_CALL(upgrade->host),
                                             .from = upgrade->from,
                                             .to = upgrade->to,
                                             .container = current(upgrade),
                                             .deadline_ns = deadline_of(upgrade),
                                             .doing = "the upgrade",
                                             .on_answer = on_answer,
                                             .user = upgrade};
    go_on_with_save(upgrade);
}

/* ---- load ---- */

static void go_on_behind_load(struct host_upgrade *upgrade)
{
    if (!is_past_all(upgrade))
        upgrade->at++;
    upgrade->events->happens(upgrade,
                             is_past_all(upgrade) ? HOST_UPGRADE_LOADED_ALL : HOST_UPGRADE_LOADED);
}

static void on_plug_restored(void *user, int code, struct hub_answer *answer)
{
    struct host_upgrade *upgrade = user;

    if (is_answered(upgrade, HOST_UPGRADE_LOADING, code, upgrade->to) &&
        take(upgrade, upgrade->to, answer, HUB_LIFECYCLE_PLUG, NULL))
        go_on_behind_load(upgrade);
}

static void restore_plug(struct host_upgrade *upgrade)
{
    const bool plugged = true;
    const void *const arguments[] = {&current(upgrade)->handle, &plugged, NULL};

    post(upgrade, upgrade->to,
         (struct host_request_message){HUB_LIFECYCLE_PLUG, arguments, on_plug_restored, NULL, 0},
         restore_plug);
}

static void go_on_with_load(struct host_upgrade *upgrade)
{
    if (!is_done(upgrade, host_state_pipe_load(&upgrade->pipe), go_on_with_load))
        return;
    host_state_pipe_drop(&upgrade->pipe);
    if (current(upgrade)->plugged)
        restore_plug(upgrade);
    else
        go_on_behind_load(upgrade);
}

void host_upgrade_transfer_load(struct host_upgrade *upgrade)
{
    if (is_past_all(upgrade))
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

    while (!is_past_all(upgrade) && current(upgrade)->plugged)
        upgrade->at++;
    if (is_past_all(upgrade) || hub_clock_left(upgrade->end_by_ns) == 0) {
        upgrade->events->happens(upgrade, HOST_UPGRADE_RETURNED);
        return;
    }
    arguments[0] = &current(upgrade)->handle;
    post(upgrade, upgrade->from,
         (struct host_request_message){HUB_LIFECYCLE_PLUG, arguments, on_unplugged, NULL,
                                       upgrade->end_by_ns},
         unplug_next);
}

void host_upgrade_transfer_return(struct host_upgrade *upgrade)
{
    upgrade->at = 0;
    upgrade->end_by_ns = hub_clock_after(RETURN_WITHIN);
    unplug_next(upgrade);
}
