/* SPDX-License-Identifier: Apache-2.0 */
/* roles: regions of a host, and the roles that the containers of its guests have in them.
 *
 * A container names in its options the regions it takes part in. The host takes each role for the
 * guest before the container begins, and hands it over: the chimod finds a handle that works. When
 * the guest dies, the host takes back what it held, and its next life gets the same role of the
 * same index; a consumer of FANOUT stays subscribed meanwhile. In an upgrade the new version takes
 * them over. A guest that will not run again loses its roles. docs/spec/supervise.md has the rules
 * (supervise.role).
 */
#ifndef RAPAHUB_ROLES_H
#define RAPAHUB_ROLES_H

#include <rapahub/error.h>
#include <rapahub/export.h>
#include <rapahub/id.h>
#include <rapahub/region.h>

RAPAHUB_BEGIN_DECLS

struct rapahub_host;

#define RAPAHUB_ROLES_MAX     16 /* the most that a container has */
#define RAPAHUB_ROLE_NAME_MAX 63 /* bytes of its name: letters, digits, '_', '-', '.' */
#define RAPAHUB_REGIONS_MAX   64 /* the most that a host has */
#define RAPAHUB_ROLE_ANY      UINT32_MAX

/* A role of a container. A list of them ends with one without a name. */
struct rapahub_role {
    const char *name;              /* by which the chimod finds it */
    const char *region;            /* a region of the host: rapahub_host_region */
    enum rapahub_region_role kind; /* PRODUCER, CONSUMER, WRITER or READER */
    /* which consumer of FANOUT, or producer of FANIN; RAPAHUB_ROLE_ANY: the first that is free, the
     * same in all lives */
    uint32_t index;
    enum rapahub_on_full on_full; /* a producer's policy */
    bool deliver; /* a consumer's messages go to the callback `message` of the chimod */
    uint64_t reserved[5];
};

/* Zero stands for the default that a comment names last. */
struct rapahub_host_region_options {
    /* The options of rapahub_region_create; the profile is HARDENED, whatever they say: a role can
     * be taken back from a dead guest only there. */
    struct rapahub_region_options region;
    /* It has its name for all of this user's processes, and stays when the host ends. A region that
     * stands is opened, and must be of the same kind. Default: it is the host's own, has no name
     * for others, and goes with the host and its guests. */
    bool persistent;
    bool route; /* FANOUT: a thread of the library routes it; default: another process does */
    uint64_t reserved[8];
};

/* Makes a region that the roles of this host's guests may name. `options` NULL opens a region of
 * this user that stands. `out`, which may be NULL, gets the region: the host's own, for handles of
 * this process; close those before the host is destroyed. -EEXIST: the host has one of this name;
 * RAPAHUB_EFULL; the errors of rapahub_region_create and rapahub_region_open.
 * r[impl supervise.role.region] */
RAPAHUB_API_CHECKED int rapahub_host_region(struct rapahub_host *host, const char *name,
                                            const struct rapahub_host_region_options *options,
                                            struct rapahub_region **out);

/* A role as it stands. The pointers are valid until the visit returns. */
struct rapahub_subscription {
    struct rapahub_guest_id guest; /* the present or last life */
    const char *guest_name, *role;
    enum rapahub_region_role kind;
    uint32_t index;
    bool active; /* false: suspended: its guest is dead, and comes again */
};

/* Visits the roles that guests have in a region, but not those of guests that never had them, or
 * will not run again. -ENOENT: the host has no such region. */
RAPAHUB_API_CHECKED int rapahub_host_subscriptions(
    struct rapahub_host *host, const char *region,
    void (*visit)(void *user, const struct rapahub_subscription *subscription), void *user);

RAPAHUB_END_DECLS

#endif
