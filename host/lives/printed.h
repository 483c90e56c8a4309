/* SPDX-License-Identifier: Apache-2.0 */
/* printed: what becomes of a line that a guest printed: it is logged, told, and kept with its child
 * over all its lives. Owner. */
#ifndef HOST_LIVES_PRINTED_H
#define HOST_LIVES_PRINTED_H

#include "host/process/life.h"

/* What this life prints is taken from now on, within the bounds of its child's options. */
void host_printed_begin(struct host_life *life);

#endif
