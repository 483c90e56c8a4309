/* SPDX-License-Identifier: Apache-2.0 */
/* raw guest streams: what the raw guest serves that has streams, or does not answer at once. */
#ifndef TESTS_CONFORMANCE_RAW_GUEST_STREAMS_H
#define TESTS_CONFORMANCE_RAW_GUEST_STREAMS_H

#include "tests/raw/raw_module.h"

raw_handler raw_guest_streams_drain; /* drain(source) -> u64: how many bytes of the pattern came */
raw_handler raw_guest_streams_fill;  /* fill(sink, u64) -> void: so many bytes of it */
raw_handler raw_guest_streams_copy;  /* copy(source, sink) -> u64 */
raw_handler raw_guest_streams_hang;  /* hang() -> void: answers Cancelled, once it is told to */

#endif
