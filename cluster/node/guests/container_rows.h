/* SPDX-License-Identifier: Apache-2.0 */
/* container_rows: the containers of this node as its guests have them: one row for each, with the
 * step in which it is, and what the core is to be told of it. Owner.
 */
#ifndef CLUSTER_NODE_GUESTS_CONTAINER_ROWS_H
#define CLUSTER_NODE_GUESTS_CONTAINER_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include <rapahub/id.h>

#include "cluster/core/base/index.h"
#include "cluster/core/base/table.h"
#include "cluster/core/core.h"
#include "cluster/node/base/buffers.h"
#include "cluster/node/base/event_queue.h"
#include "cluster/node/guests/guests.h"

enum cluster_container_step {
    CLUSTER_CONTAINER_STEP_DOWN,      /* it has not begun, or its guest has died */
    CLUSTER_CONTAINER_STEP_WAITING,   /* for its folder, and for its guest */
    CLUSTER_CONTAINER_STEP_BEGINNING, /* its callbacks run */
    CLUSTER_CONTAINER_STEP_UP,
    CLUSTER_CONTAINER_STEP_ENDING,   /* its `fini` runs */
    CLUSTER_CONTAINER_STEP_CLOSING,  /* its guest ends, if no other container is in it */
    CLUSTER_CONTAINER_STEP_CLEARING, /* its files go */
    CLUSTER_CONTAINER_STEPS
};

extern const struct hub_states cluster_container_step_states;

/* The user of containers: a constant table. */
struct cluster_container_rows_hooks {
    /* Tells the core an event at once, in no step of it, and returns what it says. */
    int (*tell)(void *teller, const struct cluster_event *event);
};

struct cluster_container_rows_parts { /* all live longer */
    struct rapahub_host *host;
    struct cluster_store_thread *disk;
    struct cluster_blob_fetches *modules;
    struct cluster_copy_links *copies; /* states go to and from other nodes by these */
    const struct cluster_pool_records *pools;
    struct cluster_event_queue *events;
    const struct cluster_core *core;
    struct cluster_buffers *buffers; /* answers of calls that are too large for the core */
    const struct cluster_container_rows_hooks *hooks;
    void *teller;
    const char *folders; /* absolute path of those of containers */
    uint32_t node;
    uint32_t guests_max; /* 0: 255 */
    /* A container serves from now on, or not any more; NULL: not told. */
    void (*on_container)(void *user, struct rapahub_container_id id, uint64_t token, bool came);
    void *user;
};

struct cluster_container_rows {
    struct cluster_container_rows_parts parts;
    struct cluster_table rows;
    struct cluster_index index;
    struct hub_list asked;   /* rows that are WAITING, for the next turn too */
    struct hub_list waiting; /* other rows that are WAITING */
    struct hub_list closing; /* rows that are CLOSING, whose guest was not let go of yet */
    struct hub_list plugged; /* copies whose containers are to be unplugged again */
    uint32_t steps;          /* begun in the host, and not ended */
};

/* The copies with which a container begins, as far as it has loaded them. */
struct cluster_container_load {
    struct cluster_disk_copies copies;
    size_t next; /* copy */
    uint64_t at; /* byte of it */
};

struct cluster_container_row {
    struct cluster_container_rows *rows;
    uint64_t pool;
    uint32_t container;
    uint32_t state;              /* enum cluster_container_step */
    struct cluster_guest *guest; /* NULL: none */
    uint64_t begin, deadline_ns; /* id of the effect BEGIN; 0: it was answered */
    uint64_t token;
    uint64_t incarnation; /* of the guest in which it begins */
    uint64_t removal;     /* id of the effect REMOVE; 0: none */
    struct cluster_container_load load;
    uint64_t state_size, changes_size; /* of its copies on the disk */
    const void *copying;               /* by which its state is being taken; NULL: none */
    uint8_t how;
    bool has_folder, folder_asked, told; /* told: the embedder, that it came */
    bool has_copies, copies_asked;       /* WAITING: those with which it begins */
    bool has_newest;                     /* WAITING: they are on the own disk */
    bool held;                           /* the core wants its calls to wait */
    bool plugged;                        /* its calls are refused until it is unplugged */
    bool saves_wholly;                   /* its module saves no changes */
    struct hub_list link;                /* in one of the lists above */
};

int cluster_container_rows_init(struct cluster_container_rows *rows,
                                const struct cluster_container_rows_parts *parts);
void cluster_container_rows_fini(struct cluster_container_rows *rows);

/* Return a row, or NULL. The second one adds it if there is none; NULL with a diagnosis. */
struct cluster_container_row *cluster_container_rows_find(const struct cluster_container_rows *rows,
                                                          uint64_t pool, uint32_t container);
struct cluster_container_row *cluster_container_rows_get(struct cluster_container_rows *rows,
                                                         uint64_t pool, uint32_t container);
void cluster_container_rows_forget(struct cluster_container_row *row);

void cluster_container_rows_move(struct cluster_container_row *row, enum cluster_container_step to);

struct rapahub_container_id cluster_container_rows_id(const struct cluster_container_row *row);
struct cluster_disk_container cluster_container_rows_on_disk(
    const struct cluster_container_row *row);

/* Lets its calls in the host wait, or go on. */
void cluster_container_rows_hold(const struct cluster_container_row *row, bool held);

/* Tell the core an event of the container; BEGUN, if it was not told yet. Tell the embedder that it
 * came or left, if it does not know. */
void cluster_container_rows_tell(struct cluster_container_row *row, struct cluster_event event);
void cluster_container_rows_answer_begin(struct cluster_container_row *row, int status,
                                         const char *text);
void cluster_container_rows_tell_embedder(struct cluster_container_row *row, bool came);

/* Asks for a turn of the node: not all may be done in a callback of the host. */
void cluster_container_rows_wake(struct cluster_container_rows *rows);

/* An effect of that kind cannot be carried out. */
void cluster_container_rows_refuse(struct cluster_container_rows *rows, uint8_t event, uint64_t id,
                                   int status);

#endif
