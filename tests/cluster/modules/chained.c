/* SPDX-License-Identifier: Apache-2.0 */
/* chained: counts how often each number was entered, and calls other containers of its kind on the
 * way. Its counts are all of its state. A method that gets a path waits there at its end, but only
 * once for each path: it makes the file, so that a test sees where it is, and kills. */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <rapahub/chimod.h>

#include "tests/support/pause.h"

#define NUMBERS   8192
#define AWAITS_MS 20000 /* longer than a test waits for anything */

struct chained {
    uint8_t counts[NUMBERS];
};

static int count_up(struct chained *chained, uint64_t number)
{
    if (number >= NUMBERS)
        return rapahub_fail(RAPAHUB_EINVAL, "", "that number is too large");
    chained->counts[number]++;
    return 0;
}

/* Waits to be killed. */
static void wait_at(struct rapahub_string path)
{
    char text[512];
    int fd;

    if (path.size == 0 || path.size >= sizeof text)
        return;
    memcpy(text, path.data, path.size);
    text[path.size] = '\0';
    fd = open(text, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
    if (fd < 0)
        return;
    close(fd);
    pause_ms(AWAITS_MS);
}

/* Each run is noted by a byte in a file, which is no part of the state. */
static void note_run(struct rapahub_string path)
{
    char text[512];
    int fd;

    if (path.size == 0 || path.size + 5 >= sizeof text)
        return;
    memcpy(text, path.data, path.size);
    memcpy(text + path.size, ".ran", 5);
    fd = open(text, O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0)
        return;
    if (write(fd, "+", 1) != 1)
        pause_ms(AWAITS_MS);
    close(fd);
}

static struct rapahub_container_id target_of(uint64_t pool, uint32_t container)
{
    return (struct rapahub_container_id){{(uint32_t)(pool >> 32), (uint32_t)pool}, container};
}

/* ---- methods ---- */

static int chained_enter(void *self, uint64_t number)
{
    return count_up(self, number);
}

static int chained_count(void *self, uint64_t number, uint32_t *count)
{
    const struct chained *chained = self;

    *count = number < NUMBERS ? chained->counts[number] : 0;
    return 0;
}

static int chained_pid(void *self, int32_t *pid)
{
    (void)self;
    *pid = (int32_t)getpid();
    return 0;
}

static int chained_note(void *self, uint64_t number, struct rapahub_string path)
{
    note_run(path);
    if (count_up(self, number) < 0)
        return RAPAHUB_EINVAL;
    wait_at(path);
    return 0;
}

/* The same, when it has read all of a stream. */
static int chained_pour(void *self, struct rapahub_source *from, uint64_t number,
                        struct rapahub_string path)
{
    uint8_t piece[256];
    ssize_t n;

    while ((n = rapahub_source_read(from, piece, sizeof piece)) > 0)
        continue;
    return n < 0 ? (int)n : chained_note(self, number, path);
}

/* Enters a number here and, by a call, there. */
static int chained_relay(void *self, uint64_t pool, uint32_t container, uint64_t number,
                         struct rapahub_string path)
{
    const void *const arguments[] = {&number, NULL};
    const struct rapahub_call call = {.target = target_of(pool, container),
                                      .method = "enter",
                                      .types = RAPAHUB_TYPES(void, u64),
                                      .arguments = arguments};
    int r = count_up(self, number);

    if (r == 0)
        r = rapahub_chimod_call(&call, NULL);
    if (r == 0)
        wait_at(path);
    return r;
}

/* Enters a number here, and has another container of the pool relay the next one to this one. `way`
 * has its number, then that of this one. */
static int chained_round(void *self, uint64_t pool, uint64_t way, uint64_t number,
                         struct rapahub_string path)
{
    struct rapahub_string nowhere = {NULL, 0};
    uint32_t here = (uint32_t)way;
    uint64_t inner = number + 1;
    const void *const arguments[] = {&pool, &here, &inner, &nowhere, NULL};
    const struct rapahub_call call = {.target = target_of(pool, (uint32_t)(way >> 32)),
                                      .method = "relay",
                                      .types = RAPAHUB_TYPES(void, u64, u32, u64, string),
                                      .arguments = arguments};
    int r = count_up(self, number);

    if (r == 0)
        r = rapahub_chimod_call(&call, NULL);
    if (r == 0)
        wait_at(path);
    return r;
}

/* How many keys the container has that a query finds in a pool of kv. `way`: its mode, then its
 * offset, or the container. */
static int chained_ask(void *self, uint64_t pool, uint64_t way, uint64_t number, uint32_t *count)
{
    const enum rapahub_query_mode mode = (enum rapahub_query_mode)(way >> 32);
    const uint32_t offset = (uint32_t)way;
    const struct rapahub_query query = {.mode = mode,
                                        .number = number,
                                        .offset = offset,
                                        .count = mode == RAPAHUB_QUERY_RANGE ? 1 : 0};
    const struct rapahub_call call = {
        .target = target_of(pool, offset), .query = &query, .method = "count() -> u64"};
    uint64_t found = 0;
    int r;

    (void)self;
    r = rapahub_chimod_call(&call, &found);
    *count = (uint32_t)found;
    return r;
}

/* ---- the state ---- */

static int chained_save(void *self, struct rapahub_sink *to)
{
    return rapahub_sink_write(to, self, sizeof(struct chained));
}

static int chained_load(void *self, struct rapahub_source *from, uint32_t version)
{
    uint8_t *to = self;
    size_t size = 0;
    ssize_t n = 1;

    (void)version;
    while (n > 0 && size < sizeof(struct chained)) {
        n = rapahub_source_read(from, to + size, sizeof(struct chained) - size);
        size += n > 0 ? (size_t)n : 0;
    }
    return n < 0 ? (int)n : 0;
}

static const struct rapahub_container_ops ops = {.save = chained_save, .load = chained_load};

static const struct rapahub_method methods[] = {
    RAPAHUB_METHOD(enter, chained_enter, void, u64),
    RAPAHUB_METHOD(count, chained_count, u32, u64),
    RAPAHUB_METHOD(pid, chained_pid, i32, void),
    RAPAHUB_METHOD(note, chained_note, void, u64, string),
    RAPAHUB_METHOD(pour, chained_pour, void, source, u64, string),
    RAPAHUB_METHOD(relay, chained_relay, void, u64, u32, u64, string),
    RAPAHUB_METHOD(round, chained_round, void, u64, u64, u64, string),
    RAPAHUB_METHOD(ask, chained_ask, u32, u64, u64, u64),
    RAPAHUB_METHOD_END,
};

RAPAHUB_CHIMOD(.name = "chained", .version = "1.0.0", .state_size = sizeof(struct chained),
               .state_version = 1, .ops = &ops, .methods = methods);
