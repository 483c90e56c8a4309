/* SPDX-License-Identifier: Apache-2.0 */
/* old_kernel: a program that includes this source may pretend to run on a kernel before 6.16,
 * which cannot keep descriptors away from a socket. The pretence covers the libraries it is linked
 * with. */
#ifndef TESTS_SUPPORT_OLD_KERNEL_H
#define TESTS_SUPPORT_OLD_KERNEL_H

#include <stdbool.h>

#define OLD_KERNEL_PASSRIGHTS 83 /* SO_PASSRIGHTS, which is then unknown */

void old_kernel_pretend(bool is_old);

#endif
