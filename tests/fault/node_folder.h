/* SPDX-License-Identifier: Apache-2.0 */
/* node_folder: the data folder of a node that does not run, as a test keeps it and looks at it. */
#ifndef TESTS_FAULT_NODE_FOLDER_H
#define TESTS_FAULT_NODE_FOLDER_H

#include <stdbool.h>
#include <sys/stat.h>

void node_folder_remove(const char *path); /* with all that is in it */
void node_folder_clear(const char *path);  /* removes what is in it */

/* Copies all that is in a folder; `to` is made if it is not there. */
void node_folder_copy(const char *from, const char *to);

/* Copies a file with this status; there is none at `to`. */
void node_folder_copy_file(const char *from, const char *to, const struct stat *status);

bool node_folder_is_empty(const char *path);

/* Looks whether all parts of a data folder agree: with each other, as a check of the folder says,
 * and with the lists of pools and of modules that its node gave. Returns NULL, or what is wrong. */
const char *node_folder_check(const char *data, const char *scratch, const char *pools,
                              const char *modules);

#endif
