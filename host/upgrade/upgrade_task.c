/* SPDX-License-Identifier: Apache-2.0 */
/* upgrade_task: an upgrade as a task of the owner, which ends when its last step has. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/guest/guest_table.h"
#include "host/observe/observe.h"
#include "host/upgrade/successor.h"
#include "host/upgrade/upgrade.h"
#include "host/upgrade/upgrade_roles.h"
#include "hub/base/clock.h"

#define TIMEOUT (30 * HUB_SECOND)

static int check_options(const struct rapahub_upgrade_options *options)
{
    static const uint64_t nothing[8];

    if (!options || !options->chimod)
        return rapahub_fail(RAPAHUB_EINVAL, "", "no module is named to upgrade to");
    if (memcmp(options->reserved, nothing, sizeof nothing) != 0)
        return rapahub_fail(RAPAHUB_EINVAL, "",
                            "the upgrade options ask for something this release does not know");
    return 0;
}

static int find_guest(struct host_observe *host, struct rapahub_guest_id id,
                      struct host_guest **out)
{
    struct host_guest *guest = host_guest_find(HOST_PROCESS(host), id);

    *out = guest;
    if (!guest || !guest->life)
        return rapahub_fail(RAPAHUB_ESTALE, "", "there is no such guest any more");
    if (guest->child.node == HOST_TREE_NONE)
        return rapahub_fail(RAPAHUB_ENOTSUP, "", "%s was not started by this host", guest->name);
    if (guest->upgrade)
        return rapahub_fail(RAPAHUB_EBUSY, "", "%s is being upgraded already", guest->name);
    if (host_upgrade_is_lost(guest, guest->life))
        return rapahub_fail(RAPAHUB_ESTATE, "", "%s does not serve now", guest->name);
    if (!guest->methods) /* it is READY only from its attachment on */
        return rapahub_fail(RAPAHUB_ESTATE, "", "%s has not said yet which methods it has",
                            guest->name);
    return 0;
}

static int begin_task(struct host_owner *owner, void *argument)
{
    struct host_observe *host = HOST_OBSERVE(owner);
    struct host_upgrade *upgrade = argument;
    uint64_t timeout;
    int r = check_options(upgrade->options);

    if (r == 0)
        r = find_guest(host, upgrade->id, &upgrade->guest);
    if (r == 0)
        r = host_successor_create(upgrade->guest, upgrade->options, &upgrade->successor);
    if (r < 0)
        return r;
    timeout = upgrade->options->timeout_ns ? upgrade->options->timeout_ns : TIMEOUT;
    upgrade->host = host;
    upgrade->guest->pins++;
    upgrade->successor->pins++;
    upgrade->guest->upgrade = upgrade->successor->upgrade = upgrade;
    upgrade->from = upgrade->guest->life;
    host_life_hold(upgrade->from);
    upgrade->began_ns = hub_clock_now();
    upgrade->deadline_ns = hub_clock_after(timeout);
    memcpy(upgrade->result.version_before, upgrade->guest->module.version,
           sizeof upgrade->result.version_before);
    host_upgrade_begin(upgrade);
    return 0;
}

/* A message without an answer refers to this upgrade, so the task lasts until all are answered. */
static bool is_over(const void *argument)
{
    const struct host_upgrade *upgrade = argument;

    return host_upgrade_steps_over(upgrade->state) && upgrade->awaited == 0;
}

static void explain_new_lost(struct host_upgrade *upgrade)
{
    const struct host_guest *successor = upgrade->successor;

    if (successor->failure.verdict.code < 0)
        upgrade->verdict = successor->failure.verdict;
    else
        host_verdict_take(&upgrade->verdict,
                          rapahub_fail(RAPAHUB_EDIED, "", "it ended: %s", successor->ends.cause));
}

static int refuse(struct host_upgrade *upgrade)
{
    const char *word = host_upgrade_steps_word(upgrade->failed);
    char text[sizeof upgrade->verdict.text];

    if (upgrade->new_lost)
        explain_new_lost(upgrade);
    snprintf(text, sizeof text, "%s%s%.900s", word, word[0] ? ": " : "", upgrade->verdict.text);
    memcpy(upgrade->verdict.text, text, sizeof text);
    rapahub_log(RAPAHUB_LOG_WARN, "upgrade", "%s: not upgraded: %s", upgrade->guest->name, text);
    return host_verdict_give(&upgrade->verdict);
}

static int end_task(struct host_owner *owner, void *argument)
{
    struct host_upgrade *upgrade = argument;
    struct host_guest *guest = upgrade->guest;
    int r = upgrade->state == HOST_UPGRADE_REFUSED ? refuse(upgrade) : 0;

    (void)owner;
    upgrade->result.guest = guest->id;
    upgrade->result.calls_held = host_gate_calls(&upgrade->holding) - upgrade->held_before;
    host_upgrade_end(upgrade);
    host_upgrade_roles_end(upgrade);
    host_state_pipe_drop(&upgrade->pipe);
    host_gate_fini(&upgrade->holding);
    host_life_drop(upgrade->from);
    if (upgrade->to)
        host_life_drop(upgrade->to);
    guest->upgrade = upgrade->successor->upgrade = NULL;
    guest->pins--;
    upgrade->successor->pins--;
    host_successor_drop(upgrade->successor);
    return r;
}

const struct host_threads_task host_upgrade_task = {begin_task, is_over, end_task};

int rapahub_host_upgrade(struct rapahub_host *host, struct rapahub_guest_id guest,
                         const struct rapahub_upgrade_options *options,
                         struct rapahub_upgrade_result *out)
{
    struct host_upgrade upgrade = {.id = guest, .options = options};
    int r = host_threads_await(HOST_OWNER(host), &host_upgrade_task, &upgrade);

    if (out)
        *out = upgrade.result;
    return r;
}
