/* SPDX-License-Identifier: Apache-2.0 */
/* writer: the thread that has the database. The owner gives it jobs and takes those that have
 * ended; neither waits for the other but at the end. Transactions that are given while a commit is
 * under way share the next one. */
#ifndef CLUSTER_METASTORE_SQLITE_WRITER_H
#define CLUSTER_METASTORE_SQLITE_WRITER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "cluster/metastore/sqlite/database.h"
#include "cluster/metastore/sqlite/jobs.h"
#include "hub/base/atomic.h"
#include "hub/base/list.h"
#include "hub/base/mutex.h"

#define CLUSTER_WRITER_TEXT_MAX 512

struct cluster_writer {
    struct cluster_database database; /* the thread's, while there is one */
    pthread_t thread;
    int fd;                /* an eventfd, readable while jobs have ended */
    struct hub_a32 orders; /* a futex: how often the owner gave something */
    struct hub_mutex lock;
    struct hub_list todo GUARDED_BY(lock), done GUARDED_BY(lock);
    bool closing GUARDED_BY(lock);
    int failure GUARDED_BY(lock); /* why the database can be used no more, and its text */
    char text[CLUSTER_WRITER_TEXT_MAX] GUARDED_BY(lock);
    struct hub_a64 revision, compacted, commits, transactions;

    struct hub_list ended, watches, compactions; /* the thread's */
    bool broken, restless;
};

/* Opens the database and starts the thread; fails as cluster_database_open. The writer is not moved
 * from now on. */
int cluster_writer_start(struct cluster_writer *writer, const char *path, bool create);

/* Owner. */
void cluster_writer_give(struct cluster_writer *writer, struct cluster_job *job);
void cluster_writer_nudge(struct cluster_writer *writer); /* a watch is gone */
void cluster_writer_take(struct cluster_writer *writer, struct hub_list *to);

/* Owner: why the database can be used no more, with the diagnosis of it; 0: it can. */
int cluster_writer_failure(struct cluster_writer *writer);

/* Owner: ends the thread after the commit that is under way, appends all jobs that it has to `to`,
 * and closes the database. */
void cluster_writer_stop(struct cluster_writer *writer, struct hub_list *to);

#endif
