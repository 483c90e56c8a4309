/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/base/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "hub/base/line.h"
#include "hub/base/own.h"

#define CHARGED_MAPPED_FROM ((size_t)128 << 10) /* bytes */

/* A sanitizer knows the bounds only of memory from malloc. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer)
#define KNOWN_BY_MALLOC 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(KNOWN_BY_MALLOC)
#define MAPPED_FROM SIZE_MAX
#else
#define MAPPED_FROM ((size_t)8 << 10) /* bytes; less is not worth a mapping */
#endif

void hub_memory_release(void *pointer_to_pointer)
{
    void **pointer = pointer_to_pointer;
    int kept = errno;

    free(*pointer);
    *pointer = NULL;
    errno = kept;
}

void *hub_memory_sparse(size_t size)
{
    void *memory;

    if (size < MAPPED_FROM)
        return calloc(1, size);
    memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

void hub_memory_free_sparse(void *memory, size_t size)
{
    if (size < MAPPED_FROM)
        free(memory);
    else if (memory)
        (void)munmap(memory, size);
}

void hub_memory_forget(void *part, size_t size)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t from = ((uintptr_t)part + page - 1) / page * page,
              to = ((uintptr_t)part + size) / page * page;

    if (from < to)
        (void)madvise((uint8_t *)part + (from - (uintptr_t)part), to - from, MADV_DONTNEED);
}

void *hub_memory_charged(size_t size)
{
    return size < CHARGED_MAPPED_FROM ? hub_line_alloc(size) : hub_memory_sparse(size);
}

void hub_memory_free_charged(void *memory, size_t size)
{
    if (size < CHARGED_MAPPED_FROM)
        free(memory);
    else
        hub_memory_free_sparse(memory, size);
}
