/* SPDX-License-Identifier: Apache-2.0 */
/* chimod: the header of a plugin, a shared object with the symbol `rapahub_chimod`.
 *
 * Every callback and every method runs on the guest's serving thread. Those of one container never
 * overlap, with one exception: while a method waits in rapahub_chimod_call, calls that serve to
 * answer that very call (host -> guest -> host -> guest) run inside of it.
 */
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
#include <rapahub/region.h>
#include <rapahub/stream.h>
#include <rapahub/version.h>

RAPAHUB_BEGIN_DECLS

enum rapahub_health { RAPAHUB_HEALTH_READY, RAPAHUB_HEALTH_DEGRADED, RAPAHUB_HEALTH_UNHEALTHY };

/* Describes the container. It holds until the callback returns. */
struct rapahub_container_info {
    struct rapahub_container_id id;
    const char *pool_name;
    struct rapahub_bytes params; /* begin at a multiple of RAPAHUB_BYTES_ALIGN */
    bool load_follows;           /* there is a saved state: load is the next callback */
};

/* The death of a child of the host that this guest monitors. It holds until the callback returns.
 */
struct rapahub_death {
    struct rapahub_string name; /* unique among its siblings */
    uint32_t child;             /* the number in the host's struct rapahub_child_id */
    uint64_t incarnation;       /* the number of the life that ended */
    enum rapahub_exit_class exit_class;
    /* deaths since the previous report; above 1, this report describes the last of them */
    uint32_t count;
};

/* The callbacks of a container. A callback that is NULL has the default named below. An int result
 * is 0 or an error code. After an error of init, restart, recover or load the container never
 * becomes reachable. */
struct rapahub_container_ops {
    /* The container comes to life by one of three callbacks. No call arrives before that one, and
     * load if it follows, have returned.
     *   init     new pool, or the target of a move or upgrade      default: succeed
     *   restart  same node, its data still there                   default: init
     *   recover  another node, after the death of the old one      default: init */
    int (*init)(void *self, const struct rapahub_container_info *info);
    int (*restart)(void *self, const struct rapahub_container_info *info);
    int (*recover)(void *self, const struct rapahub_container_info *info);
    /* Write and read the state as bytes, for a move, an upgrade and a snapshot alike. No call runs
     * during save.
     *   default: RAPAHUB_ESTATE if state_size is not 0, else nothing */
    int (*save)(void *self, struct rapahub_sink *to);
    int (*load)(void *self, struct rapahub_source *from, uint32_t state_version);
    /* Calls stop arriving (true), or arrive again (false).
     *   default: nothing */
    void (*plugged)(void *self, bool plugged);
    /* Returns the work that remains; a drain ends at 0.
     *   default: the open calls of this container */
    uint64_t (*work_remaining)(const void *self);
    /* The container is plugged and drained; save comes next. For data outside self.
     *   default: nothing */
    int (*migrate)(void *self, struct rapahub_node_id target);
    /* A node has joined.
     *   default: nothing */
    int (*expand)(void *self, struct rapahub_node_id joined);
    /* On the leader: returns the node on which to recover a lost sibling.
     *   default: RAPAHUB_NODE_ANY */
    struct rapahub_node_id (*schedule_recover)(void *self, struct rapahub_container_id lost);
    /* Answers the host's probes, between two calls. READY; DEGRADED: no calls for now; UNHEALTHY:
     * restart this guest.
     *   default: READY */
    enum rapahub_health (*health)(void *self);
    /* Releases the resources of the container; the SDK frees self.
     *   default: nothing */
    void (*fini)(void *self);
    /* A monitored child died, see rapahub_child_monitor of the host. Each death is reported at most
     * once.
     *   default: nothing */
    void (*child_down)(void *self, const struct rapahub_death *death);
    /* Write and read as bytes what has changed since the last save or save_changes, or since the
     * container began. A copy is then the state of a save, and the changes after it in their order.
     * No call of the container runs meanwhile, but calls are not stopped: what is open stays open.
     * A failure of load_changes leaves the container without calls. A module has both or none.
     *   default: save, of everything, so that a new copy begins */
    int (*save_changes)(void *self, struct rapahub_sink *to);
    int (*load_changes)(void *self, struct rapahub_source *from, uint32_t state_version);
    /* Says which containers of the pool a call goes to whose query is RAPAHUB_QUERY_DYNAMIC: fills
     * in mode, number, offset and count of *out, which comes zeroed. Any mode but DYNAMIC; with
     * DIRECT `offset` is the container. A failure ends the call. It changes nothing: it is asked
     * of any container of the pool on the caller's node, again where a guest dies, and perhaps
     * while a method of the container waits in a call.
     *   default: RAPAHUB_QUERY_LOCAL */
    int (*route)(void *self, const struct rapahub_route *asked, struct rapahub_query *out);
    /* Gets a message of a role whose option `deliver` is set, between two calls, and never before
     * the guest is READY. Its data is a copy that holds until this returns. 0: it is taken out.
     * -EAGAIN: it stays, and comes again after 10 ms, then after twice as long each time, at most
     * after 1 s; later ones wait. Another code: it is passed over, logged and counted. A guest that
     * dies meanwhile gets it again in its next life. It calls no container: rapahub_chimod_call
     * fails. without it: a role with `deliver` cannot be had */
    int (*message)(void *self, const char *role, const struct rapahub_message *message);
    /* Another version of the module takes over the container's roles (false), between a drain and
     * save; or it did not, and they are there again (true), in the handles that they were in. When
     * it returns from `false`, no thread of the module uses a handle, or a descriptor of one, any
     * more: they fail with RAPAHUB_ESTATE. What was shown and is not done comes to the other one.
     *   default: nothing */
    void (*roles)(void *self, bool held);
};

struct rapahub_chimod {
    uint32_t abi; /* RAPAHUB_CHIMOD_ABI of the headers that compiled it */
    /* sizeof *ops in those headers; a later SDK uses its defaults for the missing members */
    uint32_t ops_size;
    const char *name; /* a method's name, in which '-' is allowed too */
    const char *version;
    size_t state_size; /* bytes of self, which the SDK allocates and zeroes; at most 1 GiB */
    uint32_t state_version;
    const struct rapahub_container_ops *ops; /* NULL: all defaults */
    const struct rapahub_method *methods;    /* ends with RAPAHUB_METHOD_END; at most 1,024 */
};

/* The symbol that the loader looks up. */
#define RAPAHUB_CHIMOD_SYMBOL "rapahub_chimod"
extern RAPAHUB_API const struct rapahub_chimod rapahub_chimod;

#ifndef __cplusplus
/* Declares the plugin. The arguments are designated members of struct rapahub_chimod, except abi
 * and ops_size. */
#define RAPAHUB_CHIMOD(...)                        \
    const struct rapahub_chimod rapahub_chimod = { \
        .abi = RAPAHUB_CHIMOD_ABI, .ops_size = sizeof(struct rapahub_container_ops), __VA_ARGS__}
#endif

/* Calls a container, wherever it is, and waits for the answer. Only the serving thread may call it,
 * from a callback or a method; others get RAPAHUB_ESTATE. Views in *result hold until the next
 * call. The error codes are those of rapahub_host_call. */
RAPAHUB_API_CHECKED int rapahub_chimod_call(const struct rapahub_call *call, void *result);

/* Allocates memory for data that a result points to. The memory begins at a multiple of
 * RAPAHUB_BYTES_ALIGN and holds until the running call is answered. Returns NULL if there is no
 * memory. For a method whose result is bytes, 4 KiB and more lie where the host reads them, if
 * there is space; a result that begins there is not copied. Serving thread. */
RAPAHUB_API void *rapahub_chimod_alloc(size_t size);

/* Says whether the running call is no longer waited for: it was cancelled, or the host has left.
 * Then return -ECANCELED soon. A guest whose method continues for more than ten of the host's
 * heartbeat intervals is killed. Serving thread. */
RAPAHUB_API bool rapahub_chimod_cancelled(void);

/* The token of a container's life, which who manages the container has given it; 0: none. A later
 * life of the container has a larger one, so a resource outside that refuses smaller tokens than it
 * has seen is safe from a life that is over. And the uid of the running call; {0, 0}: it has none.
 */
struct rapahub_token {
    uint64_t token;
    struct rapahub_uid uid;
};

/* Fills in the token of the container whose method or callback is running. RAPAHUB_ESTATE if none
 * is. Serving thread. */
RAPAHUB_API_CHECKED int rapahub_chimod_token(struct rapahub_token *out);

/* Stores a duplicate of a descriptor at the host, where it outlives this process: the next life of
 * this child receives it, even if this process is killed as soon as the function returns. The
 * descriptor stored earlier under the same name is closed; with `fd` -1 none replaces it. `fd`
 * remains the caller's. The function does not wait. Errors: RAPAHUB_EINVAL if the child's option
 * `keep_fds` has no such name, -EBADF, and -EAGAIN as long as the host has not received the earlier
 * ones. Serving thread. */
RAPAHUB_API_CHECKED int rapahub_chimod_keep(const char *name, int fd);

/* Find the handle of a role that the options of the running container name (rapahub/roles.h). It
 * holds from before `init`, or `restart` or `recover`, to after `fini`, and is the SDK's: it is
 * never closed. A consumer and a reader are given nothing before the guest is READY:
 * RAPAHUB_EEMPTY, or -ETIMEDOUT. In an upgrade the handle goes to the new version: see `roles`.
 * Another thread of the module may use the handle, one thread at a time. RAPAHUB_ENOENT: there is
 * no such role; RAPAHUB_EBADKIND: it is of another kind; RAPAHUB_ESTATE: no callback and no method
 * runs. Serving thread. */
RAPAHUB_API_CHECKED int rapahub_chimod_producer(const char *role, struct rapahub_producer **out);
RAPAHUB_API_CHECKED int rapahub_chimod_consumer(const char *role, struct rapahub_consumer **out);
RAPAHUB_API_CHECKED int rapahub_chimod_writer(const char *role, struct rapahub_writer **out);
RAPAHUB_API_CHECKED int rapahub_chimod_reader(const char *role, struct rapahub_reader **out);

/* Returns the descriptor that an earlier life of this child stored last under this name. This
 * process was started with it: it belongs to the module and has the same number at each call.
 * RAPAHUB_ENOENT if there is none, RAPAHUB_EINVAL if there is no such name. Serving thread. */
RAPAHUB_API_CHECKED int rapahub_chimod_kept(const char *name);

RAPAHUB_END_DECLS

#endif
