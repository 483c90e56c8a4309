/* SPDX-License-Identifier: Apache-2.0 */
#include "host/upgrade/upgrade_roles.h"

#include <errno.h>
#include <stdio.h>

#include "host/observe/observe.h"
#include "host/roles/links.h"
#include "host/upgrade/upgrade_post.h"
#include "host/upgrade/upgrade_transfer.h"
#include "hub/base/clock.h"

#define BACK_WITHIN (5 * HUB_SECOND) /* for the old process to have its roles again */

/* Goes on to the next container with roles; false: there is none. */
static bool find_roles(struct host_upgrade *upgrade)
{
    while (!host_upgrade_post_over(upgrade) && !host_upgrade_post_current(upgrade)->roles)
        upgrade->at++;
    return !host_upgrade_post_over(upgrade);
}

/* ---- release: the old containers let them go ---- */

static void release_next(struct host_upgrade *upgrade);

/* Without an answer it may have let them go, or do so later. */
static void on_released(void *user, int code, struct hub_answer *answer)
{
    const char *name = hub_lifecycle_table[HUB_LIFECYCLE_ROLES].name;
    struct host_upgrade *upgrade = user;
    int r;

    if (!host_upgrade_post_answered(upgrade, HOST_UPGRADE_RELEASING, code, upgrade->from))
        return;
    r = host_request_decode(upgrade->from, answer, name, &rapahub_type_void, NULL);
    if (r < 0) {
        host_links_stand(host_upgrade_post_current(upgrade), upgrade->from);
        upgrade->events->fails(upgrade, r);
        return;
    }
    upgrade->at++;
    release_next(upgrade);
}

static void release_next(struct host_upgrade *upgrade)
{
    const uint8_t what = HUB_ROLES_LET_GO;
    const void *arguments[] = {NULL, &what, NULL};

    if (!find_roles(upgrade)) {
        upgrade->events->happens(upgrade, HOST_UPGRADE_RELEASED);
        return;
    }
    arguments[0] = &host_upgrade_post_current(upgrade)->handle;
    host_links_keep(host_upgrade_post_current(upgrade), true);
    if (host_upgrade_post(
            upgrade, upgrade->from,
            (struct host_request_message){HUB_LIFECYCLE_ROLES, arguments, on_released, NULL, 0},
            release_next))
        host_links_let_go(host_upgrade_post_current(upgrade));
}

void host_upgrade_roles_release(struct host_upgrade *upgrade)
{
    upgrade->at = 0;
    release_next(upgrade);
}

/* ---- link: the new containers get them, and begin ---- */

static void link_next(struct host_upgrade *upgrade);

static void on_begun(void *user, int code, struct hub_answer *answer)
{
    struct host_upgrade *upgrade = user;

    if (!host_upgrade_post_answered(upgrade, HOST_UPGRADE_LINKING, code, upgrade->to) ||
        !host_upgrade_post_take(upgrade, upgrade->to, answer, HUB_LIFECYCLE_BEGIN, NULL))
        return;
    upgrade->at++;
    upgrade->role_at = 0;
    link_next(upgrade);
}

static void on_linked(void *user, int code, struct hub_answer *answer)
{
    struct host_upgrade *upgrade = user;

    if (!host_upgrade_post_answered(upgrade, HOST_UPGRADE_LINKING, code, upgrade->to) ||
        !host_upgrade_post_take(upgrade, upgrade->to, answer, HUB_LIFECYCLE_ROLE, NULL))
        return;
    upgrade->role_at++;
    link_next(upgrade);
}

/* The region of the role was sent already: only its name is sent again. */
static void name_role(struct host_upgrade *upgrade)
{
    (void)host_upgrade_post(upgrade, upgrade->to,
                            (struct host_request_message){
                                HUB_LIFECYCLE_ROLE, upgrade->role.arguments, on_linked, NULL, 0},
                            name_role);
}

static void link_next(struct host_upgrade *upgrade)
{
    if (!find_roles(upgrade)) {
        upgrade->at = 0;
        upgrade->events->happens(upgrade, HOST_UPGRADE_LINKED);
    } else if (!host_begin_role(upgrade->to, host_upgrade_post_current(upgrade), upgrade->role_at,
                                &upgrade->role)) {
        host_upgrade_post_begin(upgrade, on_begun, link_next);
    } else if (upgrade->role.r == RAPAHUB_EAGAIN) {
        host_upgrade_post_again(upgrade, link_next);
    } else if (upgrade->role.r < 0) {
        upgrade->events->fails(upgrade, upgrade->role.r);
    } else {
        name_role(upgrade);
    }
}

void host_upgrade_roles_link(struct host_upgrade *upgrade)
{
    upgrade->at = upgrade->role_at = 0;
    link_next(upgrade);
}

/* ---- return: the old containers get them back ---- */

static void give_next(struct host_upgrade *upgrade);
static void give_role(struct host_upgrade *upgrade);

/* The death that follows ends the upgrade. */
static void lose(struct host_upgrade *upgrade)
{
    struct host_life *life = upgrade->from;

    snprintf(life->exit.why, sizeof life->exit.why, "%s", rapahub_last_error()->text);
    HOST_SUPERVISION(upgrade->host)
        ->hooks->decisions.end(life, HOST_CAUSE_LINK, "its roles cannot be given back");
}

/* Says whether the old process has answered with success. */
static bool is_answered(struct host_upgrade *upgrade, enum hub_lifecycle_method method, int code,
                        struct hub_answer *answer)
{
    int r = code;

    upgrade->awaited--;
    if (upgrade->state != HOST_UPGRADE_RETURNING)
        return false;
    r = code < 0 ? host_life_explain(upgrade->from, code, "the upgrade")
                 : host_request_decode(upgrade->from, answer, hub_lifecycle_table[method].name,
                                       &rapahub_type_void, NULL);
    if (r < 0)
        lose(upgrade);
    return r == 0;
}

static void send(struct host_upgrade *upgrade, struct host_request_message message,
                 void (*again)(struct host_upgrade *upgrade))
{
    int r;

    message.deadline_ns = upgrade->end_by_ns;
    r = host_upgrade_post_try(upgrade, upgrade->from, message, again);
    if (r < 0 && r != -EAGAIN)
        lose(upgrade);
}

static void tell(struct host_upgrade *upgrade, enum hub_roles roles, hub_calls_done *done,
                 void (*again)(struct host_upgrade *upgrade))
{
    const uint8_t what = (uint8_t)roles;
    const void *const arguments[] = {&host_upgrade_post_current(upgrade)->handle, &what, NULL};

    send(upgrade, (struct host_request_message){HUB_LIFECYCLE_ROLES, arguments, done, NULL, 0},
         again);
}

static void on_opened(void *user, int code, struct hub_answer *answer)
{
    if (is_answered(user, HUB_LIFECYCLE_ROLES, code, answer))
        give_next(user);
}

static void open_roles(struct host_upgrade *upgrade)
{
    tell(upgrade, HUB_ROLES_OPEN, on_opened, open_roles);
}

static void on_given(void *user, int code, struct hub_answer *answer)
{
    struct host_upgrade *upgrade = user;

    if (!is_answered(upgrade, HUB_LIFECYCLE_ROLE, code, answer))
        return;
    host_links_built(upgrade->from,
                     &host_upgrade_post_current(upgrade)->roles->of[upgrade->role_at]);
    give_role(upgrade);
}

static void name_given(struct host_upgrade *upgrade)
{
    send(upgrade,
         (struct host_request_message){HUB_LIFECYCLE_ROLE, upgrade->role.arguments, on_given, NULL,
                                       0},
         name_given);
}

/* The new process may not be proven dead yet: until then it has the role. */
static void give_role(struct host_upgrade *upgrade)
{
    const struct host_container *container = host_upgrade_post_current(upgrade);
    int r;

    if (!host_links_is_let_go(container, &upgrade->role_at)) {
        open_roles(upgrade);
        return;
    }
    (void)host_begin_role(upgrade->from, container, upgrade->role_at, &upgrade->role);
    r = upgrade->role.r;
    if (r == 0)
        name_given(upgrade);
    else if (hub_clock_left(upgrade->end_by_ns) > 0) /* it may pass the next time */
        host_upgrade_post_again(upgrade, give_role);
    else
        lose(upgrade);
}

static void on_let_go(void *user, int code, struct hub_answer *answer)
{
    if (is_answered(user, HUB_LIFECYCLE_ROLES, code, answer))
        give_role(user);
}

/* It is asked to let them go once more, for the message before may not have been answered. */
static void let_go(struct host_upgrade *upgrade)
{
    tell(upgrade, HUB_ROLES_LET_GO, on_let_go, let_go);
}

static void give_next(struct host_upgrade *upgrade)
{
    while (!host_upgrade_post_over(upgrade) &&
           !host_links_is_let_go(host_upgrade_post_current(upgrade), &upgrade->role_at))
        upgrade->at++;
    if (host_upgrade_post_over(upgrade))
        host_upgrade_transfer_return(upgrade);
    else
        let_go(upgrade);
}

void host_upgrade_roles_end(const struct host_upgrade *upgrade)
{
    for (uint32_t i = 0; i < upgrade->holding.count; i++)
        host_links_keep(upgrade->holding.list[i], false);
}

void host_upgrade_roles_return(struct host_upgrade *upgrade)
{
    upgrade->at = 0;
    upgrade->end_by_ns = hub_clock_after(BACK_WITHIN);
    give_next(upgrade);
}
