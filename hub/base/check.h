/* SPDX-License-Identifier: Apache-2.0 */
/* check: conditions that hold unless this program is broken. They are checked in releases too, and
 * never depend on data that a peer wrote.
 *
 * CHECK stands before the work and tests promises of the caller; ENSURE stands after the work and
 * tests our own. A failure logs one line and aborts.
 */
#ifndef HUB_BASE_CHECK_H
#define HUB_BASE_CHECK_H

#define CHECK(holds)  ((holds) ? (void)0 : hub_check_failed(__FILE__, __LINE__, #holds))
#define ENSURE(holds) ((holds) ? (void)0 : hub_check_failed(__FILE__, __LINE__, #holds))

__attribute__((noreturn, cold)) void hub_check_failed(const char *file, int line, const char *what);

#endif
