/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/client/transport/tls_transport.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "cluster/link/tcp.h"
#include "cluster/link/tls_context.h"
#include "hub/base/clock.h"
#include "hub/base/own.h"

#define CERTIFICATE "client"
#define LOOKUP_NS   (5 * HUB_SECOND)

/* ---- the files ---- */

static int find_folder(const char *given, char to[PATH_MAX])
{
    const char *settings = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    int size;

    if (given)
        size = snprintf(to, PATH_MAX, "%s", given);
    else if (settings && settings[0] == '/')
        size = snprintf(to, PATH_MAX, "%s/rapahub/tls", settings);
    else if (home && home[0] == '/')
        size = snprintf(to, PATH_MAX, "%s/.config/rapahub/tls", home);
    else
        return rapahub_fail(
            RAPAHUB_EINVAL, "",
            "nothing says where the certificate of this client is: HOME is not set");
    return size > 0 && size < PATH_MAX
               ? 0
               : rapahub_fail(RAPAHUB_EINVAL, "",
                              "the path of the folder of certificates is no path");
}

static int check_dates(const struct cluster_tls_transport *self)
{
    char why[256];
    int r = cluster_tls_check_dates(self->context);

    if (r == 0)
        return 0;
    snprintf(why, sizeof why, "%s", rapahub_last_error()->text);
    return rapahub_fail(r, rapahub_last_error()->rule, "%s/" CERTIFICATE ".pem: %s", self->folder,
                        why);
}

/* r[impl cluster.client.certificate] */
static int load(struct cluster_tls_transport *self)
{
    int r;

    cluster_tls_context_release(&self->context);
    r = cluster_tls_open(self->folder, CERTIFICATE, &self->context);
    return r < 0 ? r : check_dates(self);
}

int cluster_tls_transport_init(struct cluster_tls_transport *self, const char *folder)
{
    int r = find_folder(folder, self->folder);

    return r < 0 ? r : load(self);
}

void cluster_tls_transport_fini(struct cluster_tls_transport *self)
{
    cluster_name_lookup_release(&self->lookup);
    cluster_tls_context_release(&self->context);
}

/* ---- addresses ---- */

static bool is_same(const struct cluster_host_port *one, const struct cluster_host_port *other)
{
    return one->port == other->port && strcmp(one->host, other->host) == 0;
}

static int begin_lookup(struct cluster_tls_transport *self, const struct cluster_host_port *to)
{
    struct cluster_host_port_address address;

    cluster_name_lookup_release(&self->lookup);
    self->to = *to;
    self->tried = 0;
    self->found.count = 0;
    if (cluster_host_port_in_numbers(to, &address)) {
        self->found.addresses[0] = address;
        self->found.count = 1;
        return 1;
    }
    self->lookup_ns = hub_clock_now();
    return cluster_name_lookup_start(to, &self->lookup);
}

static int go_on_looking(struct cluster_tls_transport *self)
{
    int r = cluster_name_lookup_take(self->lookup, &self->found);

    if (r == 0 && hub_clock_now() < self->lookup_ns + LOOKUP_NS)
        return rapahub_fail(RAPAHUB_EAGAIN, "", "the name is being looked up");
    cluster_name_lookup_release(&self->lookup);
    return r == 0 ? rapahub_fail(RAPAHUB_ETIMEDOUT, "", "the name was not found in 5 s") : r;
}

/* Returns 1 where there is an address that was not tried. */
static int look_up(struct cluster_tls_transport *self, const struct cluster_host_port *to)
{
    int r = 1;

    if (!is_same(&self->to, to) || !cluster_tls_transport_has_more(self))
        r = begin_lookup(self, to);
    return r < 0 || !self->lookup ? r : go_on_looking(self);
}

bool cluster_tls_transport_has_more(const struct cluster_tls_transport *self)
{
    return self->lookup || self->tried < self->found.count;
}

int cluster_tls_transport_connect(struct cluster_tls_transport *self,
                                  const struct cluster_host_port *to, int *fd,
                                  struct cluster_tls **session)
{
    const struct cluster_tls_options options = {
        .side = CLUSTER_TLS_CLIENT, .deadline_ns = hub_clock_after(CLUSTER_TLS_HANDSHAKE_NS)};
    const struct cluster_host_port_address *address;
    OWN(hub_fd) int socket = -1;
    int r = look_up(self, to);

    if (r < 0)
        return r;
    address = &self->found.addresses[self->tried++]; /* also if the certificate is not good */
    r = load(self);
    if (r == 0)
        r = cluster_tcp_connect(address, &socket);
    if (r == 0)
        r = cluster_tls_create(self->context, socket, &options, session);
    if (r == 0)
        *fd = TAKE(socket);
    return r;
}
