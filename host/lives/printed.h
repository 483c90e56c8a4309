/* SPDX-License-Identifier: Apache-2.0 */
/* printed: a line that a guest printed is logged, told as an event, and kept with its child over
 * all its lives. Owner. */
#ifndef HOST_LIVES_PRINTED_H
#define HOST_LIVES_PRINTED_H

#include "host/process/life.h"

/* Begins to receive the output of this life, within the bounds of its child's options. */
void host_printed_begin(struct host_life *life);

#endif
