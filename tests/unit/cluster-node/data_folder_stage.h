/* SPDX-License-Identifier: Apache-2.0 */
/* data_folder_stage: a data folder that a test opens, and the message where it is refused. */
#ifndef TESTS_UNIT_CLUSTER_NODE_DATA_FOLDER_STAGE_H
#define TESTS_UNIT_CLUSTER_NODE_DATA_FOLDER_STAGE_H

#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "cluster/node/disk/data_folder.h"
#include "tests/store/folder_stage.h"
#include "tests/support/testing.h"

#define DATA_FOLDER __attribute__((unused))

DATA_FOLDER static int begin(void **state)
{
    struct folder_stage *stage = calloc(1, sizeof *stage);

    folder_stage_begin(stage);
    *state = stage;
    return 0;
}

DATA_FOLDER static int end(void **state)
{
    folder_stage_end(*state);
    free(*state);
    return 0;
}

DATA_FOLDER static int open_folder(const struct folder_stage *stage,
                                   struct cluster_data_folder *folder)
{
    const struct cluster_data_folder_options options = {.path = stage->path, .lock_fd = -1};

    return cluster_data_folder_open(folder, &options);
}

DATA_FOLDER static void set_up(const struct folder_stage *stage)
{
    struct cluster_data_folder folder;

    assert_int_equal(open_folder(stage, &folder), 0);
    assert_int_equal(cluster_data_folder_count_boot(&folder), 0);
    cluster_data_folder_close(&folder);
}

/* It is refused with this code, and the message has the text. */
DATA_FOLDER static void assert_refused(const struct folder_stage *stage, int code, const char *text)
{
    struct cluster_data_folder folder;

    assert_int_equal(open_folder(stage, &folder), code);
    if (!strstr(rapahub_last_error()->text, text))
        fail_msg("'%s' does not say '%s'", rapahub_last_error()->text, text);
    assert_non_null(strstr(rapahub_last_error()->text, stage->path));
    assert_int_equal(folder.lock, -1);
}

#endif
