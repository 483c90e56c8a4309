/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz: what every fuzz target is: a function of any bytes, of which nothing but a crash is wrong.
 */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A condition that must hold for every input. */
#define FUZZ_HOLDS(holds) ((holds) ? (void)0 : abort())

#endif
