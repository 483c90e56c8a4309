/* SPDX-License-Identifier: Apache-2.0 */
/* anonymous: guests that the host did not start. They come and go without a word to its loop, so
 * the shared segment's table is looked through by timer: whoever has come is given a life, whoever
 * was gone before that is cleared away. Owner. */
#ifndef HOST_LIVES_ANONYMOUS_H
#define HOST_LIVES_ANONYMOUS_H

#include "host/process/guest.h"

struct host_observe;

/* Looks at the entries that no life of ours has. Did it find anybody? */
bool host_anonymous_look(struct host_observe *host);

#endif
