/* SPDX-License-Identifier: Apache-2.0 */
/* files: from what was given as FILE or DIR to the modules that are meant. */
#ifndef CLI_FILES_H
#define CLI_FILES_H

struct cli_files {
    char **paths; /* sorted within each folder */
    unsigned count;
};

/* Adds a file; of a folder the modules in its build/, or in itself where it has none. -ENOENT where
 * there are none: they are files *.so with the symbol of a chimod. */
int cli_files_add(struct cli_files *files, const char *path);

/* Adds all files *.so of a folder, chimods or not; none is no failure. */
int cli_files_add_all(struct cli_files *files, const char *folder);
void cli_files_fini(struct cli_files *files);

#endif
