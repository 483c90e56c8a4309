/* SPDX-License-Identifier: Apache-2.0 */
/* tree_file: a tree file with these words, read. */
#ifndef TESTS_UNIT_HOST_CONFIG_TREE_FILE_H
#define TESTS_UNIT_HOST_CONFIG_TREE_FILE_H

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "host/config/tree.h"
#include "host/config/tree_keys.h"
#include "tests/support/testing.h"

#define UNUSED __attribute__((unused))
#define MS     UINT64_C(1000000)
#define SECOND (1000 * MS)
#define MODULE "/proc/self/exe" /* a file; nothing is started here */

struct file {
    char path[64];
    struct config_tree tree;
    int r;
};

UNUSED static void open_bytes(struct file *file, const void *bytes, size_t size)
{
    int fd;

    snprintf(file->path, sizeof file->path, "/tmp/rapahub-tree-XXXXXX.yaml");
    fd = mkstemps(file->path, 5);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, size), size);
    close(fd);
    file->r = config_tree_open(file->path, RAPAHUB_TRUST_STANDARD, &file->tree);
}

UNUSED static void open_text(struct file *file, const char *text)
{
    open_bytes(file, text, strlen(text));
}

UNUSED static void close_file(struct file *file)
{
    config_tree_close(&file->tree);
    unlink(file->path);
}

UNUSED static void open_good(struct file *file, const char *text)
{
    open_text(file, text);
    if (file->r < 0)
        print_error("%s\n%s\n", rapahub_last_error()->text, file->tree.yaml.quote);
    assert_int_equal(file->r, 0);
}

UNUSED static const struct config_tree_node *node(const struct file *file, const char *name)
{
    for (unsigned i = 0; i < file->tree.count; i++)
        if (strcmp(file->tree.nodes[i]->name, name) == 0)
            return file->tree.nodes[i];
    fail_msg("no child '%s'", name);
    return NULL;
}

#endif
