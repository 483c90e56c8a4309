/* SPDX-License-Identifier: Apache-2.0 */
/* region: event regions: queues and states in shared memory that outlive the processes which use
 * them.
 *
 * A region is a file in /dev/shm with a name, of one kind. Any process of its user may take part: a
 * host, a chimod, or a program that is neither. A process that dies, at whatever instruction,
 * leaves a region that the others go on with; in the hardened profile nothing of it is lost but
 * what it had not published. Repair needs proof of a death, which the kernel gives: the lock of the
 * dead process's mapping is free. A process that is merely stopped is never repaired under.
 * docs/spec/region.md has every byte and every rule.
 *
 * Every timeout is in nanoseconds from now; 0 tries once. No wait is without end. A handle
 * (producer, consumer, stage, writer, reader) is used by one thread at a time; different handles of
 * one region by different threads. A region is closed after its handles. A process that forks does
 * not take its regions with it: the child opens them anew.
 *
 * RAPAHUB_EFULL, RAPAHUB_EEMPTY, -ETIMEDOUT and -EAGAIN of a push or a pop come without a
 * diagnosis.
 */
#ifndef RAPAHUB_REGION_H
#define RAPAHUB_REGION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rapahub/error.h>
#include <rapahub/export.h>

RAPAHUB_BEGIN_DECLS

#define RAPAHUB_REGION_NAME_MAX 63
#define RAPAHUB_REGION_PATH_MAX 128

struct rapahub_region;
struct rapahub_producer;
struct rapahub_consumer;
struct rapahub_router;
struct rapahub_region_stage; /* <rapahub/sequencer.h> */
struct rapahub_writer;
struct rapahub_reader;

enum rapahub_region_kind {
    RAPAHUB_REGION_SPSC = 1,   /* one producer, one consumer */
    RAPAHUB_REGION_MPSC = 2,   /* any number of producers, one consumer */
    RAPAHUB_REGION_FANOUT = 3, /* any number of producers; a router; up to 64 consumers with a queue
                                  for each */
    RAPAHUB_REGION_SEQUENCER = 4,   /* positions in a ring, with bytes of the program for each, that
                                       stages work on one after the other or side by side */
    RAPAHUB_REGION_STATE_V1 = 5,    /* the last value, of one writer, for any number of readers; a
                                       writer that dies in the middle leaves none until another one
                                       has written */
    RAPAHUB_REGION_STATE_LATCH = 6, /* the same, in two buffers or more: there is a whole value at
                                       every moment, wherever a writer dies */
    RAPAHUB_REGION_FANIN = 8 /* up to 255 producers with a ring for each, one consumer: a producer
                                that is slow, stopped or dead is in the way of no other */
};

/* FANOUT: to whom a message goes. */
enum rapahub_region_mode {
    RAPAHUB_REGION_BROADCAST, /* to each consumer that subscribes */
    RAPAHUB_REGION_WORK       /* to one of them, in turn */
};

/* FANOUT: what happens where a consumer has as many messages as its credit allows. */
enum rapahub_region_credit {
    RAPAHUB_REGION_DROP,  /* it goes without; a work queue drops a message where all are so */
    RAPAHUB_REGION_PARK,  /* the router waits for it; a consumer that is proven dead is not waited
                             for, but in a work queue that has no other */
    RAPAHUB_REGION_DETACH /* the same, for `detach_after_ns`; then it is left out until it is opened
                             again, or the router is */
};

/* V1: a producer that dies between its claim and its publication blocks the queue for good.
 * HARDENED: each claim is covered by a lease; such cells are poisoned and skipped. */
enum rapahub_region_profile { RAPAHUB_REGION_V1, RAPAHUB_REGION_HARDENED };

/* The options of a new region. Zero means the default, but for the kind, which must be given. */
struct rapahub_region_options {
    enum rapahub_region_kind kind;
    enum rapahub_region_profile profile;
    uint32_t cell_bytes; /* 64 to 65,536, a multiple of 64: 16 and the longest message, hardened
                            FANOUT 24; 64 */
    uint32_t cells;      /* 2 to 2^24, a power of two: messages that it holds, and each queue of
                            FANOUT, and each ring of FANIN; 1,024 */
    uint32_t leases;     /* hardened: handles at once, at most 1,024; 64, and of FANIN one more than
                            `producers` if that is more */
    uint32_t head_batch; /* pops after which the consumer stores its place, at most 256; 32 */
    uint32_t file_mode;  /* at most 0660; 0600 */
    uint32_t producers;  /* FANIN: at most 255. SEQUENCER: 1 for one alone, 2 to 255 for any number
                            of them. 1 */
    /* STATE_V1 and STATE_LATCH alone, which have no cells and no batch */
    uint32_t value_bytes; /* the longest value has them; at most 2^30; 1,024 */
    uint32_t buffers; /* STATE_LATCH alone: 2 to 255; 2. More of them let a reader copy for longer
                         before the writer comes round to its buffer */
    /* of FANOUT alone */
    uint32_t consumers;  /* at most 64; 1 */
    uint32_t credit_max; /* messages that the queue of a consumer may have; `cells` */
    enum rapahub_region_mode mode;
    enum rapahub_region_credit credit;
    uint64_t detach_after_ns; /* 1 s */
    /* of SEQUENCER alone, which has no cells and no batch */
    uint32_t ring_size;  /* positions that it holds: 2 to 2^24, a power of two; 1,024 */
    uint32_t user_bytes; /* of the program, for each position: at most 2^24, a multiple of 8; 0 */
    uint32_t stages;     /* at most 64; 1 */
    const struct rapahub_region_stage *stage_list; /* one for each; NULL: they follow none, HOLD */
    uint64_t reserved[8];
};

/* How a region is opened. NULL stands for all zero. */
struct rapahub_region_open_options {
    enum rapahub_region_kind kind; /* another one is refused; 0: any */
    bool foreign;                  /* by path: also one of another user */
    bool read_only;   /* for states alone: mapped so that nothing can be written; for readers only,
                         which look each millisecond while they wait */
    uint64_t wait_ns; /* for roles and leases that another process is just changing; 1 s */
    uint64_t reserved[4];
};

/* Makes a region and opens it. `name` is 1 to 63 letters, digits, '_', '-' and '.', or a path that
 * contains '/'; NULL makes one without a name, which goes with its last descriptor. All its memory
 * is reserved now. A name shows the whole region or nothing. -EEXIST, -ENOSPC, -EINVAL; -ENOTSUP if
 * the system cannot. r[impl region.whole] */
RAPAHUB_API_CHECKED int rapahub_region_create(const char *name,
                                              const struct rapahub_region_options *options,
                                              struct rapahub_region **out);

/* Opens a region by name or path. Nothing of it is used before all of its header was checked, in a
 * fixed order, so that each defect has one code: RAPAHUB_ETRUNCATED, EBADMAGIC, EBADENDIAN,
 * ENOTINITIALIZED, EBADVERSION, EBADKIND, ECAPS, ELAYOUTBYTES, ECORRUPT. -ENOENT; -EPERM for
 * another user's. r[impl region.use] */
RAPAHUB_API_CHECKED int rapahub_region_open(const char *name,
                                            const struct rapahub_region_open_options *options,
                                            struct rapahub_region **out);

/* Opens the region of a descriptor, which stays the caller's. */
RAPAHUB_API_CHECKED int rapahub_region_adopt(int fd,
                                             const struct rapahub_region_open_options *options,
                                             struct rapahub_region **out);

/* Returns the descriptor of a region, to be handed to another process, which adopts it. It stays
 * the region's. */
RAPAHUB_API int rapahub_region_fd(const struct rapahub_region *region);

/* Closes it; NULL is allowed. -EBUSY, and nothing is changed, while it has open handles.
 * r[impl region.local] */
RAPAHUB_API int rapahub_region_close(struct rapahub_region *region);

/* Makes the same region anew in its place: empty, as its header says. Puts another region in the
 * place of one, in one step. Removes one. All three need proof that no process takes part, and wait
 * for it: else -EBUSY, and the diagnosis says who is there. `options` are as for its creation.
 * r[impl region.exclusive] */
RAPAHUB_API_CHECKED int rapahub_region_renew(const char *name, uint64_t timeout_ns);
RAPAHUB_API_CHECKED int rapahub_region_recreate(const char *name,
                                                const struct rapahub_region_options *options,
                                                uint64_t timeout_ns);
RAPAHUB_API_CHECKED int rapahub_region_remove(const char *name, uint64_t timeout_ns);

/* ---- looking at a region: read-only, also at one that others use, or that is damaged ---- */

/* Detail of RAPAHUB_ENOTINITIALIZED. */
enum rapahub_region_detail {
    RAPAHUB_REGION_NONE,       /* nothing was begun */
    RAPAHUB_REGION_BUSY_ALIVE, /* its initialiser is alive, or stopped: wait */
    RAPAHUB_REGION_BUSY_DEAD,  /* it is dead: make the region anew */
    RAPAHUB_REGION_RETIRED     /* the region was removed, or another is in its place */
};

/* The classes of codes: what an operator does about them. */
enum rapahub_region_class {
    RAPAHUB_REGION_CLASS_OTHER,
    RAPAHUB_REGION_CLASS_TRANSIENT,    /* wait */
    RAPAHUB_REGION_CLASS_POLICY,       /* stop the holder of the role */
    RAPAHUB_REGION_CLASS_INCOMPATIBLE, /* make it anew as it is expected, or upgrade one side */
    RAPAHUB_REGION_CLASS_CORRUPTED,    /* make it anew */
    RAPAHUB_REGION_CLASS_PEER_DEAD     /* start the peer again */
};

/* A lease that stands in the consumer's way. All of it is for people. */
struct rapahub_region_blocker {
    bool known; /* false: the region has no leases, or none covers the position */
    uint32_t lease;
    int32_t pid;
    uint64_t position;
    uint64_t since_ns; /* how long the holder has its lease */
    char name[32];
};

struct rapahub_region_report {
    char path[RAPAHUB_REGION_PATH_MAX];
    int verdict; /* 0: sound; else the code that opening it would return */
    enum rapahub_region_detail detail;
    enum rapahub_region_kind kind;
    enum rapahub_region_profile profile;
    uint64_t caps_required, caps_optional;
    uint64_t id;
    uint32_t generation;
    int32_t init_pid;
    uint64_t bytes; /* of the file */
    uint32_t cell_bytes, cells, leases;
    uint32_t message_max; /* bytes of the longest message */
    uint64_t tail, head;  /* positions; tail - head messages are in it, and not routed yet */
    uint64_t poisoned, reaped;
    uint64_t decode_errors;  /* messages that consumers could not decode: <rapahub/envelope.h> */
    bool producer, consumer; /* such a role is held: by lock, or by a lease */
    bool stuck; /* the position at the head is claimed and not published: see `blocker` */
    struct rapahub_region_blocker blocker;
    /* of FANOUT alone */
    bool router; /* there is one */
    enum rapahub_region_mode mode;
    enum rapahub_region_credit credit;
    uint32_t consumers, credit_max;
    uint64_t detach_after_ns;
    uint64_t routed, dropped; /* messages that left the source, and that consumers went without */
    /* FANOUT and FANIN */
    uint32_t full_queue; /* a consumer whose queue is full, or a producer whose ring is;
                            RAPAHUB_CONSUMER_ANY: none */
    bool full_held;      /* the consumer lives */
    uint32_t producers;  /* FANIN: each has a ring of `cells`; `tail` and `head` are the sums
                            over all of them */
    /* STATE_V1 and STATE_LATCH, of which `stuck` says that no whole value can be read */
    bool writer;          /* there is one */
    uint32_t value_bytes; /* the longest value has them */
    uint32_t buffers;     /* STATE_LATCH alone */
    uint32_t value_size;  /* bytes that the last value has */
    uint64_t version;     /* number of the last value; 0: there is no value yet */
    /* SEQUENCER, whose `tail` is the claims, of one producer the publications, and whose `head` is
       the place of its slowest stage */
    uint32_t ring_size, user_bytes, stages;
    bool shared;            /* any number of producers */
    uint32_t slowest_stage; /* that producers wait for; RAPAHUB_STAGE_NONE: no stage takes part */
    uint32_t waits_for;     /* the stage that the slowest one waits for, or itself */
    bool waits_held;        /* that one lives */
    char action[256];       /* what to do, in a line; "none" */
};

#define RAPAHUB_STAGE_NONE UINT32_MAX

/* The queue of a consumer of FANOUT, or the ring of a producer of FANIN, which is neither
 * subscribed nor detached, and may have as many messages as it has cells. */
struct rapahub_region_queue {
    uint32_t index;
    bool subscribed; /* it was opened, and not closed since: a death does not end that */
    bool detached;   /* by an operator */
    bool held;       /* its consumer lives; of FANIN its producer */
    uint32_t credit_max;
    uint64_t tail, head;         /* tail - head messages are in it */
    uint64_t delivered, dropped; /* messages that the consumer got, and that it went without */
};

enum rapahub_region_role {
    RAPAHUB_REGION_ROLE_NONE,
    RAPAHUB_REGION_ROLE_PRODUCER,
    RAPAHUB_REGION_ROLE_CONSUMER,
    RAPAHUB_REGION_ROLE_ROUTER,
    RAPAHUB_REGION_ROLE_WRITER,
    RAPAHUB_REGION_ROLE_READER /* has no lease */
};

/* A handle that holds a lease. */
struct rapahub_region_participant {
    uint32_t lease;
    int32_t pid;
    enum rapahub_region_role role;
    bool alive; /* false: proven dead; the next one that needs it takes the lease back */
    uint64_t since_ns;
    char name[32];
};

/* Looks at a region by name or path, and takes no lock. A failure: there is none, or it cannot be
 * read; a defect of the region is the report's verdict. r[impl region.inspect] */
RAPAHUB_API_CHECKED int rapahub_region_inspect(const char *name, bool foreign,
                                               struct rapahub_region_report *out);

/* Calls `visit` for each lease that is held, until it returns another number than 0, which is
 * returned. */
RAPAHUB_API_CHECKED int rapahub_region_leases(
    const char *name, bool foreign,
    int (*visit)(void *user, const struct rapahub_region_participant *who), void *user);

/* Calls `visit` for the queue of each consumer of a region of kind FANOUT, or for the ring of each
 * producer of kind FANIN, until it returns another number than 0, which is returned. */
RAPAHUB_API_CHECKED int rapahub_region_queues(
    const char *name, bool foreign,
    int (*visit)(void *user, const struct rapahub_region_queue *queue), void *user);

/* Calls `visit` with the name of each region of this user, until it returns another number than 0,
 * which is returned. */
RAPAHUB_API_CHECKED int rapahub_region_list(int (*visit)(void *user, const char *name), void *user);

/* FANOUT: a consumer that is detached gets no messages, whether it runs or not, until it is
 * attached again; both outlast every process. -EINVAL: there is no such consumer. r[impl
 * region.detach] */
RAPAHUB_API_CHECKED int rapahub_region_detach(struct rapahub_region *region, uint32_t consumer,
                                              bool detached);

/* Returns the class of a code. */
RAPAHUB_API enum rapahub_region_class rapahub_region_class(int code);

/* ---- producers ---- */

enum rapahub_on_full {
    RAPAHUB_ON_FULL_BLOCK,   /* sleeps until there is room, or the timeout; needs wakes */
    RAPAHUB_ON_FULL_BACKOFF, /* looks again and again, 1 us doubling to 1 ms */
    RAPAHUB_ON_FULL_DROP,    /* the message is dropped and counted, and 0 is returned */
    RAPAHUB_ON_FULL_FAIL     /* RAPAHUB_EFULL at once */
};

#define RAPAHUB_PRODUCER_ANY UINT32_MAX

struct rapahub_producer_options {
    enum rapahub_on_full on_full;
    uint32_t index; /* FANIN: which one; RAPAHUB_PRODUCER_ANY: the first that is free */
    uint64_t reserved[4];
};

/* Opens a producer. A producer of SPSC or FANIN that died is replaced: the new one goes on where it
 * ended. RAPAHUB_EROLETAKEN: another one lives. RAPAHUB_EFULL: all leases are held. -EINVAL: there
 * is none of this index, or to block needs wakes, which this region does not have. `options` may be
 * NULL. r[impl region.role] r[impl region.edge] */
RAPAHUB_API_CHECKED int rapahub_producer_open(struct rapahub_region *region,
                                              const struct rapahub_producer_options *options,
                                              struct rapahub_producer **out);

/* Publishes a message of any bytes, also none. -EMSGSIZE: it is longer than a cell has room for.
 * RAPAHUB_EFULL: the region is full and the timeout 0; -ETIMEDOUT: it stayed full;
 * RAPAHUB_EPEERDEAD: it is full and its consumer proved dead meanwhile. Nothing was published then,
 * and nothing changed. RAPAHUB_ECORRUPT, RAPAHUB_ERETIRED, RAPAHUB_ESTALE: the region must be made,
 * or opened, anew. */
RAPAHUB_API_CHECKED int rapahub_producer_push(struct rapahub_producer *producer, const void *data,
                                              size_t size, uint64_t timeout_ns);

/* Returns its index; 0 but in FANIN. */
RAPAHUB_API uint32_t rapahub_producer_index(const struct rapahub_producer *producer);

/* Returns the messages that RAPAHUB_ON_FULL_DROP dropped. */
RAPAHUB_API uint64_t rapahub_producer_dropped(const struct rapahub_producer *producer);
RAPAHUB_API void rapahub_producer_close(struct rapahub_producer *producer); /* NULL is allowed */

/* ---- routers ---- */

/* Opens the router of a region of kind FANOUT. Where another one lives, waits as a standby until it
 * is proven dead or closes, for `timeout_ns`; then RAPAHUB_EROLETAKEN. A router that follows a dead
 * one goes on where that ended: in the hardened profile each message comes to each queue once, in
 * the profile V1 one message may come twice. RAPAHUB_EBADKIND, RAPAHUB_EFULL, RAPAHUB_ECORRUPT. */
RAPAHUB_API_CHECKED int rapahub_router_open(struct rapahub_region *region, uint64_t timeout_ns,
                                            struct rapahub_router **out);

/* Routes up to `max` messages, and waits for the first one; `out` gets their number. Without any:
 * RAPAHUB_EEMPTY where there was none, RAPAHUB_EFULL where it waits for consumers, both only with a
 * timeout of 0; -ETIMEDOUT; RAPAHUB_EBLOCKED; RAPAHUB_ECORRUPT; RAPAHUB_ESTALE. */
RAPAHUB_API_CHECKED int rapahub_router_run(struct rapahub_router *router, uint32_t max,
                                           uint64_t timeout_ns, uint32_t *out);
RAPAHUB_API void rapahub_router_close(struct rapahub_router *router); /* NULL is allowed */

/* ---- consumers ---- */

#define RAPAHUB_CONSUMER_ANY UINT32_MAX

struct rapahub_message {
    const void *data;
    size_t size;
    uint64_t position; /* grows by one from message to message of a region; of hardened FANOUT in
                          the source, so with gaps in a queue; of V1 in the queue; of FANIN in
                          the ring of its producer */
    uint64_t skipped;  /* positions just before this one that dead producers left empty */
    uint32_t flags;    /* 0 */
    uint32_t producer; /* FANIN: the index of its producer + 1; else its lease + 1, for people; 0:
                          unknown */
};

struct rapahub_consumer_options {
    uint32_t index; /* FANOUT: which one; RAPAHUB_CONSUMER_ANY: the first that is free */
    uint64_t reserved[4];
};

/* Opens the consumer; it goes on where the last one ended. A consumer of FANOUT subscribes so, and
 * gets what is routed from then on, also what is routed between its death and its next life.
 * RAPAHUB_EROLETAKEN: another one lives. -EINVAL: there is none of this index. `options` may be
 * NULL. */
RAPAHUB_API_CHECKED int rapahub_consumer_open(struct rapahub_region *region,
                                              const struct rapahub_consumer_options *options,
                                              struct rapahub_consumer **out);

/* Copies the next message to `to` and takes it out of the region: a consumer that dies has it at
 * most once. `out` may be NULL; its data is `to`. -EMSGSIZE: it is longer than `size`, out->size
 * says how long, and it stays. RAPAHUB_EEMPTY: there is none and the timeout is 0; -ETIMEDOUT: none
 * came; RAPAHUB_EPEERDEAD: none came, and the only producer proved dead meanwhile.
 * FANIN gives the messages of each producer in their order, and at most 32 of one in a row while
 * another has some; a producer that dies ends no wait but where it is the only one.
 * RAPAHUB_EBLOCKED: a living producer has claimed the next position and not published it:
 * rapahub_consumer_blocked says which one. r[impl region.blocked] */
RAPAHUB_API_CHECKED int rapahub_consumer_pop(struct rapahub_consumer *consumer, void *to,
                                             size_t size, uint64_t timeout_ns,
                                             struct rapahub_message *out);

/* Shows up to `max` next messages, of FANIN those of one producer, as views into the region that
 * hold until rapahub_consumer_done takes the first `count` out: a consumer that dies between both
 * gets them again. Other processes can write the bytes of a view: copy, check, use. Errors as for
 * rapahub_consumer_pop. r[impl region.ack]
 */
RAPAHUB_API_CHECKED int rapahub_consumer_peek(struct rapahub_consumer *consumer,
                                              struct rapahub_message *list, size_t max,
                                              uint64_t timeout_ns, size_t *out);
RAPAHUB_API_CHECKED int rapahub_consumer_done(struct rapahub_consumer *consumer, size_t count);

/* Returns its index. */
RAPAHUB_API uint32_t rapahub_consumer_index(const struct rapahub_consumer *consumer);

/* Says who stands in the way of the next message, after RAPAHUB_EBLOCKED. */
RAPAHUB_API void rapahub_consumer_blocked(const struct rapahub_consumer *consumer,
                                          struct rapahub_region_blocker *out);

/* Returns a descriptor that is readable while there may be a message, for loops; take messages
 * until RAPAHUB_EEMPTY, and never read from it. It stays the consumer's. From the first call on a
 * thread of the library waits for messages. r[impl region.descriptor] */
RAPAHUB_API_CHECKED int rapahub_consumer_fd(struct rapahub_consumer *consumer);
/* Ends it, and of FANOUT its subscription; what is in its queue stays. NULL is allowed. */
RAPAHUB_API void rapahub_consumer_close(struct rapahub_consumer *consumer);

/* ---- states: the writer, and readers ---- */

/* Opens the writer of a region of kind STATE_V1 or STATE_LATCH. A writer that died is replaced, and
 * nothing has to be put right before. RAPAHUB_EROLETAKEN: another one lives, or is stopped.
 * RAPAHUB_EBADKIND; RAPAHUB_EFULL: all leases are held; -EINVAL: the region was opened read-only.
 * r[impl region.state.writer] */
RAPAHUB_API_CHECKED int rapahub_writer_open(struct rapahub_region *region,
                                            struct rapahub_writer **out);

/* Writes the next version of the value: any bytes, also none. Never waits for readers. -EMSGSIZE:
 * it is longer than `value_bytes`, and nothing changed; RAPAHUB_ERETIRED; RAPAHUB_ECORRUPT. */
RAPAHUB_API_CHECKED int rapahub_writer_write(struct rapahub_writer *writer, const void *data,
                                             size_t size);
RAPAHUB_API void rapahub_writer_close(struct rapahub_writer *writer); /* NULL is allowed */

/* Opens a reader: any number of them, without a lease. It needs only a region that was opened
 * read-only. RAPAHUB_EBADKIND. */
RAPAHUB_API_CHECKED int rapahub_reader_open(struct rapahub_region *region,
                                            struct rapahub_reader **out);

/* Copies the last value to `to`, whole; `out_size` gets its size and `version` its version, which
 * grows by one with each value, from 1 on, and never goes back. Either may be NULL. Never waits for
 * a writer. RAPAHUB_EEMPTY, without a diagnosis: none was written yet. -EMSGSIZE: it is longer than
 * `size`; its size and version are told. RAPAHUB_EWRITERBUSY: 1,024 tries met the writer at its
 * work; RAPAHUB_EPEERDEAD, of STATE_V1 alone: a writer died at it, and there is no other yet.
 * RAPAHUB_ECORRUPT. r[impl region.state.torn] */
RAPAHUB_API_CHECKED int rapahub_reader_read(struct rapahub_reader *reader, void *to, size_t size,
                                            size_t *out_size, uint64_t *version);

/* Waits until there is a later version than `version`, of which 0 is before the first. -ETIMEDOUT,
 * without a diagnosis; RAPAHUB_EPEERDEAD: the writer proved dead, which is told once for each;
 * RAPAHUB_ESTALE. r[impl region.state.wait] */
RAPAHUB_API_CHECKED int rapahub_reader_wait(struct rapahub_reader *reader, uint64_t version,
                                            uint64_t timeout_ns);
RAPAHUB_API void rapahub_reader_close(struct rapahub_reader *reader); /* NULL is allowed */

RAPAHUB_END_DECLS

#endif
