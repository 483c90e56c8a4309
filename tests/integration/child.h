/* SPDX-License-Identifier: Apache-2.0 */
/* child: children of the default supervisor, with a container that they have from the first life
 * on, and calls to them. */
#ifndef TESTS_INTEGRATION_CHILD_H
#define TESTS_INTEGRATION_CHILD_H

#include <pthread.h>

#include "tests/integration/hosting.h"
#include "tests/support/pause.h"

#define MS     UINT64_C(1000000)
#define SECOND (1000 * MS)

UNUSED static const struct rapahub_container_id other = {.pool = {2, 0}};

struct lazy {
    struct hosting on;
    struct rapahub_supervisor *root;
};

UNUSED static void open_lazy(struct lazy *lazy, bool own_thread)
{
    open_host(&lazy->on, (struct rapahub_host_options){.own_thread = own_thread});
    assert_done(rapahub_host_supervisor(lazy->on.host, &lazy->root));
}

UNUSED static struct rapahub_child_id put_module(struct lazy *lazy, const char *module,
                                                 struct rapahub_container_id id,
                                                 struct rapahub_supervision how)
{
    const struct rapahub_guest_options options = {.chimod = module, .supervision = &how};
    const struct rapahub_container_options container = {.id = id, .pool_name = "test"};
    struct rapahub_child_id child = {0};

    assert_done(rapahub_supervisor_add(lazy->root, &options, &child));
    assert_done(rapahub_child_add_container(lazy->on.host, child, &container));
    return child;
}

UNUSED static struct rapahub_child_id put(struct lazy *lazy, struct rapahub_container_id id,
                                          struct rapahub_supervision how)
{
    return put_module(lazy, CALC, id, how);
}

UNUSED static struct rapahub_child_status status_of(struct lazy *lazy,
                                                    struct rapahub_child_id child)
{
    struct rapahub_child_status status;

    assert_done(rapahub_child_status(lazy->on.host, child, &status));
    return status;
}

UNUSED static int call(struct lazy *lazy, struct rapahub_container_id id, const char *method,
                       void *result)
{
    const struct rapahub_call call = {.target = id, .method = method};

    return rapahub_host_call(lazy->on.host, &call, result);
}

UNUSED static int ask_pid(struct lazy *lazy, struct rapahub_container_id id)
{
    int32_t pid = 0;

    return call(lazy, id, "pid() -> i32", &pid);
}

UNUSED static int32_t pid(struct lazy *lazy, struct rapahub_container_id id)
{
    int32_t pid = 0;

    assert_done(call(lazy, id, "pid() -> i32", &pid));
    assert_int_not_equal(pid, 0);
    return pid;
}

UNUSED static void die(struct lazy *lazy)
{
    assert_int_equal(call(lazy, here, "crash()", NULL), RAPAHUB_EDIED);
}

/* Where the host has no thread of its own. */
UNUSED static void dispatch(struct lazy *lazy, uint64_t ms)
{
    for (uint64_t end = now_ms() + ms; now_ms() < end;)
        assert_true(rapahub_host_dispatch(lazy->on.host, 10) >= 0);
}

struct caller {
    struct lazy *lazy;
    pthread_t thread;
    int code;
    int32_t pid;
    struct rapahub_child_id child;
};

UNUSED static void *call_once(void *user)
{
    struct caller *caller = user;

    caller->code = call(caller->lazy, here, "pid() -> i32", &caller->pid);
    return NULL;
}

struct ending {
    int code;
    unsigned count;
};

UNUSED static void on_done(void *user, int code, const void *result)
{
    struct ending *ending = user;

    (void)result;
    ending->code = code < 0 ? code : ending->code;
    __atomic_add_fetch(&ending->count, 1, __ATOMIC_RELEASE);
}

#endif
