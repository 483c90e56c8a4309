/* SPDX-License-Identifier: Apache-2.0 */
/* weak: runs a few threads on a memory that keeps no more order than C11 promises, while the
 * machine under the tests keeps more.
 *
 * In sources compiled with weak_builtins.h in front, atomic operations are carried out here, one by
 * one, with a scheduler between any two of them. Each word remembers all stores to it. A load may
 * return an older value as long as nothing orders the newer store before it: so a store is delayed
 * and overtaken, as by a store buffer. Data is memory that two threads pass to each other: any two
 * accesses to it, one of them a write, must be ordered by published and observed words, even if the
 * accesses are relaxed. That holds in every interleaving that passes the data, so a few runs reveal
 * a missing release, acquire or fence.
 *
 * Outside of a run the operations are the ordinary ones. One run at a time in a process.
 */
#ifndef TESTS_SUPPORT_WEAK_H
#define TESTS_SUPPORT_WEAK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WEAK_THREADS 3
#define WEAK_TEXT    200

struct weak_plan {
    void (*begin)(void *user);                 /* before each run, alone: sets up, names its data */
    void (*threads[WEAK_THREADS])(void *user); /* only those that are not NULL run */
    void (*end)(void *user);                   /* after each run, alone; or NULL */
};

/* Does `runs` runs, each with another interleaving, and returns how many broke an order or an
 * expectation, with a text for the first of them. */
unsigned weak_run(const struct weak_plan *plan, void *user, unsigned runs, char what[WEAK_TEXT]);

/* Call it in `begin`: these words are data. */
void weak_data(const void *at, size_t size);

/* Call it in a thread, or in `end`. */
void weak_expect(bool true_, const char *what);

/* The condition of each loop in a thread: lets another thread run, and is false once the run has
 * taken so many steps that it will not end. */
bool weak_goes_on(void);

/* The operations, for words of 4 and 8 bytes, with the orders of the builtins. */
uint64_t weak_load(const volatile void *from, size_t size, int order);
void weak_store(volatile void *to, size_t size, uint64_t value, int order);
uint64_t weak_exchange(volatile void *word, size_t size, uint64_t value, int order);
uint64_t weak_add(volatile void *word, size_t size, uint64_t value, int order);
uint64_t weak_or(volatile void *word, size_t size, uint64_t value, int order);
uint64_t weak_and(volatile void *word, size_t size, uint64_t value, int order);
bool weak_swap(volatile void *word, size_t size, void *expected, uint64_t wanted, int order);
void weak_fence(int order);

#endif
