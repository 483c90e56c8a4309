/* SPDX-License-Identifier: Apache-2.0 */
/* wanderer: a chimod that is moved while it is called. Each of its callers enters 1, 2, 3 and so
 * on; the state says which number of a caller came last, and how many came twice or were missed. */
#include <string.h>

#include <rapahub/chimod.h>

#define CALLERS 4

struct wanderer {
    uint64_t last[CALLERS];
    uint64_t doubled, lost;
};

static int enter(void *self, uint32_t caller, uint64_t number, uint64_t *out)
{
    struct wanderer *wanderer = self;
    uint64_t *last = &wanderer->last[caller % CALLERS];

    wanderer->doubled += number <= *last;
    wanderer->lost += number > *last + 1;
    *last = number > *last ? number : *last;
    *out = number;
    return 0;
}

/* Calls its own container back, which may be held by now. */
static int enter_nested(void *self, uint32_t caller, uint64_t number, uint64_t *out)
{
    const void *const arguments[] = {&caller, &number, NULL};
    const struct rapahub_call call = {.target = {.pool = {1, 0}},
                                      .method = "enter",
                                      .types = RAPAHUB_TYPES(u64, u32, u64),
                                      .arguments = arguments};

    (void)self;
    return rapahub_chimod_call(&call, out);
}

/* The number is in the last 8 bytes of the stream. */
static int enter_stream(void *self, uint32_t caller, struct rapahub_source *from, uint64_t *out)
{
    uint64_t number = 0, piece;
    int r;

    while ((r = rapahub_source_read_all(from, &piece, sizeof piece)) == 0)
        number = piece;
    return r == RAPAHUB_ERESET && number != 0 ? enter(self, caller, number, out) : r;
}

static int wrong(void *self, uint64_t *out)
{
    const struct wanderer *wanderer = self;

    *out = wanderer->doubled + wanderer->lost;
    return 0;
}

static int last(void *self, uint32_t caller, uint64_t *out)
{
    *out = ((struct wanderer *)self)->last[caller % CALLERS];
    return 0;
}

static int save(void *self, struct rapahub_sink *to)
{
    return rapahub_sink_write(to, self, sizeof(struct wanderer));
}

static int load(void *self, struct rapahub_source *from, uint32_t version)
{
    (void)version;
    return rapahub_source_read_all(from, self, sizeof(struct wanderer));
}

static const struct rapahub_container_ops ops = {.save = save, .load = load};

static const struct rapahub_method methods[] = {
    RAPAHUB_METHOD(enter, enter, u64, u32, u64),
    RAPAHUB_METHOD(enter_nested, enter_nested, u64, u32, u64),
    RAPAHUB_METHOD(enter_stream, enter_stream, u64, u32, source),
    RAPAHUB_METHOD(wrong, wrong, u64, void),
    RAPAHUB_METHOD(last, last, u64, u32),
    RAPAHUB_METHOD_END,
};

RAPAHUB_CHIMOD(.name = "wanderer", .version = "1.0.0", .state_size = sizeof(struct wanderer),
               .state_version = 1, .ops = &ops, .methods = methods);
