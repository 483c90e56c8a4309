/* SPDX-License-Identifier: Apache-2.0 */
/* state_writer: the part of a writer that is for the rooms above: <rapahub/region.h> has the rest.
 */
#ifndef HUB_BUS_HANDLES_STATE_WRITER_H
#define HUB_BUS_HANDLES_STATE_WRITER_H

#include <rapahub/region.h>

/* Gives the role back as rapahub_writer_close does, and keeps the handle, which fails with
 * RAPAHUB_ESTATE until it has a role again. The region may be closed then. No other thread uses the
 * handle meanwhile. NULL, and a handle without a role, are allowed. r[impl region.let-go] */
void hub_state_writer_let_go(struct rapahub_writer *writer);

/* Takes a role for a handle that has none, as rapahub_writer_open does. After a failure it has
 * none. */
int hub_state_writer_resume(struct rapahub_writer *writer, struct rapahub_region *region);

#endif
