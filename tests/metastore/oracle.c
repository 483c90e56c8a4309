/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/metastore/oracle.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "tests/metastore/oracle_rows.h"

#define OPS_MAX 1024

enum op_kind { OP_TXN, OP_RANGE, OP_PEEK, OP_WATCH };

/* What is to be told at the next step: of an operation, or of all watches. */
struct op {
    enum op_kind kind;
    uint64_t watch; /* OP_WATCH: until it is 0 */
    struct cluster_span span;
    uint64_t told;
    void (*call)(void);
    void *user;
    struct oracle_found found;
};

struct oracle {
    struct cluster_metastore base;
    struct op ops[OPS_MAX];
    size_t count, transactions, reads, watches;
    uint64_t last_watch;
    int fd;
};

void oracle_reset(void)
{
    oracle_rows_reset();
}

static struct oracle *of(struct cluster_metastore *base)
{
    return (struct oracle *)(void *)base;
}

static struct op *new_op(struct oracle *oracle, enum op_kind kind, void (*call)(void), void *user)
{
    uint64_t one = 1;

    if (oracle->count == OPS_MAX)
        abort();
    oracle->ops[oracle->count] = (struct op){.kind = kind, .call = call, .user = user};
    if (write(oracle->fd, &one, sizeof one) < 0)
        abort();
    return &oracle->ops[oracle->count++];
}

static int submit(struct cluster_metastore *base, const struct cluster_txn *txn,
                  cluster_on_txn *on_txn, void *user)
{
    struct oracle *oracle = of(base);

    if (oracle->transactions == CLUSTER_TXN_FLIGHT_MAX)
        return rapahub_fail(RAPAHUB_EBUSY, "", "full");
    oracle->transactions++;
    oracle_rows_txn(txn, &new_op(oracle, OP_TXN, (void (*)(void))on_txn, user)->found);
    return 0;
}

static struct op *new_read(struct oracle *oracle, enum op_kind kind, void (*call)(void), void *user)
{
    if (oracle->reads == CLUSTER_METASTORE_READS_MAX) {
        rapahub_fail(RAPAHUB_EBUSY, "", "full");
        return NULL;
    }
    oracle->reads++;
    return new_op(oracle, kind, call, user);
}

static int range(struct cluster_metastore *base, const struct cluster_span *span,
                 cluster_on_range *on_range, void *user)
{
    struct op *op = new_read(of(base), OP_RANGE, (void (*)(void))on_range, user);

    if (!op)
        return -EBUSY;
    oracle_rows_read(span, span->rev, &op->found);
    return 0;
}

static int peek(struct cluster_metastore *base, const struct cluster_span *span,
                cluster_on_stale *on_stale, void *user)
{
    struct op *op = new_read(of(base), OP_PEEK, (void (*)(void))on_stale, user);

    if (!op)
        return -EBUSY;
    oracle_rows_read(span, 0, &op->found);
    return 0;
}

static int watch(struct cluster_metastore *base, const struct cluster_span *span,
                 cluster_on_change *on_change, void *user, uint64_t *out)
{
    struct oracle *oracle = of(base);
    struct op *op;

    if (oracle->watches == CLUSTER_METASTORE_WATCHES_MAX)
        return rapahub_fail(RAPAHUB_EBUSY, "", "full");
    oracle->watches++;
    op = new_op(oracle, OP_WATCH, (void (*)(void))on_change, user);
    op->watch = *out = ++oracle->last_watch;
    op->span = *span;
    op->span.from = oracle_rows_own(span->from);
    op->span.to = oracle_rows_own(span->to);
    op->told = span->rev;
    op->found.status = span->rev > oracle_rows_revision() ? CLUSTER_TXN_DENIED : CLUSTER_TXN_OK;
    return 0;
}

static void unwatch(struct cluster_metastore *base, uint64_t number)
{
    struct oracle *oracle = of(base);

    for (size_t i = 0; i < oracle->count; i++)
        if (oracle->ops[i].kind == OP_WATCH && oracle->ops[i].watch == number) {
            oracle->ops[i].watch = 0;
            oracle->watches--;
        }
}

static int plain(struct cluster_metastore *base, int status, cluster_on_txn *on_txn, void *user)
{
    struct op *op = new_read(of(base), OP_TXN, (void (*)(void))on_txn, user);

    if (!op)
        return -EBUSY;
    op->watch = 1; /* it counts among the reads */
    op->found.status = status;
    op->found.rev = oracle_rows_revision();
    return 0;
}

static int sync_store(struct cluster_metastore *base, cluster_on_txn *on_txn, void *user)
{
    return plain(base, CLUSTER_TXN_OK, on_txn, user);
}

static int compact(struct cluster_metastore *base, uint64_t before, cluster_on_txn *on_txn,
                   void *user)
{
    return plain(base, oracle_rows_compact(before), on_txn, user);
}

static int backup(struct cluster_metastore *base, const char *path, cluster_on_txn *on_txn,
                  void *user)
{
    (void)path;
    return plain(base, CLUSTER_TXN_DENIED, on_txn, user);
}

static int fd_of(const struct cluster_metastore *base)
{
    return ((const struct oracle *)(const void *)base)->fd;
}

static void tell(const struct op *op)
{
    switch (op->kind) {
    case OP_RANGE:
        ((cluster_on_range *)op->call)(
            op->user, op->found.status, op->found.rev,
            &(struct cluster_page){op->found.pairs, op->found.count, op->found.more});
        break;
    case OP_PEEK:
        ((cluster_on_stale *)op->call)(op->user, op->found.status, op->found.pairs,
                                       op->found.count);
        break;
    case OP_WATCH:
        ((cluster_on_change *)op->call)(op->user, op->found.status, op->found.rev, NULL, 0);
        break;
    default:
        ((cluster_on_txn *)op->call)(op->user, op->found.status, op->found.rev, op->found.pairs,
                                     op->found.count);
    }
}

static void fini(struct op *op)
{
    oracle_rows_clear(&op->found);
    if (op->kind == OP_WATCH) {
        free((void *)(uintptr_t)op->span.from.data);
        free((void *)(uintptr_t)op->span.to.data);
    }
}

/* By its number: a callback may add to the list of operations. False once it has ended. */
static bool step_watch(struct oracle *oracle, uint64_t number)
{
    struct cluster_change changes[CLUSTER_TXN_LIST_MAX];
    size_t at = 0, count;
    struct op op;

    for (;;) {
        for (at = 0; at < oracle->count &&
                     (oracle->ops[at].kind != OP_WATCH || oracle->ops[at].watch != number);)
            at++;
        if (at == oracle->count)
            return false;
        op = oracle->ops[at];
        if (op.found.status == CLUSTER_TXN_OK && op.told < oracle_rows_compacted())
            op.found.status = CLUSTER_TXN_COMPACTED;
        if (op.found.status != CLUSTER_TXN_OK) {
            unwatch(&oracle->base, number);
            tell(&op);
            return false;
        }
        op.found.rev = oracle_rows_next_change(&op.span, op.told, changes, &count);
        if (op.found.rev == 0) {
            oracle->ops[at].told = oracle_rows_revision();
            return true;
        }
        oracle->ops[at].told = op.found.rev;
        ((cluster_on_change *)op.call)(op.user, CLUSTER_TXN_OK, op.found.rev, changes, count);
    }
}

static void remove_op(struct oracle *oracle, size_t at)
{
    oracle->count--;
    memmove(&oracle->ops[at], &oracle->ops[at + 1], (oracle->count - at) * sizeof(struct op));
}

static int step(struct cluster_metastore *base, uint64_t now_ns, uint64_t *out_next_ns)
{
    struct oracle *oracle = of(base);
    uint64_t count;

    (void)now_ns;
    *out_next_ns = UINT64_MAX;
    if (read(oracle->fd, &count, sizeof count) < 0 && errno != EAGAIN)
        abort();
    for (size_t i = 0, most = oracle->count; most > 0; most--) {
        struct op op = oracle->ops[i];

        if (op.kind == OP_WATCH) {
            bool stays = op.watch != 0 && step_watch(oracle, op.watch);

            if (stays) {
                i++;
            } else {
                remove_op(oracle, i);
                fini(&op);
            }
            continue;
        }
        remove_op(oracle, i);
        if (op.kind == OP_TXN && op.watch == 0)
            oracle->transactions--;
        else
            oracle->reads--;
        tell(&op);
        fini(&op);
    }
    return 0;
}

static int open_store(const char *url, const struct cluster_metastore_options *options,
                      struct cluster_metastore **out)
{
    struct oracle *oracle = calloc(1, sizeof *oracle);

    (void)url;
    (void)options;
    oracle->base.end = &oracle_end;
    oracle->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    *out = &oracle->base;
    return 0;
}

static void close_store(struct cluster_metastore *base)
{
    struct oracle *oracle = of(base);

    for (size_t i = 0; i < oracle->count; i++) {
        struct op *op = &oracle->ops[i];

        op->found.status = CLUSTER_TXN_CLOSED;
        if (op->kind != OP_WATCH || op->watch != 0) {
            struct op told = *op;

            told.found.count = 0;
            tell(&told);
        }
        fini(op);
    }
    close(oracle->fd);
    free(oracle);
}

static int stats(const struct cluster_metastore *base, struct cluster_metastore_stats *out)
{
    const struct oracle *oracle = (const struct oracle *)(const void *)base;

    *out = (struct cluster_metastore_stats){.revision = oracle_rows_revision(),
                                            .compacted = oracle_rows_compacted(),
                                            .open = oracle->transactions,
                                            .reads = oracle->reads,
                                            .watches = oracle->watches};
    return 0;
}

const struct cluster_metastore_end oracle_end = {
    .watches_max = CLUSTER_METASTORE_WATCHES_MAX,
    .scheme = "oracle",
    .open = open_store,
    .close = close_store,
    .submit = submit,
    .range = range,
    .peek = peek,
    .watch = watch,
    .unwatch = unwatch,
    .sync = sync_store,
    .compact = compact,
    .backup = backup,
    .fd = fd_of,
    .step = step,
    .stats = stats,
};
