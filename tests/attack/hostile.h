/* SPDX-License-Identifier: Apache-2.0 */
/* hostile: what a guest may do to its host, by name. */
#ifndef TESTS_ATTACK_HOSTILE_H
#define TESTS_ATTACK_HOSTILE_H

#include "tests/raw/raw_link.h"
#include "tests/raw/raw_module.h"

/* Does it, while the host waits for the answer to `request`. Returns where the attack leaves the
 * guest able to go on, which then answers. */
typedef void hostile_attack(struct raw_link *link, const struct raw_message *request);

struct hostile {
    const char *name;
    hostile_attack *run;
};

/* Each ends with a NULL name. */
extern const struct hostile hostile_words[];    /* indices, state, epoch, heartbeat, wait words */
extern const struct hostile hostile_messages[]; /* descriptors, slots, payloads, floods */
extern const struct hostile hostile_slots[];    /* slots of several sizes */

/* The same for a call with two streams; their ids. */
struct hostile_streams {
    uint32_t source, sink; /* that the host sends, and receives */
};

struct hostile_on_streams {
    const char *name;
    void (*run)(struct raw_link *link, const struct hostile_streams *streams);
};

extern const struct hostile_on_streams hostile_channels[]; /* credit, ids, ends */

/* The guest's requests to its host: methods of its own. */
#define HOSTILE_REQUESTS 5
extern const struct raw_method hostile_requests[HOSTILE_REQUESTS];

/* The outcomes of collected requests, as a sum of these. */
#define HOSTILE_COLLECTED_WHOLE   INT64_C(1)
#define HOSTILE_COLLECTED_REFUSED (INT64_C(1) << 12) /* not run, for want of budget */
#define HOSTILE_COLLECTED_DROPPED (INT64_C(1) << 24) /* run, and its answer not kept */
#define HOSTILE_COLLECTED_WRONG   (INT64_C(1) << 36) /* anything else, and a second answer */

/* Containers whose state is as `lie(u64, u32)` says: so many bytes, which are sent one by one, each
 * after so many ms. */
extern const struct raw_method hostile_orders[];
extern const struct raw_method hostile_lie;

#endif
