/* SPDX-License-Identifier: Apache-2.0 */
/* testing: cmocka with the headers that it needs before it, in the right order. A test includes
 * this instead of <cmocka.h>, which a sorted list of includes would put too early. */
#ifndef TESTS_SUPPORT_TESTING_H
#define TESTS_SUPPORT_TESTING_H

/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
/* clang-format on */

#endif
