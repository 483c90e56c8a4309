/* SPDX-License-Identifier: Apache-2.0 */
/* bench_state: a plugin with a state of as many bytes as its params say, of which a call changes a
 * word; for rows about copies. */
#include <stdlib.h>
#include <string.h>

#include <rapahub/chimod.h>

#define SIZE_MOST  (UINT64_C(1) << 30)
#define PARAM_SIZE 32
#define PAIRS      64 /* changes that are read at once */

struct change {
    uint64_t at, word;
};

struct state {
    uint64_t *words;
    uint64_t count;
    struct change *changes; /* since the last save */
    uint64_t changed, room;
};

/* The params are the number of bytes. */
static int state_init(void *self, const struct rapahub_container_info *info)
{
    struct state *state = self;
    char text[PARAM_SIZE] = "";
    uint64_t size;

    if (info->params.size >= sizeof text)
        return rapahub_fail(RAPAHUB_EINVAL, "", "the params are no number");
    if (info->params.size > 0)
        memcpy(text, info->params.data, info->params.size);
    size = strtoull(text, NULL, 10);
    state->count = size / sizeof *state->words;
    if (state->count == 0 || size > SIZE_MOST)
        return rapahub_fail(RAPAHUB_EINVAL, "", "a state of '%s' bytes", text);
    state->words = malloc(state->count * sizeof *state->words);
    if (!state->words)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory");
    memset(state->words, 7, state->count * sizeof *state->words);
    return 0;
}

static int note(struct state *state, struct change change)
{
    if (state->changed == state->room) {
        uint64_t room = state->room > 0 ? 2 * state->room : PAIRS;
        struct change *more = realloc(state->changes, room * sizeof *more);

        if (!more)
            return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory");
        state->changes = more;
        state->room = room;
    }
    state->changes[state->changed++] = change;
    return 0;
}

/* Adds to a word; the sum tells whether a call was lost or doubled. */
static int state_add(void *self, uint64_t at, uint64_t amount, uint64_t *sum)
{
    struct state *state = self;
    struct change change = {at % state->count, 0};
    int r;

    change.word = state->words[change.at] + amount;
    r = note(state, change);
    if (r == 0)
        *sum = state->words[change.at] = change.word;
    return r;
}

static int state_save(void *self, struct rapahub_sink *to)
{
    struct state *state = self;
    int r = rapahub_sink_write(to, state->words, state->count * sizeof *state->words);

    if (r == 0)
        state->changed = 0;
    return r;
}

static int state_save_changes(void *self, struct rapahub_sink *to)
{
    struct state *state = self;
    int r = rapahub_sink_write(to, state->changes, state->changed * sizeof *state->changes);

    if (r == 0)
        state->changed = 0;
    return r;
}

static int state_load(void *self, struct rapahub_source *from, uint32_t version)
{
    struct state *state = self;

    (void)version;
    return rapahub_source_read_all(from, state->words, state->count * sizeof *state->words);
}

static int state_load_changes(void *self, struct rapahub_source *from, uint32_t version)
{
    struct state *state = self;
    struct change change;
    ssize_t n = rapahub_source_read(from, &change, sizeof change);

    (void)version;
    for (; n > 0; n = rapahub_source_read(from, &change, sizeof change)) {
        int r = (size_t)n < sizeof change
                    ? rapahub_source_read_all(from, (char *)&change + n, sizeof change - (size_t)n)
                    : 0;

        if (r < 0)
            return r;
        state->words[change.at % state->count] = change.word;
    }
    return (int)n;
}

static void state_fini(void *self)
{
    struct state *state = self;

    free(state->words);
    free(state->changes);
}

static const struct rapahub_container_ops ops = {.init = state_init,
                                                 .save = state_save,
                                                 .load = state_load,
                                                 .save_changes = state_save_changes,
                                                 .load_changes = state_load_changes,
                                                 .fini = state_fini};

static const struct rapahub_method methods[] = {
    RAPAHUB_METHOD(add, state_add, u64, u64, u64),
    RAPAHUB_METHOD_END,
};

RAPAHUB_CHIMOD(.name = "bench_state", .version = "1.0.0", .state_size = sizeof(struct state),
               .state_version = 1, .ops = &ops, .methods = methods);
