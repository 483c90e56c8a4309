/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/services/backup_orders.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rapahub/error.h>

#include "cluster/base/ids.h"
#include "cluster/base/keys.h"
#include "cluster/metastore/metastore.h"
#include "cluster/node/services/document.h"
#include "cluster/node/services/questions.h"
#include "hub/wire/postcard.h"

#define RULE "cluster.store.backup"

struct backup {
    struct cluster_asking_question *question;
    char path[]; /* ended by a 0 */
};

static char *make_text(const struct backup *backup, uint64_t rev)
{
    struct cluster_document document;

    cluster_document_begin(&document, "rapahub.metastore-backup/1");
    cluster_document_text(document.root, "path", rapahub_string_of(backup->path));
    cluster_document_count(document.root, "generation", cluster_ids_generation(rev));
    cluster_document_number(document.root, "revision", cluster_ids_own(rev));
    return cluster_document_end(&document);
}

static void fail(const struct backup *backup, int code, const char *why)
{
    rapahub_fail(code, RULE, "%s: %s", backup->path, why);
    cluster_questions_fail_as_said(backup->question);
}

static void on_backup(void *user, int status, uint64_t rev, const struct cluster_pair *gets,
                      size_t count)
{
    struct backup *backup = user;

    (void)gets, (void)count;
    if (status == CLUSTER_TXN_OK)
        cluster_questions_text(backup->question, make_text(backup, rev));
    else if (status == CLUSTER_TXN_CONFLICT)
        fail(backup, RAPAHUB_EEXIST, "there is such a file: give the backup another name");
    else if (status == CLUSTER_TXN_NO_SPACE)
        fail(backup, RAPAHUB_ENOSPC, "the disk is full, nothing was written: make space");
    else if (status == CLUSTER_TXN_DENIED)
        fail(backup, RAPAHUB_EACCES, "the folder cannot be written: is it there, and the node's?");
    else if (status == CLUSTER_TXN_NOT_APPLIED)
        fail(backup, RAPAHUB_EIO, "the backup cannot be written: look at the disk");
    else
        cluster_questions_fail_store(backup->question, status);
    free(backup);
}

static int check(const struct cluster_asking *asking, struct rapahub_string name)
{
    if (strncmp(asking->lists.metastore, "etcd", 4) == 0)
        return rapahub_fail(RAPAHUB_ECONFIG, RULE,
                            "the metastore is in etcd: etcdctl snapshot save makes its backups");
    if (name.size > 0 && !cluster_keys_is_name(name))
        return rapahub_fail(RAPAHUB_EINVAL, RULE,
                            "'%.*s' is no name of a backup: it has letters, digits, '_', '-' and "
                            "'.', and begins with a letter or a digit",
                            (int)name.size, name.data);
    return 0;
}

static void name_by_time(const struct cluster_asking *asking, char to[CLUSTER_KEYS_NAME_MAX + 1])
{
    time_t now = (time_t)cluster_node_identity_now(asking->identity);
    struct tm parts;

    gmtime_r(&now, &parts);
    (void)strftime(to, CLUSTER_KEYS_NAME_MAX, "%Y%m%dT%H%M%SZ.db", &parts);
}

static struct backup *make(const struct cluster_asking *asking, struct rapahub_string name)
{
    char given[CLUSTER_KEYS_NAME_MAX + 1];
    struct backup *backup;
    size_t size;

    if (name.size > 0)
        (void)snprintf(given, sizeof given, "%.*s", (int)name.size, name.data);
    else
        name_by_time(asking, given);
    size = strlen(asking->backups) + strlen(given) + sizeof "/";
    backup = malloc(sizeof *backup + size);
    if (backup)
        (void)snprintf(backup->path, size, "%s/%s", asking->backups, given);
    else
        rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a backup");
    return backup;
}

/* r[impl cluster.store.backup] */
int cluster_backup_orders_make(struct cluster_asking *asking, struct cluster_asker *asker,
                               struct hub_reader *arguments)
{
    const struct rapahub_string name = hub_postcard_read_string(arguments);
    struct backup *backup;
    int r = arguments->failure < 0 ? arguments->failure : check(asking, name);

    if (r < 0)
        return r;
    backup = make(asking, name);
    if (!backup)
        return RAPAHUB_ENOMEM;
    backup->question = cluster_questions_new(asking, asker);
    r = backup->question ? cluster_metastore_backup(asking->store, backup->path, on_backup, backup)
                         : RAPAHUB_ENOMEM;
    if (r == 0)
        return 0;
    if (backup->question)
        cluster_questions_drop(backup->question);
    free(backup);
    return r;
}
