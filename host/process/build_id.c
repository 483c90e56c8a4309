/* SPDX-License-Identifier: Apache-2.0 */
#include "host/process/build_id.h"

const char *host_build_id_of(struct host_build_id *id, int fd)
{
    struct hub_elf image;

    if (!id->known) {
        hub_elf_of_fd(fd, &image);
        hub_elf_facts_build_id(&image, id->text);
    }
    id->known = true;
    return id->text;
}
