/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/disk/note_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "hub/base/crc32c.h"
#include "hub/base/own.h"

#define RULE     "cluster.folder.setup"
#define VERSION  1
#define TEXT_MAX 256
#define NUMBER   "number "

/* Writes the text without its checksum; returns its size. */
static size_t print(const char *name, unsigned long version, const struct cluster_note_file *note,
                    char to[TEXT_MAX])
{
    int size = snprintf(to, TEXT_MAX, "rapahub %s %lu\nuuid ", name, version);

    for (size_t i = 0; i < sizeof note->uuid; i++)
        size += snprintf(to + size, TEXT_MAX - (size_t)size, "%02x", note->uuid[i]);
    for (unsigned i = 0; i < note->count; i++)
        size += snprintf(to + size, TEXT_MAX - (size_t)size,
                         "\n"
                         "number %" PRIu64,
                         note->numbers[i]);
    size += snprintf(to + size, TEXT_MAX - (size_t)size, "\n");
    return (size_t)size;
}

static size_t add_checksum(char text[TEXT_MAX], size_t size)
{
    return size + (size_t)snprintf(text + size, TEXT_MAX - size, "checksum %08" PRIx32 "\n",
                                   hub_crc32c(0, text, size));
}

/* r[impl cluster.folder.note] */
int cluster_note_file_write(const struct cluster_files_folder *folder, const char *name,
                            const struct cluster_note_file *note)
{
    char text[TEXT_MAX];
    size_t size = add_checksum(text, print(name, VERSION, note, text));

    return cluster_files_replace(folder, name, text, size);
}

/* ---- reading ---- */

/* Skips a text that must be there. */
static bool take(const char **at, const char *text)
{
    size_t size = strlen(text);

    if (strncmp(*at, text, size) != 0)
        return false;
    *at += size;
    return true;
}

static bool take_number(const char **at, uint64_t *out)
{
    char *end;

    errno = 0;
    *out = strtoull(*at, &end, 10);
    if (end == *at || errno != 0)
        return false;
    *at = end;
    return true;
}

static bool take_uuid(const char **at, uint8_t to[CLUSTER_NOTE_FILE_UUID])
{
    for (size_t i = 0; i < CLUSTER_NOTE_FILE_UUID; i++, *at += 2) {
        char digits[3] = {(*at)[0], (*at)[0] ? (*at)[1] : (char)0, 0};
        char *end;

        to[i] = (uint8_t)strtoul(digits, &end, 16);
        if (end != digits + 2)
            return false;
    }
    return true;
}

/* The version, or 0 where that is not of this kind. */
static unsigned long version_of(const char *text, const char *name)
{
    const char *at = text;
    uint64_t version = 0;

    if (!take(&at, "rapahub ") || !take(&at, name) || !take(&at, " ") ||
        !take_number(&at, &version))
        return 0;
    return *at == '\n' ? version : 0;
}

/* A text must be, byte for byte, as it would be written. */
static bool parse(const char *text, size_t size, const char *name, struct cluster_note_file *note)
{
    const char *at = strchr(text, '\n');
    char again[TEXT_MAX];

    if (!at || !take(&at, "\nuuid ") || !take_uuid(&at, note->uuid))
        return false;
    for (unsigned i = 0; i < note->count; i++)
        if (!take(&at, "\n"
                       "number ") ||
            !take_number(&at, &note->numbers[i]))
            return false;
    return add_checksum(again, print(name, VERSION, note, again)) == size &&
           memcmp(again, text, size) == 0;
}

/* A text of any version ends with the checksum of what is before that line. */
static bool is_whole(const char *text, size_t size)
{
    char again[TEXT_MAX];
    const size_t last = sizeof "checksum 00000000\n" - 1;

    if (size <= last || size >= TEXT_MAX)
        return false;
    memcpy(again, text, size - last);
    return add_checksum(again, size - last) == size && memcmp(again, text, size) == 0;
}

int cluster_note_file_read(const struct cluster_files_folder *folder, const char *name,
                           struct cluster_note_file *note)
{
    OWN(hub_memory) uint8_t *bytes = NULL;
    char text[TEXT_MAX] = {0};
    size_t size;
    int r = cluster_files_load(folder, name, TEXT_MAX - 1, &bytes, &size);

    if (r < 0 && r != -EFBIG)
        return r;
    if (r == 0)
        memcpy(text, bytes, size);
    if (r == 0 && is_whole(text, size) && version_of(text, name) > VERSION)
        return rapahub_fail(RAPAHUB_EABI, RULE,
                            "%s/%s: version %lu, this release reads %d: use the release that wrote "
                            "it, or a later one",
                            folder->path, name, version_of(text, name), VERSION);
    if (r == 0 && parse(text, size, name, note))
        return 0;
    return rapahub_fail(RAPAHUB_EFORMAT, RULE,
                        "%s/%s: it is damaged: put a backup of it in its place", folder->path,
                        name);
}
