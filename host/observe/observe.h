/* SPDX-License-Identifier: Apache-2.0 */
/* observe: the sixth floor of a host: tells observers and monitors what becomes of guests.
 * Owner. */
#ifndef HOST_OBSERVE_OBSERVE_H
#define HOST_OBSERVE_OBSERVE_H

#include "host/guest/supervision.h"
#include "host/observe/monitors.h"

struct host_observe {
    struct host_supervision supervision;
    struct host_monitors monitors;
    struct hub_list observers;
};

#define HOST_OBSERVE(host) HOST_FLOOR(host_observe, host)

#endif
