/* SPDX-License-Identifier: Apache-2.0 */
/* modules: a cache of sealed copies of the files that trusted guests used lately, so that the next
 * guest of the same file needs no copy of its own and shares its pages. A process with such a
 * descriptor can change its mode and keep others from opening it, so only trusted guests get one.
 * Owner thread. */
#ifndef HOST_PROCESS_MODULES_H
#define HOST_PROCESS_MODULES_H

#include <stddef.h>
#include <stdint.h>

#define HOST_MODULES_KEPT     8
#define HOST_MODULES_SIZE_MAX ((size_t)8 << 20) /* bytes of a file; larger ones are not cached */

/* Identifies the exact content of a file: any change of it changes a member. */
struct host_modules_stamp {
    uint64_t device, inode, size, modified_ns, changed_ns;
};

struct host_modules {
    struct host_modules_kept {
        struct host_modules_stamp stamp;
        int copy;      /* -1: none */
        uint64_t used; /* time of the last use, counted in uses */
    } kept[HOST_MODULES_KEPT];
    uint64_t uses;
    uint64_t settled_ns; /* a file that changed less than this long ago is not cached */
};

void host_modules_init(struct host_modules *modules);
void host_modules_fini(struct host_modules *modules);

/* The same as host_module_open; the descriptor belongs to the caller. */
int host_modules_open(struct host_modules *modules, const char *path, int *out);

#endif
