/* SPDX-License-Identifier: Apache-2.0 */
/* build_id: the build id that the linker gave a shared object, so that an address in it can be
 * looked up. */
#ifndef HOST_PROCESS_BUILD_ID_H
#define HOST_PROCESS_BUILD_ID_H

#include <stdbool.h>

#include "hub/base/elf_facts.h"

#define HOST_BUILD_ID_SIZE HUB_ELF_FACTS_BUILD_ID

/* The build id of a file that does not change; zeroed before the first use. */
struct host_build_id {
    bool known;
    char text[HOST_BUILD_ID_SIZE];
};

/* Returns the build id as text, read from the file at the first use; "" if the file has none or is
 * no shared object. Valid as long as `id`. Owner. */
const char *host_build_id_of(struct host_build_id *id, int fd);

#endif
