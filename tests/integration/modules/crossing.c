/* SPDX-License-Identifier: Apache-2.0 */
/* crossing: a chimod that is upgraded with its roles. It passes on what `in` delivers to `out`, by
 * a handle that it found when it began. A fault is that of a version (CROSSING_FAULT), or is asked
 * for. */
#include <signal.h>

#include <rapahub/chimod.h>

#include "tests/support/pause.h"

enum fault {
    NO_FAULT,
    INIT_FAILS,
    INIT_DIES,
    LOAD_FAILS,
    LOAD_DIES,
    RELEASE_DIES,  /* from here on: of the version that runs */
    RELEASE_LASTS, /* until it is cancelled */
    RELEASE_HANGS,
    SAVE_DIES,
    BACK_DIES
};

#ifndef CROSSING_FAULT
#define CROSSING_FAULT NO_FAULT
#endif

struct crossing {
    struct rapahub_producer *out;
    struct rapahub_reader *view;
    struct rapahub_writer *board;
    uint32_t fault;
    uint64_t passed;
    int64_t at_save; /* what a push returned when the roles were let go */
    uint64_t gone, back;
};

static int begin(void *self, const struct rapahub_container_info *info)
{
    struct crossing *crossing = self;
    int r = rapahub_chimod_producer("out", &crossing->out);

    if (info->load_follows && CROSSING_FAULT == INIT_FAILS)
        return RAPAHUB_ESTATE;
    if (info->load_follows && CROSSING_FAULT == INIT_DIES)
        return raise(SIGKILL);
    if (rapahub_chimod_writer("board", &crossing->board) < 0 ||
        rapahub_chimod_reader("view", &crossing->view) < 0)
        crossing->board = NULL;
    return r;
}

static int message(void *self, const char *role, const struct rapahub_message *message)
{
    struct crossing *crossing = self;
    int r = rapahub_producer_push(crossing->out, message->data, message->size, 0);

    (void)role;
    crossing->passed += r == 0;
    return r == RAPAHUB_EFULL ? RAPAHUB_EAGAIN : r;
}

static void roles(void *self, bool held)
{
    struct crossing *crossing = self;
    bool ends = false;

    crossing->gone += !held;
    crossing->back += held;
    if (crossing->fault == (held ? BACK_DIES : RELEASE_DIES))
        (void)raise(SIGKILL);
    while (!held && crossing->fault == RELEASE_LASTS && !ends)
        ends = rapahub_chimod_cancelled();
    while (!held && crossing->fault == RELEASE_HANGS)
        pause_ms(1000);
}

static int save(void *self, struct rapahub_sink *to)
{
    struct crossing *crossing = self;

    if (crossing->fault == SAVE_DIES)
        return raise(SIGKILL);
    crossing->at_save = rapahub_producer_push(crossing->out, "", 0, 0);
    return (int)rapahub_sink_write(to, &crossing->passed, sizeof crossing->passed);
}

static int load(void *self, struct rapahub_source *from, uint32_t state_version)
{
    struct crossing *crossing = self;

    (void)state_version;
    if (CROSSING_FAULT == LOAD_FAILS)
        return RAPAHUB_ESTATE;
    if (CROSSING_FAULT == LOAD_DIES)
        return raise(SIGKILL);
    return rapahub_source_read(from, &crossing->passed, sizeof crossing->passed) ==
                   (ssize_t)sizeof crossing->passed
               ? 0
               : RAPAHUB_ESTATE;
}

static int be(void *self, uint32_t fault)
{
    ((struct crossing *)self)->fault = fault;
    return 0;
}

static int passed(void *self, uint64_t *out)
{
    *out = ((const struct crossing *)self)->passed;
    return 0;
}

static int at_save(void *self, int64_t *out)
{
    *out = ((const struct crossing *)self)->at_save;
    return 0;
}

/* How often its roles went, and came back: 100 * GONE + BACK. */
static int crossings(void *self, uint64_t *out)
{
    const struct crossing *crossing = self;

    *out = 100 * crossing->gone + crossing->back;
    return 0;
}

static int set(void *self, uint64_t value)
{
    const struct crossing *crossing = self;

    return crossing->board ? rapahub_writer_write(crossing->board, &value, sizeof value)
                           : RAPAHUB_ENOENT;
}

static int get(void *self, int64_t *out)
{
    const struct crossing *crossing = self;
    uint64_t value = 0;
    int r = crossing->board ? rapahub_reader_read(crossing->view, &value, sizeof value, NULL, NULL)
                            : RAPAHUB_ENOENT;

    *out = r == 0 ? (int64_t)value : r;
    return 0;
}

static int crash(void *self)
{
    (void)self;
    return raise(SIGKILL);
}

static const struct rapahub_container_ops ops = {
    .init = begin, .save = save, .load = load, .message = message, .roles = roles};
static const struct rapahub_method methods[] = {
    RAPAHUB_METHOD(be, be, void, u32),           RAPAHUB_METHOD(passed, passed, u64, void),
    RAPAHUB_METHOD(at_save, at_save, i64, void), RAPAHUB_METHOD(crossings, crossings, u64, void),
    RAPAHUB_METHOD(set, set, void, u64),         RAPAHUB_METHOD(get, get, i64, void),
    RAPAHUB_METHOD(crash, crash, void, void),    RAPAHUB_METHOD_END,
};

RAPAHUB_CHIMOD(.name = "crossing", .version = "1.0.0", .state_size = sizeof(struct crossing),
               .state_version = 1, .ops = &ops, .methods = methods);
