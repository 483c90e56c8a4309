/* SPDX-License-Identifier: Apache-2.0 */
/* frame: the begin of a request's run, and its end after the answer. Serving thread. */
#ifndef GUEST_SDK_FRAME_H
#define GUEST_SDK_FRAME_H

#include "guest-sdk/arena.h"
#include "guest-sdk/guest_state.h"

static inline void guest_frame_enter(struct guest *guest, struct guest_frame *frame,
                                     struct hub_request *request)
{
    frame->outer = guest->frame;
    frame->request = request;
    frame->container = NULL;
    frame->method = "?";
    frame->arena.blocks = NULL;
    frame->lends = false;
    frame->loan.data = NULL;
    guest->frame = frame;
    hub_heartbeat_run(&guest->heartbeat, request->id);
    frame->stage = hub_heartbeat_enter(&guest->heartbeat, HUB_HEARTBEAT_RUNS);
}

/* For the outermost request the loop sets the stage itself after the answer. */
static inline void guest_frame_leave(struct guest *guest, struct guest_frame *frame)
{
    if (frame->loan.data)
        hub_loan_drop(guest->attach.connection.link, &frame->loan);
    guest->frame = frame->outer;
    if (frame->outer) {
        hub_heartbeat_run(&guest->heartbeat, frame->outer->request->id);
        (void)hub_heartbeat_enter(&guest->heartbeat, frame->stage);
    }
    if (frame->arena.blocks)
        guest_arena_fini(&frame->arena);
}

#endif
