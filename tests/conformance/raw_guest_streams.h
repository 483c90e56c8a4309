/* SPDX-License-Identifier: Apache-2.0 */
/* raw guest streams: what the raw guest serves that has streams, or does not answer at once. */
#ifndef TESTS_CONFORMANCE_RAW_GUEST_STREAMS_H
#define TESTS_CONFORMANCE_RAW_GUEST_STREAMS_H

#include "tests/raw/raw_link.h"

/* drain(source) -> u64: how many bytes of the pattern came. */
int raw_guest_streams_drain(struct raw_link *link, const struct raw_message *request, void *user);

/* fill(sink, u64) -> void: so many bytes of it. */
int raw_guest_streams_fill(struct raw_link *link, const struct raw_message *request, void *user);

/* copy(source, sink) -> u64 */
int raw_guest_streams_copy(struct raw_link *link, const struct raw_message *request, void *user);

/* hang() -> void: answers Cancelled, once it is told to. */
int raw_guest_streams_hang(struct raw_link *link, const struct raw_message *request, void *user);

#endif
