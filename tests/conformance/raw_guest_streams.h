/* SPDX-License-Identifier: Apache-2.0 */
/* raw guest streams: what the raw guest serves that has streams, or does not answer at once. */
#ifndef TESTS_CONFORMANCE_RAW_GUEST_STREAMS_H
#define TESTS_CONFORMANCE_RAW_GUEST_STREAMS_H

#include "tests/raw/raw_module.h"

extern const struct raw_method raw_guest_streams[]; /* ends with NULL */

#endif
