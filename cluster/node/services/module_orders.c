/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/services/module_orders.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "cluster/base/keys.h"
#include "cluster/node/services/questions.h"
#include "cluster/wire/record.h"
#include "hub/base/own.h"

#define MODULES_MAX 1024 /* in a list */
#define TEXT_MAX    512

/* ---- a list ---- */

static void tell_known(struct cluster_asking_question *question)
{
    char *text = strdup(question->asking->modules.text);

    if (!text)
        rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a list");
    cluster_questions_text(question, text);
}

/* Without memory the next one is asked for again. */
static void keep(struct cluster_asking *asking, const char *text, uint64_t changes)
{
    char *copy = strdup(text);

    if (!copy)
        return;
    free(asking->modules.text);
    asking->modules.text = copy;
    asking->modules.fresh = asking->lists.leader->node == 0 && changes == asking->modules.changes;
}

static void on_modules(void *user, int status, uint64_t rev, const struct cluster_page *page)
{
    struct cluster_asking_question *question = user;
    char *text;

    (void)rev;
    if (status == CLUSTER_TXN_OK) {
        text = cluster_lists_modules(page->pairs, page->count);
        if (text)
            keep(question->asking, text, question->changes);
        cluster_questions_text(question, text);
    } else if (status != CLUSTER_TXN_CLOSED && question->asking->modules.text) {
        tell_known(question);
    } else {
        cluster_questions_fail_store(question, status);
    }
}

static int read_modules(struct cluster_asking *asking, const struct cluster_asker *asker)
{
    char from[CLUSTER_KEYS_SIZE_MAX], past[CLUSTER_KEYS_SIZE_MAX];
    int size = cluster_keys_prefix(CLUSTER_KEY_MODULE, 0, from, past);
    const struct cluster_span span = {
        .from = {from, (size_t)size}, .to = {past, (size_t)size}, .pairs_max = MODULES_MAX};
    struct cluster_asking_question *question = cluster_questions_new(asking, asker);
    int status;

    if (!question)
        return RAPAHUB_ENOMEM;
    question->changes = asking->modules.changes;
    if (asking->modules.fresh) {
        tell_known(question);
        return 0;
    }
    status = cluster_metastore_range(asking->store, &span, on_modules, question);
    if (status < 0)
        free(question);
    return status;
}

/* r[impl cluster.node.modules.away] */
int cluster_module_orders_list(struct cluster_asking *asking, struct cluster_asker *asker)
{
    return read_modules(asking, asker);
}

int cluster_module_orders_begin(struct cluster_asking *asking)
{
    return read_modules(asking, &(struct cluster_asker){.number = 0});
}

/* The list that was told is not true any more. It is asked for at once, since the metastore may be
 * away later. */
static void note_change(struct cluster_asking *asking)
{
    asking->modules.fresh = false;
    asking->modules.changes++;
    if (cluster_module_orders_begin(asking) < 0)
        rapahub_clear_error(); /* the next one who asks does that */
}

/* ---- a push ---- */

/* Another record of this name and version is of other bytes, or the same was there before. */
static void on_recorded(void *user, int status, uint64_t rev, const struct cluster_pair *gets,
                        size_t count)
{
    struct cluster_asking_question *question = user;
    struct cluster_record record;

    (void)rev;
    if (status == CLUSTER_TXN_OK) {
        note_change(question->asking);
        cluster_questions_flag(question, true);
        return;
    }
    if (status == CLUSTER_TXN_CONFLICT && count == 1 &&
        cluster_record_read(CLUSTER_KEY_MODULE, gets[0].value, &record) == 0 &&
        memcmp(record.module.digest.data, question->digest, CLUSTER_DIGEST_SIZE) == 0) {
        cluster_questions_flag(question, true);
        return;
    }
    if (status == CLUSTER_TXN_CONFLICT)
        cluster_questions_fail(question, RAPAHUB_EDIFFERS,
                               "a module of this name and version is there, and has other bytes");
    else
        cluster_questions_fail_store(question, status);
}

/* The file stays where the node that leads has recorded the same one. */
static void on_looked_up(void *user, int status, uint64_t rev, const struct cluster_page *page)
{
    struct cluster_asking_question *question = user;
    char text[TEXT_MAX];

    (void)rev;
    if (status == CLUSTER_TXN_OK && page->count == 0) {
        snprintf(
            text, sizeof text,
            "the cluster has no module of this name and version yet: push it to node %u first, "
            "which leads, with --node %s",
            (unsigned)question->asking->lists.leader->node,
            question->asking->lists.leader->address);
        cluster_questions_fail(question, RAPAHUB_ENOENT, text);
        return;
    }
    if (status != CLUSTER_TXN_OK)
        cluster_questions_fail_store(question, status);
    else
        on_recorded(question, CLUSTER_TXN_CONFLICT, 0, page->pairs, page->count);
}

/* A node that does not lead writes nothing. r[impl cluster.node.modules.here] */
static int look_up(struct cluster_asking_question *question, struct rapahub_bytes name)
{
    char past[CLUSTER_KEYS_SIZE_MAX + 1];
    const struct cluster_span span = {.from = name, .to = {past, name.size + 1}, .pairs_max = 1};

    memcpy(past, name.data, name.size);
    past[name.size] = '\0';
    return cluster_metastore_range(question->asking->store, &span, on_looked_up, question);
}

static int put_record(struct cluster_asking_question *question, struct rapahub_bytes value)
{
    char to[CLUSTER_KEYS_SIZE_MAX];
    struct cluster_record record;
    struct cluster_key key = {.kind = CLUSTER_KEY_MODULE};
    int status = cluster_record_read(CLUSTER_KEY_MODULE, value, &record);

    if (status < 0)
        return status;
    key.text = record.module.name;
    key.version = record.module.version;
    status = cluster_keys_build(&key, to);
    if (status < 0)
        return status;
    if (question->asking->lists.leader->node != 0)
        return look_up(question, (struct rapahub_bytes){to, (size_t)status});
    {
        const struct rapahub_bytes name = {to, (size_t)status};
        const struct cluster_compare absent = {.kind = CLUSTER_ABSENT, .key = name};
        const struct cluster_write put = {.kind = CLUSTER_PUT, .key = name, .value = value};
        const struct cluster_write get = {.kind = CLUSTER_GET, .key = name};
        const struct cluster_txn txn = {.compares = &absent,
                                        .then = &put,
                                        .otherwise = &get,
                                        .compares_count = 1,
                                        .then_count = 1,
                                        .otherwise_count = 1};

        return cluster_marker_submit(question->asking->marker, &txn, on_recorded, question);
    }
}

static void on_inspected(void *user, int status, const char *text, struct rapahub_bytes record)
{
    struct cluster_asking_question *question = user;

    if (status < 0)
        cluster_questions_fail(question, status, text);
    else if (put_record(question, record) < 0)
        cluster_questions_fail_as_said(question);
}

static void on_blob(void *user, struct cluster_disk_result *result)
{
    struct cluster_asking_question *question = user;

    if (result->status < 0)
        cluster_questions_fail(question, result->status, result->text);
    else if (cluster_inspections_begin(question->asking->inspections, result->fd, question->digest,
                                       on_inspected, question) < 0)
        cluster_questions_fail_as_said(question);
}

static void on_part(void *user, struct cluster_disk_result *result)
{
    struct cluster_asking_question *question = user;

    if (result->status < 0) {
        cluster_questions_fail(question, result->status, result->text);
        return;
    }
    if (!result->done) {
        cluster_questions_flag(question, false);
        return;
    }
    question->pushes = true;
    question->asking->pushes++;
    if (cluster_store_thread_blob_get(question->asking->disk, question->digest, on_blob, question) <
        0)
        cluster_questions_fail_as_said(question);
}

static int digit_of(char letter)
{
    if (letter >= '0' && letter <= '9')
        return letter - '0';
    return letter >= 'a' && letter <= 'f' ? letter - 'a' + 10 : -1;
}

static int read_digest(struct rapahub_string text, uint8_t to[CLUSTER_DIGEST_SIZE])
{
    bool sound = text.size == 2 * CLUSTER_DIGEST_SIZE;

    for (size_t i = 0; sound && i < CLUSTER_DIGEST_SIZE; i++) {
        int high = digit_of(text.data[2 * i]), low = digit_of(text.data[2 * i + 1]);

        sound = high >= 0 && low >= 0;
        to[i] = (uint8_t)(sound ? high << 4 | low : 0);
    }
    return sound
               ? 0
               : rapahub_fail(RAPAHUB_EINVAL, "", "a digest has 64 digits from 0 to 9 and a to f");
}

/* r[impl cluster.node.modules] */
int cluster_module_orders_push(struct cluster_asking *asking, struct cluster_asker *asker,
                               const struct cluster_module_orders_part *from)
{
    struct cluster_disk_part part = {
        .offset = from->offset, .size = from->size, .part = from->bytes};
    struct cluster_asking_question *question;
    int status = read_digest(from->digest, part.digest);

    if (status < 0)
        return status;
    question = cluster_questions_new(asking, asker);
    if (!question)
        return RAPAHUB_ENOMEM;
    memcpy(question->digest, part.digest, sizeof part.digest);
    status = cluster_store_thread_blob_part(asking->disk, &part, on_part, question);
    if (status < 0)
        free(question);
    return status;
}

/* ---- a removal ---- */

static void on_blob_gone(void *user, struct cluster_disk_result *result)
{
    (void)user;
    (void)result; /* a blob that no record names does no harm */
}

/* Its bytes go too: they say their name and version themselves, so no other record has them. While
 * a push may be about to record them anew they stay, until the next start at most. */
static void on_unrecorded(void *user, int status, uint64_t rev, const struct cluster_pair *gets,
                          size_t count)
{
    struct cluster_asking_question *question = user;
    struct cluster_record record;

    (void)rev;
    if (status == CLUSTER_TXN_CONFLICT) {
        cluster_questions_fail(question, RAPAHUB_ENOENT, "the node has no such module");
        return;
    }
    if (status != CLUSTER_TXN_OK) {
        cluster_questions_fail_store(question, status);
        return;
    }
    note_change(question->asking);
    if (question->asking->pushes == 0 && count == 1 &&
        cluster_record_read(CLUSTER_KEY_MODULE, gets[0].value, &record) == 0 &&
        cluster_store_thread_blob_remove(question->asking->disk, record.module.digest.data,
                                         on_blob_gone, NULL) < 0)
        rapahub_clear_error();
    cluster_questions_done(question);
}

int cluster_module_orders_remove(struct cluster_asking *asking, struct cluster_asker *asker,
                                 struct rapahub_string name, struct rapahub_string version)
{
    const struct cluster_key key = {.kind = CLUSTER_KEY_MODULE, .text = name, .version = version};
    char to[CLUSTER_KEYS_SIZE_MAX];
    int size = cluster_keys_build(&key, to);
    const struct rapahub_bytes at = {to, (size_t)size};
    const struct cluster_compare there = {.kind = CLUSTER_PRESENT, .key = at};
    const struct cluster_write then[] = {{.kind = CLUSTER_GET, .key = at},
                                         {.kind = CLUSTER_DELETE, .key = at}};
    const struct cluster_txn txn = {
        .compares = &there, .then = then, .compares_count = 1, .then_count = 2};
    struct cluster_asking_question *question;
    int status;

    if (size < 0)
        return size;
    if (cluster_lists_uses_module(&asking->lists, name, version))
        return rapahub_fail(RAPAHUB_ESTATE, "cluster.node.modules",
                            "a pool has the module %.*s:%.*s", (int)name.size, name.data,
                            (int)version.size, version.data);
    question = cluster_questions_new(asking, asker);
    if (!question)
        return RAPAHUB_ENOMEM;
    status = cluster_marker_submit(asking->marker, &txn, on_unrecorded, question);
    if (status < 0)
        free(question);
    return status;
}
