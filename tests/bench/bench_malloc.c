/* SPDX-License-Identifier: Apache-2.0 */
/* bench_malloc: preloaded into a host and its guests, counts the heap allocations of all of them in
 * the file that BENCH_MALLOC_FILE names. */
#include <fcntl.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define PUBLIC __attribute__((visibility("default")))

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

/* Named as the C library's own for the linker only. */
PUBLIC void *bench_malloc_malloc(size_t size) __asm__("malloc");
PUBLIC void *bench_malloc_calloc(size_t count, size_t size) __asm__("calloc");
PUBLIC void *bench_malloc_realloc(void *old, size_t size) __asm__("realloc");
PUBLIC void *bench_malloc_aligned(size_t alignment, size_t size) __asm__("aligned_alloc");

static _Atomic uint64_t nobody, *counter = &nobody;

__attribute__((constructor)) static void open_counter(void)
{
    const char *path = getenv("BENCH_MALLOC_FILE");
    int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    void *memory =
        fd >= 0 ? mmap(NULL, sizeof nobody, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;

    if (memory != MAP_FAILED)
        counter = memory;
    if (fd >= 0)
        close(fd);
}

void *bench_malloc_malloc(size_t size)
{
    atomic_fetch_add(counter, 1);
    return __libc_malloc(size);
}

void *bench_malloc_calloc(size_t count, size_t size)
{
    atomic_fetch_add(counter, 1);
    return __libc_calloc(count, size);
}

void *bench_malloc_realloc(void *old, size_t size)
{
    atomic_fetch_add(counter, 1);
    return __libc_realloc(old, size);
}

void *bench_malloc_aligned(size_t alignment, size_t size)
{
    atomic_fetch_add(counter, 1);
    return __libc_memalign(alignment, size);
}
