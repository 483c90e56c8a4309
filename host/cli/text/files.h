/* SPDX-License-Identifier: Apache-2.0 */
/* files: finds the modules that a FILE or DIR on the command line means. */
#ifndef CLI_FILES_H
#define CLI_FILES_H

#include "host/cli/text/texts.h"

/* Adds a file, or the modules of a folder: files *.so with the symbol of a chimod in its build/, or
 * in itself where it has no build/, sorted. -ENOENT: there are none. */
int cli_files_add(struct cli_texts *files, const char *path);

/* Adds all files *.so of a folder, chimods or not; none is no failure. */
int cli_files_add_all(struct cli_texts *files, const char *folder);

#endif
