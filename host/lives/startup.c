/* SPDX-License-Identifier: Apache-2.0 */
#include "host/lives/startup.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/call/request.h"
#include "host/container/begin.h"
#include "host/guest/guest_table.h"
#include "host/guest/probes.h"
#include "host/lives/after_exit.h"
#include "host/observe/observe.h"
#include "host/registry/containers.h"
#include "hub/base/clock.h"
#include "hub/wire/lifecycle.h"
#include "hub/wire/payload.h"
#include "hub/wire/postcard.h"

#define ROLE_AGAIN HUB_MILLISECOND /* until a doorbell that takes nothing is tried again */

static void begin_next(struct host_life *life);

void host_startup_fail(struct host_life *life, int code)
{
    struct host_guest *guest = life->guest;

    if (guest->failure.verdict.code == 0)
        host_verdict_take(&guest->failure.verdict, code);
    snprintf(life->exit.why, sizeof life->exit.why, "%s", rapahub_last_error()->text);
    host_life_kill(life, HOST_CAUSE_NONE);
}

static bool is_by_attach(const struct host_life *life)
{
    return life->guest->supervision.ready == RAPAHUB_READY_ATTACH;
}

/* A guest that is READY by attaching is up already, but its start goes on. */
static bool is_starting(const struct host_life *life)
{
    return life->guest->state == HOST_GUEST_ATTACHED ||
           (is_by_attach(life) && host_guest_is_up(life->guest));
}

/* Is this response still of interest? The life may have ended meanwhile. */
static bool goes_on(struct host_life *life, int code)
{
    if (life->death.settled || life->guest->life != life || !is_starting(life) ||
        code == RAPAHUB_EDIED || code == RAPAHUB_ECLOSED || code == RAPAHUB_EPROTOCOL)
        return false;
    if (code == 0)
        return true;
    host_startup_fail(life, host_life_explain(life, code, "its start"));
    return false;
}

static uint64_t deadline_of(const struct host_life *life)
{
    return is_by_attach(life) ? life->startup.deadline_ns : life->guest->timer.due_ns;
}

/* All containers, and all lists of methods, share one deadline. r[impl sec.call.time] */
static void begin_time(struct host_life *life)
{
    life->startup.deadline_ns = hub_clock_after(life->guest->supervision.start_timeout_ns);
}

static void finish(struct host_life *life)
{
    if (is_by_attach(life))
        HOST_SUPERVISION(life->host)->hooks->lives.open(life);
    else if (host_probes_begin(life))
        HOST_SUPERVISION(life->host)->hooks->lives.ready(life);
}

/* ---- containers ---- */

static void step(struct host_life *life)
{
    life->startup.next = life->startup.next->next;
    begin_next(life);
}

static struct host_container *current(const struct host_life *life)
{
    return HUB_LIST_ITEM(life->startup.next, struct host_container, of_guest);
}

static void on_plugged(void *user, int code, struct hub_answer *answer)
{
    struct host_life *life = user;

    (void)answer;
    if (goes_on(life, code))
        step(life);
}

/* A container that was plugged before the death stays plugged. */
static void restore_plug(struct host_life *life)
{
    const bool plugged = true;
    const void *const arguments[] = {&current(life)->handle, &plugged, NULL};
    int r = host_request_post(life, HUB_LIFECYCLE_PLUG, arguments, on_plugged, deadline_of(life));

    if (r < 0)
        host_startup_fail(life, r);
}

/* A guest of another library may know no containers. Then it counts as having begun them. */
static int take_begun(struct host_life *life, struct hub_answer *answer)
{
    int r = host_request_decode(life, answer, "restart", &rapahub_type_void, NULL);

    if (r != RAPAHUB_ENOMETHOD || !is_by_attach(life))
        return r;
    rapahub_clear_error();
    return 0;
}

static void on_begun(void *user, int code, struct hub_answer *answer)
{
    struct host_life *life = user;
    int r;

    if (!goes_on(life, code))
        return;
    r = take_begun(life, answer);
    current(life)->is_new = current(life)->is_new && r < 0;
    if (r < 0)
        host_startup_fail(life, r);
    else if (current(life)->plugged)
        restore_plug(life);
    else
        step(life);
}

static void begin_current(struct host_life *life)
{
    struct host_container *container = current(life);
    const void *arguments[] = {NULL, NULL, NULL};
    enum hub_lifecycle_method method;
    struct hub_begin begin;
    int r;

    method = host_containers_describe(container, container->token, &begin);
    begin.how = container->is_new ? HUB_BEGIN_INIT : HUB_BEGIN_RESTART;
    arguments[0] = &begin;
    arguments[1] = &container->token;
    r = host_request_post(life, method, arguments, on_begun, deadline_of(life));
    if (r < 0)
        host_startup_fail(life, r);
}

/* ---- the roles of a container, before it begins ---- */

/* The relations that stood are not touched: the life that was to have them next is killed.
 * r[impl supervise.role.again] */
static void fail_to_link(struct host_life *life, int code)
{
    life->guest->failure.step = "link";
    hub_claim(&life->exit.cause, HOST_CAUSE_NONE, HOST_CAUSE_LINK);
    host_startup_fail(life, code);
}

static void build_next(struct host_life *life);

/* Its doorbell takes nothing now: the guest reads slowly, or is stopped. Or an upgrade that failed
 * has not ended the process yet that was given the role. */
static void build_later(struct host_life *life, int why)
{
    if (hub_clock_left(deadline_of(life)) == 0) {
        if (why == RAPAHUB_EAGAIN)
            why = rapahub_fail(RAPAHUB_ETIMEDOUT, "supervise.role.grant",
                               "%s does not read its doorbell, which a role comes by", life->name);
        fail_to_link(life, why);
        return;
    }
    host_loop_set(life->loop, &life->startup.again, hub_clock_after(ROLE_AGAIN));
}

static void on_again(void *user)
{
    struct host_life *life = user;

    if (goes_on(life, 0))
        build_next(life);
}

static void on_built(void *user, int code, struct hub_answer *answer)
{
    struct host_life *life = user;
    int r;

    if (!goes_on(life, code))
        return;
    r = host_begin_take_role(life, current(life), life->startup.roles, answer);
    if (r < 0) {
        fail_to_link(life, r);
        return;
    }
    life->startup.roles++;
    build_next(life);
}

static void build_next(struct host_life *life)
{
    struct host_begin_role role;
    int r;

    if (!host_begin_role(life, current(life), life->startup.roles, &role)) {
        begin_current(life);
        return;
    }
    r = role.r;
    if (r == 0)
        r = host_request_post(life, HUB_LIFECYCLE_ROLE, role.arguments, on_built,
                              deadline_of(life));
    if (role.r == RAPAHUB_EAGAIN || (role.r == RAPAHUB_EROLETAKEN && life->guest->upgrade))
        build_later(life, role.r);
    else if (r < 0)
        fail_to_link(life, r);
}

/* ---- its roles, when it is READY ---- */

static void end_unopened(struct host_life *life)
{
    snprintf(life->exit.why, sizeof life->exit.why, "%s", rapahub_last_error()->text);
    HOST_SUPERVISION(life->host)
        ->hooks->decisions.end(life, HOST_CAUSE_LINK, "its roles cannot be opened");
}

static void on_opened(void *user, int code, struct hub_answer *answer)
{
    const char *name = hub_lifecycle_table[HUB_LIFECYCLE_ROLES].name;
    struct host_life *life = user;

    if (code < 0 || life->death.settled || life->guest->life != life)
        return;
    if (host_request_decode(life, answer, name, &rapahub_type_void, NULL) < 0)
        end_unopened(life);
}

static int open_roles_of(struct host_life *life, const struct host_container *container)
{
    const uint8_t what = HUB_ROLES_OPEN;
    const void *const arguments[] = {&container->handle, &what, NULL};
    const struct host_request_message message = {HUB_LIFECYCLE_ROLES, arguments, on_opened, life,
                                                 HUB_NEVER};

    return container->roles ? host_request_send(life, &message) : 0;
}

void host_startup_open_roles(struct host_life *life)
{
    int r = 0;

    HUB_LIST_EACH (&life->guest->containers, link) {
        const struct host_container *container =
            HUB_LIST_ITEM(link, struct host_container, of_guest);

        if (r == 0 && !host_containers_unbegun(container))
            r = open_roles_of(life, container);
    }
    if (r < 0)
        end_unopened(life);
}

/* A container that begins for the first time is left to its creator. */
static void begin_next(struct host_life *life)
{
    const struct hub_list *all = &life->guest->containers;

    while (life->startup.next != all && current(life)->state != HOST_CONTAINER_STARTING)
        life->startup.next = life->startup.next->next;
    life->startup.roles = 0;
    life->startup.again.on = on_again;
    life->startup.again.user = life;
    if (life->startup.next == all)
        finish(life);
    else
        build_next(life);
}

/* r[impl cluster.managed] */
static void begin_all(struct host_life *life)
{
    struct host_observe *host = HOST_OBSERVE(life->guest->host);

    host_routes_write(&HOST_REGISTRY(host)->routes);
    HUB_LIST_EACH (&life->guest->containers, link) {
        struct host_container *container = HUB_LIST_ITEM(link, struct host_container, of_guest);

        if (!host_containers_unbegun(container))
            host_containers_move(container, HOST_CONTAINER_STARTING, "its guest restarts");
    }
    host_routes_unlock(&HOST_REGISTRY(host)->routes);
    life->startup.next = life->guest->containers.next;
    begin_next(life);
}

/* r[impl supervise.ready.attach] */
void host_startup_attached(struct host_life *life)
{
    struct host_guest *guest = life->guest;

    if (guest->named == HOST_GUEST_UNNAMED) { /* until it tells its name */
        host_routes_write(&guest->host->owner.registry.routes);
        host_guest_table_name(guest);
        memcpy(life->name, guest->name, sizeof life->name);
        host_routes_unlock(&guest->host->owner.registry.routes);
    }
    HOST_SUPERVISION(life->host)->hooks->lives.ready(life);
    (void)host_probes_begin(life);
    begin_time(life);
    begin_all(life);
}

/* ---- methods ---- */

static void ask_methods(struct host_life *life);

static int take_methods(struct host_life *life, struct hub_answer *answer)
{
    struct host_methods *methods = life->startup.methods;
    uint32_t before = methods->count;
    struct rapahub_string lines;
    int r = host_request_decode(life, answer, "methods", &rapahub_type_string, &lines);

    if (r == 0)
        r = host_methods_add_lines(methods, lines);
    if (r == 0 && methods->count == before && before < life->startup.methods_max)
        r = rapahub_fail(RAPAHUB_EPROTOCOL, "", "%s announced %u methods and listed %u", life->name,
                         life->startup.methods_max, before);
    return r;
}

static void on_methods(void *user, int code, struct hub_answer *answer)
{
    struct host_life *life = user;
    int r;

    if (!goes_on(life, code))
        return;
    r = take_methods(life, answer);
    if (r < 0)
        host_startup_fail(life, r);
    else
        ask_methods(life);
}

static void publish_methods(struct host_life *life)
{
    struct host_observe *host = HOST_OBSERVE(life->guest->host);

    host_routes_write(&HOST_REGISTRY(host)->routes);
    host_methods_release(&life->guest->methods);
    life->guest->methods = host_methods_hold(life->startup.methods);
    host_routes_unlock(&HOST_REGISTRY(host)->routes);
    host_loop_wake(&HOST_OWNER(host)->loop); /* calls may wait for them */
}

static void ask_methods(struct host_life *life)
{
    uint32_t from = life->startup.methods->count;
    const void *const arguments[] = {&from, NULL};
    int r;

    if (from >= life->startup.methods_max) {
        publish_methods(life);
        if (!is_by_attach(life))
            begin_all(life);
        return;
    }
    r = host_request_post(life, HUB_LIFECYCLE_METHODS, arguments, on_methods, deadline_of(life));
    if (r < 0)
        host_startup_fail(life, r);
}

/* ---- ready ---- */

static void tell_renamed(const struct host_guest *guest)
{
    if (guest->module.name[0] && strcmp(guest->name, guest->module.name) != 0)
        rapahub_log(RAPAHUB_LOG_WARN, "guests",
                    "%s: it says that it is %s, and another guest bears that name (sec.name.own)",
                    guest->name, guest->module.name);
}

/* The first name counts: the guest keeps it over all its lives, even if a later module tells
 * another. */
static void take_name(struct host_life *life, struct rapahub_string name)
{
    struct host_guest *guest = life->guest;

    host_output_escape(name.data, name.size, guest->module.name, sizeof guest->module.name);
    if (guest->named == HOST_GUEST_UNNAMED) {
        host_routes_write(&guest->host->owner.registry.routes);
        if (name.size > 0)
            host_output_escape(name.data, name.size, guest->name, sizeof guest->name);
        host_guest_table_name(guest);
        guest->named = HOST_GUEST_NAMED_BY_ITSELF;
        host_routes_unlock(&guest->host->owner.registry.routes);
        tell_renamed(guest);
    }
    memcpy(life->name, guest->name, sizeof life->name);
}

static int check_ready(struct host_life *life, const struct hub_ready *ready)
{
    if (ready->abi != RAPAHUB_CHIMOD_ABI)
        return rapahub_fail(RAPAHUB_EABI, "", "%s was built for abi %u, this host has %u",
                            life->name, ready->abi, RAPAHUB_CHIMOD_ABI);
    if (ready->methods > HOST_METHODS_MAX)
        return rapahub_fail(RAPAHUB_EABI, "", "%s has %u methods; a chimod has at most %d",
                            life->name, ready->methods, HOST_METHODS_MAX);
    life->startup.methods = host_methods_create();
    if (!life->startup.methods)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for the methods of %s", life->name);
    return 0;
}

void host_startup_ready(struct host_call *host, struct host_life *life, struct hub_request *request)
{
    const struct hub_response ok = {.kind = HUB_RESPONSE_OK};
    const struct hub_response invalid = {.kind = HUB_RESPONSE_INVALID_PAYLOAD};
    const struct rapahub_bytes nothing = {NULL, 0};
    struct hub_ready ready = {0};
    struct hub_reader reader;
    bool valid;
    int r = 0;

    (void)host;
    HOST_SUPERVISION(life->host)->hooks->lives.attached(life);
    hub_reader_init(&reader, request->arguments.data, request->arguments.size);
    hub_payload_decode(&reader, &rapahub_type_hub_ready, &ready);
    valid = hub_postcard_end(&reader) == 0 && !life->startup.ready_seen && is_starting(life);
    if (valid) {
        life->startup.ready_seen = true;
        begin_time(life);
        life->startup.methods_max = ready.methods;
        take_name(life, ready.name);
        host_output_escape(ready.version.data, ready.version.size, life->guest->module.version,
                           sizeof life->guest->module.version);
        r = check_ready(life, &ready);
    }
    (void)hub_inbound_calls_answer(life->connection.served, request, valid ? &ok : &invalid,
                                   nothing);
    if (r < 0)
        host_startup_fail(life, r);
    else if (valid)
        ask_methods(life);
}

/* ---- the cause of a failure ---- */

/* Parses "start: CODE TEXT", the reason that a guest gives if it cannot start. */
static bool take_start_reason(struct host_guest_failure *failure, const char *reason)
{
    char name[40];
    int code, size = 0;

    if (strncmp(reason, "start: ", 7) != 0 || sscanf(reason + 7, "%39s %n", name, &size) < 1)
        return false;
    code = name[0] == '-' ? (int)strtol(name, NULL, 10) : rapahub_error_of_name(name);
    if (code >= 0)
        code = RAPAHUB_ESTART;
    host_verdict_take(&failure->verdict, rapahub_fail(code, "", "%s", reason + 7 + size));
    return true;
}

static const char *how_far(const struct host_life *life)
{
    if (life->segment.peer_state == HUB_PEER_RESERVED)
        return "it never attached";
    return life->startup.ready_seen ? "its containers, or its probes, were not"
                                    : "still in a constructor";
}

void host_startup_explain(struct host_life *life, const struct host_end *end)
{
    struct host_guest *guest = life->guest;
    char last[256];
    int code = RAPAHUB_ESTART;

    if (guest->failure.verdict.code < 0 || take_start_reason(&guest->failure, life->goodbye.reason))
        return;
    if (end->class == RAPAHUB_EXIT_START_TIMEOUT)
        rapahub_fail(code, "", "%s was not ready after %" PRIu64 " ms: %s", guest->name,
                     guest->supervision.start_timeout_ns / HUB_MILLISECOND, how_far(life));
    else {
        host_output_last(&life->process.output, last, sizeof last);
        rapahub_fail(code, "", "%s did not start: %s%s%s", guest->name, end->cause,
                     last[0] ? ": " : "", last);
    }
    host_verdict_take(&guest->failure.verdict, code);
}
