/* SPDX-License-Identifier: Apache-2.0 */
/* guest_state: one guest, from its ticket to its goodbye. Serving thread. */
#ifndef GUEST_SDK_GUEST_STATE_H
#define GUEST_SDK_GUEST_STATE_H

#include <rapahub/chimod.h>

#include "guest-sdk/containers.h"
#include "guest-sdk/heartbeat.h"
#include "guest-sdk/hold.h"
#include "guest-sdk/keep.h"
#include "guest-sdk/load.h"
#include "hub/connection/connection.h"
#include "hub/wire/ticket.h"

#define GUEST_DEPTH_MAX 32 /* outward calls that wait at once, one inside of the other */

/* Memory that ends with the call that asked for it. */
struct guest_arena {
    struct guest_block *blocks;
};

/* A request that runs now. They are nested where one waits in an outward call. */
struct guest_frame {
    struct guest_frame *outer;
    struct hub_request *request;
    struct guest_container *container; /* NULL: of the host itself */
    const char *method;
    struct guest_arena arena;
    bool lends;                       /* its result is bytes: a loan may hold them */
    struct hub_loan loan;             /* memory for the result in a slot; data NULL: none */
    enum guest_heartbeat_stage stage; /* of the loop, before it */
};

/* What stands ready for the next small call of a method of bytes: see raw_method.h. */
struct guest_raw {
    const void *method; /* the last one, and its function; itself: none yet */
    int (*function)(void *self, struct rapahub_bytes in, struct rapahub_bytes *out);
    struct guest_frame frame; /* outermost; without memory or a loan while none runs */
};

struct guest {
    struct hub_ticket ticket; /* without one the peer is known when the entry is taken */
    int file;                 /* of the module, where there is no ticket; -1: none */
    struct hub_segment *segment;
    struct hub_segment_view view;
    struct hub_slots pool;
    struct hub_connection connection;
    uint32_t epoch;
    struct guest_heartbeat heartbeat;
    struct guest_hold hold;
    struct guest_keep keep;
    struct guest_module module;
    bool loaded; /* the module is; until then nothing can be asked of it */
    struct guest_containers containers;
    struct hub_a32 arrived; /* a request may be queued */
    struct hub_a32 goodbye; /* the host said goodbye */
    struct hub_a32 leave;   /* this guest was asked to; a signal handler may do so */
    const char *reason;     /* to leave; a constant */
    uint8_t *scratch;       /* payload_max bytes, for one answer at a time */

    struct guest_frame *frame; /* the innermost */
    struct guest_raw raw;
    uint32_t depth; /* outward calls that wait */
    uint64_t chains[GUEST_DEPTH_MAX];
    struct hub_answer answers[GUEST_DEPTH_MAX];
    uint64_t next_chain;
};

#endif
