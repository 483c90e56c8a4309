/* SPDX-License-Identifier: Apache-2.0 */
/* upgrade: another version of a guest's module takes over while it serves. Its process starts
 * beside the running one; then new calls are held, running ones end, the containers' states cross
 * from `save` to `load`, calls go to the new process, and the old one ends. No call is lost, and
 * none is executed twice.
 *
 * Where anything fails before the switch, the running version serves on and gets the held calls. */
#ifndef RAPAHUB_UPGRADE_H
#define RAPAHUB_UPGRADE_H

#include <rapahub/host.h>

RAPAHUB_BEGIN_DECLS

struct rapahub_upgrade_options {
    const char *chimod;  /* path of the shared object; required */
    uint64_t timeout_ns; /* until calls reach the new version; 0: 30 s */
    uint64_t hold_ns;    /* of that, the time calls may be held; 0: 5 s, or all of it if shorter */
    bool check;          /* only start the new version, and compare: no call is held */
    uint64_t reserved[8];
};

struct rapahub_upgrade_result {
    struct rapahub_guest_id guest; /* as it is known from now on */
    char version_before[64], version_after[64];
    uint64_t start_ns;    /* from the request until the new process was ready */
    uint64_t blackout_ns; /* for which calls were held; 0: they were not */
    uint64_t calls_held;
    uint64_t state_bytes; /* that crossed */
    uint32_t containers;
    uint32_t methods_kept, methods_new;
    uint32_t methods_lost; /* the running version has them, the new one has not */
};

/* Waits until the old process has ended, or the upgrade was refused. `out` may be NULL; it tells
 * what was found also where it is refused. Owner thread, unless the host has its own.
 *
 * The guest stays the same child of its supervisor, under another guest id; from the switch on a
 * restart starts the new module, before it the old one. One that is degraded is upgraded too, and
 * becomes what the new version's own readiness probe says. An exclusive resource that `init` takes
 * is still the old one's: with `load_follows` it is to be taken in `load`. Calls that its own calls
 * make back into the guest are held too, and so time out.
 *
 * RAPAHUB_ESTALE: no such guest. RAPAHUB_ESTATE: it does not serve, or the new module is another
 * one. RAPAHUB_EBUSY: it is being upgraded already. -ENOTSUP: the host did not start it.
 * RAPAHUB_EFULL: no place for another process. -ETIMEDOUT, RAPAHUB_EDIED, RAPAHUB_EABI; -EMSGSIZE:
 * a state beyond RAPAHUB_STATE_MAX; and what starting a guest, `save` and `load` fail with. */
RAPAHUB_API_CHECKED int rapahub_host_upgrade(struct rapahub_host *host,
                                             struct rapahub_guest_id guest,
                                             const struct rapahub_upgrade_options *options,
                                             struct rapahub_upgrade_result *out);

/* How an upgrade ended: 0, or a failure; `result` and the diagnosis hold until this returns. It is
 * a callback: it may call containers, and no more. */
typedef void rapahub_on_upgraded(void *user, int status,
                                 const struct rapahub_upgrade_result *result);

/* The same without the wait: it goes on in the turns that the owner takes. on_done runs once, on
 * the owner, unless this fails; it fails with what is known at once, as above. The options are
 * copied. A host that ends while it is under way ends it. */
RAPAHUB_API_CHECKED int rapahub_host_upgrade_async(struct rapahub_host *host,
                                                   struct rapahub_guest_id guest,
                                                   const struct rapahub_upgrade_options *options,
                                                   rapahub_on_upgraded *on_done, void *user);

RAPAHUB_END_DECLS

#endif
