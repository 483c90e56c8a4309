/* SPDX-License-Identifier: Apache-2.0 */
/* end: how a life ended, in the form that all consumers of an end get it. */
#ifndef HOST_PROCESS_END_H
#define HOST_PROCESS_END_H

#include <stdint.h>

#include <rapahub/host.h>

#include "hub/base/proof.h"

/* The end of a life, or of a start that failed before there was a life. The texts and `exit` belong
 * to the function that made it, and are valid during the call. */
struct host_end {
    enum rapahub_exit_class class;
    const struct hub_exit *exit; /* NULL: unknown */
    const char *cause;           /* in words */
    const char *rule;            /* the broken rule of the protocol, or "" */
    uint64_t uptime_ns;
    uint32_t calls_lost;
};

#endif
