/* SPDX-License-Identifier: Apache-2.0 */
/* elf_methods: reads the signatures of a chimod's methods from its file, without running any of its
 * code. */
#ifndef CLI_ELF_METHODS_H
#define CLI_ELF_METHODS_H

#include "host/cli/target/methods.h"

/* All of them, in their order. RAPAHUB_ELOAD, with nothing added, where the file does not say them
 * all: they are made when it is loaded, or it is damaged; and the failures of config_module_read.
 */
int cli_elf_methods_read(const char *path, struct cli_texts *to);

#endif
