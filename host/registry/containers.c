/* SPDX-License-Identifier: Apache-2.0 */
#include "host/registry/containers.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hub/wire/lifecycle.h"

const struct hub_states host_containers_states = {
    .name = "container",
    .of =
        {
            [HOST_CONTAINER_STARTING] = {"starting", HUB_TO(HOST_CONTAINER_READY) |
                                                         HUB_TO(HOST_CONTAINER_PLUGGED) |
                                                         HUB_TO(HOST_CONTAINER_HELD) |
                                                         HUB_TO(HOST_CONTAINER_DOWN) |
                                                         HUB_TO(HOST_CONTAINER_GONE)},
            [HOST_CONTAINER_READY] = {"ready", HUB_TO(HOST_CONTAINER_PLUGGED) |
                                                   HUB_TO(HOST_CONTAINER_HELD) |
                                                   HUB_TO(HOST_CONTAINER_DOWN) |
                                                   HUB_TO(HOST_CONTAINER_GONE)},
            [HOST_CONTAINER_PLUGGED] = {"plugged", HUB_TO(HOST_CONTAINER_READY) |
                                                       HUB_TO(HOST_CONTAINER_HELD) |
                                                       HUB_TO(HOST_CONTAINER_DOWN) |
                                                       HUB_TO(HOST_CONTAINER_GONE)},
            [HOST_CONTAINER_HELD] = {"held",
                                     HUB_TO(HOST_CONTAINER_READY) | HUB_TO(HOST_CONTAINER_PLUGGED) |
                                         HUB_TO(HOST_CONTAINER_DOWN) | HUB_TO(HOST_CONTAINER_GONE)},
            [HOST_CONTAINER_DOWN] = {"down",
                                     HUB_TO(HOST_CONTAINER_STARTING) | HUB_TO(HOST_CONTAINER_GONE)},
            [HOST_CONTAINER_GONE] = {"gone", HUB_TO(HOST_CONTAINER_STARTING)},
        },
};

void host_containers_init(struct host_containers *containers)
{
    *containers = (struct host_containers){0};
    for (size_t i = 0; i < HOST_CONTAINERS_BUCKETS; i++)
        hub_list_init(&containers->buckets[i]);
    hub_list_init(&containers->gone);
}

static void free_one(struct host_container *container)
{
    hub_list_remove(&container->bucket);
    host_roles_release(&container->roles);
    free(container->pool_name);
    free((void *)(uintptr_t)container->params.data);
    free(container);
}

static void free_list(struct hub_list *list)
{
    HUB_LIST_EACH (list, link)
        free_one(HUB_LIST_ITEM(link, struct host_container, bucket));
}

void host_containers_fini(struct host_containers *containers)
{
    for (size_t i = 0; i < HOST_CONTAINERS_BUCKETS; i++)
        free_list(&containers->buckets[i]);
    free_list(&containers->gone);
}

static size_t bucket_of(struct rapahub_container_id id)
{
    uint64_t hash = ((uint64_t)id.pool.major << 32 | id.pool.minor) * UINT64_C(0x9E3779B97F4A7C15);

    hash = (hash ^ id.container) * UINT64_C(0xBF58476D1CE4E5B9);
    return (size_t)(hash >> 40) % HOST_CONTAINERS_BUCKETS;
}

static bool same(struct rapahub_container_id a, struct rapahub_container_id b)
{
    return a.pool.major == b.pool.major && a.pool.minor == b.pool.minor &&
           a.container == b.container;
}

struct host_container *host_containers_find(const struct host_containers *containers,
                                            struct rapahub_container_id id)
{
    const struct hub_list *bucket = &containers->buckets[bucket_of(id)];

    HUB_LIST_EACH (bucket, link) {
        struct host_container *container = HUB_LIST_ITEM(link, struct host_container, bucket);

        if (same(container->id, id))
            return container;
    }
    return NULL;
}

static struct host_container *copy_of(const struct rapahub_container_options *options)
{
    struct host_container *container = calloc(1, sizeof *container);
    void *params = malloc(options->params.size + 1);

    if (container)
        container->pool_name = strdup(options->pool_name);
    if (!container || !container->pool_name || !params) {
        if (container)
            free(container->pool_name);
        free(container);
        free(params);
        return NULL;
    }
    if (options->params.size > 0)
        memcpy(params, options->params.data, options->params.size);
    container->params = (struct rapahub_bytes){params, options->params.size};
    container->id = options->id;
    container->routed = options->routed;
    container->managed = options->managed;
    container->token = options->token;
    hub_list_init(&container->bucket);
    hub_list_init(&container->of_guest);
    return container;
}

/* A plain handle never has the bit of a leased one. */
static uint64_t new_handle(struct host_containers *containers, bool managed)
{
    containers->handles++;
    if (containers->handles & HUB_LIFECYCLE_LEASED)
        containers->handles += HUB_LIFECYCLE_LEASED;
    return managed ? containers->handles | HUB_LIFECYCLE_LEASED : containers->handles;
}

int host_containers_add(struct host_containers *containers,
                        const struct rapahub_container_options *options,
                        struct host_container **out)
{
    char name[HOST_CONTAINERS_ID_SIZE];
    struct host_container *container;

    if (host_containers_find(containers, options->id))
        return rapahub_fail(RAPAHUB_EEXIST, "", "there is a container %s already",
                            host_containers_print(options->id, name));
    if (containers->count == HOST_CONTAINERS_MAX)
        return rapahub_fail(RAPAHUB_EFULL, "", "a host has at most %d containers",
                            HOST_CONTAINERS_MAX);
    container = copy_of(options);
    if (!container)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a container");
    container->handle = new_handle(containers, container->managed);
    hub_list_append(&containers->buckets[bucket_of(options->id)], &container->bucket);
    containers->count++;
    *out = container;
    return 0;
}

void host_containers_remove(struct host_containers *containers, struct host_container *container)
{
    if (host_containers_find(containers, container->id) != container)
        return;
    hub_list_remove(&container->bucket);
    hub_list_remove(&container->of_guest);
    host_roles_release(&container->roles);
    hub_list_append(&containers->gone, &container->bucket);
    containers->count--;
}

void host_containers_sweep(struct host_containers *containers, host_containers_inside *inside,
                           void *user)
{
    HUB_LIST_EACH (&containers->gone, link) {
        struct host_container *container = HUB_LIST_ITEM(link, struct host_container, bucket);

        if (host_containers_users(container) == 0 && hub_observe(&container->held) == 0 &&
            !(inside && inside(user, container)))
            free_one(container);
    }
}

void host_containers_move(struct host_container *container, enum host_container_state to,
                          const char *why)
{
    char name[HOST_CONTAINERS_ID_SIZE];

    hub_states_move(&host_containers_states, &container->state, (uint32_t)to,
                    host_containers_print(container->id, name), why);
    if (to != HOST_CONTAINER_PLUGGED && to != HOST_CONTAINER_HELD)
        container->sealed = false;
}

enum host_container_state host_containers_open(const struct host_container *container)
{
    if (container->plugged)
        return HOST_CONTAINER_PLUGGED;
    return container->on_hold || container->gated ? HOST_CONTAINER_HELD : HOST_CONTAINER_READY;
}

static bool is_served(const struct host_container *container)
{
    return container->state == HOST_CONTAINER_READY || container->state == HOST_CONTAINER_PLUGGED ||
           container->state == HOST_CONTAINER_HELD;
}

void host_containers_settle(struct host_container *container, const char *why)
{
    enum host_container_state to = host_containers_open(container);

    if (is_served(container) && container->state != (uint32_t)to)
        host_containers_move(container, to, why);
}

bool host_containers_drop(struct host_container *container)
{
    return (hub_add(&container->users, UINT32_MAX) & HOST_CONTAINERS_AWAITED) != 0;
}

void host_containers_await(struct host_container *container, bool awaited)
{
    if (awaited)
        hub_arm(&container->users, HOST_CONTAINERS_AWAITED);
    else
        hub_clear_bits(&container->users, HOST_CONTAINERS_AWAITED);
}

const char *host_containers_print(struct rapahub_container_id id, char *to)
{
    snprintf(to, HOST_CONTAINERS_ID_SIZE, "%" PRIu32 ".%" PRIu32 "[%" PRIu32 "]", id.pool.major,
             id.pool.minor, id.container);
    return to;
}

/* r[impl cluster.token] */
enum hub_lifecycle_method host_containers_describe(const struct host_container *container,
                                                   uint64_t token, struct hub_begin *out)
{
    *out = (struct hub_begin){
        .handle = container->handle,
        .id = {container->id.pool.major, container->id.pool.minor, container->id.container},
        .pool_name = rapahub_string_of(container->pool_name),
        .params = container->params,
    };
    return token != 0 ? HUB_LIFECYCLE_BEGIN_TOKEN : HUB_LIFECYCLE_BEGIN;
}
