/* SPDX-License-Identifier: Apache-2.0 */
/* format: a struct as one format byte and POSTCARD, by a description of its members and lists. It
 * is how every record and every body of a frame is written and read.
 *
 * Bytes that are read come from another process or from a disk. The caller has a copy of them that
 * nothing else changes. A value is returned only if all of it is sound.
 */
#ifndef CLUSTER_WIRE_FORMAT_H
#define CLUSTER_WIRE_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rapahub/value.h>

#include "hub/base/bytes.h"

#define CLUSTER_FORMAT_FIRST 1 /* the format byte of this release */

/* A list in a struct. A writer sets `count` and `of`; after reading, `count` and `encoded` are set
 * and cluster_format_next returns the elements. */
struct cluster_list {
    const void *of; /* elements in C memory; NULL: those in `encoded` */
    uint32_t count;
    struct rapahub_bytes encoded;
};

/* Returns NULL if the value is sound, else why it is not. */
typedef const char *cluster_format_check(const void *value);

struct cluster_format_list {
    const struct rapahub_type *type; /* each element's; NULL ends the lists */
    size_t at;                       /* offset of the struct cluster_list */
    uint32_t most;
    cluster_format_check *check; /* each element; NULL: any is sound */
};

/* A struct of at most CLUSTER_FORMAT_ELEMENT bytes may be an element of a list. */
#define CLUSTER_FORMAT_ELEMENT 128
#define CLUSTER_FORMAT_LISTS   4

struct cluster_format {
    const char *what;                /* for messages: "a CALL" */
    const struct rapahub_type *type; /* of the members that are no lists; NULL: none */
    struct cluster_format_list lists[CLUSTER_FORMAT_LISTS + 1];
    cluster_format_check *check;
};

/* Writes the value. Returns 0, the writer's failure, or -EINVAL for a value that a reader would
 * refuse. A writer that only counts gets the size. */
int cluster_format_put(struct hub_writer *writer, const struct cluster_format *format,
                       const void *value);

/* Reads the whole of `from`. Strings, bytes and lists are views of it. RAPAHUB_EFORMAT with a text
 * that says what was read and why it is refused; then `out` is undefined. */
int cluster_format_read(const struct cluster_format *format, struct rapahub_bytes from, void *out);

/* Takes the next element of a list that was read, which must be of this type. False at its end. */
bool cluster_format_next(struct cluster_list *list, const struct rapahub_type *type, void *out);

#endif
