/* SPDX-License-Identifier: Apache-2.0 */
/* check: what must hold, or we are broken. Stays on in a release. Never on what a peer wrote.
 *
 * CHECK stands before the work (what the caller promised), ENSURE behind it (what we promise).
 * A failure logs one line and aborts.
 */
#ifndef HUB_BASE_CHECK_H
#define HUB_BASE_CHECK_H

#define CHECK(holds)  ((holds) ? (void)0 : hub_check_failed(__FILE__, __LINE__, #holds))
#define ENSURE(holds) ((holds) ? (void)0 : hub_check_failed(__FILE__, __LINE__, #holds))

__attribute__((noreturn, cold)) void hub_check_failed(const char *file, int line, const char *what);

#endif
