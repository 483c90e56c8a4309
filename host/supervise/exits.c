/* SPDX-License-Identifier: Apache-2.0 */
/* exits: the first match decides; see the table of exit classes in docs/spec. */
#include "host/supervise/exits.h"

#include <stdint.h>
#include <string.h>

#include <rapahub/error.h>

#include "hub/base/bytes.h"
#include "hub/base/check.h"

/* The kernel's CLD_ codes, which a test compares. A room without I/O does not include
 * <signal.h>. */
enum { CODE_EXITED = 1, CODE_KILLED = 2, CODE_DUMPED = 3 };

/* The signals of limits, the same on every supported architecture. */
enum { NUMBER_XCPU = 24, NUMBER_XFSZ = 25 };

#define STATUS_ABORTED 134 /* 128 + SIGABRT */
#define STATUS_THREAD  77  /* RAPAHUB_GUEST_THREAD */
#define TEXT_SIZE      64  /* bytes; no text is longer */

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
        [HOST_CAUSE_STALL] = RAPAHUB_EXIT_WATCHDOG,
        [HOST_CAUSE_OVERRUN] = RAPAHUB_EXIT_WATCHDOG,
        [HOST_CAUSE_PROBE] = RAPAHUB_EXIT_WATCHDOG,
        [HOST_CAUSE_LINK] = RAPAHUB_EXIT_LINK,
        [HOST_CAUSE_OOM] = RAPAHUB_EXIT_OOM,
    };

    CHECK((unsigned)cause < sizeof classes / sizeof *classes);
    return classes[cause];
}

static bool is_limit(const struct hub_exit *exit)
{
    return exit->code != CODE_EXITED &&
           (exit->status == NUMBER_XCPU || exit->status == NUMBER_XFSZ);
}

/* r[impl supervise.exit.class] */
enum rapahub_exit_class host_exits_class(const struct hub_exit *exit, enum host_cause cause)
{
    if (cause == HOST_CAUSE_SPAWN)
        return RAPAHUB_EXIT_SPAWN;
    if (!exit)
        return RAPAHUB_EXIT_LOST;
    if (cause != HOST_CAUSE_NONE && died_violently(exit))
        return class_of_cause(cause);
    if (is_limit(exit))
        return RAPAHUB_EXIT_LIMIT;
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
    if (status == STATUS_THREAD)
        put_text(to, ", its serving thread ended");
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
        [RAPAHUB_EXIT_OOM] = "out of memory, killed by the kernel",
        [RAPAHUB_EXIT_LOST] = "dead, its status taken by somebody else",
        [RAPAHUB_EXIT_LINK] = "could not be linked again, killed",
    };
    char text[TEXT_SIZE];
    struct hub_writer writer;

    CHECK(size > 0 && (unsigned)class < sizeof fixed / sizeof *fixed && (fixed[class] || exit));
    hub_writer_init(&writer, text, sizeof text);
    if (fixed[class])
        put_text(&writer, fixed[class]);
    else if (exit->code == CODE_KILLED || exit->code == CODE_DUMPED)
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

const char *host_exits_stuck(enum host_cause cause)
{
    switch (cause) {
    case HOST_CAUSE_STALL:
        return "no progress with what it was asked, killed";
    case HOST_CAUSE_OVERRUN:
        return "did not end a call that nobody waited for, killed";
    case HOST_CAUSE_PROBE:
        return "its probe failed, killed";
    default:
        return "no heartbeat, killed";
    }
}

/* ---- restart or not ---- */

#define BIT(class) (UINT32_C(1) << RAPAHUB_EXIT_##class)
#define ALL        (BIT(LINK) * 2 - 1)
#define ABNORMAL                                                                                   \
    (BIT(SIGNAL) | BIT(CORE) | BIT(OOM) | BIT(START_TIMEOUT) | BIT(STOP_TIMEOUT) | BIT(WATCHDOG) | \
     BIT(PROTOCOL) | BIT(LIMIT) | BIT(LOST))

#define CODES       256
#define SIGNALS     64
#define NOT_AGAIN   125 /* a guest with this status asks not to be restarted */
#define LIST_MAX    512
#define KIND_CODE   0x100
#define KIND_SIGNAL 0x200

static bool has_code(const struct host_exit_set *set, int code)
{
    return code >= 0 && code < CODES && (set->codes[code / 64] >> (code % 64) & 1) != 0;
}

static bool has_signal(const struct host_exit_set *set, int number)
{
    return number >= 1 && number <= SIGNALS && (set->signals >> (number - 1) & 1) != 0;
}

static bool has(const struct host_exit_set *set, const struct hub_exit *exit)
{
    if (!exit)
        return false;
    return exit->code == CODE_EXITED ? has_code(set, exit->status) : has_signal(set, exit->status);
}

static int put_in(struct host_exit_set *set, uint16_t word, const char *list, const char *name)
{
    unsigned number = word & 0xff, kind = word & 0xff00;

    if (kind == KIND_CODE)
        set->codes[number / 64] |= UINT64_C(1) << (number % 64);
    else if (kind == KIND_SIGNAL && number >= 1 && number <= SIGNALS)
        set->signals |= UINT64_C(1) << (number - 1);
    else
        return rapahub_fail(RAPAHUB_EINVAL, "supervise.lint.values",
                            "%s: %s has %u, which is neither RAPAHUB_STATUS(0 to 255) nor "
                            "RAPAHUB_SIGNAL(1 to 64)",
                            name, list, word);
    return 0;
}

static int take_list(const char *name, const uint16_t *from, const char *list,
                     struct host_exit_set *out)
{
    for (size_t i = 0; from && from[i] && i < LIST_MAX; i++) {
        int r = put_in(out, from[i], list, name);

        if (r < 0)
            return r;
    }
    return 0;
}

static uint32_t mask_of(const struct rapahub_supervision *how)
{
    static const uint32_t masks[] = {
        [RAPAHUB_RESTART_PERMANENT] = ALL,
        [RAPAHUB_RESTART_TRANSIENT] = ALL & ~BIT(CLEAN),
        [RAPAHUB_RESTART_TEMPORARY] = 0,
        [RAPAHUB_RESTART_ON_SUCCESS] = BIT(CLEAN),
        [RAPAHUB_RESTART_ON_ABNORMAL] = ABNORMAL,
        [RAPAHUB_RESTART_ON_WATCHDOG] = BIT(WATCHDOG),
        [RAPAHUB_RESTART_ON_ABORT] = BIT(SIGNAL) | BIT(CORE),
        [RAPAHUB_RESTART_MASK] = 0,
    };

    return how->restart == RAPAHUB_RESTART_MASK ? how->restart_mask : masks[how->restart];
}

/* r[impl supervise.exit.codes] */
int host_exits_take(const char *name, const struct rapahub_supervision *how,
                    struct host_exit_rules *out)
{
    static const uint16_t not_again[] = {KIND_CODE | NOT_AGAIN, 0};
    int r;

    *out = (struct host_exit_rules){.mask = mask_of(how),
                                    .success.codes = {1},
                                    .oom_stops = how->oom_policy == RAPAHUB_OOM_STOP};
    if (how->restart == RAPAHUB_RESTART_MASK && (out->mask == 0 || (out->mask & ~ALL) != 0))
        return rapahub_fail(RAPAHUB_EINVAL, "supervise.lint.values",
                            "%s: restart_mask is 0x%x: name classes, 1u << RAPAHUB_EXIT_…, or "
                            "choose another restart",
                            name, (unsigned)out->mask);
    r = take_list(name, how->success_exit, "success_exit", &out->success);
    if (r == 0)
        r = take_list(name, how->prevent_exit ? how->prevent_exit : not_again, "prevent_exit",
                      &out->prevent);
    return r == 0 ? take_list(name, how->force_exit, "force_exit", &out->force) : r;
}

/* r[impl supervise.restart] r[impl supervise.oom] */
enum host_exit_verdict host_exits_judge(const struct host_exit_rules *rules,
                                        const struct hub_exit *exit, enum rapahub_exit_class *class)
{
    if (*class == RAPAHUB_EXIT_CODE && exit && has_code(&rules->success, exit->status))
        *class = RAPAHUB_EXIT_CLEAN;
    if (has(&rules->force, exit))
        return HOST_EXIT_RESTART;
    if (has(&rules->prevent, exit) || (rules->oom_stops && *class == RAPAHUB_EXIT_OOM))
        return HOST_EXIT_PREVENTED;
    return (rules->mask >> *class & 1) != 0 ? HOST_EXIT_RESTART : HOST_EXIT_OVER;
}
