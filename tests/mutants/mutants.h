/* SPDX-License-Identifier: Apache-2.0 */
/* mutants: in front of each source of a mutated tree. All mutants are compiled in; one of them is
 * switched on in a process by its number, which is the soft limit of RLIMIT_MSGQUEUE: nothing here
 * has message queues, each process inherits it, and a guest gets few variables. From MUTANTS_RECORD
 * on none is switched on, and MUTANTS_FOLDER/met.N, of that number less MUTANTS_RECORD, is told
 * which ones were met. */
#ifndef TESTS_MUTANTS_MUTANTS_H
#define TESTS_MUTANTS_MUTANTS_H

#include <sys/syscall.h>

#define MUTANTS_LIMIT  12 /* RLIMIT_MSGQUEUE */
#define MUTANTS_RECORD 500000
#define MUTANTS_SLOTS  100
#define MUTANTS_OPEN   02     /* O_RDWR */
#define MUTANTS_PROT   3      /* to read and write */
#define MUTANTS_SHARED 1      /* MAP_SHARED */
#define MUTANTS_HERE   (-100) /* AT_FDCWD */

extern long syscall(long number, ...);

struct mutants {
    unsigned long chosen;
    unsigned char *met; /* a byte for each; NULL: not asked for */
    _Bool begun;
};

/* One in each program and library. */
__attribute__((weak, visibility("hidden"))) struct mutants rapahub_mutants;

__attribute__((weak, visibility("hidden"))) void rapahub_mutants_record(unsigned long slot);
void rapahub_mutants_record(unsigned long slot)
{
    char path[] = MUTANTS_FOLDER "/met.00";
    long file, memory;

    path[sizeof path - 3] = (char)('0' + slot / 10);
    path[sizeof path - 2] = (char)('0' + slot % 10);
    file = syscall(SYS_openat, MUTANTS_HERE, path, MUTANTS_OPEN);
    if (file < 0)
        return;
    memory = syscall(SYS_mmap, 0L, (long)MUTANTS_SIZE, MUTANTS_PROT, MUTANTS_SHARED, file, 0L);
    (void)syscall(SYS_close, file);
    if (memory > 0)
        rapahub_mutants.met = (unsigned char *)memory;
}

__attribute__((weak, visibility("hidden"), constructor(101))) void rapahub_mutants_begin(void);
void rapahub_mutants_begin(void)
{
    unsigned long limit[2] = {0, 0};

    if (rapahub_mutants.begun)
        return;
    rapahub_mutants.begun = 1;
    (void)syscall(SYS_prlimit64, 0L, (long)MUTANTS_LIMIT, 0L, limit);
    if (limit[0] >= MUTANTS_RECORD && limit[0] < MUTANTS_RECORD + MUTANTS_SLOTS)
        rapahub_mutants_record(limit[0] - MUTANTS_RECORD);
    else
        rapahub_mutants.chosen = limit[0];
}

static inline __attribute__((always_inline, unused)) _Bool rapahub_mutant(unsigned number)
{
    if (__builtin_expect(rapahub_mutants.met != 0, 0))
        rapahub_mutants.met[number] = 1;
    return __builtin_expect(rapahub_mutants.chosen == number, 0);
}

#endif
