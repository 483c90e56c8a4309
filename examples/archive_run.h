/* SPDX-License-Identifier: Apache-2.0 */
/* archive_run: a run of the main job: files go into two plugins and come back, and are compared,
 * while something is killed. */
#ifndef ARCHIVE_RUN_H
#define ARCHIVE_RUN_H

#include "archive_killer.h"
#include "archive_options.h"
#include "archive_work.h"

/* Where the plugins live. `start` sets the way to them and their containers in `run`; `folder` is
 * empty, and is removed with all that is in it after `stop`. It fails with a line on stderr. */
struct archive_plugins {
    void *self;
    int (*start)(void *self, struct archive_run *run, const struct archive_options *options,
                 const char *folder);
    void (*print)(void *self);          /* rows of its own, under the table */
    const char *(*verdict)(void *self); /* why the run proves too little; NULL: it does not */
    void (*stop)(void *self);
    const struct archive_victims *victims;
    unsigned kills; /* where the command line has no number */
};

/* The whole program: returns its exit status. */
int archive_run_main(int argc, char **argv, const struct archive_plugins *plugins);

#endif
