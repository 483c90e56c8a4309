/* SPDX-License-Identifier: Apache-2.0 */
#include "host/guest/guest_table.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "host/guest/guest_record.h"
#include "host/guest/supervision.h"

bool host_guest_table_is_used(const struct host_guest *guest)
{
    return guest->state != HOST_GUEST_STOPPED && guest->state != HOST_GUEST_FAILED &&
           guest->state != HOST_GUEST_CLOSED;
}

void host_guest_table_forget_containers(struct host_guest *guest)
{
    struct host_supervision *host = HOST_SUPERVISION(guest->host);

    host_routes_write(&HOST_REGISTRY(host)->routes);
    HUB_LIST_EACH (&guest->containers, link)
        host_containers_remove(&HOST_REGISTRY(host)->containers,
                               HUB_LIST_ITEM(link, struct host_container, of_guest));
    host_routes_unlock(&HOST_REGISTRY(host)->routes);
}

void host_guest_table_forget(struct host_supervision *host, uint32_t place)
{
    struct host_guest *guest = HOST_REGISTRY(host)->guests[place];

    host_supervision_forget(guest);
    host_guest_table_forget_containers(guest);
    HUB_LIST_EACH (&host->call.process.ended, link) {
        struct host_life *life = HUB_LIST_ITEM(link, struct host_life, link);

        if (life->guest == guest)
            life->guest = NULL;
    }
    host_routes_write(&HOST_REGISTRY(host)->routes);
    HOST_REGISTRY(host)->guests[place] = NULL;
    host_routes_unlock(&HOST_REGISTRY(host)->routes);
    host_guest_record_release(&guest);
}

void host_guest_table_drop(struct host_guest *guest)
{
    struct host_supervision *host = HOST_SUPERVISION(guest->host);

    for (uint32_t i = 0; i < HOST_REGISTRY(host)->guests_max; i++)
        if (HOST_REGISTRY(host)->guests[i] == guest) {
            host_guest_table_forget(host, i);
            return;
        }
}

/* A guest that a supervisor keeps whatever its state goes only after it was closed. */
static bool may_go(const struct host_guest *guest)
{
    return !host_guest_table_is_used(guest) && guest->pins == 0 &&
           (!guest->kept || host_supervision_is_closed(guest));
}

/* Another guest with this name, even one that is down now and may come again. NULL if there is
 * none. */
static const struct host_guest *bearer(const struct host_supervision *host, const char *name,
                                       const struct host_guest *but)
{
    for (uint32_t i = 0; i < host->call.process.owner.registry.guests_max; i++) {
        const struct host_guest *guest = host->call.process.owner.registry.guests[i];

        if (guest && guest != but && !may_go(guest) && strcmp(guest->name, name) == 0)
            return guest;
    }
    return NULL;
}

/* r[impl sec.name.own] */
void host_guest_table_name(struct host_guest *guest)
{
    char base[sizeof guest->name - 4];

    snprintf(base, sizeof base, "%.59s", guest->name);
    for (unsigned n = 2; bearer(HOST_SUPERVISION(guest->host), guest->name, guest); n++)
        snprintf(guest->name, sizeof guest->name, "%s-%u", base, n);
}

/* A starting guest without a name of its own is renamed when its module tells its name.
 * r[impl sec.name.own] */
int host_guest_table_check_name(const struct host_supervision *host, const char *name)
{
    const struct host_guest *guest = bearer(host, name, NULL);

    if (!guest || guest->named == HOST_GUEST_NAMED_BY_CALLER ||
        (guest->named == HOST_GUEST_UNNAMED && !host_guest_is_up(guest)))
        return 0;
    return rapahub_fail(-EEXIST, "sec.name.own",
                        "%s: a guest that was given no name calls itself so; stop that one, or "
                        "choose another name",
                        name);
}

/* The entries for guests of one kind: neither kind can take those of the other. */
struct range {
    uint32_t first, end;
};

static struct range range_of(const struct host_registry *registry, bool admitted)
{
    uint32_t others = registry->guests_max - registry->admitted_max;

    return admitted ? (struct range){others, registry->guests_max} : (struct range){0, others};
}

static int refuse(struct range range, bool admitted)
{
    return admitted ? rapahub_fail(RAPAHUB_EFULL, "hub.admit.bound",
                                   "the host has admitted %u guests; it may admit no more",
                                   range.end - range.first)
                    : rapahub_fail(RAPAHUB_EFULL, "", "the host has %u guests; it may have no more",
                                   range.end - range.first);
}

static int find_place(struct host_supervision *host, bool admitted, uint32_t *out)
{
    struct range range = range_of(HOST_REGISTRY(host), admitted);
    uint32_t oldest = range.end;

    for (uint32_t i = range.first; i < range.end; i++) {
        const struct host_guest *guest = HOST_REGISTRY(host)->guests[i];

        if (!guest) {
            *out = i;
            return 0;
        }
        if (may_go(guest) &&
            (oldest == range.end || guest->serial < HOST_REGISTRY(host)->guests[oldest]->serial))
            oldest = i;
    }
    if (oldest == range.end)
        return refuse(range, admitted);
    host_guest_table_forget(host, oldest);
    *out = oldest;
    return 0;
}

int host_guest_table_enter(struct host_guest *guest, uint32_t *place)
{
    struct host_supervision *host = HOST_SUPERVISION(guest->host);
    int r = find_place(host, guest->admitted, place);

    if (r < 0)
        return r;
    guest->serial = ++host->serials;
    host_routes_write(&HOST_REGISTRY(host)->routes);
    HOST_REGISTRY(host)->guests[*place] = guest;
    host_routes_unlock(&HOST_REGISTRY(host)->routes);
    return 0;
}
