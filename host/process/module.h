/* SPDX-License-Identifier: Apache-2.0 */
/* module: a shared object, from its file into sealed memory: what was looked at is what is loaded,
 * whatever becomes of the file. */
#ifndef HOST_PROCESS_MODULE_H
#define HOST_PROCESS_MODULE_H

#include <stddef.h>
#include <sys/stat.h>

#define HOST_MODULE_SIZE_MAX ((size_t)256 << 20)

/* A sealed, read-only memfd with the file's bytes: -ENOENT, -EACCES …, or RAPAHUB_ELOAD where it is
 * no shared object for this machine; the text names the path and what it is. */
int host_module_open(const char *path, int *out);

/* Its two halves: the regular file of that name, and what stands in it now. */
int host_module_open_file(const char *path, struct stat *status, int *out);
int host_module_copy(int file, const char *path, int *out);

#endif
