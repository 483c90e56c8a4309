/* SPDX-License-Identifier: Apache-2.0 */
/* raw_call: rapahub_host_call_raw, a call as bytes, for those who carry out calls that began in
 * another host. Any thread. */
#ifndef HOST_CALL_RAW_CALL_H
#define HOST_CALL_RAW_CALL_H

#include <rapahub/route.h>

struct host_call;

struct host_raw_begun {
    uint64_t number;
    uint64_t deadline_ns; /* the call ends at this time at the latest */
};

/* Begins the call. Returns 0, or the reason why not; `on_done` does not run then. */
int host_raw_call_begin(struct host_call *host, const struct rapahub_raw_call *call,
                        rapahub_on_raw *on_done, void *user, struct host_raw_begun *out);

#endif
