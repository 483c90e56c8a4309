/* SPDX-License-Identifier: Apache-2.0 */
/* direct_inbound: a direct pair whose guest takes what is there. */
#ifndef TESTS_UNIT_LINK_DIRECT_SERVED_H
#define TESTS_UNIT_LINK_DIRECT_SERVED_H

#include "tests/unit/link/direct_pair.h"

DIRECT const uint8_t small[] = {0, 7, 8, 9}; /* no metadata, three bytes of arguments */

DIRECT struct hub_inbound_calls *served_of(struct pair *pair)
{
    return pair->guest.connection.served;
}

DIRECT struct hub_request *next_directly(struct pair *pair)
{
    be_far(pair);
    return hub_direct_serve_next(served_of(pair));
}

DIRECT int sweep(struct pair *pair)
{
    return hub_link_sweep(pair->guest.connection.link, 8);
}

#endif
