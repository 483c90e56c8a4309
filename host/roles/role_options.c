/* SPDX-License-Identifier: Apache-2.0 */
#include "host/roles/role_options.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "host/roles/links.h"
#include "hub/bus/grant/grant.h"
#include "hub/bus/region.h"

#define RULE "supervise.role.checked"

_Static_assert(RAPAHUB_ROLE_NAME_MAX == RAPAHUB_REGION_NAME_MAX, "names of one length");

static const char *word_of(enum rapahub_region_role kind)
{
    static const char *const words[] = {"role",   "producer", "consumer",
                                        "router", "writer",   "reader"};

    return words[(unsigned)kind < sizeof words / sizeof *words ? kind : 0];
}

/* A guest of its own segment shares no memory with other guests, so it is given none. */
static int check_guest(const struct host_guest *guest)
{
    if (!guest)
        return rapahub_fail(RAPAHUB_EINVAL, RULE,
                            "what this process offers has no roles: it opens the region itself");
    if (guest->anonymous || guest->admitted)
        return rapahub_fail(
            RAPAHUB_ENOTSUP, RULE,
            "%s was not started by this host: only guests that it starts have roles", guest->name);
    return guest->trust == RAPAHUB_TRUST_TRUSTED
               ? 0
               : rapahub_fail(RAPAHUB_ENOTSUP, "supervise.role.private",
                              "%s is not trusted, and a region is memory that guests share: start "
                              "it with trust 'trusted' to give it a role",
                              guest->name);
}

static int check_one(const struct rapahub_role *given)
{
    uint64_t reserved = 0;

    for (size_t i = 0; i < sizeof given->reserved / sizeof *given->reserved; i++)
        reserved |= given->reserved[i];
    if (reserved != 0 || (unsigned)given->on_full > RAPAHUB_ON_FULL_FAIL)
        return rapahub_fail(RAPAHUB_EINVAL, RULE, "an option of the role '%.80s' is not valid",
                            given->name);
    if (!hub_region_is_name(given->name))
        return rapahub_fail(RAPAHUB_EINVAL, RULE,
                            "'%.80s' is no name of a role: 1 to %d letters, digits, '_', '-', '.'",
                            given->name, RAPAHUB_ROLE_NAME_MAX);
    if (!given->region)
        return rapahub_fail(RAPAHUB_EINVAL, RULE, "the role '%s' names no region", given->name);
    if (given->kind != RAPAHUB_REGION_ROLE_PRODUCER &&
        given->kind != RAPAHUB_REGION_ROLE_CONSUMER && given->kind != RAPAHUB_REGION_ROLE_WRITER &&
        given->kind != RAPAHUB_REGION_ROLE_READER)
        return rapahub_fail(RAPAHUB_EINVAL, RULE,
                            "the role '%s' is of kind %d: a guest is a producer, a consumer, a "
                            "writer or a reader",
                            given->name, (int)given->kind);
    return given->deliver && given->kind != RAPAHUB_REGION_ROLE_CONSUMER
               ? rapahub_fail(RAPAHUB_EINVAL, RULE,
                              "the role '%s' is to deliver: only a consumer does", given->name)
               : 0;
}

static int check_free(const struct host_role *role)
{
    return host_links_promised(role, role->index)
               ? rapahub_fail(RAPAHUB_EROLETAKEN, RULE,
                              "the role '%s' wants to be the %s %" PRIu32
                              " of region '%s', and another container is that already: name "
                              "another index, or any",
                              role->name, word_of(role->kind), role->index, role->region->name)
               : 0;
}

static int check_place(const struct host_role *role)
{
    bool shared;
    uint32_t places = hub_grant_places(role->region->region, role->kind, &shared);

    if (places == 0)
        return rapahub_fail(RAPAHUB_EBADKIND, RULE, "region '%s' has no %s, which the role '%s' is",
                            role->region->name, word_of(role->kind), role->name);
    if (role->index == RAPAHUB_ROLE_ANY)
        return 0;
    if (role->index >= places)
        return rapahub_fail(
            RAPAHUB_EINVAL, RULE,
            "the role '%s' wants index %" PRIu32 ", and region '%s' has %" PRIu32 " of a %s",
            role->name, role->index, role->region->name, places, word_of(role->kind));
    return shared ? 0 : check_free(role);
}

static int check_name(const struct host_roles *roles, const char *name)
{
    for (uint32_t i = 0; i < roles->count; i++)
        if (strcmp(roles->of[i].name, name) == 0)
            return rapahub_fail(RAPAHUB_EINVAL, RULE, "two roles have the name '%s'", name);
    return 0;
}

static int add(const struct host_regions *regions, const struct rapahub_role *given,
               struct host_roles *roles)
{
    struct host_role *role = &roles->of[roles->count];
    int r = check_one(given);

    if (r == 0)
        r = check_name(roles, given->name);
    if (r == 0)
        r = host_regions_find(regions, given->region, &role->region);
    if (r < 0)
        return r;
    memcpy(role->name, given->name, strlen(given->name));
    role->kind = given->kind;
    role->index = given->index;
    role->on_full = given->on_full;
    role->deliver = given->deliver;
    r = check_place(role);
    if (r < 0)
        return r;
    hub_list_append(&role->region->roles, &role->of_region);
    roles->count++;
    return 0;
}

static uint32_t count_of(const struct rapahub_role *given)
{
    uint32_t count = 0;

    while (given && given[count].name && count <= RAPAHUB_ROLES_MAX)
        count++;
    return count;
}

int host_role_options_take(const struct host_regions *regions, const struct host_guest *guest,
                           const struct rapahub_container_options *options, struct host_roles **out)
{
    uint32_t count = count_of(options->roles);
    struct host_roles *roles;
    int r = count == 0 ? 0 : check_guest(guest);

    *out = NULL;
    if (count == 0 || r < 0)
        return r;
    if (count > RAPAHUB_ROLES_MAX)
        return rapahub_fail(RAPAHUB_EINVAL, RULE, "a container has at most %d roles",
                            RAPAHUB_ROLES_MAX);
    roles = calloc(1, sizeof *roles + count * sizeof *roles->of);
    if (!roles)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for the roles of a container");
    for (uint32_t i = 0; i < count && r == 0; i++)
        r = add(regions, &options->roles[i], roles);
    if (r < 0)
        host_roles_release(&roles);
    *out = roles;
    return r;
}
