/* SPDX-License-Identifier: Apache-2.0 */
/* chimod: what a plugin includes: a shared object with the symbol `rapahub_chimod`.
 *
 * Every callback and every method runs on the guest's serving thread, and those of one container
 * never overlap, but for one case: while a method waits in rapahub_chimod_call, calls that were
 * made to answer that very call (host -> guest -> host -> guest) are served inside of it. */
#ifndef RAPAHUB_CHIMOD_H
#define RAPAHUB_CHIMOD_H

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rapahub/call.h>
#include <rapahub/error.h>
#include <rapahub/exit.h>
#include <rapahub/id.h>
#include <rapahub/log.h>
#include <rapahub/method.h>
#include <rapahub/stream.h>
#include <rapahub/version.h>

RAPAHUB_BEGIN_DECLS

enum rapahub_health { RAPAHUB_HEALTH_READY, RAPAHUB_HEALTH_DEGRADED, RAPAHUB_HEALTH_UNHEALTHY };

/* Good until the callback returns. */
struct rapahub_container_info {
    struct rapahub_container_id id;
    const char *pool_name;
    struct rapahub_bytes params; /* from a multiple of RAPAHUB_BYTES_ALIGN on */
    bool load_follows;           /* a saved state is at hand: load is the next callback */
};

/* A child of the host has died, which this guest was asked to be told of. Good until the callback
 * returns. */
struct rapahub_death {
    struct rapahub_string name; /* among its siblings */
    uint32_t child;             /* struct rapahub_child_id of the host */
    uint64_t incarnation;       /* of the life that ended */
    enum rapahub_exit_class exit_class;
    uint32_t count; /* deaths since the one that was told before; above 1 it is the last of them */
};

/* A callback left NULL has the default named. int: 0 or an error code. After an error of init,
 * restart, recover or load the container never becomes reachable. */
struct rapahub_container_ops {
    /* Comes to life, in one of three ways; no call arrives before the end of it and of load.
     *   init     new pool, or the target of a move or upgrade      default: succeed
     *   restart  same node, its data still there                   default: init
     *   recover  another node, after the death of the old one      default: init */
    int (*init)(void *self, const struct rapahub_container_info *info);
    int (*restart)(void *self, const struct rapahub_container_info *info);
    int (*recover)(void *self, const struct rapahub_container_info *info);
    /* The state as bytes: move, upgrade and snapshot alike. Saved while no call runs.
     * default: RAPAHUB_ESTATE where state_size is not 0, else nothing */
    int (*save)(void *self, struct rapahub_sink *to);
    int (*load)(void *self, struct rapahub_source *from, uint32_t state_version);
    /* No further calls arrive (true), or they do again (false).    default: nothing */
    void (*plugged)(void *self, bool plugged);
    /* A drain ends at 0.                       default: calls of this container still open */
    uint64_t (*work_remaining)(const void *self);
    /* Plugged and drained; save comes next. For data beside self.  default: nothing */
    int (*migrate)(void *self, struct rapahub_node_id target);
    /* A node has joined.                                           default: nothing */
    int (*expand)(void *self, struct rapahub_node_id joined);
    /* On the leader: where to recover a lost sibling.              default: RAPAHUB_NODE_ANY */
    struct rapahub_node_id (*schedule_recover)(void *self, struct rapahub_container_id lost);
    /* READY; DEGRADED: no calls for now; UNHEALTHY: start me anew. The probes of its host ask,
     * between two calls.                                           default: READY */
    enum rapahub_health (*health)(void *self);
    /* Releases what the container acquired; the SDK frees self.    default: nothing */
    void (*fini)(void *self);
    /* See rapahub_child_monitor of the host. Each death is told at most once.  default: nothing */
    void (*child_down)(void *self, const struct rapahub_death *death);
};

struct rapahub_chimod {
    uint32_t abi;      /* RAPAHUB_CHIMOD_ABI of the headers it was compiled with */
    uint32_t ops_size; /* sizeof *ops there: a later SDK gives the missing rest its defaults */
    const char *name;  /* as a method's name, and '-' */
    const char *version;
    size_t state_size; /* bytes of self, allocated by the SDK, zeroed; at most 1 GiB */
    uint32_t state_version;
    const struct rapahub_container_ops *ops; /* NULL: all defaults */
    const struct rapahub_method *methods;    /* ends with RAPAHUB_METHOD_END; at most 1,024 */
};

/* The symbol the loader looks for. */
#define RAPAHUB_CHIMOD_SYMBOL "rapahub_chimod"
extern RAPAHUB_API const struct rapahub_chimod rapahub_chimod;

#ifndef __cplusplus
/* Declares the plugin: designated members of struct rapahub_chimod, but abi and ops_size. */
#define RAPAHUB_CHIMOD(...)                        \
    const struct rapahub_chimod rapahub_chimod = { \
        .abi = RAPAHUB_CHIMOD_ABI, .ops_size = sizeof(struct rapahub_container_ops), __VA_ARGS__}
#endif

/* Calls any container, anywhere, and waits. On the serving thread only, from a callback or a
 * method; else RAPAHUB_ESTATE. Views in *result hold until the next call. The codes are those of
 * rapahub_host_call. */
RAPAHUB_API_CHECKED int rapahub_chimod_call(const struct rapahub_call *call, void *result);

/* Memory for what a result shows, from a multiple of RAPAHUB_BYTES_ALIGN on, good until the call
 * that runs now is answered; NULL for none. Of
 * a method whose result is bytes, 4 KiB and more lie where the host reads them, if there is room:
 * what begins there is not copied. */
RAPAHUB_API void *rapahub_chimod_alloc(size_t size);

/* Nobody waits for the call that runs now any more: return -ECANCELED soon. A guest whose method
 * goes on for more than ten of the host's heartbeat intervals is killed. Serving thread. */
RAPAHUB_API bool rapahub_chimod_cancelled(void);

/* Gives the host a copy of a descriptor, which outlives this process: the next life of this child
 * has it, also where this one is killed right behind the return. What was kept under the name is
 * closed; fd -1: and nothing is kept. `fd` stays the caller's. It does not wait. RAPAHUB_EINVAL
 * where the child's option `keep_fds` has no such name, -EBADF; -EAGAIN where the host has not
 * taken those before yet. Serving thread. */
RAPAHUB_API_CHECKED int rapahub_chimod_keep(const char *name, int fd);

/* The descriptor that an earlier life of this child gave away last under this name, as this process
 * was started with it: it is the module's own, and the same number each time. RAPAHUB_ENOENT: there
 * is none; RAPAHUB_EINVAL: there is no such name. Serving thread. */
RAPAHUB_API_CHECKED int rapahub_chimod_kept(const char *name);

RAPAHUB_END_DECLS

#endif
