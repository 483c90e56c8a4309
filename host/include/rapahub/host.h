/* SPDX-License-Identifier: Apache-2.0 */
/* host: the header of a program that runs plugins in processes of their own.
 *
 * The thread that creates a host owns it. Callbacks run on the owner, inside rapahub_host_dispatch
 * or a call that the owner waits for. A function that is not marked "any thread" is for the owner
 * only: another thread gets RAPAHUB_ESTATE. With `own_thread` all functions are for any thread: the
 * library's thread carries them out while the caller waits. A callback may call containers; it must
 * not dispatch, spawn, stop or destroy. No signal handler, no change of the environment, nothing
 * printed but through log.h.
 */
#ifndef RAPAHUB_HOST_H
#define RAPAHUB_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rapahub/call.h>
#include <rapahub/error.h>
#include <rapahub/id.h>
#include <rapahub/limits.h>
#include <rapahub/log.h>
#include <rapahub/method.h>
#include <rapahub/region.h>
#include <rapahub/roles.h>
#include <rapahub/supervise.h>
#include <rapahub/version.h>

RAPAHUB_BEGIN_DECLS

struct rapahub_host;

enum rapahub_event_kind {
    RAPAHUB_EVENT_READY,     /* it serves, with all its containers */
    RAPAHUB_EVENT_DOWN,      /* it died, or was stopped: cause */
    RAPAHUB_EVENT_RESTART,   /* it will be started again: due_ns */
    RAPAHUB_EVENT_FAILED,    /* it is not started again: cause, and what failed it */
    RAPAHUB_EVENT_VIOLATION, /* it broke a rule and is killed: rule */
    RAPAHUB_EVENT_OUTPUT,    /* it printed a line: cause is the line, escaped */
    RAPAHUB_EVENT_ATTACHED,  /* a guest that the host did not start has come, and serves */
    RAPAHUB_EVENT_DEGRADED,  /* it lives, and gets no calls for now: cause */
    RAPAHUB_EVENT_RESTORED   /* calls reach it again: the same life, and no READY */
};

/* The pointers are valid until the callback returns. */
struct rapahub_event {
    enum rapahub_event_kind kind;
    struct rapahub_guest_id guest;
    const char *name, *cause, *rule; /* "kv", "signal SIGSEGV", ""; never NULL */
    uint64_t due_ns;                 /* RESTART: until then */
    uint32_t restarts, restarts_max; /* within the period; FAILED: 0 where no budget is used up */
    uint32_t calls_lost;             /* DOWN: calls that ended without an answer */
    uint64_t uptime_ns;              /* DOWN */
};

/* The trust in a guest decides which memory it shares. */
enum rapahub_trust {
    RAPAHUB_TRUST_STANDARD, /* a segment of its own, sealed */
    RAPAHUB_TRUST_STRICT,   /* refused with RAPAHUB_ESANDBOX: this release has no jail */
    RAPAHUB_TRUST_TRUSTED   /* shares its host's segment with the other trusted guests */
};

/* The way in which a host and the guests it starts wait for each other. It does not change what a
 * call does. A peer's act is seen equally soon in each way, except that with POLL the end of a peer
 * is seen within some milliseconds. */
enum rapahub_waiting {
    RAPAHUB_WAIT_ADAPT, /* looks for 20 us where that helped before, then sleeps */
    RAPAHUB_WAIT_POLL,  /* never sleeps in a call: the fastest, and each side fills a CPU */
    RAPAHUB_WAIT_SLEEP, /* at once, on a futex */
    RAPAHUB_WAIT_BELL   /* at once, on the doorbell: for loops that poll descriptors */
};

/* Zero stands for the default that a comment names last. Values that this library does not know
 * (`reserved`) are refused. */
struct rapahub_host_options {
    const char *name;         /* in logs; "host" */
    bool own_thread;          /* a thread of the library owns the host and dispatches */
    bool anonymous;           /* guests that the host did not start may come: rapahub_host_path */
    const char *path;         /* their segment lies there; default: a new name in /dev/shm */
    uint32_t guests_max;      /* all guests; 1 to 255; 16 */
    uint32_t ring_size;       /* descriptors, a power of two; 256 */
    uint32_t slot_size;       /* bytes, of the smallest slots; 4,096 */
    uint32_t slot_count;      /* the smallest slots of each guest; 64 */
    uint32_t payload_max;     /* bytes of a message; 1 MiB, or slot_size - 4 where that is given;
                                 above slot_size - 4 there are slots of several sizes, and their
                                 number grows with demand */
    uint64_t var_bytes_max;   /* bytes of all slots of several sizes of a segment; 256 MiB */
    uint32_t channels_max;    /* for each guest; 64 */
    uint32_t credit_size;     /* bytes; a fast reader is granted more; 65,536 */
    uint64_t heartbeat_ns;    /* 1 s; UINT64_MAX: none */
    uint64_t call_timeout_ns; /* 30 s */
    uint32_t starts_parallel_max; /* guests that start at the same time; 4; at most 255 */
    uint32_t starts_burst;        /* starts in a row; 256; at most 65,536 */
    uint32_t starts_per_s;        /* after a burst; 1,000; at most 1,000,000 */
    uint32_t admitted_max; /* guests of rapahub_host_admit, besides guests_max; none; at most 255 */
    const char *guest_program;    /* path of rapahub-guest; the installed one */
    const char *cgroup;           /* folder of a cgroup v2 without processes, in which it may make
                                     others for its guests; default: the host's own cgroup */
    enum rapahub_waiting waiting; /* this host and the guests it starts; ADAPT */
    void (*on_event)(void *user, const struct rapahub_event *event); /* owner */
    void *user;
    uint64_t reserved[8];
};

/* Called when a life of a guest has ended otherwise than by a goodbye: the guest crashed, was
 * killed, or broke a rule. Runs once for each such life, on the owner, before its place in shared
 * memory is used again. It may call containers, and must not take long. */
typedef void rapahub_on_death(void *user, struct rapahub_guest_id guest, const char *cause);

struct rapahub_guest_options {
    const char *chimod;       /* path of the shared object; required */
    const char *name;         /* default: the chimod's own, or the file's, followed by -2 … where
                                 another guest bears that */
    const char *const *plain; /* signatures to offer, ended by NULL, for a plain library */
    enum rapahub_trust trust;
    const struct rapahub_supervision *supervision; /* NULL: the defaults */
    const struct rapahub_limits *limits;           /* NULL: none but the host's own */
    /* The guest has this container from its first life on, before the guests that require it start.
     * NULL: none yet. */
    const struct rapahub_container_options *container;
    rapahub_on_death *on_death; /* may be NULL */
    void *user;
    /* Where the bytes of the module come from; 0: from the file `chimod`, which is else only a name
     * for people and is not opened. A regular file or a memfd, open for reading; its offset does
     * not matter. All lives of the guest load the bytes that it has while the function runs. It
     * stays the caller's, and may be closed afterwards. So that the bytes that were checked are
     * those that are loaded, pass a memfd sealed against writing, shrinking and growing, and check
     * that: any other is copied, and may change before that. */
    int module_fd;
    uint64_t reserved[7];
};

struct rapahub_container_options {
    struct rapahub_container_id id;
    const char *pool_name;       /* required */
    struct rapahub_bytes params; /* handed to init; at most 32 KiB */
    /* It takes calls only while the host has a lease: rapahub_host_lease. In a new life of its
     * guest it stays down, and its calls wait, until it is begun again: rapahub_host_begin. A guest
     * that is made with it begins it once. */
    bool managed;
    bool routed; /* its calls go to the router, but those of rapahub_host_call_raw: route.h */
    /* Of this life of the container, told to it when it begins; 0: none. An upgrade begins it with
     * the next one, token + 1. */
    uint64_t token;
    /* Its roles in regions of the host (rapahub/roles.h), at most 16, ended by one without a name;
     * NULL: none. Only a trusted guest that the host starts can have any. */
    const struct rapahub_role *roles;
    uint64_t reserved[5];
};

/* Options are copied; `options` of create may be NULL. destroy accepts NULL. It says goodbye,
 * waits, kills, and ends every call with RAPAHUB_EDIED; no other thread may be inside the library
 * then.
 *
 * A child that was forked without exec has no host: all functions but this fail there with
 * RAPAHUB_ESTATE, and this one frees the child's copies and descriptors only (rule hub.host.fork).
 */
RAPAHUB_API_CHECKED int rapahub_host_create(const struct rapahub_host_options *options,
                                            struct rapahub_host **out);
RAPAHUB_API void rapahub_host_destroy(struct rapahub_host *host);

/* Starts a guest and waits until it serves, or fails and leaves no trace: RAPAHUB_ELOAD,
 * RAPAHUB_EABI, RAPAHUB_ESTART, RAPAHUB_EFULL, -ENOENT, -EBADF (module_fd), -EEXIST (the name) … A
 * guest that dies later is started again as its supervision says, with its containers, under
 * another guest id. */
RAPAHUB_API_CHECKED int rapahub_host_spawn(struct rapahub_host *host,
                                           const struct rapahub_guest_options *options,
                                           struct rapahub_guest_id *out);

/* The file to which guests attach that this host does not start, by `rapahub-guest --hub-path=PATH
 * FILE.so` or by rapahub_guest_run in a program of their own; NULL without the option `anonymous`.
 * Such a guest is trusted: a process that may open the file may write to all of it. When it
 * serves there is RAPAHUB_EVENT_ATTACHED with its id; then it is given containers and called as
 * any other. When it goes or dies there is RAPAHUB_EVENT_DOWN, its calls have ended, its containers
 * are gone. Any thread. */
RAPAHUB_API const char *rapahub_host_path(const struct rapahub_host *host);

/* Places in shared memory that stay out of use for as long as the host lives: their guests attached
 * without the lock that would prove their end. Owner. */
RAPAHUB_API uint32_t rapahub_host_quarantined(const struct rapahub_host *host);

/* Says goodbye to a guest, waits, and kills it at the stop time-out; its containers end with it.
 * RAPAHUB_ESTALE: that life has ended. */
RAPAHUB_API_CHECKED int rapahub_host_stop(struct rapahub_host *host, struct rapahub_guest_id guest);

/* Does the same without waiting; the stop goes on in the turns that the owner takes. on_done runs
 * once, on the owner, unless this function fails. It may call containers, and nothing else. A host
 * that ends also ends the stop. */
RAPAHUB_API_CHECKED int rapahub_host_stop_async(struct rapahub_host *host,
                                                struct rapahub_guest_id guest,
                                                rapahub_on_done *on_done, void *user);

/* Sends SIGKILL now; the death is treated like any other. */
RAPAHUB_API_CHECKED int rapahub_host_kill(struct rapahub_host *host, struct rapahub_guest_id guest);

/* Brings a container to life in a guest: its `init` has run when this returns. -EEXIST where the id
 * is taken. */
RAPAHUB_API_CHECKED int rapahub_host_add_container(struct rapahub_host *host,
                                                   struct rapahub_guest_id guest,
                                                   const struct rapahub_container_options *options);

/* Offers methods of this very process to the guests, as a container. They run on the owner. The
 * list and `self` must outlive the host. */
RAPAHUB_API_CHECKED int rapahub_host_offer(struct rapahub_host *host,
                                           const struct rapahub_container_options *options,
                                           const struct rapahub_method *methods, void *self);

/* Visits the canonical signature of each method of a container. Any thread. */
RAPAHUB_API_CHECKED int rapahub_host_methods(struct rapahub_host *host,
                                             struct rapahub_container_id target,
                                             void (*visit)(void *user, const char *signature),
                                             void *user);

/* Does the same for a guest, whether it has a container or not. RAPAHUB_ESTALE: it is unknown. Any
 * thread. */
RAPAHUB_API_CHECKED int rapahub_host_guest_methods(struct rapahub_host *host,
                                                   struct rapahub_guest_id guest,
                                                   void (*visit)(void *user, const char *signature),
                                                   void *user);

/* The present state of a guest. The pointers are valid until the visit returns. */
struct rapahub_guest_status {
    struct rapahub_guest_id guest; /* the present or last life */
    const char *name, *state;      /* "ready", "restarting", "failed", "stopped" … */
    const char *chimod;            /* path; "" for a guest that the host did not start */
    const char *version;           /* the chimod's; "" for a plain library */
    enum rapahub_trust trust;
    int32_t pid;       /* 0: none */
    uint32_t restarts; /* since it was spawned */
    uint64_t uptime_ns;
    uint64_t calls;          /* answered, all lives */
    uint64_t resident_bytes; /* 0: unknown */
    uint64_t violations;     /* of the protocol, all lives */
    bool anonymous;          /* the host did not start it */
};
/* Visits the guests of a host, also those that have ended and may come again. Not visited is one
 * that has gone for good: a guest that the host did not start, and a child of a SIMPLE supervisor
 * after rapahub_child_close. */
RAPAHUB_API_CHECKED int rapahub_host_guests(
    struct rapahub_host *host, void (*visit)(void *user, const struct rapahub_guest_status *status),
    void *user);

/* A figure of a guest: how often something happened in all its lives, or how much of something
 * there is now. Names are as `rapahub stats` lists them. The pointers are valid until the visit
 * returns. */
struct rapahub_figure {
    const char *name; /* "messages_sent" … "violations", one for each rule that was broken */
    const char *rule; /* the rule of a "violations"; else "" */
    bool gauge;       /* the amount now; 0 where the guest has no process */
    uint64_t value;
};
RAPAHUB_API_CHECKED int rapahub_host_figures(
    struct rapahub_host *host, struct rapahub_guest_id guest,
    void (*visit)(void *user, const struct rapahub_figure *figure), void *user);

/* Calls a method and waits; any thread. Each call ends once: 0 and *result; RAPAHUB_EAPPLICATION,
 * the method's own error, in the diagnosis; RAPAHUB_ENOMETHOD, RAPAHUB_EARGUMENTS; or the failure:
 * RAPAHUB_EDIED, RAPAHUB_ECLOSED, RAPAHUB_EPROTOCOL (outcome unknown), RAPAHUB_ESTALE,
 * RAPAHUB_ERESTARTING, RAPAHUB_EGIVENUP, RAPAHUB_EDEGRADED, RAPAHUB_EPLUGGED, RAPAHUB_EFENCED,
 * -ENOENT, -EMSGSIZE, -EBUSY (not executed), RAPAHUB_EBUDGET (the other side keeps too much for
 * this caller; the text says whether it ran), -ETIMEDOUT, -ECANCELED. Bytes and strings in *result
 * hold until this thread's next call. `result` may be NULL where it is void. With `view` a result
 * of type bytes may lie in the memory of a trusted guest, which can change it.
 */
RAPAHUB_API_CHECKED int rapahub_host_call(struct rapahub_host *host,
                                          const struct rapahub_call *call, void *result);

/* Sets the time, by CLOCK_BOOTTIME in nanoseconds, until which this host may serve the containers
 * whose option `managed` is true. A call to one of them that begins later is not run, and ends with
 * RAPAHUB_EFENCED. Its guest itself looks at the clock just before it runs the method, so this
 * holds also for calls that are on their way, and where a thread or the whole process of the host
 * was stopped for a while. A call that had begun before goes on, and its answer is delivered. What
 * changes a container without being a call (rapahub/lifecycle.h, an upgrade) is not affected.
 *
 * UINT64_MAX, as at first, means no end; 0 ends the lease now. The last value counts: a host whose
 * lease was over serves again when it gets a later end. A thread of a guest that is stopped between
 * its look at the clock and the first instruction of the method still runs it when it goes on, so
 * what a method does outside of its container should name who it was done for. Any thread. */
RAPAHUB_API void rapahub_host_lease(struct rapahub_host *host, uint64_t until_ns);

/* Lends memory for the last argument of a call, of type bytes. The caller fills the `size` bytes
 * and then names them in `loan` of the call, which sends them without a copy. The arguments before
 * them must fit in 60 bytes on the wire (else -EMSGSIZE). The loan's guest may die: then the call
 * ends with RAPAHUB_ESTALE, and the memory stays until it is dropped. Drop all loans before
 * rapahub_host_destroy. Never waits for a slot: -EAGAIN where there is none now, -EBUSY where 64
 * loans are out, -EMSGSIZE, and the errors of a call that cannot reach its target. Any thread. */
RAPAHUB_API_CHECKED int rapahub_host_loan(struct rapahub_host *host,
                                          struct rapahub_container_id target, size_t size,
                                          struct rapahub_loan *out);
RAPAHUB_API void rapahub_host_drop_loan(struct rapahub_host *host, struct rapahub_loan *loan);

/* Starts an asynchronous call and returns; any thread. on_done runs once, on the owner, unless this
 * function fails. `call->loan` must be NULL. `result` is NULL unless status is 0, and where the
 * result is void; `result` and the diagnosis are valid until on_done returns. `out` may be NULL. In
 * an on_done that runs inside of rapahub_host_destroy this fails with RAPAHUB_ESTALE, since the
 * call would have to wait for a turn. */
RAPAHUB_API_CHECKED int rapahub_host_call_async(struct rapahub_host *host,
                                                const struct rapahub_call *call,
                                                rapahub_on_done *on_done, void *user,
                                                struct rapahub_request_id *out);

/* Corks a container, or uncorks it. While it is corked, calls to it by rapahub_host_call_async may
 * be held back, whichever thread makes them, so that its guest gets many together and is woken
 * once. They are held back until the container is uncorked, until 64 are held back or no more fit,
 * or until a thread that made them waits in this library: in any call that waits for its result, or
 * in rapahub_host_dispatch with a time-out that is not 0. A thread that waits elsewhere, also for
 * rapahub_host_fd, must uncork before. A call that waits for its result is never held back, and
 * comes after the calls before it. Each call ends once, held back or not.
 *
 * No container is corked at first. Corking twice is the same as corking once. A container stays
 * corked over a restart of its guest. -ENOENT: there is no such container. Any thread.
 * r[impl hub.ring.cork] */
RAPAHUB_API_CHECKED int rapahub_host_cork(struct rapahub_host *host,
                                          struct rapahub_container_id target, bool corked);

/* Tells the guest that the caller no longer waits. The call ends with -ECANCELED within 1 s, unless
 * its response is there first. Harmless for a call that has ended. Any thread. */
RAPAHUB_API void rapahub_host_cancel(struct rapahub_host *host, struct rapahub_request_id request);

/* A program polls the descriptor for input in its own loop, then dispatches with 0. dispatch waits
 * at most `timeout_ms` (-1: until something happens, at most 10 s) and returns how many events it
 * handled. */
RAPAHUB_API int rapahub_host_fd(const struct rapahub_host *host);
RAPAHUB_API_CHECKED int rapahub_host_dispatch(struct rapahub_host *host, int timeout_ms);

#ifndef __cplusplus
/* Declares a function that calls `method`: RAPAHUB_STUB(add, i64, i64, i64); gives
 * `static inline int add(struct rapahub_host *, struct rapahub_container_id, int64_t, int64_t,
 * int64_t *result)`. The words are those of RAPAHUB_METHOD. */
#define RAPAHUB_STUB(stub, ...)                              \
    RAPAHUB_PASTE(RAPAHUB_STUB_, RAPAHUB_COUNT(__VA_ARGS__)) \
    (stub, __VA_ARGS__) struct rapahub_host

/* The rest of this block is the implementation of RAPAHUB_STUB. */
#define RAPAHUB_STUB_FUNCTION(stub, result_word, parameters, types_, ...)            \
    __attribute__((unused)) static inline int stub(                                  \
        struct rapahub_host *host,                                                   \
        struct rapahub_container_id target parameters RAPAHUB_STUB_OUT(result_word)) \
    {                                                                                \
        static const struct rapahub_type *const types[] = {types_ NULL};             \
        static uint64_t id;                                                          \
        const void *const arguments[] = {__VA_ARGS__ NULL};                          \
        const struct rapahub_call call = {.target = target,                          \
                                          .method = #stub,                           \
                                          .types = types,                            \
                                          .arguments = arguments,                    \
                                          .method_id = &id};                         \
        return rapahub_host_call(host, &call, RAPAHUB_STUB_RESULT(result_word));     \
    }
#define RAPAHUB_STUB_OUT(word)   RAPAHUB_PASTE(RAPAHUB_STUB_OUT_, RAPAHUB_IS_VOID(word))(word)
#define RAPAHUB_STUB_OUT_0(word) , rapahub_t_##word *result
#define RAPAHUB_STUB_OUT_1(word)
#define RAPAHUB_STUB_RESULT(word) RAPAHUB_PASTE(RAPAHUB_STUB_RESULT_, RAPAHUB_IS_VOID(word))
#define RAPAHUB_STUB_RESULT_0     result
#define RAPAHUB_STUB_RESULT_1     NULL
#define RAPAHUB_STUB_IN(word, name) \
    RAPAHUB_PASTE(RAPAHUB_STUB_IN_, RAPAHUB_IS_VOID(word))(word, name)
#define RAPAHUB_STUB_IN_0(word, name) , rapahub_t_##word name
#define RAPAHUB_STUB_IN_1(word, name)
#define RAPAHUB_STUB_AT(word, name) RAPAHUB_PASTE(RAPAHUB_STUB_AT_, RAPAHUB_IS_VOID(word))(name)
#define RAPAHUB_STUB_AT_0(name)     &name,
#define RAPAHUB_STUB_AT_1(name)
#define RAPAHUB_STUB_2(stub, r, ta)                                                \
    RAPAHUB_STUB_FUNCTION(stub, r, RAPAHUB_STUB_IN(ta, a), RAPAHUB_TYPES_2(r, ta), \
                          RAPAHUB_STUB_AT(ta, a))
#define RAPAHUB_STUB_3(stub, r, ta, tb)                                           \
    RAPAHUB_STUB_FUNCTION(stub, r, RAPAHUB_STUB_IN(ta, a) RAPAHUB_STUB_IN(tb, b), \
                          RAPAHUB_TYPES_3(r, ta, tb),                             \
                          RAPAHUB_STUB_AT(ta, a) RAPAHUB_STUB_AT(tb, b))
#define RAPAHUB_STUB_4(stub, r, ta, tb, tc)                                                     \
    RAPAHUB_STUB_FUNCTION(stub, r,                                                              \
                          RAPAHUB_STUB_IN(ta, a) RAPAHUB_STUB_IN(tb, b) RAPAHUB_STUB_IN(tc, c), \
                          RAPAHUB_TYPES_4(r, ta, tb, tc),                                       \
                          RAPAHUB_STUB_AT(ta, a) RAPAHUB_STUB_AT(tb, b) RAPAHUB_STUB_AT(tc, c))
#define RAPAHUB_STUB_5(stub, r, ta, tb, tc, td)                                                \
    RAPAHUB_STUB_FUNCTION(stub, r,                                                             \
                          RAPAHUB_STUB_IN(ta, a) RAPAHUB_STUB_IN(tb, b) RAPAHUB_STUB_IN(tc, c) \
                              RAPAHUB_STUB_IN(td, d),                                          \
                          RAPAHUB_TYPES_5(r, ta, tb, tc, td),                                  \
                          RAPAHUB_STUB_AT(ta, a) RAPAHUB_STUB_AT(tb, b) RAPAHUB_STUB_AT(tc, c) \
                              RAPAHUB_STUB_AT(td, d))
#define RAPAHUB_STUB_6(stub, r, ta, tb, tc, td, te)                                            \
    RAPAHUB_STUB_FUNCTION(stub, r,                                                             \
                          RAPAHUB_STUB_IN(ta, a) RAPAHUB_STUB_IN(tb, b) RAPAHUB_STUB_IN(tc, c) \
                              RAPAHUB_STUB_IN(td, d) RAPAHUB_STUB_IN(te, e),                   \
                          RAPAHUB_TYPES_6(r, ta, tb, tc, td, te),                              \
                          RAPAHUB_STUB_AT(ta, a) RAPAHUB_STUB_AT(tb, b) RAPAHUB_STUB_AT(tc, c) \
                              RAPAHUB_STUB_AT(td, d) RAPAHUB_STUB_AT(te, e))
#endif

RAPAHUB_END_DECLS

#endif
