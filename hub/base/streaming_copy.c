/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/base/streaming_copy.h"

#include <stdint.h>
#include <string.h>

#include "hub/base/atomic.h"

#define PAGE        4096
#define CLOSE       32
#define FETCH_LEAST (8U << 10) /* bytes; fewer are copied as fast by memcpy, at any alignment */

/* ThreadSanitizer sees the stores of memcpy, and so proves that they are published before they are
 * read. */
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)

#include <emmintrin.h>

#define LINE       64
#define LOOK_AHEAD (48 * LINE) /* bytes prefetched while a line is copied */

/* Returns the bytes up to the next line. */
static size_t before_line(const void *to)
{
    return -(uintptr_t)to & (LINE - 1);
}

static void stream_line(uint8_t *to, const uint8_t *from)
{
    const __m128i *in = (const __m128i *)(const void *)from;
    __m128i *out = (__m128i *)(void *)to;
    __m128i a = _mm_loadu_si128(in), b = _mm_loadu_si128(in + 1);
    __m128i c = _mm_loadu_si128(in + 2), d = _mm_loadu_si128(in + 3);

    _mm_stream_si128(out, a);
    _mm_stream_si128(out + 1, b);
    _mm_stream_si128(out + 2, c);
    _mm_stream_si128(out + 3, d);
}

/* Streams whole lines only: for a partial line the rest would be read from memory. The fence orders
 * them before all later stores, which a store-release alone does not. */
void hub_streaming_copy_stream(void *to, const void *from, size_t size)
{
    uint8_t *out = to;
    const uint8_t *in = from;
    size_t at = before_line(to);

    if (at > size)
        at = size;
    memcpy(out, in, at);
    for (; size - at >= LINE; at += LINE)
        stream_line(out + at, in + at);
    _mm_sfence();
    memcpy(out + at, in + at, size - at);
}

static void fetch_line(uint8_t *to, const uint8_t *from)
{
    const __m128i *in = (const __m128i *)(const void *)from;
    __m128i *out = (__m128i *)(void *)to;
    __m128i a = _mm_load_si128(in), b = _mm_load_si128(in + 1);
    __m128i c = _mm_load_si128(in + 2), d = _mm_load_si128(in + 3);

    _mm_storeu_si128(out, a);
    _mm_storeu_si128(out + 1, b);
    _mm_storeu_si128(out + 2, c);
    _mm_storeu_si128(out + 3, d);
}

/* Each byte is read once. Reads are of whole lines of the other side, which arrive slowly; the
 * lines written are in a cache. Nothing after the last line is prefetched, because another thread
 * may write there. */
void hub_streaming_copy_lines(void *to, const void *from, size_t size)
{
    uint8_t *out = to;
    const uint8_t *in = from;
    size_t at = before_line(from);

    /* the compiler must assume nothing about the bytes */
    __asm__ volatile("" : "+r"(in) : : "memory");
    if (at > size)
        at = size;
    memcpy(out, in, at);
    for (; size - at >= LOOK_AHEAD + LINE; at += LINE) {
        _mm_prefetch((const char *)in + at + LOOK_AHEAD, _MM_HINT_T0);
        fetch_line(out + at, in + at);
    }
    for (; size - at >= LINE; at += LINE)
        fetch_line(out + at, in + at);
    memcpy(out + at, in + at, size - at);
    __asm__ volatile("" : : : "memory");
}

#else

void hub_streaming_copy_stream(void *to, const void *from, size_t size)
{
    memcpy(to, from, size);
}

void hub_streaming_copy_lines(void *to, const void *from, size_t size)
{
    hub_atomic_copy_bytes(to, from, size);
}

#endif

/* Says whether `to` lies less than 32 bytes after `from`, modulo the page. */
static int is_close_behind(const void *to, const volatile void *from)
{
    return (((uintptr_t)to - (uintptr_t)from - 1) & (PAGE - 1)) < CLOSE - 1;
}

void hub_streaming_copy_fetch(void *to, const volatile void *from, size_t size)
{
    if (size >= FETCH_LEAST && is_close_behind(to, from))
        hub_streaming_copy_lines(to, (const void *)(uintptr_t)from, size);
    else
        hub_atomic_copy_bytes(to, from, size);
}
