/* SPDX-License-Identifier: Apache-2.0 */
/* load: a module from its sealed copy: dlopen, and all that can be wrong with it. */
#ifndef GUEST_SDK_LOAD_H
#define GUEST_SDK_LOAD_H

#include <stdint.h>

#include <rapahub/chimod.h>

#include "guest-sdk/methods.h"

#define GUEST_STATE_MAX ((size_t)1 << 30)

struct guest_module {
    void *handle; /* of dlopen; NULL: built into the program */
    const struct rapahub_chimod *chimod;
    struct rapahub_container_ops ops; /* every default filled in */
    struct guest_methods methods;
    struct guest_plain *plain; /* of a plain library, else NULL */
    uintptr_t start, end;      /* where it lies in memory, for last words */
    const char *name;          /* of its file */
};

/* Loads descriptor `fd`; `name` is the file's, for texts; `plain` are the signatures, ended by
 * NULL, of a library that is no chimod. RAPAHUB_ELOAD where it cannot be loaded, RAPAHUB_EABI where
 * it does not fit: the text says which file, what and what to do. Constructors run. */
int guest_load_open(struct guest_module *module, int fd, const char *name,
                    const char *const *plain);

/* The same for a chimod that is part of the program. */
int guest_load_own(struct guest_module *module, const struct rapahub_chimod *chimod);

void guest_load_close(struct guest_module *module);

#endif
