/* SPDX-License-Identifier: Apache-2.0 */
/* old_kernel: a program that this is a source of may pretend to run on a kernel before 6.16, that
 * cannot keep descriptors away from a socket: for the libraries it is linked with, too. */
#ifndef TESTS_SUPPORT_OLD_KERNEL_H
#define TESTS_SUPPORT_OLD_KERNEL_H

#include <stdbool.h>

#define OLD_KERNEL_PASSRIGHTS 83 /* SO_PASSRIGHTS, which it then does not know */

void old_kernel_pretend(bool is_old);

#endif
