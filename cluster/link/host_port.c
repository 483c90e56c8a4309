/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/link/host_port.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include <rapahub/error.h>

static int refuse(const char *text, const char *why)
{
    return rapahub_fail(RAPAHUB_EINVAL, "", "'%.300s' is no HOST:PORT: %s", text, why);
}

static bool parse_port(const char *text, uint16_t *out)
{
    unsigned long port = 0;
    size_t size = strspn(text, "0123456789");

    if (size == 0 || size > 5 || text[size] != '\0')
        return false;
    for (; *text; text++)
        port = port * 10 + (unsigned long)(*text - '0');
    *out = (uint16_t)port;
    return port <= UINT16_MAX;
}

static bool is_host(const char *host, bool in_brackets)
{
    static const char name[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._";
    struct in6_addr six;

    if (in_brackets)
        return inet_pton(AF_INET6, host, &six) == 1;
    return strcmp(host, "*") == 0 || (host[0] && host[strspn(host, name)] == '\0');
}

int cluster_host_port_parse(const char *text, struct cluster_host_port *out)
{
    bool in_brackets = text[0] == '[';
    const char *host = text + (in_brackets ? 1 : 0);
    size_t size = strcspn(host, in_brackets ? "]" : ":");
    const char *rest = host + size;

    *out = (struct cluster_host_port){.port = CLUSTER_HOST_PORT_DEFAULT};
    if (size >= sizeof out->host)
        return refuse(text, "the host is too long");
    memcpy(out->host, host, size);
    if (!is_host(out->host, in_brackets))
        return refuse(text, "there is no host in it");
    if (in_brackets && *rest++ != ']')
        return refuse(text, "the bracket is not closed");
    if (*rest == '\0')
        return 0;
    if (!in_brackets && strchr(rest + 1, ':'))
        return refuse(text, "an address with colons stands in brackets, as [::1]:9413");
    if (*rest != ':' || !parse_port(rest + 1, &out->port))
        return refuse(text, "a port is a number up to 65535");
    return 0;
}

int cluster_host_port_next(const char **list, struct cluster_host_port *out)
{
    char text[CLUSTER_HOST_PORT_HOST + 16];
    size_t size = strcspn(*list, ",");
    int r;

    if (!**list)
        return 0;
    if (size >= sizeof text)
        return refuse(*list, "the host is too long");
    memcpy(text, *list, size);
    text[size] = '\0';
    *list += size + ((*list)[size] == ',' ? 1 : 0);
    r = cluster_host_port_parse(text, out);
    return r < 0 ? r : 1;
}

/* ---- in numbers ---- */

static void set_4(struct cluster_host_port_address *out, struct in_addr host, uint16_t port)
{
    const struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = host};

    memcpy(&out->of, &address, sizeof address);
    out->size = sizeof address;
}

static void set_6(struct cluster_host_port_address *out, struct in6_addr host, uint16_t port)
{
    const struct sockaddr_in6 address = {
        .sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_addr = host};

    memcpy(&out->of, &address, sizeof address);
    out->size = sizeof address;
}

bool cluster_host_port_in_numbers(const struct cluster_host_port *of,
                                  struct cluster_host_port_address *out)
{
    struct in_addr four = {INADDR_ANY};
    struct in6_addr six;

    *out = (struct cluster_host_port_address){.size = 0};
    if (strcmp(of->host, "*") == 0 || inet_pton(AF_INET, of->host, &four) == 1)
        set_4(out, four, of->port);
    else if (inet_pton(AF_INET6, of->host, &six) == 1)
        set_6(out, six, of->port);
    return out->size > 0;
}

void cluster_host_port_print(const struct cluster_host_port_address *address,
                             char to[CLUSTER_HOST_PORT_TEXT])
{
    char host[INET6_ADDRSTRLEN] = "";
    struct sockaddr_in6 six;
    struct sockaddr_in four;

    if (address->of.ss_family == AF_INET6) {
        memcpy(&six, &address->of, sizeof six);
        (void)inet_ntop(AF_INET6, &six.sin6_addr, host, sizeof host);
        snprintf(to, CLUSTER_HOST_PORT_TEXT, "[%s]:%u", host, ntohs(six.sin6_port));
    } else {
        memcpy(&four, &address->of, sizeof four);
        (void)inet_ntop(AF_INET, &four.sin_addr, host, sizeof host);
        snprintf(to, CLUSTER_HOST_PORT_TEXT, "%s:%u", host, ntohs(four.sin_port));
    }
}
