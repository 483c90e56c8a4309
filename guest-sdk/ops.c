/* SPDX-License-Identifier: Apache-2.0 */
#include "guest-sdk/ops.h"

#include <string.h>

static int succeed(void *self, const struct rapahub_container_info *info)
{
    (void)self;
    (void)info;
    return 0;
}

static int save_nothing(void *self, struct rapahub_sink *to)
{
    (void)self;
    (void)to;
    return 0;
}

static int refuse_save(void *self, struct rapahub_sink *to)
{
    (void)self;
    (void)to;
    return rapahub_fail(RAPAHUB_ESTATE, "", "the chimod has a state and no save callback");
}

static int load_nothing(void *self, struct rapahub_source *from, uint32_t state_version)
{
    char byte;
    ssize_t n = rapahub_source_read(from, &byte, 1);

    (void)self;
    if (n < 0)
        return (int)n;
    return n == 0 ? 0
                  : rapahub_fail(RAPAHUB_ESTATE, "",
                                 "a state of version %u, and the chimod has no load callback",
                                 state_version);
}

static void ignore_plugged(void *self, bool plugged)
{
    (void)self;
    (void)plugged;
}

static int accept_node(void *self, struct rapahub_node_id node)
{
    (void)self;
    (void)node;
    return 0;
}

static struct rapahub_node_id anywhere(void *self, struct rapahub_container_id lost)
{
    (void)self;
    (void)lost;
    return RAPAHUB_NODE_ANY;
}

static enum rapahub_health be_ready(void *self)
{
    (void)self;
    return RAPAHUB_HEALTH_READY;
}

static void release_nothing(void *self)
{
    (void)self;
}

static void ignore_roles(void *self, bool held)
{
    (void)self;
    (void)held;
}

static void ignore_death(void *self, const struct rapahub_death *death)
{
    (void)self;
    (void)death;
}

/* r[impl cluster.dynamic.default] */
static int stay_local(void *self, const struct rapahub_route *asked, struct rapahub_query *out)
{
    (void)self;
    (void)asked;
    out->mode = RAPAHUB_QUERY_LOCAL;
    return 0;
}

/* A chimod built with an older SDK has fewer callbacks; the missing ones count as NULL. */
static struct rapahub_container_ops own_ops(const struct rapahub_chimod *chimod)
{
    struct rapahub_container_ops own;
    size_t size = chimod->ops_size < sizeof own ? chimod->ops_size : sizeof own;

    memset(&own, 0, sizeof own);
    if (chimod->ops)
        memcpy(&own, chimod->ops, size);
    return own;
}

#define DEFAULT(callback, function) \
    if (!ops->callback)             \
    ops->callback = (function)

void guest_ops_fill(struct rapahub_container_ops *ops, const struct rapahub_chimod *chimod)
{
    *ops = own_ops(chimod);
    DEFAULT(init, succeed);
    DEFAULT(restart, ops->init);
    DEFAULT(recover, ops->init);
    DEFAULT(save, chimod->state_size > 0 ? refuse_save : save_nothing);
    DEFAULT(load, load_nothing);
    DEFAULT(plugged, ignore_plugged);
    DEFAULT(migrate, accept_node);
    DEFAULT(expand, accept_node);
    DEFAULT(schedule_recover, anywhere);
    DEFAULT(health, be_ready);
    DEFAULT(fini, release_nothing);
    DEFAULT(child_down, ignore_death);
    DEFAULT(save_changes, ops->save);
    DEFAULT(load_changes, ops->load);
    DEFAULT(route, stay_local);
    DEFAULT(roles, ignore_roles);
}

int guest_ops_check(const struct rapahub_chimod *chimod)
{
    const struct rapahub_container_ops own = own_ops(chimod);

    if (!own.save_changes == !own.load_changes)
        return 0;
    return rapahub_fail(RAPAHUB_EABI, "", "%s has %s and no %s: it needs both or none",
                        chimod->name, own.save_changes ? "save_changes" : "load_changes",
                        own.save_changes ? "load_changes" : "save_changes");
}

/* r[impl supervise.role.upgrade] */
int guest_ops_lets_go(const struct rapahub_chimod *chimod)
{
    if (chimod->ops_size >= offsetof(struct rapahub_container_ops, roles) + sizeof(void *))
        return 0;
    return rapahub_fail(RAPAHUB_ENOTSUP, "supervise.role.upgrade",
                        "%s was compiled before a guest with roles could be upgraded: compile it "
                        "anew, and start it again",
                        chimod->name);
}

uint32_t guest_ops_mask(const struct rapahub_chimod *chimod)
{
    const struct rapahub_container_ops own = own_ops(chimod);
    void (*callbacks[sizeof own / sizeof(void (*)(void))])(void);
    uint32_t mask = 0;

    memcpy(callbacks, &own, sizeof own);
    for (uint32_t i = 0; i < sizeof callbacks / sizeof *callbacks; i++)
        if (callbacks[i])
            mask |= UINT32_C(1) << i;
    return mask;
}
