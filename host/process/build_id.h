/* SPDX-License-Identifier: Apache-2.0 */
/* build_id: what its linker called a shared object, so that an address in it can be looked up. */
#ifndef HOST_PROCESS_BUILD_ID_H
#define HOST_PROCESS_BUILD_ID_H

#include <stdbool.h>

#define HOST_BUILD_ID_SIZE 65 /* 32 bytes as hexadecimal digits, and a 0 */

/* Of the file of this descriptor, which may be anything; "" where it has none. */
void host_build_id_read(int fd, char to[HOST_BUILD_ID_SIZE]);

/* The same of a file that does not change, read when it is asked for first. */
struct host_build_id {
    bool known;
    char text[HOST_BUILD_ID_SIZE];
};
const char *host_build_id_of(struct host_build_id *id, int fd);

#endif
