/* SPDX-License-Identifier: Apache-2.0 */
/* pool_folder: a folder with modules and a pool file, and the file read. */
#ifndef TESTS_UNIT_CLUSTER_CLI_POOL_FOLDER_H
#define TESTS_UNIT_CLUSTER_CLI_POOL_FOLDER_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "cluster/cli/pool/pool_file.h"
#include "tests/support/testing.h"

#define UNUSED  __attribute__((unused))
#define MODULES TEST_PREFIX "/tests/modules/"

/* calc has methods and no save, counter has both, plain is no chimod. */
static const char *const modules[] = {"calc.so", "counter.so", "plain.so", NULL};

struct folder {
    char path[32], file[64];
    struct cluster_pool_file pools;
    int r;
};

UNUSED static int set_up(void **state)
{
    struct folder *folder = calloc(1, sizeof *folder);
    char from[256], to[128];

    *state = folder;
    snprintf(folder->path, sizeof folder->path, "/tmp/rapahub-pool-XXXXXX");
    if (!mkdtemp(folder->path))
        return -1;
    snprintf(folder->file, sizeof folder->file, "%s/pool.yaml", folder->path);
    for (unsigned i = 0; modules[i]; i++) {
        snprintf(from, sizeof from, "%s%s", MODULES, modules[i]);
        snprintf(to, sizeof to, "%s/%s", folder->path, modules[i]);
        if (symlink(from, to) < 0)
            return -1;
    }
    return 0;
}

UNUSED static int tear_down(void **state)
{
    struct folder *folder = *state;
    char path[128];

    for (unsigned i = 0; modules[i]; i++) {
        snprintf(path, sizeof path, "%s/%s", folder->path, modules[i]);
        unlink(path);
    }
    unlink(folder->file);
    rmdir(folder->path);
    free(folder);
    return 0;
}

UNUSED static void open_text(struct folder *folder, const char *text)
{
    FILE *to = fopen(folder->file, "we");

    assert_non_null(to);
    assert_true(fputs(text, to) >= 0);
    fclose(to);
    folder->r = cluster_pool_file_open(folder->file, &folder->pools);
}

UNUSED static void open_good(struct folder *folder, const char *text)
{
    open_text(folder, text);
    if (folder->r < 0)
        print_error("%s\n%s\n", rapahub_last_error()->text, folder->pools.yaml.quote);
    assert_int_equal(folder->r, 0);
}

UNUSED static void close_folder(struct folder *folder)
{
    cluster_pool_file_close(&folder->pools);
}

/* The spec of a pool, read from its bytes, as a node reads it. */
UNUSED static struct cluster_pool_spec spec_of(const struct folder *folder, unsigned index)
{
    struct cluster_pool_spec spec;

    assert_true(index < folder->pools.count);
    assert_int_equal(cluster_pool_spec_read(folder->pools.pools[index].bytes, &spec), 0);
    return spec;
}

UNUSED static void assert_text(struct rapahub_string text, const char *wanted)
{
    assert_int_equal(text.size, strlen(wanted));
    assert_memory_equal(text.data, wanted, text.size);
}

#endif
