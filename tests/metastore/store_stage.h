/* SPDX-License-Identifier: Apache-2.0 */
/* store_stage: a metastore in a folder of its own, and operations on it that wait for their ends.
 */
#ifndef TESTS_METASTORE_STORE_STAGE_H
#define TESTS_METASTORE_STORE_STAGE_H

#include <stdio.h>

#include "cluster/metastore/metastore.h"

#define STORE_STAGE_PATH_MAX  256
#define STORE_STAGE_PAIRS_MAX 128
#define STORE_STAGE_VALUE_MAX 64

struct store_stage {
    struct cluster_metastore *store;
    const struct cluster_metastore_end *end;
    char folder[STORE_STAGE_PATH_MAX - 32];
    char url[STORE_STAGE_PATH_MAX];
    const char *path; /* of the file, in url */
    uint64_t now_ns;  /* what the store is told */
};

/* A pair with copies of its bytes, cut. */
struct store_stage_pair {
    char key[STORE_STAGE_VALUE_MAX], value[STORE_STAGE_VALUE_MAX];
    size_t key_size, value_size;
    uint64_t create_rev, mod_rev, version;
};

/* The end of an operation. */
struct store_answer {
    int ends; /* how often it ended: 1 */
    int status;
    uint64_t rev;
    bool more;
    size_t count;
    struct store_stage_pair pairs[STORE_STAGE_PAIRS_MAX];
};

/* Makes the folder in `parent`, NULL: /dev/shm, and opens a new store. They fail the test. */
void store_stage_begin(struct store_stage *stage, const struct cluster_metastore_end *end,
                       const char *parent);
void store_stage_end(struct store_stage *stage);
void store_stage_close(struct store_stage *stage);
void store_stage_reopen(struct store_stage *stage);

/* Opens the file as it is; `create` as in the options. Returns what opening gave. */
int store_stage_try(struct store_stage *stage, bool create);

/* Steps until the answer has come, at most 20 s; it fails the test. */
void store_stage_wait(struct store_stage *stage, const struct store_answer *answer);

/* Steps until *counter is at least `most`, or for `ms` milliseconds; says whether it is. */
bool store_stage_until(struct store_stage *stage, const size_t *counter, size_t least, int ms);

/* Callbacks that fill in a struct store_answer. */
void store_stage_on_txn(void *answer, int status, uint64_t rev, const struct cluster_pair *gets,
                        size_t count);
void store_stage_on_range(void *answer, int status, uint64_t rev, const struct cluster_page *page);
void store_stage_on_stale(void *answer, int status, const struct cluster_pair *pairs, size_t count);

/* Run to their ends. */
struct store_answer store_stage_run(struct store_stage *stage, const struct cluster_txn *txn);
struct store_answer store_stage_put(struct store_stage *stage, const char *key, const char *value);
struct store_answer store_stage_delete(struct store_stage *stage, const char *key);
struct store_answer store_stage_range(struct store_stage *stage, const char *from, const char *to,
                                      uint64_t rev, uint32_t most);
struct store_answer store_stage_sync(struct store_stage *stage);
struct store_answer store_stage_compact(struct store_stage *stage, uint64_t before);

struct rapahub_bytes store_stage_bytes(const char *text);
struct cluster_txn_id store_stage_id(void); /* a new one */

#endif
