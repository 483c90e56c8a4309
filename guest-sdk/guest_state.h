/* SPDX-License-Identifier: Apache-2.0 */
/* guest_state: the state of one guest, from its ticket to its goodbye. Serving thread, except where
 * a member says otherwise. */
#ifndef GUEST_SDK_GUEST_STATE_H
#define GUEST_SDK_GUEST_STATE_H

#include <rapahub/chimod.h>

#include "guest-sdk/containers.h"
#include "guest-sdk/fd_store.h"
#include "guest-sdk/load.h"
#include "guest-sdk/response_batch.h"
#include "guest-sdk/roles.h"
#include "hub/connection/attach.h"
#include "hub/connection/heartbeat.h"

#define GUEST_DEPTH_MAX 32 /* limit of outward calls that wait at once, one inside the other */

/* Memory that is freed at the end of the call that allocated it. */
struct guest_arena {
    struct guest_block *blocks;
};

/* A running request. Frames are nested while a method waits in an outward call. */
struct guest_frame {
    struct guest_frame *outer;
    struct hub_request *request;
    struct guest_container *container; /* NULL: the request is the host's own */
    const char *method;
    struct guest_arena arena;
    bool lends;                     /* the result is bytes, so a loan may hold them */
    struct hub_loan loan;           /* memory for the result in a slot; data NULL: none */
    enum hub_heartbeat_stage stage; /* the loop's stage before the request */
};

/* Cached state for the next small call of a method of bytes: see raw_method.h. */
struct guest_raw {
    const void *method; /* the last such method; the address of this struct itself: none yet */
    int (*function)(void *self, struct rapahub_bytes in, struct rapahub_bytes *out);
    /* the outermost frame; it owns no memory and no loan while no request runs */
    struct guest_frame frame;
};

struct guest {
    struct hub_attach attach;
    int file; /* the module's file, if there is no ticket; -1: none */
    struct hub_heartbeat heartbeat;
    struct guest_response_batch hold;
    struct guest_fd_store keep;
    struct guest_module module;
    bool loaded; /* the module is loaded; before that it can serve nothing */
    struct guest_containers containers;
    struct guest_roles roles;
    struct hub_a32 arrived; /* a request may be queued */
    struct hub_a32 goodbye; /* the host said goodbye */
    struct hub_a32 leave;   /* this guest was asked to leave, perhaps by a signal handler */
    const char *reason;     /* the reason to leave; a constant */
    uint8_t *scratch;       /* payload_max bytes, for one answer at a time */

    struct guest_frame *frame; /* the innermost request */
    struct guest_raw raw;
    uint32_t depth; /* waiting outward calls */
    uint64_t chains[GUEST_DEPTH_MAX];
    struct hub_answer answers[GUEST_DEPTH_MAX];
    uint64_t next_chain;
};

#endif
