/* SPDX-License-Identifier: Apache-2.0 */
/* weak: a few threads on a memory that keeps no more order than C11 promises, where the machine
 * that tests run on keeps more.
 *
 * Sources compiled with weak_builtins.h in front have their atomic operations carried out here, one
 * by one, with a scheduler between any two of them. Each word remembers all that was stored to it.
 * A load may return an older value as long as nothing orders the newer store before it: so a store
 * is delayed, and overtaken, as by a store buffer. Data is what two threads hand to each other: any
 * two accesses to it of which one writes must be ordered by what the threads published and
 * observed, relaxed ones too. That is the same in every interleaving that hands it over, so few
 * runs are enough to see a release, an acquire or a fence that is missing.
 *
 * Outside of a run the operations are what they always are. One run at a time in a process. */
#ifndef TESTS_SUPPORT_WEAK_H
#define TESTS_SUPPORT_WEAK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WEAK_THREADS 3
#define WEAK_TEXT    200

struct weak_plan {
    void (*begin)(void *user);                 /* before each run, alone: sets up, names its data */
    void (*threads[WEAK_THREADS])(void *user); /* as many as are not NULL */
    void (*end)(void *user);                   /* after each run, alone; or NULL */
};

/* So many runs, each with another interleaving: how many of them broke an order or an expectation.
 * The first of these in words. */
unsigned weak_run(const struct weak_plan *plan, void *user, unsigned runs, char what[WEAK_TEXT]);

/* In `begin`: these words are data. */
void weak_data(const void *at, size_t size);

/* In a thread, or in `end`. */
void weak_expect(bool true_, const char *what);

/* The condition of each loop in a thread: lets another thread go on, and is false once the run has
 * taken so many steps that it will not end. */
bool weak_goes_on(void);

/* The operations, for words of 4 and 8 bytes; orders as the builtins have them. */
uint64_t weak_load(const volatile void *from, size_t size, int order);
void weak_store(volatile void *to, size_t size, uint64_t value, int order);
uint64_t weak_exchange(volatile void *word, size_t size, uint64_t value, int order);
uint64_t weak_add(volatile void *word, size_t size, uint64_t value, int order);
uint64_t weak_or(volatile void *word, size_t size, uint64_t value, int order);
uint64_t weak_and(volatile void *word, size_t size, uint64_t value, int order);
bool weak_swap(volatile void *word, size_t size, void *expected, uint64_t wanted, int order);
void weak_fence(int order);

#endif
