/* SPDX-License-Identifier: Apache-2.0 */
/* ledger: counts how often each number was entered, and takes its counts along. Built in several
 * versions, of which some fail, by LEDGER_VERSION and LEDGER_FAULT. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rapahub/chimod.h>

#include "tests/support/pause.h"

#ifndef LEDGER_VERSION
#define LEDGER_VERSION 1
#endif
#ifndef LEDGER_FAULT
#define LEDGER_FAULT NO_FAULT
#endif
#ifndef LEDGER_NAME
#define LEDGER_NAME ledger
#endif
#define TEXT_OF(x) #x
#define TEXT(x)    TEXT_OF(x)

enum fault {
    NO_FAULT,
    LOAD_FAILS,
    LOAD_DIES,
    LOAD_HANGS,
    INIT_FAILS,
    INIT_DIES,
    SAVE_FAILS,
    SAVE_DIES,
    PLUG_DIES,
    LOAD_LASTS,
    OLD_STATES_ONLY,
    LOAD_KILLS,
    FINI_LASTS
};

struct ledger {
    uint8_t *counts;
    uint32_t capacity;
    uint32_t plugged, unplugged;
    uint32_t fault;
    uint64_t work;
};

static int reserve(struct ledger *ledger, uint64_t number)
{
    uint32_t wanted = ledger->capacity ? ledger->capacity : 1024;
    uint8_t *counts;

    if (number >= UINT32_C(1) << 24)
        return rapahub_fail(RAPAHUB_EINVAL, "", "that number is too large");
    while (wanted <= number)
        wanted *= 2;
    if (wanted == ledger->capacity)
        return 0;
    counts = realloc(ledger->counts, wanted);
    if (!counts)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory");
    memset(counts + ledger->capacity, 0, wanted - ledger->capacity);
    ledger->counts = counts;
    ledger->capacity = wanted;
    return 0;
}

static int ledger_enter(void *self, uint64_t number, uint32_t *version)
{
    struct ledger *ledger = self;
    int r = reserve(ledger, number);

    *version = LEDGER_VERSION;
    if (r == 0)
        ledger->counts[number]++;
    return r;
}

static int ledger_enter_slowly(void *self, uint64_t number, uint32_t ms, uint32_t *version)
{
    pause_ms((int)ms);
    return ledger_enter(self, number, version);
}

static int ledger_count(void *self, uint64_t number, uint32_t *count)
{
    const struct ledger *ledger = self;

    *count = number < ledger->capacity ? ledger->counts[number] : 0;
    return 0;
}

static int ledger_version(void *self, uint32_t *version)
{
    (void)self;
    *version = LEDGER_VERSION;
    return 0;
}

/* Plugged so often, times 100, and unplugged so often. */
static int ledger_told(void *self, uint32_t *times)
{
    const struct ledger *ledger = self;

    *times = ledger->plugged * 100 + ledger->unplugged;
    return 0;
}

static int ledger_be(void *self, uint32_t fault)
{
    ((struct ledger *)self)->fault = fault;
    return 0;
}

static int ledger_work_on(void *self, uint64_t work)
{
    ((struct ledger *)self)->work = work;
    return 0;
}

static int ledger_pid(void *self, int32_t *pid)
{
    (void)self;
    *pid = (int32_t)getpid();
    return 0;
}

static int ledger_init(void *self, const struct rapahub_container_info *info)
{
    (void)self;
    if (LEDGER_FAULT == INIT_FAILS && info->load_follows)
        return rapahub_fail(RAPAHUB_EACCES, "", "asked not to begin");
    if (LEDGER_FAULT == INIT_DIES && info->load_follows)
        raise(SIGKILL);
    return 0;
}

static int ledger_save(void *self, struct rapahub_sink *to)
{
    const struct ledger *ledger = self;

    if (ledger->fault == SAVE_FAILS)
        return rapahub_fail(RAPAHUB_EIO, "", "asked not to save");
    if (ledger->fault == SAVE_DIES)
        raise(SIGKILL);
    return rapahub_sink_write(to, ledger->counts, ledger->capacity);
}

/* The process whose number is the highest that was entered; and waits 50 us for each time that 1
 * was. */
static void kill_the_highest(const struct ledger *ledger)
{
    pid_t pid = (pid_t)ledger->capacity - 1;

    while (pid > 1 && ledger->counts[pid] == 0)
        pid--;
    if (pid > 1)
        (void)kill(pid, SIGKILL);
    pause_ns(ledger->counts[1] * UINT64_C(50000));
}

static int ledger_load(void *self, struct rapahub_source *from, uint32_t version)
{
    struct ledger *ledger = self;
    ssize_t n = 1;

    if (LEDGER_FAULT == LOAD_FAILS)
        return rapahub_fail(RAPAHUB_EIO, "", "asked not to load");
    if (LEDGER_FAULT == LOAD_DIES)
        raise(SIGKILL);
    if (LEDGER_FAULT == LOAD_HANGS)
        pause_ms(60000);
    if (LEDGER_FAULT == LOAD_LASTS)
        pause_ms(4000);
    if (version > LEDGER_VERSION && LEDGER_FAULT == OLD_STATES_ONLY)
        return rapahub_fail(RAPAHUB_EABI, "", "a state of version %" PRIu32, version);
    for (uint64_t at = 0; n > 0; at += (uint64_t)n) {
        uint8_t piece[1024];
        int r;

        n = rapahub_source_read(from, piece, sizeof piece);
        if (n <= 0)
            break;
        r = reserve(ledger, at + (uint64_t)n - 1);
        if (r < 0)
            return r;
        memcpy(ledger->counts + at, piece, (size_t)n);
    }
    if (LEDGER_FAULT == LOAD_KILLS)
        kill_the_highest(ledger);
    return (int)n;
}

static void ledger_plugged(void *self, bool plugged)
{
    struct ledger *ledger = self;

    if (ledger->fault == PLUG_DIES)
        raise(SIGKILL);
    ledger->plugged += plugged;
    ledger->unplugged += !plugged;
}

static uint64_t ledger_work(const void *self)
{
    return ((const struct ledger *)self)->work;
}

static void ledger_fini(void *self)
{
    if (((struct ledger *)self)->fault == FINI_LASTS)
        pause_ms(500);
    free(((struct ledger *)self)->counts);
}

static const struct rapahub_container_ops ops = {
    .init = ledger_init,
    .save = ledger_save,
    .load = ledger_load,
    .plugged = ledger_plugged,
    .work_remaining = ledger_work,
    .fini = ledger_fini,
};

static const struct rapahub_method methods[] = {
    RAPAHUB_METHOD(enter, ledger_enter, u32, u64),
    RAPAHUB_METHOD(enter_slowly, ledger_enter_slowly, u32, u64, u32),
    RAPAHUB_METHOD(count, ledger_count, u32, u64),
    RAPAHUB_METHOD(version, ledger_version, u32, void),
    RAPAHUB_METHOD(told, ledger_told, u32, void),
    RAPAHUB_METHOD(be, ledger_be, void, u32),
    RAPAHUB_METHOD(work_on, ledger_work_on, void, u64),
    RAPAHUB_METHOD(pid, ledger_pid, i32, void),
#if LEDGER_VERSION >= 2
    RAPAHUB_METHOD(newest, ledger_version, u32, void),
#endif
    RAPAHUB_METHOD_END,
};

RAPAHUB_CHIMOD(.name = TEXT(LEDGER_NAME), .version = TEXT(LEDGER_VERSION) ".0",
               .state_size = sizeof(struct ledger), .state_version = LEDGER_VERSION, .ops = &ops,
               .methods = methods);
