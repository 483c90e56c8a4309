/* SPDX-License-Identifier: Apache-2.0 */
/* atomic: the only file that names memory orders, and the only reader of shared memory.
 *
 * Words that two processes share are struct hub_a32 or hub_a64, so that no other code can read them
 * by accident. Each function below reads or writes a word once. r[impl hub.copy.once]
 */
#ifndef HUB_BASE_ATOMIC_H
#define HUB_BASE_ATOMIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* x86-64 has better instructions than the builtins in some places. They are not used under
 * ThreadSanitizer, nor in a test that has its own memory below the builtins
 * (tests/support/weak.h). */
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__) && !defined(HUB_ATOMIC_BUILTINS_ONLY)
#define HUB_ATOMIC_X86_64
#endif

struct hub_a32 {
    uint32_t word;
};

struct hub_a64 {
    uint64_t word;
};

/* Release store: a thread that observes the value sees all earlier writes. */
static inline void hub_publish(struct hub_a32 *to, uint32_t value)
{
    __atomic_store_n(&to->word, value, __ATOMIC_RELEASE);
}

static inline void hub_publish64(struct hub_a64 *to, uint64_t value)
{
    __atomic_store_n(&to->word, value, __ATOMIC_RELEASE);
}

/* Acquire load. */
static inline uint32_t hub_observe(const struct hub_a32 *from)
{
    return __atomic_load_n(&from->word, __ATOMIC_ACQUIRE);
}

static inline uint64_t hub_observe64(const struct hub_a64 *from)
{
    return __atomic_load_n(&from->word, __ATOMIC_ACQUIRE);
}

/* Acquire load of two adjacent words at a multiple of 8. The first word is the lower half. */
static inline uint64_t hub_observe_pair(const struct hub_a32 *first)
{
    typedef uint64_t __attribute__((may_alias)) aliased;

    return __atomic_load_n((const aliased *)(const void *)first, __ATOMIC_ACQUIRE);
}

/* Compare-and-swap of two such words at once, acquire and release. */
static inline bool hub_claim_pair(struct hub_a32 *first, uint64_t expected, uint64_t wanted)
{
    typedef uint64_t __attribute__((may_alias)) aliased;

    return __atomic_compare_exchange_n((aliased *)(void *)first, &expected, wanted, false,
                                       __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

/* Orders all earlier stores before the later ones for a signal handler of this thread. */
static inline void hub_fence_for_signals(void)
{
    __atomic_signal_fence(__ATOMIC_RELEASE);
}

/* Relaxed load and store. */
static inline uint32_t hub_load_relaxed(const struct hub_a32 *from)
{
    return __atomic_load_n(&from->word, __ATOMIC_RELAXED);
}

static inline uint64_t hub_load_relaxed64(const struct hub_a64 *from)
{
    return __atomic_load_n(&from->word, __ATOMIC_RELAXED);
}

static inline void hub_store_relaxed(struct hub_a32 *to, uint32_t value)
{
    __atomic_store_n(&to->word, value, __ATOMIC_RELAXED);
}

static inline void hub_store_relaxed64(struct hub_a64 *to, uint64_t value)
{
    __atomic_store_n(&to->word, value, __ATOMIC_RELAXED);
}

/* Adds to a counter that one thread at a time writes, or whose writers may lose counts to each
 * other: a relaxed load and store, in one instruction where the machine has it. */
static inline void hub_count64(struct hub_a64 *counter, uint64_t more)
{
#ifdef HUB_ATOMIC_X86_64
    __asm__("addq %1, %0" : "+m"(counter->word) : "er"(more) : "cc");
#else
    hub_store_relaxed64(counter, hub_load_relaxed64(counter) + more);
#endif
}

/* Compare-and-swap, acquire and release. True if the word was `expected` and now is `wanted`. */
static inline bool hub_claim(struct hub_a32 *word, uint32_t expected, uint32_t wanted)
{
    return __atomic_compare_exchange_n(&word->word, &expected, wanted, false, __ATOMIC_ACQ_REL,
                                       __ATOMIC_ACQUIRE);
}

static inline bool hub_claim64(struct hub_a64 *word, uint64_t expected, uint64_t wanted)
{
    return __atomic_compare_exchange_n(&word->word, &expected, wanted, false, __ATOMIC_ACQ_REL,
                                       __ATOMIC_ACQUIRE);
}

/* Read-modify-write, acquire and release. Each returns the previous value. */
static inline uint32_t hub_exchange(struct hub_a32 *word, uint32_t value)
{
    return __atomic_exchange_n(&word->word, value, __ATOMIC_ACQ_REL);
}

static inline uint64_t hub_exchange64(struct hub_a64 *word, uint64_t value)
{
    return __atomic_exchange_n(&word->word, value, __ATOMIC_ACQ_REL);
}

static inline uint32_t hub_add(struct hub_a32 *word, uint32_t value)
{
    return __atomic_fetch_add(&word->word, value, __ATOMIC_ACQ_REL);
}

static inline uint64_t hub_add64(struct hub_a64 *word, uint64_t value)
{
    return __atomic_fetch_add(&word->word, value, __ATOMIC_ACQ_REL);
}

static inline uint64_t hub_set_bits64(struct hub_a64 *word, uint64_t bits)
{
    return __atomic_fetch_or(&word->word, bits, __ATOMIC_ACQ_REL);
}

static inline uint32_t hub_clear_bits(struct hub_a32 *word, uint32_t bits)
{
    return __atomic_fetch_and(&word->word, ~bits, __ATOMIC_ACQ_REL);
}

/* Sets bits, sequentially consistent: this arms a sleeper. */
static inline uint32_t hub_arm(struct hub_a32 *word, uint32_t bits)
{
    return __atomic_fetch_or(&word->word, bits, __ATOMIC_SEQ_CST);
}

/* Full fence between a publication and the check of the other side's sleep bits, and between arming
 * and the last check of the resource. ThreadSanitizer knows no fences; for it this is a
 * read-modify-write of the word in question. */
static inline void hub_fence(struct hub_a32 *word)
{
#ifdef __SANITIZE_THREAD__
    __atomic_fetch_or(&word->word, 0, __ATOMIC_SEQ_CST);
#else
    (void)word;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

/* The light half of a pair of which hub_barrier_heavy (hub/base/barrier.h) is the heavy one:
 * nothing but an order for the compiler, where the other side makes this CPU fence. ThreadSanitizer
 * does not know that, so for it both are the full fence above. */
static inline void hub_fence_light(struct hub_a32 *word)
{
#ifdef __SANITIZE_THREAD__
    hub_fence(word);
#else
    (void)word;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
#endif
}

/* An exchange of another word, and then the same fence. Where every exchange is a full fence, no
 * second one is needed. */
static inline uint32_t hub_exchange_and_fence(struct hub_a32 *to, uint32_t value,
                                              struct hub_a32 *word)
{
    uint32_t before = __atomic_exchange_n(&to->word, value, __ATOMIC_SEQ_CST);

#ifndef HUB_ATOMIC_X86_64
    hub_fence(word);
#else
    (void)word;
#endif
    return before;
}

/* Copies `count` words of 64 bits that another process may be writing. Each is loaded once. */
static inline void hub_copy_in(uint64_t *to, const struct hub_a64 *from, size_t count)
{
    for (size_t i = 0; i < count; i++)
        to[i] = hub_load_relaxed64(&from[i]);
}

/* The same for `count` pairs of words. Each word is loaded once, alone or with its pair, and may be
 * stored anywhere. */
static inline __attribute__((always_inline)) void hub_copy_in_pairs(void *to,
                                                                    const struct hub_a64 *from,
                                                                    size_t count)
{
#ifdef HUB_ATOMIC_X86_64
    typedef long long pair __attribute__((vector_size(16), aligned(8), may_alias));
    typedef long long pair_anywhere __attribute__((vector_size(16), aligned(1), may_alias));
    const volatile pair *in = (const volatile pair *)(const volatile void *)from;

#pragma GCC unroll 4
    for (size_t i = 0; i < count; i++)
        ((pair_anywhere *)to)[i] = in[i];
#else
    typedef uint64_t __attribute__((aligned(1), may_alias)) anywhere;

    for (size_t i = 0; i < 2 * count; i++)
        ((anywhere *)to)[i] = hub_load_relaxed64(&from[i]);
#endif
}

/* Copies words of 64 bits to memory that another process may be reading. */
static inline void hub_copy_out(struct hub_a64 *to, const uint64_t *from, size_t count)
{
    for (size_t i = 0; i < count; i++)
        hub_store_relaxed64(&to[i], from[i]);
}

/* Copies foreign payload bytes into private memory once. Only the copy may be examined. */
void hub_atomic_copy_bytes(void *to, const volatile void *from, size_t size);

/* The same for the first eight bytes, at any alignment: one load. */
static inline uint64_t hub_atomic_peek_bytes(const volatile void *from)
{
    const void *source = (const void *)(uintptr_t)from;
    uint64_t bytes;

    __asm__ volatile("" : "+r"(source) : : "memory");
    memcpy(&bytes, source, sizeof bytes);
    __asm__ volatile("" : "+r"(bytes) : : "memory"); /* the bytes are not loaded again */
    return bytes;
}

/* Copies bytes out of shared memory, or into it, that the other side of a sequence may be writing,
 * or reading, at the same time: the reader uses its copy only if the sequence proves that
 * nothing changed meanwhile. `from`, and `to`, are at a multiple of 8, with room up to the next
 * one. */
void hub_atomic_copy_racing(void *to, const struct hub_a64 *from, size_t size);
void hub_atomic_write_racing(struct hub_a64 *to, const void *from, size_t size);

/* Orders all earlier loads before the later ones: the second look at such a sequence comes after
 * the copy. ThreadSanitizer knows no fences, and is told nothing. */
static inline void hub_fence_loads(void)
{
#ifdef __SANITIZE_THREAD__
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
#else
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
#endif
}

/* A pause between two reads of a word that another CPU writes. */
static inline void hub_pause(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Prefetches the cache line of `at` for writing, so that this CPU owns it before the store needs
 * it. A hint: `at` need not be valid memory. On x86-64 the builtin would only fetch the line for
 * reading. */
static inline void hub_foresee(const void *at)
{
#if defined(__x86_64__)
    __asm__ volatile("prefetchw %0" : : "m"(*(const char *)at));
#else
    __builtin_prefetch(at, 1);
#endif
}

#endif
