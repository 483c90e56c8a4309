/* SPDX-License-Identifier: Apache-2.0 */
/* modules: the sealed copies of files that trusted guests were made of lately, so that the next one
 * of the same file needs no copy of its own and shares its pages. Whoever has such a descriptor can
 * take the others' right to open it: no guest that is not trusted gets one. The owner's. */
#ifndef HOST_PROCESS_MODULES_H
#define HOST_PROCESS_MODULES_H

#include <stddef.h>
#include <stdint.h>

#define HOST_MODULES_KEPT     8
#define HOST_MODULES_SIZE_MAX ((size_t)8 << 20) /* bytes of a file; larger ones are not kept */

/* The very bytes of a file: any change of them changes one of these. */
struct host_modules_stamp {
    uint64_t device, inode, size, modified_ns, changed_ns;
};

struct host_modules {
    struct host_modules_kept {
        struct host_modules_stamp stamp;
        int copy;      /* -1: none */
        uint64_t used; /* when, in uses */
    } kept[HOST_MODULES_KEPT];
    uint64_t uses;
    uint64_t settled_ns; /* a file that changed less long ago is not kept */
};

void host_modules_init(struct host_modules *modules);
void host_modules_fini(struct host_modules *modules);

/* As host_module_open, which see; the descriptor is the caller's. */
int host_modules_open(struct host_modules *modules, const char *path, int *out);

#endif
