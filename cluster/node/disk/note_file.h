/* SPDX-License-Identifier: Apache-2.0 */
/* note_file: the small files of a data folder that say what it is: a line with their kind and
 * version, a uuid, numbers, and a checksum. They are text, for people. A file is replaced as a
 * whole.
 */
#ifndef CLUSTER_NODE_DISK_NOTE_FILE_H
#define CLUSTER_NODE_DISK_NOTE_FILE_H

#include <stdint.h>

#include "cluster/store/files.h"

#define CLUSTER_NOTE_FILE_UUID    16
#define CLUSTER_NOTE_FILE_NUMBERS 2

struct cluster_note_file {
    uint8_t uuid[CLUSTER_NOTE_FILE_UUID];
    uint64_t numbers[CLUSTER_NOTE_FILE_NUMBERS];
    unsigned count; /* numbers */
};

/* Writes the file: when this returns 0 it is durable, and until then the file is that of before. */
int cluster_note_file_write(const struct cluster_files_folder *folder, const char *name,
                            const struct cluster_note_file *note);

/* Reads a file of `count` numbers. -ENOENT: there is none, without a diagnosis. RAPAHUB_EFORMAT: it
 * is damaged. RAPAHUB_EABI: a later release wrote it. */
int cluster_note_file_read(const struct cluster_files_folder *folder, const char *name,
                           struct cluster_note_file *note);

#endif
