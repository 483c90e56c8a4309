/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/link/name_lookup.h"

#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "hub/base/atomic.h"
#include "hub/base/thread.h"

/* The thread and the one who asks each have it; the last frees it. */
struct cluster_name_lookup {
    struct cluster_host_port of;
    struct hub_a32 done;
    struct hub_a32 left; /* how many have left it */
    /* written by the thread before it is done */
    int error; /* a code that getaddrinfo gave */
    struct cluster_name_lookup_found found;
};

static void leave(struct cluster_name_lookup *lookup)
{
    if (hub_add(&lookup->left, 1) == 1)
        free(lookup);
}

static void note(struct cluster_name_lookup_found *found, const struct addrinfo *all)
{
    for (; all && found->count < CLUSTER_NAME_LOOKUP_MAX; all = all->ai_next) {
        struct cluster_host_port_address *to = &found->addresses[found->count];

        if (all->ai_addrlen > sizeof to->of)
            continue;
        memcpy(&to->of, all->ai_addr, all->ai_addrlen);
        to->size = all->ai_addrlen;
        found->count++;
    }
}

static void *run(void *user)
{
    struct cluster_name_lookup *lookup = user;
    const struct addrinfo wanted = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    struct addrinfo *all = NULL;
    char port[6];

    snprintf(port, sizeof port, "%u", lookup->of.port);
    lookup->error = getaddrinfo(lookup->of.host, port, &wanted, &all);
    if (lookup->error == 0) {
        note(&lookup->found, all);
        freeaddrinfo(all);
    }
    hub_publish(&lookup->done, 1);
    leave(lookup);
    return NULL;
}

int cluster_name_lookup_start(const struct cluster_host_port *of, struct cluster_name_lookup **out)
{
    struct cluster_name_lookup *lookup = calloc(1, sizeof *lookup);
    pthread_t thread;
    int r;

    if (!lookup)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory to look up a name");
    lookup->of = *of;
    r = hub_thread_start(&thread, run, lookup);
    if (r < 0) {
        free(lookup);
        return rapahub_fail(r, "", "cannot start a thread that looks up a name");
    }
    pthread_detach(thread);
    *out = lookup;
    return 0;
}

int cluster_name_lookup_take(const struct cluster_name_lookup *lookup,
                             struct cluster_name_lookup_found *out)
{
    const char *host = lookup->of.host;

    if (hub_observe(&lookup->done) == 0)
        return 0;
    *out = lookup->found;
    if (lookup->error == 0 && out->count > 0)
        return 1;
    if (lookup->error == EAI_NONAME || lookup->error == 0)
        return rapahub_fail(RAPAHUB_ENOENT, "", "no host has the name '%s'", host);
    return rapahub_fail(RAPAHUB_EAGAIN, "", "the name '%s' cannot be looked up: %s", host,
                        gai_strerror(lookup->error));
}

void cluster_name_lookup_release(struct cluster_name_lookup **lookup)
{
    struct cluster_name_lookup *gone = *lookup;

    *lookup = NULL;
    if (gone)
        leave(gone);
}
