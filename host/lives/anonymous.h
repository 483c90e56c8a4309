/* SPDX-License-Identifier: Apache-2.0 */
/* anonymous: guests that the host did not start. The loop does not hear of them, so the shared
 * segment's peer table is searched by timer: a guest that has come gets a life, and one that went
 * before it got a life is cleared away. Owner. */
#ifndef HOST_LIVES_ANONYMOUS_H
#define HOST_LIVES_ANONYMOUS_H

#include "host/process/guest.h"

struct host_observe;

/* Looks at the entries without a life. True if one of them is in use. */
bool host_anonymous_look(struct host_observe *host);

#endif
