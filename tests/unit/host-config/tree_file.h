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

/* A file that is none: where its mistake is, some words of what is said of it, and the rule. */
struct wrong {
    const char *text, *place, *words, *rule;
};

UNUSED static bool is_told(const struct wrong *wrong)
{
    const struct rapahub_diagnosis *last = rapahub_last_error();
    struct file file;
    char place[96];
    bool told;

    open_text(&file, wrong->text);
    snprintf(place, sizeof place, "%s:%s", file.path, wrong->place[0] == ':' ? "" : wrong->place);
    told = file.r == RAPAHUB_ECONFIG && strncmp(last->text, place, strlen(place)) == 0 &&
           strstr(last->text, wrong->words) && strcmp(last->rule, wrong->rule) == 0;
    if (!told)
        print_error("%s\nis: %s (%s)\n%s\n", wrong->text, last->text, last->rule,
                    file.tree.yaml.quote);
    close_file(&file);
    return told;
}

UNUSED static void assert_each_told(const struct wrong *wrongs, size_t count)
{
    unsigned others = 0;

    for (size_t i = 0; i < count; i++)
        others += !is_told(&wrongs[i]);
    assert_int_equal(others, 0);
}

#endif
