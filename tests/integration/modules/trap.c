/* SPDX-License-Identifier: Apache-2.0 */
/* trap: a version of the ledger whose constructor leaves a mark, and a process that leaves another
 * one. */
#include <fcntl.h>
#include <unistd.h>

#include <rapahub/chimod.h>

static void leave(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

    if (fd >= 0)
        close(fd);
}

__attribute__((constructor)) static void spring(void)
{
    leave(TRAP_MARK);
    if (fork() != 0)
        return;
    leave(TRAP_MARK ".child");
    _exit(0);
}

struct inner {
    uint8_t kind;
    struct rapahub_string text;
};
RAPAHUB_RECORD(inner, RAPAHUB_MEMBER(inner, kind, u8), RAPAHUB_MEMBER(inner, text, string));

struct outer {
    struct inner inner;
    double weight;
};
RAPAHUB_RECORD(outer, RAPAHUB_MEMBER(outer, inner, inner), RAPAHUB_MEMBER(outer, weight, f64));

static int trap_weigh(void *self, struct outer outer, double *result)
{
    (void)self;
    *result = outer.weight;
    return 0;
}

static int trap_read(void *self, struct rapahub_source *from, bool all,
                     struct rapahub_bytes *result)
{
    (void)self;
    (void)from;
    (void)all;
    *result = (struct rapahub_bytes){NULL, 0};
    return 0;
}

static int trap_nothing(void *self)
{
    (void)self;
    return 0;
}

static const struct rapahub_method methods[] = {
    RAPAHUB_METHOD(weigh, trap_weigh, f64, outer),
    RAPAHUB_METHOD(read, trap_read, bytes, source, bool),
    RAPAHUB_METHOD(nothing, trap_nothing, void, void),
    RAPAHUB_METHOD_END,
};

RAPAHUB_CHIMOD(.name = "ledger", .version = "9.0", .methods = methods);
