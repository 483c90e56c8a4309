/* SPDX-License-Identifier: Apache-2.0 */
/* stepping: the trap flag raises SIGTRAP after each instruction. The kernel clears the flag while
 * the handler runs and restores it from the saved registers. A breakpoint is the instruction int3,
 * after which the saved registers point one byte past it; to pass it, the original byte is put back
 * for one step. */
#include "tests/support/stepping.h"

#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#if defined(__x86_64__)

#define TRAP_FLAG   0x100
#define INT3        0xcc
#define LOCK_PREFIX 0xf0

/* A handler has no argument of ours, so this is the one variable outside a struct. */
static struct stepping *current;

/* Says whether a breakpoint may be placed here. Not after a system call, which is passed without a
 * step, so that the first step here need not be the first time; nor after a prefix that some code
 * jumps over. */
static bool may_break_at(uintptr_t place)
{
    const uint8_t *code = (const uint8_t *)place;

    if (place % 4096 < 2)
        return false;
    return code[-1] != LOCK_PREFIX && !(code[-2] == 0x0f && code[-1] == 0x05);
}

/* Returns how often the place of a step was reached before. */
static uint32_t count_before(const struct stepping *stepping, uint64_t step)
{
    uint32_t count = 0;

    for (uint64_t i = 0; i < step; i++)
        count += stepping->trace[i] == stepping->trace[step];
    return count;
}

/* Finds the cheapest anchor: two traps for each time the place is passed, one for each later
 * step. */
static void find_anchor(struct stepping *stepping, uint64_t until)
{
    uint64_t least = until;

    for (uint64_t i = stepping->searched; i < stepping->known; i++)
        stepping->before[i] = count_before(stepping, i);
    stepping->searched = stepping->known;
    for (uint64_t i = 0; i < stepping->known && i < until; i++) {
        uint64_t work = 2 * (uint64_t)stepping->before[i] + (until - i - 1);

        if (work >= least || stepping->trace[i] == 0 || !may_break_at(stepping->trace[i]))
            continue;
        least = work;
        stepping->anchor = i + 1;
        stepping->breakpoint = stepping->trace[i];
        stepping->to_pass = stepping->before[i];
    }
}

/* If it cannot be set, everything is stepped. */
static void set_breakpoint(struct stepping *stepping)
{
    uintptr_t page = stepping->breakpoint & ~(uintptr_t)4095;
    volatile uint8_t *code = (volatile uint8_t *)stepping->breakpoint;

    if (mprotect((void *)page, 4096, PROT_READ | PROT_WRITE | PROT_EXEC) < 0) {
        stepping->breakpoint = 0;
        return;
    }
    stepping->covered = *code;
    *code = INT3;
}

/* tgkill as a bare call: the signal is delivered before the system call returns. */
static void send_to_self(int number)
{
    syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), number);
}

/* Sanitizers stay out of the handler, because their own calls would come in the middle of any
 * instruction. */
#define BARE __attribute__((no_sanitize("address", "thread", "undefined")))

/* The step after the end of stepping has no place: no run may go freely up to there. */
BARE static void note_step(struct stepping *stepping, const greg_t *registers)
{
    uint64_t step = stepping->done++;
    uintptr_t place = registers[REG_EFL] & TRAP_FLAG ? (uintptr_t)registers[REG_RIP] : 0;

    if (step >= STEPPING_TRACE_MAX)
        return;
    if (step < stepping->known && stepping->trace[step] != place) {
        stepping->astray = true;
        syscall(SYS_exit_group, 0);
    }
    stepping->trace[step] = place;
}

/* The step that passed the breakpoint is done: the breakpoint is put back. */
BARE static bool pass_breakpoint(struct stepping *stepping, greg_t *registers)
{
    if (!stepping->passes)
        return false;
    *(volatile uint8_t *)stepping->breakpoint = INT3;
    registers[REG_EFL] &= ~TRAP_FLAG;
    stepping->passes = false;
    return true;
}

BARE static bool reach_breakpoint(struct stepping *stepping, greg_t *registers)
{
    volatile uint8_t *code = (volatile uint8_t *)stepping->breakpoint;

    if (stepping->breakpoint == 0 || (uintptr_t)registers[REG_RIP] != stepping->breakpoint + 1)
        return false;
    *code = stepping->covered;
    registers[REG_RIP]--;
    registers[REG_EFL] |= TRAP_FLAG;
    if (stepping->to_pass > 0) {
        stepping->to_pass--;
        stepping->passes = true;
        return true;
    }
    stepping->breakpoint = 0;
    stepping->done = stepping->anchor;
    return true;
}

BARE static void count_instruction(int number, siginfo_t *info, void *context)
{
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    struct stepping *stepping = current;

    (void)number;
    (void)info;
    if (pass_breakpoint(stepping, registers))
        return;
    if (!reach_breakpoint(stepping, registers))
        note_step(stepping, registers);
    if (stepping->done != stepping->until)
        return;
    registers[REG_EFL] &= ~TRAP_FLAG;
    send_to_self(stepping->signal);
}

bool stepping_possible(void)
{
    return true;
}

/* Both ways to begin execute the same instructions once the breakpoint is set. */
void stepping_begin(struct stepping *stepping)
{
    struct sigaction action = {.sa_sigaction = count_instruction, .sa_flags = SA_SIGINFO};
    unsigned long long flag = TRAP_FLAG;
    sigset_t trap;

    sigemptyset(&trap);
    sigaddset(&trap, SIGTRAP);
    current = stepping;
    sigaction(SIGTRAP, &action, NULL);
    sigprocmask(SIG_UNBLOCK, &trap, NULL);
    if (stepping->breakpoint != 0)
        set_breakpoint(stepping);
    if (stepping->breakpoint != 0)
        flag = 0;
    __builtin_ia32_writeeflags_u64(__builtin_ia32_readeflags_u64() | flag);
}

void stepping_end(void)
{
    __builtin_ia32_writeeflags_u64(__builtin_ia32_readeflags_u64() &
                                   ~(unsigned long long)TRAP_FLAG);
    if (current->breakpoint != 0)
        current->astray = true;
}

#else

static void find_anchor(struct stepping *stepping, uint64_t until)
{
    (void)stepping;
    (void)until;
}

bool stepping_possible(void)
{
    return false;
}

void stepping_begin(struct stepping *stepping)
{
    (void)stepping;
}

void stepping_end(void)
{
}

#endif

void stepping_prepare(struct stepping *stepping, uint64_t until, bool freely)
{
    uint64_t known = stepping->done < STEPPING_TRACE_MAX ? stepping->done : STEPPING_TRACE_MAX;

    stepping->known = freely ? known : 0;
    if (stepping->known < stepping->searched)
        stepping->searched = 0;
    stepping->breakpoint = 0;
    stepping->passes = false;
    if (freely)
        find_anchor(stepping, until);
    stepping->done = 0;
    stepping->until = until;
    stepping->astray = false;
}
