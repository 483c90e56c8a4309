/* SPDX-License-Identifier: Apache-2.0 */
/* weak: an operational form of C11's memory model. A thread's clock records for each word the
 * oldest store that it may still see, and for each thread how much of it happened before. A release
 * stores the clock with the value, and an acquire joins it. Stores of one word are ordered as they
 * were carried out; a compare-and-swap always acts on the last. No store is carried out early: a
 * load that must not be overtaken by a later store is found by the rule for data. A sequentially
 * consistent operation is only an acquire and a release here, and only such a fence is more: weaker
 * than C11, and sufficient for this code. */
#include "tests/support/weak.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORDS_MAX  256
#define STORES_MAX 4096
#define AREAS_MAX  8
#define STEPS_MAX  2000
#define SWITCH_OF  3 /* every how many steps another thread runs */
#define NOBODY     WEAK_THREADS

struct clock {
    uint32_t steps[WEAK_THREADS]; /* how much of each thread happened before */
    uint16_t seen[WORDS_MAX];     /* the oldest store of each word that may be loaded */
};

struct stored {
    uint64_t value;
    uint32_t thread, step;
    uint16_t before; /* index of the previous store of the same word */
    struct clock shown;
};

struct word {
    const volatile void *at;
    size_t size;
    uint32_t area; /* the data it belongs to; AREAS_MAX: none */
    uint16_t last; /* its last store */
    uint32_t read_at[WEAK_THREADS], written_at[WEAK_THREADS]; /* steps */
};

struct thread {
    pthread_t pthread;
    pthread_cond_t go;
    bool done;
    struct clock now, met, published; /* met: by relaxed loads; published: by the last fence */
};

static struct {
    pthread_mutex_t lock;
    const struct weak_plan *plan;
    void *user;
    uint32_t count, turn, steps, words, stores, areas;
    uint64_t random;
    struct clock fences; /* joined by all sequentially consistent fences */
    struct thread threads[WEAK_THREADS];
    struct word of[WORDS_MAX];
    struct stored store[STORES_MAX];
    struct {
        uintptr_t from, to;
    } area[AREAS_MAX];
    bool broken;
    char what[WEAK_TEXT];
} run = {.lock = PTHREAD_MUTEX_INITIALIZER};

static _Thread_local struct thread *self; /* the thread of a run, or NULL */

static uint32_t pick(uint32_t below)
{
    run.random = run.random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((run.random >> 33) % below);
}

static uint32_t number_of(const struct thread *thread)
{
    return (uint32_t)(thread - run.threads);
}

/* The test is wrong, not the code under test. */
static _Noreturn void give_up(const char *why)
{
    (void)fprintf(stderr, "weak: %s\n", why);
    abort();
}

static void break_run(const char *what, const struct word *word, uint32_t other)
{
    if (run.broken)
        return;
    run.broken = true;
    if (word)
        (void)snprintf(run.what, sizeof run.what, "%s: data %u, byte %zu, threads %u and %u", what,
                       word->area, (size_t)((uintptr_t)word->at - run.area[word->area].from),
                       self ? number_of(self) : NOBODY, other);
    else
        (void)snprintf(run.what, sizeof run.what, "%s", what);
}

void weak_expect(bool true_, const char *what)
{
    if (!true_)
        break_run(what, NULL, NOBODY);
}

void weak_data(const void *at, size_t size)
{
    if (run.areas == AREAS_MAX)
        give_up("too many areas of data");
    run.area[run.areas].from = (uintptr_t)at;
    run.area[run.areas++].to = (uintptr_t)at + size;
}

static void join(struct clock *to, const struct clock *from)
{
    for (uint32_t i = 0; i < run.count; i++)
        if (to->steps[i] < from->steps[i])
            to->steps[i] = from->steps[i];
    for (uint32_t i = 0; i < run.words; i++)
        if (to->seen[i] < from->seen[i])
            to->seen[i] = from->seen[i];
}

/* ---- scheduling ---- */

/* With the lock: returns a thread other than `but` that is not done, if there is one. */
static uint32_t another(uint32_t but)
{
    uint32_t from = pick(run.count);

    for (uint32_t i = 0; i < run.count; i++) {
        uint32_t n = (from + i) % run.count;

        if (n != but && !run.threads[n].done)
            return n;
    }
    return NOBODY;
}

static void pass_to(uint32_t next)
{
    run.turn = next;
    if (next != NOBODY)
        pthread_cond_signal(&run.threads[next].go);
}

static void wait_for_turn(void)
{
    while (run.turn != number_of(self))
        pthread_cond_wait(&self->go, &run.lock);
}

static void let_another_go(void)
{
    uint32_t next = another(number_of(self));

    if (next == NOBODY)
        return;
    pthread_mutex_lock(&run.lock);
    pass_to(next);
    wait_for_turn();
    pthread_mutex_unlock(&run.lock);
}

static void step(void)
{
    if (pick(SWITCH_OF) == 0)
        let_another_go();
    run.steps++;
    self->now.steps[number_of(self)]++;
}

bool weak_goes_on(void)
{
    let_another_go();
    if (++run.steps > STEPS_MAX)
        break_run("it does not end", NULL, NOBODY);
    return run.steps <= STEPS_MAX;
}

/* ---- words ---- */

static uint64_t read_memory(const volatile void *at, size_t size)
{
    return size == 4 ? *(const volatile uint32_t *)at : *(const volatile uint64_t *)at;
}

static void write_memory(volatile void *at, size_t size, uint64_t value)
{
    if (size == 4)
        *(volatile uint32_t *)at = (uint32_t)value;
    else
        *(volatile uint64_t *)at = value;
}

static struct stored *new_store(struct word *word, uint64_t value)
{
    struct stored *stored;

    if (run.stores == STORES_MAX)
        give_up("a run stores too often");
    stored = &run.store[run.stores];
    *stored = (struct stored){.value = value, .thread = NOBODY, .before = word->last};
    word->last = (uint16_t)run.stores++;
    return stored;
}

static uint32_t area_of(const volatile void *at)
{
    uint32_t i = 0;

    while (i < run.areas && ((uintptr_t)at < run.area[i].from || (uintptr_t)at >= run.area[i].to))
        i++;
    return i < run.areas ? i : AREAS_MAX;
}

/* A new word has its value in memory, which all threads have seen. */
static struct word *word_at(const volatile void *at, size_t size)
{
    struct word *word;

    for (uint32_t i = 0; i < run.words; i++) {
        if (run.of[i].at == at && run.of[i].size == size)
            return &run.of[i];
        if ((uintptr_t)at < (uintptr_t)run.of[i].at + run.of[i].size &&
            (uintptr_t)run.of[i].at < (uintptr_t)at + size)
            give_up("a word is a part of another");
    }
    if (run.words == WORDS_MAX || (size != 4 && size != 8))
        give_up("too many words, or of another size");
    word = &run.of[run.words++];
    *word = (struct word){.at = at, .size = size, .area = area_of(at)};
    (void)new_store(word, read_memory(at, size));
    for (uint32_t i = 0; i < run.count; i++)
        run.threads[i].now.seen[word - run.of] = word->last;
    return word;
}

/* Accesses to data must be ordered: the last write before this access, and all reads before a
 * write. */
static void check_data(struct word *word, bool writes)
{
    uint32_t me = number_of(self);

    for (uint32_t i = 0; word->area != AREAS_MAX && i < run.count; i++) {
        if (i == me)
            continue;
        if (word->written_at[i] > self->now.steps[i])
            break_run(writes ? "two writes of data are not ordered"
                             : "data is read that was not published",
                      word, i);
        if (writes && word->read_at[i] > self->now.steps[i])
            break_run("data is written while it may be read", word, i);
    }
    *(writes ? &word->written_at[me] : &word->read_at[me]) = self->now.steps[me];
}

static bool acquires(int order)
{
    return order == __ATOMIC_ACQUIRE || order == __ATOMIC_ACQ_REL || order == __ATOMIC_SEQ_CST;
}

static bool releases(int order)
{
    return order == __ATOMIC_RELEASE || order == __ATOMIC_ACQ_REL || order == __ATOMIC_SEQ_CST;
}

static uint64_t see(struct word *word, uint16_t at, int order)
{
    const struct stored *stored = &run.store[at];

    self->now.seen[word - run.of] = at;
    join(acquires(order) ? &self->now : &self->met, &stored->shown);
    return stored->value;
}

/* Chooses any store that is not older than those this thread has seen; often the last. */
static uint16_t choose(const struct word *word)
{
    uint16_t at = word->last;

    while (at != self->now.seen[word - run.of] && pick(2) == 0)
        at = run.store[at].before;
    return at;
}

static void put(struct word *word, uint64_t value, int order, const struct clock *before)
{
    struct stored *stored = new_store(word, value);
    uint32_t me = number_of(self);

    self->now.seen[word - run.of] = word->last;
    stored->thread = me;
    stored->step = self->now.steps[me];
    stored->shown = releases(order) ? self->now : self->published;
    stored->shown.seen[word - run.of] = word->last;
    if (before) /* a read-modify-write continues the release before it */
        join(&stored->shown, before);
    write_memory((volatile void *)(uintptr_t)word->at, word->size, value);
}

uint64_t weak_load(const volatile void *from, size_t size, int order)
{
    struct word *word;

    if (!self)
        return size == 4 ? __atomic_load_n((const volatile uint32_t *)from, __ATOMIC_SEQ_CST)
                         : __atomic_load_n((const volatile uint64_t *)from, __ATOMIC_SEQ_CST);
    step();
    word = word_at(from, size);
    check_data(word, false);
    return see(word, choose(word), order);
}

void weak_store(volatile void *to, size_t size, uint64_t value, int order)
{
    struct word *word;

    if (!self) {
        if (size == 4)
            __atomic_store_n((volatile uint32_t *)to, (uint32_t)value, __ATOMIC_SEQ_CST);
        else
            __atomic_store_n((volatile uint64_t *)to, value, __ATOMIC_SEQ_CST);
        return;
    }
    step();
    word = word_at(to, size);
    check_data(word, true);
    put(word, value, order, NULL);
}

enum change { EXCHANGE, ADD, OR, AND };

static uint64_t changed(enum change change, uint64_t old, uint64_t value)
{
    switch (change) {
    case ADD:
        return old + value;
    case OR:
        return old | value;
    case AND:
        return old & value;
    default:
        return value;
    }
}

/* Outside of a run: swaps until it succeeds. */
static uint64_t change_alone(volatile void *at, size_t size, enum change change, uint64_t value)
{
    uint64_t old;

    do
        old = weak_load(at, size, __ATOMIC_RELAXED);
    while (!weak_swap(at, size, size == 4 ? (void *)&(uint32_t){(uint32_t)old} : (void *)&old,
                      changed(change, old, value), __ATOMIC_SEQ_CST));
    return old;
}

static uint64_t change_word(volatile void *at, size_t size, enum change change, uint64_t value,
                            int order)
{
    uint64_t mask = size == 4 ? UINT32_MAX : UINT64_MAX;
    struct word *word;
    const struct stored *old;

    if (!self)
        return change_alone(at, size, change, value);
    step();
    word = word_at(at, size);
    check_data(word, true);
    old = &run.store[word->last];
    (void)see(word, word->last, order);
    put(word, changed(change, old->value, value) & mask, order, &old->shown);
    return old->value;
}

uint64_t weak_exchange(volatile void *word, size_t size, uint64_t value, int order)
{
    return change_word(word, size, EXCHANGE, value, order);
}

uint64_t weak_add(volatile void *word, size_t size, uint64_t value, int order)
{
    return change_word(word, size, ADD, value, order);
}

uint64_t weak_or(volatile void *word, size_t size, uint64_t value, int order)
{
    return change_word(word, size, OR, value, order);
}

uint64_t weak_and(volatile void *word, size_t size, uint64_t value, int order)
{
    return change_word(word, size, AND, value, order);
}

static bool swap_alone(volatile void *at, size_t size, void *expected, uint64_t wanted)
{
    if (size == 4)
        return __atomic_compare_exchange_n((volatile uint32_t *)at, (uint32_t *)expected,
                                           (uint32_t)wanted, false, __ATOMIC_SEQ_CST,
                                           __ATOMIC_SEQ_CST);
    return __atomic_compare_exchange_n((volatile uint64_t *)at, (uint64_t *)expected, wanted, false,
                                       __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

bool weak_swap(volatile void *at, size_t size, void *expected, uint64_t wanted, int order)
{
    struct word *word;
    const struct stored *old;

    if (!self)
        return swap_alone(at, size, expected, wanted);
    step();
    word = word_at(at, size);
    old = &run.store[word->last];
    if (old->value != read_memory(expected, size)) {
        check_data(word, false);
        (void)see(word, word->last, order);
        write_memory(expected, size, old->value);
        return false;
    }
    check_data(word, true);
    (void)see(word, word->last, order);
    put(word, wanted, order, &old->shown);
    return true;
}

void weak_fence(int order)
{
    if (!self)
        return;
    step();
    if (acquires(order))
        join(&self->now, &self->met);
    if (order == __ATOMIC_SEQ_CST) {
        join(&self->now, &run.fences);
        run.fences = self->now;
    }
    if (releases(order))
        self->published = self->now;
}

/* ---- runs ---- */

static void *run_thread(void *arg)
{
    self = arg;
    pthread_mutex_lock(&run.lock);
    wait_for_turn();
    pthread_mutex_unlock(&run.lock);
    run.plan->threads[number_of(self)](run.user);
    pthread_mutex_lock(&run.lock);
    self->done = true;
    pass_to(another(number_of(self)));
    pthread_mutex_unlock(&run.lock);
    return NULL;
}

static void run_once(uint64_t seed)
{
    run.turn = NOBODY;
    run.steps = run.words = run.stores = run.areas = 0;
    run.random = seed;
    run.fences = (struct clock){{0}, {0}};
    run.plan->begin(run.user);
    for (uint32_t i = 0; i < run.count; i++) {
        struct thread *thread = &run.threads[i];

        *thread = (struct thread){.go = PTHREAD_COND_INITIALIZER};
        if (pthread_create(&thread->pthread, NULL, run_thread, thread) != 0)
            give_up("no thread can be had");
    }
    pthread_mutex_lock(&run.lock);
    pass_to(pick(run.count));
    pthread_mutex_unlock(&run.lock);
    for (uint32_t i = 0; i < run.count; i++)
        pthread_join(run.threads[i].pthread, NULL);
    if (run.plan->end)
        run.plan->end(run.user);
}

unsigned weak_run(const struct weak_plan *plan, void *user, unsigned runs, char what[WEAK_TEXT])
{
    unsigned broken = 0;

    what[0] = 0;
    run.plan = plan;
    run.user = user;
    for (run.count = 0; run.count < WEAK_THREADS && plan->threads[run.count];)
        run.count++;
    for (unsigned i = 0; i < runs; i++) {
        run.broken = false;
        run_once(UINT64_C(0x9E3779B97F4A7C15) * (i + 1));
        if (run.broken && broken++ == 0)
            memcpy(what, run.what, WEAK_TEXT);
    }
    return broken;
}
