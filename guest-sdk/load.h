/* SPDX-License-Identifier: Apache-2.0 */
/* load: opens a module from its sealed copy with dlopen, and explains every failure. Serving
 * thread. */
#ifndef GUEST_SDK_LOAD_H
#define GUEST_SDK_LOAD_H

#include <stdint.h>

#include <rapahub/chimod.h>

#include "guest-sdk/methods.h"

#define GUEST_STATE_MAX ((size_t)1 << 30)

struct guest_module {
    void *handle; /* dlopen's; NULL: the module is built into the program */
    const struct rapahub_chimod *chimod;
    struct rapahub_container_ops ops; /* the module's callbacks, with the defaults filled in */
    struct guest_methods methods;
    struct guest_plain *plain; /* NULL unless the module is a plain library */
    uintptr_t start, end;      /* the addresses of its code and data, for last words */
    const char *name;          /* the file's name, or the chimod's if it is built in */
};

/* Loads the module in descriptor `fd` into `module`, which is zeroed. `name` is the file's name,
 * for error texts, and must stay valid as long as the module. `plain` is a list of signatures,
 * ended by NULL, for a plain library; it is empty for a chimod. Constructors run. Returns 0;
 * RAPAHUB_ELOAD if the file cannot be loaded; RAPAHUB_EABI if the module does not fit this release.
 * The text names the file, the fault, and the remedy. */
int guest_load_open(struct guest_module *module, int fd, const char *name,
                    const char *const *plain);

/* The same for a chimod that is part of the program. */
int guest_load_own(struct guest_module *module, const struct rapahub_chimod *chimod);

void guest_load_close(struct guest_module *module);

#endif
