/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/disk/store_place.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#define RULE      "cluster.folder.metastore"
#define SEAT      "seat:" /* scheme of a metastore on another node */
#define LINE_SIZE 2560    /* bytes of a line */

static int set_url(struct cluster_store_place *place, const char *scheme, const char *where,
                   const char *rest)
{
    char *url;

    if (asprintf(&url, "%s%s%s", scheme, where, rest) < 0)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for the data folder");
    free(place->url);
    place->url = url;
    return 0;
}

/* Returns 1 with the line, 0 where there is no such file, or a failure. */
static int read_line(const struct cluster_files_folder *root, const char *name,
                     char to[LINE_SIZE + 1])
{
    uint8_t *bytes = NULL;
    size_t size = 0;
    int r = cluster_files_load(root, name, LINE_SIZE, &bytes, &size);

    if (r < 0)
        return r == -ENOENT ? 0 : r;
    snprintf(to, LINE_SIZE + 1, "%.*s", (int)size, (const char *)bytes);
    free(bytes);
    to[strcspn(to, "\n")] = '\0';
    if (to[0] == '\0')
        return rapahub_fail(RAPAHUB_EFORMAT, RULE,
                            "%s/%s: it has no address: put a backup of it in its place", root->path,
                            name);
    return 1;
}

static int write_line(const struct cluster_files_folder *root, const char *name, const char *text)
{
    char line[LINE_SIZE + 1];
    int size = snprintf(line, sizeof line, "%s\n", text);

    if (size >= (int)sizeof line)
        return rapahub_fail(RAPAHUB_EINVAL, RULE, "the address of the metastore is too long");
    return cluster_files_replace(root, name, line, (size_t)size);
}

/* r[impl cluster.folder.metastore] */
int cluster_store_place_read(const struct cluster_files_folder *root,
                             struct cluster_store_place *out)
{
    char line[LINE_SIZE + 1];
    int r = read_line(root, CLUSTER_STORE_PLACE_SEAT, line);

    *out = (struct cluster_store_place){.joined = r == 1, .apart = r == 1};
    if (r == 1)
        return set_url(out, SEAT, line, "");
    if (r == 0)
        r = read_line(root, CLUSTER_STORE_PLACE_URL, line);
    if (r < 0)
        return r;
    out->apart = r == 1;
    return r == 1 ? set_url(out, line, "", "")
                  : set_url(out, "sqlite:", root->path, "/" CLUSTER_STORE_PLACE_META);
}

void cluster_store_place_release(struct cluster_store_place *place)
{
    free(place->url);
    *place = (struct cluster_store_place){0};
}

/* ---- changes ---- */

/* The prefix is the last part of a URL. */
static bool is_same_prefix(const char *one, const char *other)
{
    const char *a = strrchr(one, '/'), *b = strrchr(other, '/');

    return a && b && strcmp(a, b) == 0;
}

static int refuse(const struct cluster_files_folder *root, const struct cluster_store_place *place,
                  const char *url)
{
    return rapahub_fail(RAPAHUB_ECONFIG, RULE,
                        "%s: the metastore of this node is %.200s, and not %.200s: take the other "
                        "away, or name an empty folder",
                        root->path, place->url, url);
}

int cluster_store_place_change(const struct cluster_files_folder *root, const char *url, bool fresh,
                               struct cluster_store_place *place)
{
    int r;

    if (place->apart && strcmp(place->url, url) == 0)
        return 0;
    if (place->joined || (!fresh && (!place->apart || !is_same_prefix(place->url, url))))
        return refuse(root, place, url);
    r = write_line(root, CLUSTER_STORE_PLACE_URL, url);
    if (r == 0)
        r = set_url(place, url, "", "");
    place->apart |= r == 0;
    return r;
}

int cluster_store_place_join(const struct cluster_files_folder *root, const char *url)
{
    bool by_seat = strncmp(url, SEAT, strlen(SEAT)) == 0;
    const char *other = by_seat ? CLUSTER_STORE_PLACE_URL : CLUSTER_STORE_PLACE_SEAT;
    int r = root->files->remove(root->files, root->fd, other);

    if (r == 0)
        r = root->files->sync_folder(root->files, root->fd);
    if (r < 0 && r != -ENOENT)
        return cluster_files_fail(root, other, "be removed", r);
    return by_seat ? write_line(root, CLUSTER_STORE_PLACE_SEAT, url + strlen(SEAT))
                   : write_line(root, CLUSTER_STORE_PLACE_URL, url);
}
