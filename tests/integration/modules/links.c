/* SPDX-License-Identifier: Apache-2.0 */
/* links: a chimod whose roles are called "out", "in", "board" and "view": it pushes, pops, writes
 * and reads when it is asked to. */
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include <rapahub/chimod.h>

#include "tests/support/pause.h"

struct links {
    int at_init; /* what a pop of `in` returned while the container began */
    uint64_t delivered, sum, again;
};

static int begin(void *self, const struct rapahub_container_info *info)
{
    struct links *links = self;
    struct rapahub_consumer *in;
    uint64_t value;
    int r = rapahub_chimod_consumer("in", &in);

    (void)info;
    links->at_init = r == 0 ? rapahub_consumer_pop(in, &value, sizeof value, 0, NULL) : r;
    return 0;
}

static int pid(void *self, int32_t *out)
{
    (void)self;
    *out = getpid();
    return 0;
}

static int at_init(void *self, int32_t *out)
{
    *out = ((const struct links *)self)->at_init;
    return 0;
}

static int push(void *self, uint64_t value)
{
    struct rapahub_producer *out;
    int r = rapahub_chimod_producer("out", &out);

    (void)self;
    return r == 0 ? rapahub_producer_push(out, &value, sizeof value, 0) : r;
}

static int pop(void *self, int64_t *out)
{
    struct rapahub_consumer *in;
    uint64_t value = 0;
    int r = rapahub_chimod_consumer("in", &in);

    (void)self;
    if (r == 0)
        r = rapahub_consumer_pop(in, &value, sizeof value, UINT64_C(1000000000), NULL);
    *out = r == 0 ? (int64_t)value : r;
    return 0;
}

static int index_of(void *self, int64_t *out)
{
    struct rapahub_consumer *in;
    int r = rapahub_chimod_consumer("in", &in);

    (void)self;
    *out = r == 0 ? (int64_t)rapahub_consumer_index(in) : r;
    return 0;
}

static int set(void *self, uint64_t value)
{
    struct rapahub_writer *board;
    int r = rapahub_chimod_writer("board", &board);

    (void)self;
    return r == 0 ? rapahub_writer_write(board, &value, sizeof value) : r;
}

static int get(void *self, int64_t *out)
{
    struct rapahub_reader *view;
    uint64_t value = 0;
    int r = rapahub_chimod_reader("view", &view);

    (void)self;
    if (r == 0)
        r = rapahub_reader_read(view, &value, sizeof value, NULL, NULL);
    *out = r == 0 ? (int64_t)value : r;
    return 0;
}

static int crash(void *self)
{
    (void)self;
    return raise(SIGKILL);
}

/* Values from 1,000,000 on are put off twice; 999,999 is refused; one from 5,000,000 on takes so
 * many milliseconds as it is larger than that. */
static int message(void *self, const char *role, const struct rapahub_message *message)
{
    struct links *links = self;
    uint64_t value = 0;

    if (strcmp(role, "in") != 0 || message->size != sizeof value)
        return RAPAHUB_EARGUMENTS;
    memcpy(&value, message->data, sizeof value);
    if (value == 999999)
        return RAPAHUB_ESTATE;
    if (value >= 5000000) {
        pause_ms((int)(value - 5000000));
    } else if (value >= 1000000 && links->again < 2) {
        links->again++;
        return RAPAHUB_EAGAIN;
    }
    links->again = 0;
    links->delivered++;
    links->sum = links->sum * 31 + value;
    return 0;
}

static int delivered(void *self, int64_t *out)
{
    *out = (int64_t)((const struct links *)self)->delivered;
    return 0;
}

static int sum(void *self, uint64_t *out)
{
    *out = ((const struct links *)self)->sum;
    return 0;
}

static const struct rapahub_container_ops ops = {.init = begin, .message = message};
static const struct rapahub_method methods[] = {
    RAPAHUB_METHOD(pid, pid, i32, void),
    RAPAHUB_METHOD(at_init, at_init, i32, void),
    RAPAHUB_METHOD(push, push, void, u64),
    RAPAHUB_METHOD(pop, pop, i64, void),
    RAPAHUB_METHOD(index_of, index_of, i64, void),
    RAPAHUB_METHOD(set, set, void, u64),
    RAPAHUB_METHOD(get, get, i64, void),
    RAPAHUB_METHOD(delivered, delivered, i64, void),
    RAPAHUB_METHOD(sum, sum, u64, void),
    RAPAHUB_METHOD(crash, crash, void, void),
    RAPAHUB_METHOD_END,
};

RAPAHUB_CHIMOD(.name = "links", .version = "1.0.0", .state_size = sizeof(struct links), .ops = &ops,
               .methods = methods);
