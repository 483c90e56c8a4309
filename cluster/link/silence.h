/* SPDX-License-Identifier: Apache-2.0 */
/* silence: how long nothing has come from the other side of a connection: after a while it is
 * asked, and after a longer while it is given up. That time begins when it is asked, for an own
 * stall is none of the other side. It has no clock.
 */
#ifndef CLUSTER_LINK_SILENCE_H
#define CLUSTER_LINK_SILENCE_H

#include <stdbool.h>
#include <stdint.h>

struct cluster_silence {
    uint64_t ask_ns;   /* after such a silence the other side is asked; 0: never */
    uint64_t end_ns;   /* after such a silence it is given up; 0: never */
    uint64_t heard_ns; /* bytes came last */
    uint64_t asked_ns; /* it was asked, or bytes that had waited got through to it since */
    bool asked;
};

enum cluster_silence_step { CLUSTER_SILENCE_NOTHING, CLUSTER_SILENCE_ASK, CLUSTER_SILENCE_END };

/* Bytes have come. */
void cluster_silence_heard(struct cluster_silence *silence, uint64_t now_ns);

/* Bytes that had waited for the other side got through. */
void cluster_silence_moved(struct cluster_silence *silence, uint64_t now_ns);

/* Returns when there is something to do, or HUB_NEVER. */
uint64_t cluster_silence_due(const struct cluster_silence *silence);

/* Returns what to do now. Each silence is asked about once. */
enum cluster_silence_step cluster_silence_step(struct cluster_silence *silence, uint64_t now_ns);

#endif
