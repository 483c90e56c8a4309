/* SPDX-License-Identifier: Apache-2.0 */
#include "host/cli/run_anonymous.h"

#include <inttypes.h>
#include <stdio.h>

#include <rapahub/error.h>

#include "host/cli/command/failure.h"

static bool same(struct rapahub_guest_id a, struct rapahub_guest_id b)
{
    return a.group == b.group && a.epoch == b.epoch && a.peer == b.peer;
}

/* Finds the entry of a guest, or, with NULL, a free one; NULL: there is none. */
static struct cli_run_visitor *find(struct cli_run_anonymous *visitors,
                                    const struct rapahub_guest_id *guest)
{
    for (unsigned i = 0; i < CLI_RUN_ANONYMOUS; i++) {
        struct cli_run_visitor *visitor = &visitors->list[i];

        if (guest ? visitor->name[0] && same(visitor->guest, *guest) : !visitor->name[0])
            return visitor;
    }
    return NULL;
}

bool cli_run_anonymous_take(struct cli_run_anonymous *visitors, const struct rapahub_event *event)
{
    bool is_new = event->kind == RAPAHUB_EVENT_ATTACHED;
    struct cli_run_visitor *visitor = find(visitors, is_new ? NULL : &event->guest);

    if (!visitor)
        return is_new;
    if (is_new) {
        *visitor = (struct cli_run_visitor){.guest = event->guest, .fresh = true};
        snprintf(visitor->name, sizeof visitor->name, "%s", event->name);
    }
    if (event->kind == RAPAHUB_EVENT_DOWN) {
        visitor->gone = true;
        snprintf(visitor->cause, sizeof visitor->cause, "%s%s%s", event->cause,
                 event->rule[0] ? "  rule " : "", event->rule);
    }
    return true;
}

static void take_in(struct cli_run_anonymous *visitors, struct cli_run_visitor *visitor)
{
    const struct rapahub_container_options container = {.id.pool = {++visitors->pools, 0},
                                                        .pool_name = visitor->name};
    int r = rapahub_host_add_container(visitors->host, visitor->guest, &container);

    visitor->fresh = false;
    visitor->pool = visitors->pools;
    if (r == 0)
        r = rapahub_control_offer(visitors->control, visitor->name, container.id.pool);
    if (r == 0)
        cli_failure_note(visitors->cli, "%s: attached  peer %" PRIu32 "  epoch %" PRIu32,
                         visitor->name, visitor->guest.peer, visitor->guest.epoch);
    else
        cli_failure_note(visitors->cli, "%s: attached, but cannot be called: %s", visitor->name,
                         rapahub_last_error()->text);
}

static void see_off(struct cli_run_anonymous *visitors, struct cli_run_visitor *visitor)
{
    if (visitor->pool != 0)
        rapahub_control_withdraw(visitors->control, visitor->name);
    cli_failure_note(visitors->cli, "%s: gone: %s", visitor->name, visitor->cause);
    visitor->name[0] = '\0';
}

/* Beginning a container runs turns, so more guests may come and go meanwhile. */
void cli_run_anonymous_settle(struct cli_run_anonymous *visitors)
{
    for (unsigned i = 0; i < CLI_RUN_ANONYMOUS; i++) {
        struct cli_run_visitor *visitor = &visitors->list[i];

        if (visitor->name[0] && visitor->fresh && !visitor->gone)
            take_in(visitors, visitor);
        if (visitor->name[0] && visitor->gone)
            see_off(visitors, visitor);
    }
}
