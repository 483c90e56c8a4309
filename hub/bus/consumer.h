/* SPDX-License-Identifier: Apache-2.0 */
/* consumer: the part of a consumer that is for the rooms above: <rapahub/region.h> has the rest. */
#ifndef HUB_BUS_CONSUMER_H
#define HUB_BUS_CONSUMER_H

#include <rapahub/region.h>

/* Counts in the header of its region a message that could not be decoded. Any process that takes
 * part can write the number: it is for people. */
void hub_consumer_count_undecodable(const struct rapahub_consumer *consumer);

#endif
