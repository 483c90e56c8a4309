/* SPDX-License-Identifier: Apache-2.0 */
/* raw guest slots: what the raw guest serves to show where payloads lie. */
#ifndef TESTS_CONFORMANCE_RAW_GUEST_SLOTS_H
#define TESTS_CONFORMANCE_RAW_GUEST_SLOTS_H

#include "tests/raw/raw_module.h"

extern const struct raw_method raw_guest_slots[]; /* ends with NULL */

#endif
