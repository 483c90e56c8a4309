/* SPDX-License-Identifier: Apache-2.0 */
#include "guest-sdk/last_words.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <rapahub/guest.h>

#include "guest-sdk/current.h"
#include "guest-sdk/guest_state.h"

#define STACK_SIZE 65536

/* Text in a fixed buffer, made by functions that a signal handler may call. */
struct line {
    char text[512];
    size_t size;
};

static void add(struct line *line, const char *text)
{
    for (; *text && line->size < sizeof line->text; text++)
        line->text[line->size++] = *text;
}

static void add_number(struct line *line, uint64_t number, unsigned base)
{
    char digits[24];
    size_t at = sizeof digits;

    digits[--at] = '\0';
    do
        digits[--at] = "0123456789abcdef"[number % base];
    while ((number /= base) != 0);
    add(line, digits + at);
}

static const char *name_of(int signal)
{
    switch (signal) {
    case SIGSEGV:
        return "SIGSEGV";
    case SIGBUS:
        return "SIGBUS";
    case SIGILL:
        return "SIGILL";
    case SIGFPE:
        return "SIGFPE";
    default:
        return "SIGABRT";
    }
}

static uintptr_t place_of(const void *context)
{
    const ucontext_t *machine = context;

#if defined(__x86_64__)
    return (uintptr_t)machine->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
    return (uintptr_t)machine->uc_mcontext.pc;
#endif
}

static void add_method(struct line *line, const struct guest *guest)
{
    if (!guest->frame)
        return;
    add(line, ", method ");
    if (guest->frame->container) {
        add(line, guest->module.chimod->name);
        add(line, ".");
    }
    add(line, guest->frame->method);
    add(line, ", request ");
    add_number(line, guest->frame->request->id, 10);
}

static void add_guest(struct line *line, const struct guest *guest, uintptr_t place)
{
    const struct guest_module *module = &guest->module;

    if (place >= module->start && place < module->end) {
        add(line, " in ");
        add(line, module->name);
        add(line, "+0x");
        add_number(line, place - module->start, 16);
    }
    add_method(line, guest);
}

/* The handler is already reset: returning from a fault repeats it, and a signal that was sent is
 * sent again. */
static void speak(int signal, siginfo_t *info, void *context)
{
    const struct guest *guest = guest_current();
    struct line line = {.size = 0};

    add(&line, "last words: signal ");
    add(&line, name_of(signal));
    if (signal != SIGABRT) {
        add(&line, " at 0x");
        add_number(&line, (uintptr_t)info->si_addr, 16);
    }
    if (guest)
        add_guest(&line, guest, place_of(context));
    add(&line, "\n");
    if (write(STDERR_FILENO, line.text, line.size) < 0 || info->si_code <= 0)
        (void)raise(signal);
}

/* r[impl supervise.thread] */
void guest_last_words_of_thread(void *guest)
{
    struct line line = {.size = 0};

    add(&line, "last words: the serving thread ended");
    if (guest)
        add_method(&line, guest);
    add(&line, "\n");
    while (write(STDERR_FILENO, line.text, line.size) < 0 && errno == EINTR)
        continue;
    _exit(RAPAHUB_GUEST_THREAD);
}

void guest_last_words_install(void)
{
    static const int signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
    struct sigaction action = {.sa_sigaction = speak,
                               .sa_flags = SA_SIGINFO | SA_ONSTACK | (int)SA_RESETHAND};
    stack_t stack = {.ss_size = STACK_SIZE};

    /* Memory that is mapped, not of the heap: only the kernel refers to it from now on, and a leak
     * checker would report it. */
    stack.ss_sp = mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (stack.ss_sp == MAP_FAILED || sigaltstack(&stack, NULL) < 0)
        return;
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        (void)sigaction(signals[i], &action, NULL);
}
