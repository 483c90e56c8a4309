/* SPDX-License-Identifier: Apache-2.0 */
/* raw cache: a guest's slots of several sizes. */
#ifndef TESTS_RAW_RAW_CACHE_H
#define TESTS_RAW_RAW_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "tests/raw/raw_link.h"

/* Takes one of the own stacks, of the smallest class that has one. Where none has, the host is told
 * what is wanted: -EAGAIN. */
int raw_cache_take(struct raw_link *link, uint32_t size, uint32_t *ref);
bool raw_cache_ready(struct raw_link *link);

#endif
