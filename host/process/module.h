/* SPDX-License-Identifier: Apache-2.0 */
/* module: a shared object, copied from its file into sealed memory, so that the bytes that were
 * checked are the bytes that are loaded, whatever happens to the file. */
#ifndef HOST_PROCESS_MODULE_H
#define HOST_PROCESS_MODULE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#define HOST_MODULE_SIZE_MAX ((size_t)256 << 20)

/* Opens a sealed, read-only memfd with the file's bytes. -ENOENT, -EACCES and so on, or
 * RAPAHUB_ELOAD if it is no shared object for this machine; the text names the path and says what
 * it is. */
int host_module_open(const char *path, int *out);

/* The same for the file of a descriptor, which stays the caller's. `name` is for people. With
 * `shared` the result may be the same memory, if it is a memfd that is sealed; the guest that gets
 * it can change its mode, so it is for trusted guests only. -EBADF if it is not open for
 * reading. */
int host_module_take(int fd, const char *name, bool shared, int *out);

/* The two halves of it: open the regular file of that name, and copy its present content. */
int host_module_open_file(const char *path, struct stat *status, int *out);
int host_module_copy(int file, const char *path, int *out);

#endif
