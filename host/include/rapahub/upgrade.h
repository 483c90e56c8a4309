/* SPDX-License-Identifier: Apache-2.0 */
/* upgrade: another version of a guest's module takes over while it serves. Its process starts
 * beside the running one; then new calls are held, running ones end, the containers' roles in
 * regions and their states, from `save` to `load`, cross, calls go to the new process, and the old
 * one ends. No call is lost, and none is executed twice; the same holds for messages of roles.
 *
 * If a step before the switch fails, the running version serves on and gets the held calls. */
#ifndef RAPAHUB_UPGRADE_H
#define RAPAHUB_UPGRADE_H

#include <rapahub/host.h>

RAPAHUB_BEGIN_DECLS

struct rapahub_upgrade_options {
    const char *chimod;  /* path of the shared object; required */
    uint64_t timeout_ns; /* until calls reach the new version; 0: 30 s */
    uint64_t hold_ns;    /* the part of it for which calls may be held; 0: 5 s, or all if shorter */
    bool check;          /* only start the new version, and compare: no call is held */
    int module_fd;       /* as in struct rapahub_guest_options; 0: the file `chimod` */
    uint64_t reserved[8];
};

struct rapahub_upgrade_result {
    struct rapahub_guest_id guest; /* its id from now on */
    char version_before[64], version_after[64];
    uint64_t start_ns;    /* from the request until the new process was ready */
    uint64_t blackout_ns; /* time for which calls were held; 0: they were not */
    uint64_t calls_held;
    uint64_t state_bytes; /* state that was transferred */
    uint32_t containers;
    uint32_t methods_kept, methods_new;
    uint32_t methods_lost; /* the running version has them, the new one has not */
};

/* Upgrades a guest; waits until the old process has ended, or the upgrade was refused. `out` may be
 * NULL; it has the findings also of a refused upgrade. Owner thread, unless the host has its own.
 *
 * The guest stays the same child of its supervisor, under another guest id; from the switch on a
 * restart starts the new module, before it the old one. A degraded guest is upgraded too, and
 * becomes what the new version's own readiness probe says. The old version still holds an exclusive
 * resource that `init` would take: with `load_follows` it must be taken in `load`. But a container
 * with roles begins in the new process when it has them, while calls are held. Calls that its
 * own calls make back into the guest are held too, and so time out.
 *
 * RAPAHUB_ESTALE: no such guest. RAPAHUB_ESTATE: it does not serve, or the new module is another
 * one. RAPAHUB_EBUSY: it is being upgraded already. -ENOTSUP: the host did not start it.
 * RAPAHUB_EFULL: no place for another process. -ETIMEDOUT, RAPAHUB_EDIED, RAPAHUB_EABI; -EMSGSIZE:
 * a state beyond RAPAHUB_STATE_MAX; and what starting a guest, `save` and `load` fail with. */
RAPAHUB_API_CHECKED int rapahub_host_upgrade(struct rapahub_host *host,
                                             struct rapahub_guest_id guest,
                                             const struct rapahub_upgrade_options *options,
                                             struct rapahub_upgrade_result *out);

/* Called at the end of an upgrade. `status` is 0 or a failure; `result` and the diagnosis are valid
 * until this returns. It may call containers, and nothing else. */
typedef void rapahub_on_upgraded(void *user, int status,
                                 const struct rapahub_upgrade_result *result);

/* Does the same without waiting; the upgrade goes on in the turns that the owner takes. on_done
 * runs once, on the owner, unless this function fails; it fails with the errors above that are
 * known at once. The options are copied. A host that ends also ends the upgrade. */
RAPAHUB_API_CHECKED int rapahub_host_upgrade_async(struct rapahub_host *host,
                                                   struct rapahub_guest_id guest,
                                                   const struct rapahub_upgrade_options *options,
                                                   rapahub_on_upgraded *on_done, void *user);

RAPAHUB_END_DECLS

#endif
