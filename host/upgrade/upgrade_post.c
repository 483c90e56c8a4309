/* SPDX-License-Identifier: Apache-2.0 */
#include "host/upgrade/upgrade_post.h"

#include <errno.h>

#include "host/observe/observe.h"
#include "hub/base/clock.h"

#define AGAIN_LEAST (200 * HUB_MICROSECOND) /* while calls may be held */
#define AGAIN_PART  8 /* the part of the time gone by which a wait may be too long */

uint64_t host_upgrade_post_deadline(const struct host_upgrade *upgrade)
{
    return upgrade->hold_until_ns != 0 ? upgrade->hold_until_ns : upgrade->deadline_ns;
}

void host_upgrade_post_await(struct host_upgrade *upgrade,
                             void (*again)(struct host_upgrade *upgrade))
{
    upgrade->again = again;
    upgrade->again_ns = HUB_NEVER;
}

void host_upgrade_post_again(struct host_upgrade *upgrade,
                             void (*again)(struct host_upgrade *upgrade))
{
    uint64_t gone = hub_clock_now() - (upgrade->held_ns ? upgrade->held_ns : upgrade->began_ns);
    uint64_t moment = gone / AGAIN_PART;

    upgrade->again = again;
    upgrade->again_ns = hub_clock_after(moment > AGAIN_LEAST ? moment : AGAIN_LEAST);
    if (!host_loop_is_set(&upgrade->timer) || upgrade->again_ns < upgrade->timer.due_ns)
        host_loop_set(&HOST_OWNER(upgrade->host)->loop, &upgrade->timer, upgrade->again_ns);
}

int host_upgrade_post_try(struct host_upgrade *upgrade, struct host_life *life,
                          struct host_request_message message,
                          void (*again)(struct host_upgrade *upgrade))
{
    int r;

    message.user = upgrade;
    if (message.deadline_ns == 0)
        message.deadline_ns = host_upgrade_post_deadline(upgrade);
    r = host_request_send(life, &message);
    if (r == 0)
        upgrade->awaited++;
    else if (r == -EAGAIN)
        host_upgrade_post_again(upgrade, again);
    return r;
}

bool host_upgrade_post(struct host_upgrade *upgrade, struct host_life *life,
                       struct host_request_message message,
                       void (*again)(struct host_upgrade *upgrade))
{
    int r = host_upgrade_post_try(upgrade, life, message, again);

    if (r < 0 && r != -EAGAIN)
        upgrade->events->fails(upgrade, r);
    return r == 0;
}

void host_upgrade_post_begin(struct host_upgrade *upgrade, hub_calls_done *done,
                             void (*again)(struct host_upgrade *upgrade))
{
    const struct host_container *container = host_upgrade_post_current(upgrade);
    uint64_t token = container->token != 0 ? container->token + 1 : 0;
    struct hub_begin begin;
    const void *const arguments[] = {&begin, &token, NULL};
    enum hub_lifecycle_method method = host_containers_describe(container, token, &begin);

    begin.how = HUB_BEGIN_INIT;
    begin.load_follows = true;
    (void)host_upgrade_post(upgrade, upgrade->to,
                            (struct host_request_message){method, arguments, done, NULL, 0}, again);
}

bool host_upgrade_post_answered(struct host_upgrade *upgrade, enum host_upgrade_state asked,
                                int code, struct host_life *life)
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

bool host_upgrade_post_take(struct host_upgrade *upgrade, struct host_life *life,
                            struct hub_answer *answer, enum hub_lifecycle_method method,
                            void *result)
{
    const struct hub_lifecycle_entry *entry = &hub_lifecycle_table[method];
    int r = host_request_decode(life, answer, entry->name, entry->types[0], result);

    if (r < 0)
        upgrade->events->fails(upgrade, r);
    return r >= 0;
}
