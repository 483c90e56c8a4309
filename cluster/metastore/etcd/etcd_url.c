/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/metastore/etcd/etcd_url.h"

#include <stdio.h>
#include <string.h>

#include <rapahub/error.h>

#define PORT "2379"

static int refuse(const char *text, const char *why)
{
    return rapahub_fail(RAPAHUB_ECONFIG, "",
                        "metastore '%.300s': %s; write etcd://HOST:PORT,HOST:PORT/PREFIX", text,
                        why);
}

static bool has_port(const char *member)
{
    const char *bracket = strchr(member, ']');

    return strchr(bracket ? bracket : member, ':') != NULL;
}

static int parse_member(const char *text, const char *from, size_t size,
                        struct cluster_host_port *out)
{
    char member[CLUSTER_ETCD_URL_MEMBER + sizeof PORT];

    if (size == 0 || size >= CLUSTER_ETCD_URL_MEMBER)
        return refuse(text, size == 0 ? "a host is missing" : "a host is too long");
    snprintf(member, sizeof member, "%.*s", (int)size, from);
    if (!has_port(member))
        snprintf(member, sizeof member, "%.*s:" PORT, (int)size, from);
    if (cluster_host_port_parse(member, out) < 0 || out->port == 0 || strcmp(out->host, "*") == 0)
        return refuse(text, "a host is none");
    return 0;
}

int cluster_etcd_url_parse(const char *text, struct cluster_etcd_url *out)
{
    const char *at = strstr(text, "://"), *slash;

    *out = (struct cluster_etcd_url){0};
    slash = at ? strchr(at + 3, '/') : NULL;
    if (!slash || !cluster_etcd_space_is_prefix(slash + 1))
        return refuse(text, "the prefix has 1 to 63 letters, digits, '-', '_' or '.'");
    snprintf(out->prefix, sizeof out->prefix, "%s", slash + 1);
    for (at += 3;; at++) {
        size_t size = strcspn(at, ",/");
        int r = out->count == CLUSTER_ETCD_MEMBERS_MAX
                    ? refuse(text, "there are more than 8 hosts")
                    : parse_member(text, at, size, &out->members[out->count]);

        if (r < 0)
            return r;
        out->count++;
        at += size;
        if (at == slash)
            return 0;
    }
}

void cluster_etcd_url_print(const struct cluster_host_port *member,
                            char to[CLUSTER_ETCD_URL_MEMBER])
{
    if (strchr(member->host, ':'))
        snprintf(to, CLUSTER_ETCD_URL_MEMBER, "[%s]:%u", member->host, member->port);
    else
        snprintf(to, CLUSTER_ETCD_URL_MEMBER, "%s:%u", member->host, member->port);
}
