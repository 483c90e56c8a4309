/* SPDX-License-Identifier: Apache-2.0 */
/* folder_stage: a folder of its own for a test, with what is in it. Failures end the test program.
 */
#ifndef TESTS_STORE_FOLDER_STAGE_H
#define TESTS_STORE_FOLDER_STAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FOLDER_STAGE_PATH_MAX 128

struct folder_stage {
    char top[FOLDER_STAGE_PATH_MAX - 32]; /* made by the test */
    char path[FOLDER_STAGE_PATH_MAX];     /* a folder in it, which is not there at first */
};

void folder_stage_begin(struct folder_stage *stage);
void folder_stage_end(struct folder_stage *stage); /* removes all of it */
void folder_stage_clear(const char *path); /* removes a folder and all in it, if it is there */

/* Files by their names in the folder. */
void folder_stage_write(const struct folder_stage *stage, const char *name, const void *data,
                        size_t size);
size_t folder_stage_read(const struct folder_stage *stage, const char *name, void *to, size_t room);
bool folder_stage_has(const struct folder_stage *stage, const char *name);
void folder_stage_remove(const struct folder_stage *stage, const char *name);
void folder_stage_flip(const struct folder_stage *stage, const char *name, size_t at);

#endif
