/* SPDX-License-Identifier: Apache-2.0 */
#include "guest-sdk/lifecycle.h"

#include <string.h>

#include "hub/wire/align.h"
#include "hub/wire/payload.h"
#include "hub/wire/postcard.h"

#define PIECE_ROOM 128 /* bytes of a message reserved for everything but the piece */

/* The common start of every message about a container. */
struct order {
    struct guest *guest;
    struct guest_container *container;
    struct hub_reader *arguments;
    struct hub_writer *result;
};

static int take(struct hub_reader *arguments, const struct rapahub_type *type, void *value)
{
    hub_payload_decode(arguments, type, value);
    return arguments->failure < 0 ? RAPAHUB_EARGUMENTS : 0;
}

static int finish(struct hub_reader *arguments)
{
    return hub_postcard_end(arguments) < 0 ? RAPAHUB_EARGUMENTS : 0;
}

/* Decodes the last argument, and checks that no more follows. */
static int take_last(struct order *order, const struct rapahub_type *type, void *value)
{
    int r = take(order->arguments, type, value);

    return r == 0 ? finish(order->arguments) : r;
}

/* Returns the size in bytes of a piece of a state or of the list of methods. */
static size_t piece_size(const struct guest *guest)
{
    size_t room = hub_link_limits(guest->attach.connection.link)->payload_max;

    room = room > 2 * PIECE_ROOM ? room - PIECE_ROOM : room / 2;
    return room < HUB_LIFECYCLE_PIECE ? room : HUB_LIFECYCLE_PIECE;
}

static const char *line_of(const struct guest_methods *methods, uint32_t index)
{
    return hub_invoke_signature(methods->list[index])->text;
}

/* Returns the index after the last line that fits into a piece that begins with line `from`, and
 * the size of the piece in bytes. */
static uint32_t count_lines(const struct guest_methods *methods, uint32_t from, size_t most,
                            size_t *size)
{
    uint32_t to = from;

    for (*size = 0; to < methods->count; to++) {
        size_t length = strlen(line_of(methods, to)) + 1;

        if (*size + length > most)
            break;
        *size += length;
    }
    return to;
}

/* The lines are one string. It is written directly into the result, because it would be large for
 * the stack. */
static int send_methods(struct guest *guest, struct hub_reader *arguments,
                        struct hub_writer *result)
{
    const struct guest_methods *methods = &guest->module.methods;
    uint32_t from = 0, to;
    size_t size;
    int r = take(arguments, &rapahub_type_u32, &from);

    if (r == 0)
        r = finish(arguments);
    if (r < 0)
        return r;
    to = count_lines(methods, from, piece_size(guest), &size);
    if (to == from && from < methods->count)
        return rapahub_fail(RAPAHUB_EMSGSIZE, "", "no message carries the signature %s",
                            line_of(methods, from));
    hub_postcard_put_unsigned(result, size);
    for (uint32_t i = from; i < to; i++) {
        hub_writer_put(result, line_of(methods, i), strlen(line_of(methods, i)));
        hub_writer_byte(result, '\n');
    }
    return 0;
}

static int begin(struct guest *guest, struct hub_reader *arguments, bool with_token)
{
    struct guest_containers_order order = {.token = 0};
    struct hub_align aligned = {0};
    int r = take(arguments, &rapahub_type_hub_begin, &order.begin);

    if (r == 0 && with_token)
        r = take(arguments, &rapahub_type_u64, &order.token);
    if (r == 0)
        r = finish(arguments);
    if (r == 0)
        r = hub_align_bytes(&order.begin.params, &aligned);
    if (r == 0)
        r = guest_containers_begin(&guest->containers, guest->module.chimod, &guest->module.ops,
                                   &order);
    hub_align_fini(&aligned);
    if (r != 0 && !hub_id_map_get(guest->containers.by_handle, order.begin.handle))
        guest_roles_drop(&guest->roles, order.begin.handle);
    return r;
}

static int write_state(struct order *order)
{
    struct rapahub_bytes piece;
    int r = take_last(order, &rapahub_type_bytes, &piece);

    return r == 0 ? guest_state_transfer_write(&order->container->carry, piece) : r;
}

/* A call that serves to answer one of this container's own calls must not save, load or end the
 * container: its state is in use, and the two calls would wait for each other. */
static int check_idle(const struct guest_container *container)
{
    if (container->open == 0 && container->held == 0)
        return 0;
    return rapahub_fail(RAPAHUB_EBUSY, "", "container %u of pool %u waits in a call of its own",
                        container->id.container, container->id.pool.major);
}

static int change_roles(struct order *order)
{
    uint8_t what = 0;
    int r = take_last(order, &rapahub_type_u8, &what);

    if (r == 0 && what == HUB_ROLES_LET_GO)
        r = check_idle(order->container);
    return r == 0 ? guest_roles_change(order->guest, order->container, what) : r;
}

static void end(struct order *order)
{
    struct guest *guest = order->guest;
    uint64_t handle = order->container->handle;

    guest_containers_end(&guest->containers, &guest->module.ops, order->container);
    guest_roles_drop(&guest->roles, handle);
}

/* If load fails the container never becomes reachable. */
static int load_state(struct order *order)
{
    struct guest *guest = order->guest;
    uint32_t version;
    int r = take_last(order, &rapahub_type_u32, &version);

    if (r == 0)
        r = check_idle(order->container);
    if (r < 0)
        return r;
    order->container->held++;
    r = guest_state_transfer_load(&order->container->carry, &guest->module.ops,
                                  order->container->self, version);
    order->container->held--;
    if (r == 0)
        guest_containers_show(order->container);
    else
        end(order);
    return r;
}

static int save_state(struct order *order)
{
    struct hub_saved saved = {.version = order->guest->module.chimod->state_version};
    int r = finish(order->arguments);

    if (r == 0)
        r = check_idle(order->container);
    if (r < 0)
        return r;
    order->container->held++;
    r = guest_state_transfer_save(&order->container->carry, &order->guest->module.ops,
                                  order->container->self, &saved);
    order->container->held--;
    if (r == 0)
        hub_payload_put(order->result, &rapahub_type_hub_saved, &saved);
    return r;
}

/* Without the callback the whole state is saved, for which a module may give up what it has open,
 * so no call may come meanwhile. r[impl hub.changes.order] */
static int save_changes(struct order *order)
{
    const struct rapahub_container_ops *ops = &order->guest->module.ops;
    const struct rapahub_container_ops as_state = {.save = ops->save_changes};
    struct hub_changes changes = {.version = order->guest->module.chimod->state_version,
                                  .whole = ops->save_changes == ops->save};
    struct hub_saved saved;
    bool plugged;
    int r = take_last(order, &rapahub_type_bool, &plugged);

    if (r == 0)
        r = check_idle(order->container);
    if (r == 0 && changes.whole && !plugged)
        r = rapahub_fail(RAPAHUB_ESTATE, "",
                         "the module saves no changes: plug the container for its whole state");
    if (r < 0)
        return r;
    order->container->held++;
    r = guest_state_transfer_save(&order->container->carry, &as_state, order->container->self,
                                  &saved);
    order->container->held--;
    if (r != 0)
        return r;
    changes.size = saved.size;
    changes.checksum = saved.checksum;
    hub_payload_put(order->result, &rapahub_type_hub_changes, &changes);
    return 0;
}

/* A state of which a part was loaded is no state: no call may find it. */
static int load_changes(struct order *order)
{
    const struct rapahub_container_ops *ops = &order->guest->module.ops;
    const struct rapahub_container_ops as_state = {.load = ops->load_changes};
    uint32_t version;
    int r = take_last(order, &rapahub_type_u32, &version);

    if (r == 0)
        r = check_idle(order->container);
    if (r == 0 && ops->load_changes == ops->load)
        r = rapahub_fail(RAPAHUB_ESTATE, "", "the module loads no changes");
    if (r < 0)
        return r;
    order->container->held++;
    r = guest_state_transfer_load(&order->container->carry, &as_state, order->container->self,
                                  version);
    order->container->held--;
    if (r != 0)
        order->container->gate = GUEST_CONTAINER_CLOSED;
    return r;
}

static int read_state(struct order *order)
{
    struct rapahub_bytes piece = {.size = piece_size(order->guest)};
    struct guest_state_transfer *carry = &order->container->carry;
    uint64_t offset;
    int r = take_last(order, &rapahub_type_u64, &offset);

    if (r == 0)
        r = guest_state_transfer_read(carry, offset, &piece);
    if (r < 0)
        return r;
    hub_postcard_put_bytes(order->result, piece);
    guest_state_transfer_settle(carry, offset + piece.size);
    return 0;
}

static int plug(struct order *order)
{
    bool plugged;
    int r = take_last(order, &rapahub_type_bool, &plugged);

    if (r == 0)
        order->guest->module.ops.plugged(order->container->self, plugged);
    return r;
}

/* Without a callback, the work is the number of open calls of this container. */
static int tell_work(struct order *order)
{
    const struct guest_container *container = order->container;
    const struct rapahub_container_ops *ops = &order->guest->module.ops;
    int r = finish(order->arguments);

    if (r == 0)
        hub_postcard_put_unsigned(order->result, ops->work_remaining
                                                     ? ops->work_remaining(container->self)
                                                     : container->open);
    return r;
}

static int migrate(struct order *order)
{
    struct rapahub_node_id node;
    int r = take_last(order, &rapahub_type_u64, &node.number);

    return r == 0 ? order->guest->module.ops.migrate(order->container->self, node) : r;
}

static int expand(struct order *order)
{
    struct rapahub_node_id node;
    int r = take_last(order, &rapahub_type_u64, &node.number);

    return r == 0 ? order->guest->module.ops.expand(order->container->self, node) : r;
}

static int schedule_recover(struct order *order)
{
    struct hub_container lost;
    struct rapahub_container_id id;
    int r = take_last(order, &rapahub_type_hub_container, &lost);

    if (r < 0)
        return r;
    id = (struct rapahub_container_id){{lost.major, lost.minor}, lost.container};
    hub_postcard_put_unsigned(
        order->result,
        order->guest->module.ops.schedule_recover(order->container->self, id).number);
    return 0;
}

/* A mode that no query has goes as one that no host takes. */
static int route_call(struct order *order)
{
    struct rapahub_query query = {.number = 0};
    struct rapahub_route asked = {.reserved = 0};
    struct hub_asked call;
    struct hub_routed routed;
    int r = take_last(order, &rapahub_type_hub_asked, &call);

    if (r < 0)
        return r;
    asked.method_id = call.method;
    asked.number = call.number;
    asked.node = call.node;
    asked.containers = call.containers;
    r = order->guest->module.ops.route(order->container->self, &asked, &query);
    if (r < 0)
        return r;
    routed = (struct hub_routed){(unsigned)query.mode > RAPAHUB_QUERY_DYNAMIC ? UINT8_MAX
                                                                              : (uint8_t)query.mode,
                                 query.number, query.offset, query.count};
    hub_payload_put(order->result, &rapahub_type_hub_routed, &routed);
    return 0;
}

static int tell_health(struct order *order)
{
    int r = finish(order->arguments);

    if (r == 0)
        hub_writer_byte(order->result,
                        (uint8_t)order->guest->module.ops.health(order->container->self));
    return r;
}

static int end_container(struct order *order)
{
    int r = finish(order->arguments);

    if (r == 0)
        r = check_idle(order->container);
    if (r == 0)
        end(order);
    return r;
}

/* An answer by itself shows that the serving thread makes progress. A container that waits in a
 * call of its own counts as healthy, because none of its callbacks may run now.
 * r[impl supervise.probe.answer] */
static int answer_ping(struct guest *guest, struct hub_reader *arguments, struct hub_writer *result)
{
    struct guest_container *outer = guest->containers.asked;
    enum rapahub_health worst = RAPAHUB_HEALTH_READY;
    int r = finish(arguments);

    if (r < 0)
        return r;
    HUB_LIST_EACH (&guest->containers.list, link) {
        struct guest_container *container = HUB_LIST_ITEM(link, struct guest_container, link);
        enum rapahub_health health = RAPAHUB_HEALTH_READY;

        guest->containers.asked = container;
        if (container->gate != GUEST_CONTAINER_CLOSED && container->open == 0 &&
            container->held == 0)
            health = guest->module.ops.health(container->self);
        worst = health > worst ? health : worst;
    }
    guest->containers.asked = outer;
    hub_writer_byte(result, (uint8_t)worst);
    return 0;
}

static int tell_death(struct order *order)
{
    struct hub_down down;
    int r = take_last(order, &rapahub_type_hub_down, &down);

    if (r < 0)
        return r;
    const struct rapahub_death death = {down.name, down.child, down.incarnation,
                                        (enum rapahub_exit_class)down.class, down.count};

    order->guest->module.ops.child_down(order->container->self, &death);
    return 0;
}

static int (*const orders[HUB_LIFECYCLE_COUNT])(struct order *order) = {
    [HUB_LIFECYCLE_WRITE] = write_state,
    [HUB_LIFECYCLE_LOAD] = load_state,
    [HUB_LIFECYCLE_SAVE] = save_state,
    [HUB_LIFECYCLE_READ] = read_state,
    [HUB_LIFECYCLE_PLUG] = plug,
    [HUB_LIFECYCLE_WORK] = tell_work,
    [HUB_LIFECYCLE_MIGRATE] = migrate,
    [HUB_LIFECYCLE_EXPAND] = expand,
    [HUB_LIFECYCLE_RECOVER] = schedule_recover,
    [HUB_LIFECYCLE_HEALTH] = tell_health,
    [HUB_LIFECYCLE_FINI] = end_container,
    [HUB_LIFECYCLE_DOWN] = tell_death,
    [HUB_LIFECYCLE_SAVE_CHANGES] = save_changes,
    [HUB_LIFECYCLE_LOAD_CHANGES] = load_changes,
    [HUB_LIFECYCLE_ROUTE] = route_call,
    [HUB_LIFECYCLE_ROLES] = change_roles,
};

bool guest_lifecycle_serves(enum hub_lifecycle_method method)
{
    return method < HUB_LIFECYCLE_COUNT &&
           (orders[method] || method == HUB_LIFECYCLE_METHODS || method == HUB_LIFECYCLE_BEGIN ||
            method == HUB_LIFECYCLE_BEGIN_TOKEN || method == HUB_LIFECYCLE_PING ||
            method == HUB_LIFECYCLE_ROLE);
}

static const bool serves_meanwhile[HUB_LIFECYCLE_COUNT] = {
    [HUB_LIFECYCLE_PING] = true,         [HUB_LIFECYCLE_BEGIN] = true,
    [HUB_LIFECYCLE_BEGIN_TOKEN] = true,  [HUB_LIFECYCLE_WRITE] = true,
    [HUB_LIFECYCLE_LOAD] = true,         [HUB_LIFECYCLE_PLUG] = true,
    [HUB_LIFECYCLE_SAVE] = true,         [HUB_LIFECYCLE_READ] = true,
    [HUB_LIFECYCLE_SAVE_CHANGES] = true, [HUB_LIFECYCLE_LOAD_CHANGES] = true,
    [HUB_LIFECYCLE_ROUTE] = true,        [HUB_LIFECYCLE_ROLE] = true,
    [HUB_LIFECYCLE_ROLES] = true,
};

static bool is_of_one(enum hub_lifecycle_method method)
{
    return orders[method] != NULL;
}

/* The call that the method waits for may go to another container here, which has not begun yet, or
 * may end only when that one has a copy; and it may be to go where this container says.
 * r[impl hub.steps.meanwhile] */
bool guest_lifecycle_serves_meanwhile(const struct guest *guest, const struct hub_request *request)
{
    enum hub_lifecycle_method method = hub_lifecycle_of_id(request->method_id);
    const struct guest_container *container;
    struct hub_reader arguments;
    uint64_t handle = 0;

    if (method == HUB_LIFECYCLE_COUNT || !serves_meanwhile[method])
        return false;
    if (!is_of_one(method))
        return true;
    hub_reader_init(&arguments, request->arguments.data, request->arguments.size);
    if (take(&arguments, &rapahub_type_u64, &handle) < 0 || handle == 0)
        return false;
    container = guest_containers_find(&guest->containers, handle);
    return container &&
           (method == HUB_LIFECYCLE_ROUTE || (container->open == 0 && container->held == 0));
}

int guest_lifecycle_run(struct guest *guest, enum hub_lifecycle_method method,
                        struct hub_reader *arguments, struct hub_writer *result)
{
    struct order order = {.guest = guest, .arguments = arguments, .result = result};
    struct guest_container *outer = guest->containers.asked;
    uint64_t handle = 0;
    int r;

    if (method == HUB_LIFECYCLE_METHODS)
        return send_methods(guest, arguments, result);
    if (method == HUB_LIFECYCLE_BEGIN || method == HUB_LIFECYCLE_BEGIN_TOKEN)
        return begin(guest, arguments, method == HUB_LIFECYCLE_BEGIN_TOKEN);
    if (method == HUB_LIFECYCLE_PING)
        return answer_ping(guest, arguments, result);
    if (method == HUB_LIFECYCLE_ROLE)
        return guest_roles_build(guest, arguments);
    r = take(arguments, &rapahub_type_u64, &handle);
    if (r < 0)
        return r;
    order.container = handle ? guest_containers_find(&guest->containers, handle) : NULL;
    if (!order.container && method == HUB_LIFECYCLE_FINI)
        guest_roles_drop(&guest->roles, handle);
    if (!order.container)
        return rapahub_fail(RAPAHUB_ENOENT, "", "no container with handle %llu",
                            (unsigned long long)handle);
    guest->containers.asked = order.container;
    r = orders[method](&order);
    guest->containers.asked = outer;
    return r;
}
