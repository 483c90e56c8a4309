/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/cli/pool_target.h"

#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "cluster/base/ids.h"
#include "hub/wire/signature.h"

#define KEY_MAX 4096

/* A part of the text. */
struct part {
    const char *at;
    size_t size;
};

/* The part before the dot that begins the method: a record in a signature has dots, too. */
static struct part before_method(const char *text)
{
    size_t size = strcspn(text, "(");

    while (size > 0 && text[size] != '.')
        size--;
    return (struct part){text, size};
}

static struct part after(struct part whole, size_t skip)
{
    return (struct part){whole.at + skip, whole.size - skip};
}

static bool begins(struct part part, const char *word)
{
    return part.size >= strlen(word) && memcmp(part.at, word, strlen(word)) == 0;
}

static bool is(struct part part, const char *word)
{
    return part.size == strlen(word) && begins(part, word);
}

/* Digits only, and nothing else. */
static bool read_number(struct part part, uint64_t most, uint64_t *out)
{
    *out = 0;
    for (size_t i = 0; i < part.size; i++) {
        if (part.at[i] < '0' || part.at[i] > '9' || i > 18)
            return false;
        *out = *out * 10 + (uint64_t)(part.at[i] - '0');
    }
    return part.size > 0 && *out <= most;
}

bool cluster_pool_target_has_mode(const char *text)
{
    return memchr(text, '@', strcspn(text, "(/")) != NULL;
}

bool cluster_pool_target_may_be(const char *text)
{
    size_t size = strcspn(text, "(@");

    return !memchr(text, '/', size) && !memchr(text, ':', size);
}

/* ---- modes ---- */

static int read_key(struct part key, enum rapahub_query_mode mode, struct rapahub_query *out)
{
    char text[KEY_MAX];

    if (key.size == 0 || key.size >= sizeof text)
        return rapahub_fail(RAPAHUB_ECONFIG, "",
                            "hash:KEY and dynamic:KEY need a key of less than 4 KiB");
    memcpy(text, key.at, key.size);
    text[key.size] = '\0';
    out->mode = mode;
    out->number = hub_signature_hash(text);
    return 0;
}

static int read_range(struct part range, struct rapahub_query *out)
{
    const char *plus = memchr(range.at, '+', range.size);
    size_t size = plus ? (size_t)(plus - range.at) : 0;
    uint64_t offset, count;

    if (!plus || !read_number((struct part){range.at, size}, CLUSTER_CONTAINERS_MAX, &offset) ||
        !read_number(after(range, size + 1), CLUSTER_CONTAINERS_MAX, &count) || count == 0)
        return rapahub_fail(RAPAHUB_ECONFIG, "", "'%.*s' is no range; 2+3 is 2, 3 and 4",
                            (int)range.size, range.at);
    out->mode = RAPAHUB_QUERY_RANGE;
    out->offset = (uint32_t)offset;
    out->count = (uint32_t)count;
    return 0;
}

static int read_node(struct part node, struct rapahub_query *out)
{
    out->mode = RAPAHUB_QUERY_PHYSICAL;
    return read_number(node, UINT32_MAX, &out->number) && out->number > 0
               ? 0
               : rapahub_fail(RAPAHUB_ECONFIG, "", "'%.*s' is no number of a node", (int)node.size,
                              node.at);
}

static int read_mode(struct part mode, struct rapahub_query *out)
{
    *out = (struct rapahub_query){.mode = RAPAHUB_QUERY_LOCAL};
    if (is(mode, "local"))
        return 0;
    if (begins(mode, "physical:"))
        return read_node(after(mode, strlen("physical:")), out);
    if (begins(mode, "hash:"))
        return read_key(after(mode, strlen("hash:")), RAPAHUB_QUERY_HASH, out);
    if (begins(mode, "dynamic:"))
        return read_key(after(mode, strlen("dynamic:")), RAPAHUB_QUERY_DYNAMIC, out);
    if (begins(mode, "range:"))
        return read_range(after(mode, strlen("range:")), out);
    out->mode = RAPAHUB_QUERY_BROADCAST;
    if (is(mode, "broadcast"))
        return 0;
    out->mode = RAPAHUB_QUERY_DYNAMIC;
    if (is(mode, "dynamic"))
        return 0;
    return rapahub_fail(RAPAHUB_ECONFIG, "",
                        "'%.*s' is no mode; there are local, physical:N, hash:KEY, range:O+N, "
                        "broadcast, dynamic and dynamic:KEY",
                        (int)mode.size, mode.at);
}

/* ---- the text ---- */

static int read_name(struct part name, char to[CLUSTER_KEYS_NAME_MAX + 1])
{
    if (!cluster_keys_is_name((struct rapahub_string){name.at, name.size}))
        return rapahub_fail(RAPAHUB_ECONFIG, "", "'%.*s' is no name of a pool", (int)name.size,
                            name.at);
    memcpy(to, name.at, name.size);
    to[name.size] = '\0';
    return 0;
}

static int read_container(struct part text, uint32_t *out)
{
    uint64_t number;

    if (!read_number(text, CLUSTER_CONTAINERS_MAX - 1, &number))
        return rapahub_fail(RAPAHUB_ECONFIG, "", "'%.*s' is no number of a container, from 0 to %d",
                            (int)text.size, text.at, CLUSTER_CONTAINERS_MAX - 1);
    *out = (uint32_t)number;
    return 0;
}

/* r[impl cluster.call.target] */
int cluster_pool_target_read(const char *text, struct cluster_pool_target *out)
{
    struct part whole = before_method(text);
    const char *mark = memchr(whole.at, '@', whole.size);
    size_t size;
    int r;

    mark = mark ? mark : memchr(whole.at, '#', whole.size);
    size = mark ? (size_t)(mark - text) : whole.size;
    *out = (struct cluster_pool_target){.method = text + whole.size + 1};
    if (whole.size == 0 || !out->method[0])
        return rapahub_fail(RAPAHUB_ECONFIG, "", "'%s' names no method: POOL.METHOD", text);
    r = read_name((struct part){text, size}, out->name);
    if (r < 0 || !mark)
        return r;
    out->has_mode = *mark == '@';
    out->has_container = *mark == '#';
    return out->has_mode ? read_mode(after(whole, size + 1), &out->query)
                         : read_container(after(whole, size + 1), &out->container);
}

int cluster_pool_target_container(const char *text, char pool[CLUSTER_KEYS_NAME_MAX + 1],
                                  uint32_t *container)
{
    const char *mark = strchr(text, '#');
    int r;

    pool[0] = '\0';
    if (!mark)
        return rapahub_fail(RAPAHUB_ECONFIG, "", "'%s' is not POOL#N", text);
    r = read_name((struct part){text, (size_t)(mark - text)}, pool);
    return r < 0 ? r : read_container((struct part){mark + 1, strlen(mark + 1)}, container);
}

bool cluster_pool_target_is_many(const struct cluster_pool_target *target)
{
    return target->has_mode && (target->query.mode == RAPAHUB_QUERY_RANGE ||
                                target->query.mode == RAPAHUB_QUERY_BROADCAST);
}
