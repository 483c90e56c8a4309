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
