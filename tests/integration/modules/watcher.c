/* SPDX-License-Identifier: Apache-2.0 */
/* watcher: counts the deaths it is told of, and keeps the last one. */
#include <string.h>
#include <unistd.h>

#include <rapahub/chimod.h>

struct watcher {
    uint32_t told, deaths, class, child;
    uint64_t incarnation;
    char name[64];
};

static void watcher_child_down(void *self, const struct rapahub_death *death)
{
    struct watcher *watcher = self;
    size_t size = death->name.size < sizeof watcher->name ? death->name.size : 0;

    watcher->told++;
    watcher->deaths += death->count;
    watcher->class = (uint32_t)death->exit_class;
    watcher->child = death->child;
    watcher->incarnation = death->incarnation;
    memset(watcher->name, 0, sizeof watcher->name);
    memcpy(watcher->name, death->name.data, size);
}

struct last {
    uint32_t told, deaths, class, child;
    uint64_t incarnation;
    struct rapahub_string name;
};
RAPAHUB_RECORD(last, RAPAHUB_MEMBER(last, told, u32), RAPAHUB_MEMBER(last, deaths, u32),
               RAPAHUB_MEMBER(last, class, u32), RAPAHUB_MEMBER(last, child, u32),
               RAPAHUB_MEMBER(last, incarnation, u64), RAPAHUB_MEMBER(last, name, string));

static int watcher_last(void *self, struct last *out)
{
    const struct watcher *watcher = self;

    *out = (struct last){watcher->told,  watcher->deaths,      watcher->class,
                         watcher->child, watcher->incarnation, rapahub_string_of(watcher->name)};
    return 0;
}

static int watcher_leave(void *self)
{
    (void)self;
    _exit(3);
}

static const struct rapahub_container_ops ops = {.child_down = watcher_child_down};

static const struct rapahub_method methods[] = {
    RAPAHUB_METHOD(last, watcher_last, last, void),
    RAPAHUB_METHOD(leave, watcher_leave, void, void),
    RAPAHUB_METHOD_END,
};

RAPAHUB_CHIMOD(.name = "watcher", .version = "0.1.0", .state_size = sizeof(struct watcher),
               .ops = &ops, .methods = methods);
