/* SPDX-License-Identifier: Apache-2.0 */
/* build_id: what its linker called a shared object, so that an address in it can be looked up. */
#ifndef HOST_BUILD_ID_H
#define HOST_BUILD_ID_H

#define HOST_BUILD_ID_SIZE 65 /* 32 bytes as hexadecimal digits, and a 0 */

/* Of the file of this descriptor, which may be anything; "" where it has none. */
void host_build_id_read(int fd, char to[HOST_BUILD_ID_SIZE]);

#endif
