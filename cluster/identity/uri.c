/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/identity/uri.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <rapahub/error.h>

#include "cluster/base/keys.h"

#define RULE   "cluster.identity.name"
#define SCHEME "rapahub://"
#define NODE   "/node/"
#define CLIENT "/client/"
#define CA     "/ca"

_Static_assert(CLUSTER_URI_NAME_MAX == CLUSTER_KEYS_NAME_MAX, "a client has a name as a pool has");

static const char *const roles[CLUSTER_PEER_ROLES] = {[CLUSTER_PEER_VIEWER] = "viewer",
                                                      [CLUSTER_PEER_OPERATOR] = "operator",
                                                      [CLUSTER_PEER_ADMIN] = "admin"};

static bool is(struct rapahub_string text, const char *other)
{
    return text.size == strlen(other) && memcmp(text.data, other, text.size) == 0;
}

int cluster_uri_role(struct rapahub_string name, uint8_t *out)
{
    for (unsigned role = 0; role < CLUSTER_PEER_ROLES; role++) {
        if (is(name, roles[role])) {
            *out = (uint8_t)role;
            return 0;
        }
    }
    return rapahub_fail(RAPAHUB_EINVAL, RULE,
                        "'%.*s' is no role: name one of viewer, operator, admin",
                        name.size < 80 ? (int)name.size : 80, name.data ? name.data : "");
}

/* ---- a name is read ---- */

/* Skips a text that must be there. */
static bool take(const char **at, const char *text)
{
    size_t size = strlen(text);

    if (strncmp(*at, text, size) != 0)
        return false;
    *at += size;
    return true;
}

static int digit_of(char letter)
{
    if (letter >= '0' && letter <= '9')
        return letter - '0';
    return letter >= 'a' && letter <= 'f' ? letter - 'a' + 10 : -1;
}

static bool take_uuid(const char **at, uint8_t to[CLUSTER_URI_UUID])
{
    for (unsigned i = 0; i < CLUSTER_URI_UUID; i++) {
        int high = digit_of((*at)[0]), low = high < 0 ? -1 : digit_of((*at)[1]);

        if (low < 0)
            return false;
        to[i] = (uint8_t)(high << 4 | low);
        *at += 2;
    }
    return true;
}

/* The number is all that is left, without a 0 before it. */
static bool take_number(const char *at, uint32_t *out)
{
    uint64_t number = 0;

    if (*at == '0')
        return false;
    for (; *at >= '0' && *at <= '9' && number <= UINT32_MAX; at++)
        number = number * 10 + (uint64_t)(*at - '0');
    if (*at != 0 || number == 0 || number > UINT32_MAX)
        return false;
    *out = (uint32_t)number;
    return true;
}

/* Role and name are all that is left. */
static bool take_client(const char *at, struct cluster_peer_name *to)
{
    const char *end = strchr(at, '/');
    struct rapahub_string name;

    if (!end || cluster_uri_role((struct rapahub_string){at, (size_t)(end - at)}, &to->role) < 0)
        return false;
    name = (struct rapahub_string){end + 1, strlen(end + 1)};
    if (!cluster_keys_is_name(name))
        return false;
    memcpy(to->name, name.data, name.size + 1);
    return true;
}

/* r[impl cluster.identity.name] */
int cluster_uri_parse(const char *uri, struct cluster_peer_name *out)
{
    struct cluster_peer_name name = {.kind = CLUSTER_PEER_NODE};
    const char *at = uri;
    bool sound = strnlen(uri, CLUSTER_URI_SIZE_MAX) < CLUSTER_URI_SIZE_MAX && take(&at, SCHEME) &&
                 take_uuid(&at, name.uuid);

    if (sound && take(&at, NODE)) {
        sound = take_number(at, &name.node);
    } else if (sound && take(&at, CLIENT)) {
        name.kind = CLUSTER_PEER_CLIENT;
        sound = take_client(at, &name);
    } else {
        sound = false;
    }
    if (!sound)
        return rapahub_fail(RAPAHUB_EINVAL, RULE,
                            "'%.100s' is no name of a node or of a client: "
                            "rapahub://CLUSTER/node/NUMBER, "
                            "rapahub://CLUSTER/client/ROLE/NAME",
                            uri);
    *out = name;
    return 0;
}

int cluster_uri_parse_authority(const char *uri, uint8_t out_uuid[CLUSTER_URI_UUID])
{
    uint8_t uuid[CLUSTER_URI_UUID];
    const char *at = uri;

    if (!take(&at, SCHEME) || !take_uuid(&at, uuid) || strcmp(at, CA) != 0)
        return rapahub_fail(RAPAHUB_EINVAL, RULE,
                            "'%.100s' is no name of an authority: rapahub://CLUSTER/ca", uri);
    memcpy(out_uuid, uuid, sizeof uuid);
    return 0;
}

/* ---- a name is written ---- */

static int print_cluster(const uint8_t uuid[CLUSTER_URI_UUID], char to[CLUSTER_URI_SIZE_MAX])
{
    int size = snprintf(to, CLUSTER_URI_SIZE_MAX, SCHEME);

    for (unsigned i = 0; i < CLUSTER_URI_UUID; i++)
        size += snprintf(to + size, CLUSTER_URI_SIZE_MAX - (size_t)size, "%02x", uuid[i]);
    return size;
}

int cluster_uri_print_authority(const uint8_t uuid[CLUSTER_URI_UUID], char to[CLUSTER_URI_SIZE_MAX])
{
    int size = print_cluster(uuid, to);

    return size + snprintf(to + size, CLUSTER_URI_SIZE_MAX - (size_t)size, CA);
}

static int print_client(const struct cluster_peer_name *name, char *to, size_t most)
{
    size_t size = strnlen(name->name, sizeof name->name);

    if (!cluster_keys_is_name((struct rapahub_string){name->name, size}))
        return rapahub_fail(RAPAHUB_EINVAL, RULE,
                            "'%.*s' is no name of a client: it has 1 to 63 letters, digits, '_', "
                            "'-' and '.', the first a letter, a digit or '_'",
                            (int)size, name->name);
    if (name->role >= CLUSTER_PEER_ROLES)
        return rapahub_fail(RAPAHUB_EINVAL, RULE, "%u is no role", name->role);
    return snprintf(to, most, CLIENT "%s/%.*s", roles[name->role], (int)size, name->name);
}

int cluster_uri_print(const struct cluster_peer_name *name, char to[CLUSTER_URI_SIZE_MAX])
{
    int size = print_cluster(name->uuid, to), rest;

    if (name->kind == CLUSTER_PEER_CLIENT) {
        rest = print_client(name, to + size, CLUSTER_URI_SIZE_MAX - (size_t)size);
    } else if (name->kind == CLUSTER_PEER_NODE && name->node > 0) {
        rest =
            snprintf(to + size, CLUSTER_URI_SIZE_MAX - (size_t)size, NODE "%" PRIu32, name->node);
    } else {
        rest = rapahub_fail(RAPAHUB_EINVAL, RULE, "a node has a number");
    }
    return rest < 0 ? rest : size + rest;
}
