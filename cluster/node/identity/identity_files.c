/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/identity/identity_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include <rapahub/error.h>

#include "cluster/node/disk/data_folder.h"

#define RULE        "cluster.identity.files"
#define OTHERS      077
#define MESSAGE_MAX 1024

static const struct {
    bool of_ca, secret;
    const char *name;
} places[CLUSTER_IDENTITY_FILES] = {
    [CLUSTER_IDENTITY_CA_KEY] = {true, true, "ca.key"},
    [CLUSTER_IDENTITY_CA] = {true, false, "ca.pem"},
    [CLUSTER_IDENTITY_NODE_KEY] = {false, true, "node.key"},
    [CLUSTER_IDENTITY_NODE] = {false, false, CLUSTER_DATA_FOLDER_OWN},
    [CLUSTER_IDENTITY_ANCHORS] = {false, false, "ca.pem"},
};

static const struct cluster_files_folder *folder_of(const struct cluster_identity_files *files,
                                                    enum cluster_identity_file which)
{
    return places[which].of_ca ? &files->ca : &files->tls;
}

/* ---- folders ---- */

static int open_folder(const struct cluster_files_folder *root, bool make, const char *name,
                       struct cluster_files_folder *out)
{
    int r = cluster_files_open_folder(root->files, root, name, make, out);

    if (r == -ENOENT && !make) {
        rapahub_clear_error();
        out->path = NULL;
        r = 0;
    }
    return r;
}

int cluster_identity_files_open(const struct cluster_files_folder *root, bool make,
                                struct cluster_identity_files *out)
{
    int r;

    *out = (struct cluster_identity_files){.ca = {.path = NULL}};
    r = open_folder(root, make, CLUSTER_DATA_FOLDER_CA, &out->ca);
    if (r == 0)
        r = open_folder(root, make, CLUSTER_DATA_FOLDER_TLS, &out->tls);
    if (r < 0)
        cluster_identity_files_close(out);
    return r;
}

void cluster_identity_files_close(struct cluster_identity_files *files)
{
    cluster_files_close_folder(&files->ca);
    cluster_files_close_folder(&files->tls);
}

/* ---- files ---- */

/* The folder above may be closed to others, and yet the file go into a backup as it is. */
static int check_mode(const struct cluster_files_folder *folder, int fd,
                      enum cluster_identity_file which)
{
    int mode = folder->files->mode(folder->files, fd);

    if (mode < 0)
        return cluster_files_fail(folder, places[which].name, "look at it", mode);
    if (!places[which].secret || (mode & OTHERS) == 0)
        return 0;
    return rapahub_fail(
        RAPAHUB_EACCES, RULE, "%s/%s: others may use this key, its mode is %03o: chmod 600 %s/%s",
        folder->path, places[which].name, (unsigned)mode, folder->path, places[which].name);
}

static int read_all(const struct cluster_files_folder *folder, int fd,
                    enum cluster_identity_file which, struct cluster_pem *out)
{
    int64_t size = folder->files->size(folder->files, fd);

    if (size > CLUSTER_PEM_SIZE_MAX)
        return rapahub_fail(RAPAHUB_EINVAL, RULE,
                            "%s/%s: it has %lld bytes, and no key or certificate has more than %d",
                            folder->path, places[which].name, (long long)size,
                            CLUSTER_PEM_SIZE_MAX);
    if (size >= 0)
        size = cluster_files_read(folder->files, fd, out->text, (size_t)size, 0);
    if (size < 0)
        return cluster_files_fail(folder, places[which].name, "read it", (int)size);
    out->text[size] = 0;
    out->size = (size_t)size;
    return 0;
}

/* r[impl cluster.identity.files] */
int cluster_identity_files_read(const struct cluster_identity_files *files,
                                enum cluster_identity_file which, struct cluster_pem *out)
{
    const struct cluster_files_folder *folder = folder_of(files, which);
    int fd = folder->path
                 ? folder->files->open(folder->files, folder->fd, places[which].name, O_RDONLY, 0)
                 : -ENOENT;
    int r;

    out->size = 0;
    if (fd == -ENOENT)
        return fd;
    if (fd < 0)
        return cluster_files_fail(folder, places[which].name, "open it", fd);
    r = check_mode(folder, fd, which);
    if (r == 0)
        r = read_all(folder, fd, which, out);
    folder->files->close(folder->files, fd);
    return r;
}

int cluster_identity_files_write(const struct cluster_identity_files *files,
                                 enum cluster_identity_file which, const struct cluster_pem *pem)
{
    return cluster_files_replace(folder_of(files, which), places[which].name, pem->text, pem->size);
}

int cluster_identity_files_put_aside(const struct cluster_identity_files *files,
                                     enum cluster_identity_file which, const char *why)
{
    return cluster_files_put_aside(folder_of(files, which), places[which].name, why);
}

int cluster_identity_files_blame(const struct cluster_identity_files *files,
                                 enum cluster_identity_file which, int code)
{
    const struct rapahub_diagnosis *last = rapahub_last_error();
    char text[MESSAGE_MAX];

    snprintf(text, sizeof text, "%s", last->text);
    return rapahub_fail(code, last->rule, "%s/%s: %s: put a backup of it in its place",
                        folder_of(files, which)->path, places[which].name, text);
}
