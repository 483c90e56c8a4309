/* SPDX-License-Identifier: Apache-2.0 */
/* raw words: loads and stores at byte offsets of a segment. tests/raw is a peer written from the
 * numbers of the specification alone: offsets are literals, and nothing of ours is included. */
#ifndef TESTS_RAW_RAW_WORDS_H
#define TESTS_RAW_RAW_WORDS_H

#include <stdbool.h>
#include <stdint.h>

static inline uint32_t *raw_word32(uint8_t *base, uint64_t at)
{
    return (uint32_t *)(void *)(base + at);
}

static inline uint64_t *raw_word64(uint8_t *base, uint64_t at)
{
    return (uint64_t *)(void *)(base + at);
}

static inline uint32_t raw_load32(uint8_t *base, uint64_t at)
{
    return __atomic_load_n(raw_word32(base, at), __ATOMIC_ACQUIRE);
}

static inline uint64_t raw_load64(uint8_t *base, uint64_t at)
{
    return __atomic_load_n(raw_word64(base, at), __ATOMIC_ACQUIRE);
}

static inline void raw_store32(uint8_t *base, uint64_t at, uint32_t value)
{
    __atomic_store_n(raw_word32(base, at), value, __ATOMIC_RELEASE);
}

static inline void raw_store64(uint8_t *base, uint64_t at, uint64_t value)
{
    __atomic_store_n(raw_word64(base, at), value, __ATOMIC_RELEASE);
}

static inline bool raw_swap32(uint8_t *base, uint64_t at, uint32_t expected, uint32_t wanted)
{
    return __atomic_compare_exchange_n(raw_word32(base, at), &expected, wanted, false,
                                       __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

static inline bool raw_swap64(uint8_t *base, uint64_t at, uint64_t expected, uint64_t wanted)
{
    return __atomic_compare_exchange_n(raw_word64(base, at), &expected, wanted, false,
                                       __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

static inline uint32_t raw_set32(uint8_t *base, uint64_t at, uint32_t bits)
{
    return __atomic_fetch_or(raw_word32(base, at), bits, __ATOMIC_SEQ_CST);
}

static inline uint32_t raw_clear32(uint8_t *base, uint64_t at, uint32_t bits)
{
    return __atomic_fetch_and(raw_word32(base, at), ~bits, __ATOMIC_SEQ_CST);
}

static inline uint64_t raw_set64(uint8_t *base, uint64_t at, uint64_t bits)
{
    return __atomic_fetch_or(raw_word64(base, at), bits, __ATOMIC_ACQ_REL);
}

#endif
