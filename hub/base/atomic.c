/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/base/atomic.h"

/* ThreadSanitizer sees this copy through its own memcpy, whatever the asm says. Between two honest
 * ends that proves that a payload is published before it is read. A test whose writer keeps no
 * protocol must hide the writer from it. */
__attribute__((noinline)) void hub_atomic_copy_bytes(void *to, const volatile void *from,
                                                     size_t size)
{
    const void *source = (const void *)(uintptr_t)from;

    /* the compiler must assume nothing about the bytes */
    __asm__ volatile("" : "+r"(source) : : "memory");
    memcpy(to, source, size);
    __asm__ volatile("" : : : "memory");
}

/* Where a tool watches the order, each word is an atomic one of its own. */
#if defined(__SANITIZE_THREAD__) || defined(HUB_ATOMIC_BUILTINS_ONLY)
void hub_atomic_copy_racing(void *to, const struct hub_a64 *from, size_t size)
{
    uint8_t *bytes = to;

    for (size_t at = 0; at < size; at += 8) {
        uint64_t word = hub_load_relaxed64(&from[at / 8]);

        memcpy(bytes + at, &word, size - at < 8 ? size - at : 8);
    }
}

void hub_atomic_write_racing(struct hub_a64 *to, const void *from, size_t size)
{
    const uint8_t *bytes = from;

    for (size_t at = 0; at < size; at += 8) {
        uint64_t word = 0;

        memcpy(&word, bytes + at, size - at < 8 ? size - at : 8);
        hub_store_relaxed64(&to[at / 8], word);
    }
}
#else
void hub_atomic_copy_racing(void *to, const struct hub_a64 *from, size_t size)
{
    if (size > 0)
        hub_atomic_copy_bytes(to, from, size);
}

void hub_atomic_write_racing(struct hub_a64 *to, const void *from, size_t size)
{
    if (size > 0)
        hub_atomic_copy_bytes(to, from, size);
}
#endif
