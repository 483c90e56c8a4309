/* SPDX-License-Identifier: Apache-2.0 */
/* state_reader: the part of a reader that is for the rooms above: <rapahub/region.h> has the rest.
 */
#ifndef HUB_BUS_HANDLES_STATE_READER_H
#define HUB_BUS_HANDLES_STATE_READER_H

#include <rapahub/region.h>

/* Ends the reader as rapahub_reader_close does, and keeps the handle, which fails with
 * RAPAHUB_ESTATE until it has a region again. The region may be closed then. No other thread uses
 * the handle meanwhile. NULL, and a handle without a region, are allowed. r[impl region.let-go] */
void hub_state_reader_let_go(struct rapahub_reader *reader);

/* Begins anew with a handle that has no region, as rapahub_reader_open does. After a failure it has
 * none. */
int hub_state_reader_resume(struct rapahub_reader *reader, struct rapahub_region *region);

#endif
