/* SPDX-License-Identifier: Apache-2.0 */
/* exits: the first match wins; see the table of exit classes in docs/spec. */
#include "host/supervise/exits.h"

#include <stdint.h>
#include <string.h>

#include "hub/base/bytes.h"
#include "hub/base/check.h"

/* The kernel's CLD_ codes; <signal.h> is not for a room that does no I/O. A test compares them. */
enum { CODE_EXITED = 1, CODE_KILLED = 2, CODE_DUMPED = 3 };

#define STATUS_ABORTED 134 /* 128 + SIGABRT */
#define TEXT_SIZE      64  /* more than any of the texts */

static bool died_violently(const struct hub_exit *exit)
{
    return exit->code != CODE_EXITED || exit->status == STATUS_ABORTED;
}

static enum rapahub_exit_class class_of_cause(enum host_cause cause)
{
    static const enum rapahub_exit_class classes[] = {
        [HOST_CAUSE_NONE] = RAPAHUB_EXIT_LOST,
        [HOST_CAUSE_SPAWN] = RAPAHUB_EXIT_SPAWN,
        [HOST_CAUSE_START_TIMEOUT] = RAPAHUB_EXIT_START_TIMEOUT,
        [HOST_CAUSE_STOP_TIMEOUT] = RAPAHUB_EXIT_STOP_TIMEOUT,
        [HOST_CAUSE_WATCHDOG] = RAPAHUB_EXIT_WATCHDOG,
        [HOST_CAUSE_PROTOCOL] = RAPAHUB_EXIT_PROTOCOL,
    };

    CHECK((unsigned)cause < sizeof classes / sizeof *classes);
    return classes[cause];
}

enum rapahub_exit_class host_exits_class(const struct hub_exit *exit, enum host_cause cause)
{
    if (cause == HOST_CAUSE_SPAWN)
        return RAPAHUB_EXIT_SPAWN;
    if (!exit)
        return RAPAHUB_EXIT_LOST;
    if (cause != HOST_CAUSE_NONE && died_violently(exit))
        return class_of_cause(cause);
    if (exit->code == CODE_DUMPED)
        return RAPAHUB_EXIT_CORE;
    if (exit->code == CODE_KILLED)
        return RAPAHUB_EXIT_SIGNAL;
    if (exit->code != CODE_EXITED)
        return RAPAHUB_EXIT_LOST;
    return exit->status == 0 ? RAPAHUB_EXIT_CLEAN : RAPAHUB_EXIT_CODE;
}

static void put_text(struct hub_writer *to, const char *text)
{
    hub_writer_put(to, text, strlen(text));
}

static void put_number(struct hub_writer *to, unsigned number)
{
    char digits[12];
    size_t at = sizeof digits;

    do {
        digits[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    hub_writer_put(to, digits + at, sizeof digits - at);
}

static void put_signal(struct hub_writer *to, int number)
{
    const char *name = sigabbrev_np(number);

    put_text(to, "signal ");
    if (name)
        put_text(to, "SIG");
    if (name)
        put_text(to, name);
    else
        put_number(to, (unsigned)number);
}

static void put_status(struct hub_writer *to, int status)
{
    put_text(to, "exit status ");
    put_number(to, (unsigned)status);
}

void host_exits_print(enum rapahub_exit_class class, const struct hub_exit *exit, char *to,
                      size_t size)
{
    static const char *const fixed[] = {
        [RAPAHUB_EXIT_SPAWN] = "could not be started",
        [RAPAHUB_EXIT_START_TIMEOUT] = "not ready in time, killed",
        [RAPAHUB_EXIT_STOP_TIMEOUT] = "did not stop when asked, killed",
        [RAPAHUB_EXIT_WATCHDOG] = "no heartbeat, killed",
        [RAPAHUB_EXIT_PROTOCOL] = "broke a rule of the protocol, killed",
        [RAPAHUB_EXIT_LOST] = "dead, its status taken by somebody else",
    };
    char text[TEXT_SIZE];
    struct hub_writer writer;

    CHECK(size > 0 && (unsigned)class < sizeof fixed / sizeof *fixed);
    CHECK(fixed[class] || exit);
    hub_writer_init(&writer, text, sizeof text);
    if (fixed[class])
        put_text(&writer, fixed[class]);
    else if (class == RAPAHUB_EXIT_SIGNAL || class == RAPAHUB_EXIT_CORE)
        put_signal(&writer, exit->status);
    else
        put_status(&writer, exit->status);
    if (class == RAPAHUB_EXIT_CORE)
        put_text(&writer, ", core dumped");
    ENSURE(writer.failure == 0);
    size = writer.size < size ? writer.size : size - 1;
    memcpy(to, text, size);
    to[size] = '\0';
}

bool host_exits_restart(enum rapahub_exit_class class, enum rapahub_restart restart)
{
    if (restart == RAPAHUB_RESTART_PERMANENT)
        return true;
    return restart == RAPAHUB_RESTART_TRANSIENT && class != RAPAHUB_EXIT_CLEAN;
}
