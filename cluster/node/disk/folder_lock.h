/* SPDX-License-Identifier: Apache-2.0 */
/* folder_lock: a data folder has one node at a time. The lock is one open file description on the
 * file `lock` of the folder, which a warden may share with its daemon, and guests never have; it
 * ends with the last of its descriptors. The file names the process that took it, for people only.
 */
#ifndef CLUSTER_NODE_DISK_FOLDER_LOCK_H
#define CLUSTER_NODE_DISK_FOLDER_LOCK_H

#define CLUSTER_FOLDER_LOCK_NAME "lock"

/* Locks the data folder that `folder` is a descriptor of; `path` is for messages. `given`: a
 * descriptor of the lock that a warden has taken, which remains the caller's, or -1. Returns a
 * descriptor to be closed, which ends the lock unless others have it. RAPAHUB_EBUSY: another
 * process has it, which the message names. RAPAHUB_ESTATE: `given` is no lock of this folder. Any
 * thread; never waits. */
int cluster_folder_lock_take(int folder, const char *path, int given);

/* The same for a reader, who changes nothing in the folder: the file is not made, and does not name
 * this process. -ENOENT, without a diagnosis: there is no such file, so no node runs here. */
int cluster_folder_lock_look(int folder, const char *path);

#endif
