/* SPDX-License-Identifier: Apache-2.0 */
#include "host/config/tree_roles.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <rapahub/error.h>

#include "host/config/suggest.h"
#include "host/config/tree_keys.h"
#include "host/config/tree_map.h"
#include "host/config/tree_regions.h"

#define RULE "supervise.role.checked"

/* ---- read ---- */

/* The names of a role, and what it is, have no default. */
static int check_given(struct config_yaml *yaml, const struct rapahub_role *role,
                       struct fy_node *map)
{
    const char *missing = !role->name                              ? "name"
                          : role->kind == RAPAHUB_REGION_ROLE_NONE ? "role"
                          : !role->region                          ? "region"
                                                                   : NULL;

    return missing ? config_yaml_fail(yaml, map, RULE, "a role without the key %s; add it", missing)
                   : 0;
}

static int read_one(struct config_yaml *yaml, struct config_tree_node *guest, unsigned index,
                    struct fy_node *map)
{
    struct config_tree_node inner = {.roles = {{.index = RAPAHUB_ROLE_ANY}}};
    int r;

    if (config_yaml_kind(map) != CONFIG_YAML_MAP)
        return config_yaml_fail(yaml, map, "",
                                "roles: %s, where a map with the keys of a role belongs",
                                config_tree_map_shape(map));
    if (index == RAPAHUB_ROLES_MAX)
        return config_yaml_fail(yaml, map, RULE, "more than %d roles; a container has no more",
                                RAPAHUB_ROLES_MAX);
    r = config_tree_map_read(yaml, &inner, CONFIG_TREE_OF_ROLE, "", map);
    if (r == 0)
        r = check_given(yaml, &inner.roles[0], map);
    guest->roles[index] = inner.roles[0];
    guest->roles_at[index] = map;
    return r;
}

int config_tree_roles_read(struct config_yaml *yaml, struct config_tree_node *guest)
{
    struct fy_node *item;
    unsigned count = 0;
    void *at = NULL;
    int r = 0;

    while (r == 0 && guest->list && (item = config_yaml_item(guest->list, &at)))
        r = read_one(yaml, guest, count++, item);
    return r;
}

/* ---- check ---- */

/* A role, and where it stands. */
struct standing {
    struct config_tree *tree;
    const struct config_tree_node *guest;
    const struct config_tree_region *region;
    const struct rapahub_role *role;
    struct fy_node *at; /* its map */
};

static const char *word_of(enum rapahub_region_role kind)
{
    const struct config_tree_choice *choice =
        config_tree_keys_find("role", CONFIG_TREE_OF_ROLE, CONFIG_YAML_TEXT)->choices;

    while (choice->value != (int)kind)
        choice++;
    return choice->name;
}

/* The value of a key of the role, or the role if that key is not given. */
static struct fy_node *place_of(const struct standing *s, const char *key)
{
    struct fy_node *value = config_yaml_find(s->at, key).value;

    return value ? value : s->at;
}

#define FAIL(standing, at, ...) \
    config_yaml_fail(&(standing)->tree->yaml, place_of(standing, at), RULE, __VA_ARGS__)

static int find_region(struct standing *s)
{
    const char *name = s->role->region;
    struct config_suggest suggest = {name, NULL, CONFIG_SUGGEST_FAR};

    s->region = config_tree_regions_find(s->tree, name);
    if (s->region)
        return 0;
    for (unsigned i = 0; i < s->tree->region_count; i++)
        config_suggest_consider(&suggest, s->tree->regions[i].name);
    return FAIL(s, "region", "the file has no region '%s'%s%s%s", name,
                suggest.nearest ? ", did you mean '" : "; add it to the list regions",
                suggest.nearest ? suggest.nearest : "", suggest.nearest ? "'?" : "");
}

/* r[impl supervise.role.private] */
static int check_guest(const struct standing *s)
{
    struct fy_node *trust = config_yaml_find(s->guest->at, "trust").value;

    return s->guest->trust == RAPAHUB_TRUST_TRUSTED
               ? 0
               : config_yaml_fail(&s->tree->yaml, trust ? trust : s->at, "supervise.role.private",
                                  "'%s' has roles and is not trusted, and a region is memory that "
                                  "guests share; write trust: trusted",
                                  s->guest->name);
}

static int check_name(const struct standing *s)
{
    for (const struct rapahub_role *other = s->guest->roles; other < s->role; other++)
        if (strcmp(other->name, s->role->name) == 0)
            return FAIL(
                s, "name", "'%s' has another role '%s', in line %u; choose another", s->guest->name,
                other->name,
                config_yaml_line(&s->tree->yaml, s->guest->roles_at[other - s->guest->roles]));
    return 0;
}

static int check_options(const struct standing *s)
{
    if (s->role->deliver && s->role->kind != RAPAHUB_REGION_ROLE_CONSUMER)
        return FAIL(s, "deliver", "deliver: only a consumer gets messages; take it away");
    return config_yaml_find(s->at, "on_full").key && s->role->kind != RAPAHUB_REGION_ROLE_PRODUCER
               ? FAIL(s, "on_full", "on_full: only a producer fills a region; take it away")
               : 0;
}

/* A role before this one that is in its way. */
struct rival {
    const struct config_tree_node *guest;
    struct fy_node *at; /* NULL: there is none */
    bool last;          /* it has the last place; else that of this index */
};

/* Looks at the roles of a guest, of which so many were passed that take a place of the region. */
static void look_at(const struct standing *s, const struct config_tree_node *guest, uint32_t places,
                    uint32_t *passed, struct rival *out)
{
    for (unsigned k = 0; guest->roles[k].name && &guest->roles[k] != s->role && !out->at; k++) {
        const struct rapahub_role *other = &guest->roles[k];
        bool same = other->index == s->role->index && other->index != RAPAHUB_ROLE_ANY;

        if (other->kind != s->role->kind || strcmp(other->region, s->role->region) != 0)
            continue;
        ++*passed;
        if (same || *passed == places)
            *out = (struct rival){guest, guest->roles_at[k], *passed == places};
    }
}

static int check_free(const struct standing *s, uint32_t places)
{
    struct rival rival = {.at = NULL};
    uint32_t passed = 0;

    for (unsigned i = 0; i <= s->guest->index; i++)
        look_at(s, s->tree->nodes[i], places, &passed, &rival);
    return rival.at
               ? FAIL(s, "index",
                      "region '%s' has %" PRIu32 " %s%s, and '%s' in line %u is %s already; %s",
                      s->region->name, places, word_of(s->role->kind), places == 1 ? "" : "s",
                      rival.guest->name, config_yaml_line(&s->tree->yaml, rival.at),
                      rival.last ? "the last" : "that of this index",
                      rival.last ? "let the region have more of them, or take one away"
                                 : "name another index, or any")
               : 0;
}

static int check_place(const struct standing *s)
{
    uint32_t index = s->role->index;
    bool shared;
    uint32_t places = config_tree_regions_places(s->region, s->role->kind, &shared);

    if (places == 0)
        return FAIL(s, "role",
                    "a region of the kind of '%s' has no %s; name another region, or role",
                    s->region->name, word_of(s->role->kind));
    if (index != RAPAHUB_ROLE_ANY && index >= places)
        return FAIL(s, "index",
                    "region '%s' has %" PRIu32 " %s%s; write an index below that, or any",
                    s->region->name, places, word_of(s->role->kind), places == 1 ? "" : "s");
    return shared ? 0 : check_free(s, places);
}

static int check_one(struct standing *s)
{
    int r = check_guest(s);

    if (r == 0)
        r = find_region(s);
    if (r == 0)
        r = check_name(s);
    if (r == 0)
        r = check_options(s);
    return r == 0 ? check_place(s) : r;
}

int config_tree_roles_check(struct config_tree *tree)
{
    int r = 0;

    for (unsigned i = 0; r == 0 && i < tree->count; i++) {
        const struct config_tree_node *guest = tree->nodes[i];

        for (unsigned k = 0; r == 0 && guest->roles[k].name; k++) {
            struct standing standing = {
                .tree = tree, .guest = guest, .role = &guest->roles[k], .at = guest->roles_at[k]};

            r = check_one(&standing);
        }
    }
    return r;
}
