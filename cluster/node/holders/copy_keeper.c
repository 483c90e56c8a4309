/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/holders/copy_keeper.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "cluster/core/dispatch.h"
#include "hub/base/clock.h"

#define RULE      "cluster.copy.keep"
#define NODES_MAX CLUSTER_PEER_LINKS_MAX

/* A node that gives copies. A single copy of several pieces comes at a time. */
struct giver {
    uint32_t node;                     /* 0: free */
    uint32_t open;                     /* requests to the disk */
    struct cluster_body_copy_put head; /* its copy that is not whole yet; pool 0: there is none */
    struct cluster_copy copy;          /* state and calls of it are from malloc */
    uint64_t has, until_ns;            /* bytes of it; it goes on by then */
};

struct cluster_copy_keeper {
    const struct cluster_dispatch *core;
    struct cluster_peer_links *links;
    struct cluster_store_thread *disk;
    uint64_t bytes; /* copies that are not whole yet have them */
    struct giver givers[NODES_MAX];
};

/* A request to the disk. */
struct keeping {
    struct cluster_copy_keeper *keeper;
    struct cluster_disk_container of;
    uint32_t node;
    uint64_t token, seq, offset; /* token: of the copy, or of the life that seals */
};

int cluster_copy_keeper_create(const struct cluster_core *core, struct cluster_peer_links *links,
                               struct cluster_store_thread *disk, struct cluster_copy_keeper **out)
{
    struct cluster_copy_keeper *keeper = calloc(1, sizeof *keeper);

    *out = keeper;
    if (!keeper)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for copies of other nodes");
    keeper->core = cluster_core_parts(core);
    keeper->links = links;
    keeper->disk = disk;
    return 0;
}

static void free_bytes(struct cluster_copy *copy)
{
    free((void *)(uintptr_t)copy->state.data);
    free((void *)(uintptr_t)copy->dedup.data);
    copy->state = copy->dedup = (struct rapahub_bytes){NULL, 0};
}

static void drop(struct cluster_copy_keeper *keeper, struct giver *giver)
{
    if (giver->head.pool == 0)
        return;
    keeper->bytes -= giver->head.state_size + giver->head.dedup_size;
    free_bytes(&giver->copy);
    giver->head.pool = 0;
}

void cluster_copy_keeper_release(struct cluster_copy_keeper **keeper)
{
    for (uint32_t i = 0; *keeper && i < NODES_MAX; i++)
        drop(*keeper, &(*keeper)->givers[i]);
    free(*keeper);
    *keeper = NULL;
}

/* A place of which nothing is open is another node's next. NULL: there are too many. */
static struct giver *giver_of(struct cluster_copy_keeper *keeper, uint32_t node)
{
    struct giver *other = NULL;

    for (uint32_t i = 0; i < NODES_MAX; i++) {
        struct giver *giver = &keeper->givers[i];

        if (giver->node == node)
            return giver;
        if (giver->node == 0 || (!other && giver->open == 0 && giver->head.pool == 0))
            other = giver;
    }
    if (other)
        *other = (struct giver){.node = node};
    return other;
}

/* ---- rights ---- */

enum right { MAY, LATER, NEVER };

/* Another node's map may be ahead of this one's. A token above those of its generation would keep
 * out all that come after it, for ever. */
static enum right right_of_owner(const struct cluster_copy_keeper *keeper, uint32_t from,
                                 struct cluster_disk_container of, uint64_t token)
{
    const struct cluster_address *address =
        cluster_address_map_find(keeper->core->map, of.pool, of.container);

    if (!address || address->entry.epoch < cluster_ids_epoch(token))
        return LATER;
    return address->entry.epoch == cluster_ids_epoch(token) && address->entry.owner == from &&
                   cluster_ids_generation(token) == cluster_ids_generation(address->entry.session)
               ? MAY
               : NEVER;
}

/* r[impl cluster.copy.keep] */
static enum right right_of(const struct cluster_copy_keeper *keeper, uint32_t from,
                           struct cluster_disk_container of, uint64_t token)
{
    const struct cluster_holders_row *row =
        cluster_holders_find(keeper->core->holders, of.pool, of.container);
    enum right right = right_of_owner(keeper, from, of, token);

    return right == MAY && (!row || !cluster_holders_waits_for(row, keeper->core->node)) ? LATER
                                                                                         : right;
}

/* ---- answers ---- */

static struct rapahub_string cut(const char *text)
{
    struct rapahub_string of = rapahub_string_of(text);

    if (of.size > CLUSTER_COPY_BODY_TEXT)
        of.size = CLUSTER_COPY_BODY_TEXT;
    return of;
}

/* Without a link it is asked for again. */
static void say(const struct cluster_copy_keeper *keeper, uint32_t node, uint8_t type,
                const struct cluster_body *body)
{
    if (cluster_peer_links_put(keeper->links, node, type, body) < 0)
        rapahub_clear_error();
}

static void answer(const struct cluster_copy_keeper *keeper, const struct keeping *of, uint8_t how,
                   const char *text)
{
    struct cluster_body body = {.copy_taken = {.pool = of->of.pool,
                                               .container = of->of.container,
                                               .token = of->token,
                                               .seq = of->seq,
                                               .how = how,
                                               .offset = of->offset}};

    if (how == CLUSTER_COPY_TAKEN_LATER || how == CLUSTER_COPY_TAKEN_REFUSED)
        body.copy_taken.text = cut(text);
    say(keeper, of->node, CLUSTER_FRAME_COPY_TAKEN, &body);
}

static struct keeping *open_request(struct giver *giver, const struct keeping *like)
{
    struct keeping *keeping = malloc(sizeof *keeping);

    if (keeping) {
        *keeping = *like;
        giver->open++;
    }
    return keeping;
}

static void close_request(struct keeping *keeping)
{
    struct giver *giver = giver_of(keeping->keeper, keeping->node);

    if (giver && giver->open > 0)
        giver->open--;
    free(keeping);
}

/* ---- a copy is kept ---- */

static uint8_t outcome_of(const struct cluster_disk_result *result)
{
    if (result->status == 0)
        return result->whole ? CLUSTER_COPY_TAKEN_WHOLE : CLUSTER_COPY_TAKEN_KEPT;
    return result->status == RAPAHUB_ESTALE || result->status == RAPAHUB_EFORMAT ||
                   result->status == RAPAHUB_EINVAL
               ? CLUSTER_COPY_TAKEN_REFUSED
               : CLUSTER_COPY_TAKEN_LATER;
}

static void on_kept(void *user, struct cluster_disk_result *result)
{
    struct keeping *keeping = user;

    answer(keeping->keeper, keeping, outcome_of(result), result->text);
    close_request(keeping);
}

/* Memory for the bytes of a copy. */
static bool make_copy(const struct cluster_body_copy_put *put, struct cluster_copy *out)
{
    *out = (struct cluster_copy){.token = put->token,
                                 .seq = put->seq,
                                 .base_token = put->base_token,
                                 .base_seq = put->base_seq,
                                 .module = put->module,
                                 .state_version = put->state_version,
                                 .state = {malloc(put->state_size + 1), put->state_size},
                                 .dedup = {malloc(put->dedup_size + 1), put->dedup_size}};
    if (out->state.data && out->dedup.data)
        return true;
    free_bytes(out);
    return false;
}

/* The state comes first, then the calls that it covers. */
static void fill(const struct cluster_copy *copy, uint64_t at, struct rapahub_bytes piece)
{
    uint64_t left = at < copy->state.size ? copy->state.size - at : 0;
    size_t of_state = left < piece.size ? (size_t)left : piece.size;
    const uint8_t *bytes = piece.data;

    if (of_state > 0)
        memcpy((uint8_t *)(uintptr_t)copy->state.data + at, bytes, of_state);
    if (piece.size > of_state)
        memcpy((uint8_t *)(uintptr_t)copy->dedup.data + (at + of_state - copy->state.size),
               bytes + of_state, piece.size - of_state);
}

/* The copy is whole: its bytes go to the disk, which frees them. */
static void keep(struct cluster_copy_keeper *keeper, struct giver *giver,
                 const struct cluster_body_copy_put *put, struct cluster_copy *copy)
{
    const struct keeping like = {
        keeper, {put->pool, put->container}, giver->node, put->token, put->seq, 0};
    struct keeping *keeping = open_request(giver, &like);
    int status = keeping ? cluster_copy_jobs_keep(keeper->disk, like.of, copy, put->digest.data,
                                                  (struct cluster_disk_request){on_kept, keeping})
                         : RAPAHUB_ENOMEM;

    if (status == 0)
        return;
    free_bytes(copy);
    answer(keeper, &like, CLUSTER_COPY_TAKEN_LATER, "the node has too much to do");
    if (keeping)
        close_request(keeping);
}

/* ---- a copy of several pieces ---- */

static bool is_of(const struct cluster_body_copy_put *head, const struct cluster_body_copy_put *put)
{
    return head->pool == put->pool && head->container == put->container &&
           head->token == put->token && head->seq == put->seq && head->base_seq == put->base_seq &&
           head->state_size == put->state_size && head->dedup_size == put->dedup_size &&
           head->module == put->module && head->state_version == put->state_version;
}

static bool begin(struct cluster_copy_keeper *keeper, struct giver *giver,
                  const struct cluster_body_copy_put *put)
{
    uint64_t size = put->state_size + put->dedup_size;

    drop(keeper, giver);
    if (keeper->bytes > 0 && keeper->bytes + size > CLUSTER_COPY_KEEPER_BYTES_MAX)
        return false;
    if (!make_copy(put, &giver->copy))
        return false;
    giver->head = *put;
    giver->has = 0;
    keeper->bytes += size;
    return true;
}

/* A piece that came twice, after the link was lost, is passed over. */
static void take_piece(struct cluster_copy_keeper *keeper, struct giver *giver,
                       const struct cluster_body_copy_put *put)
{
    struct keeping like = {keeper, {put->pool, put->container}, giver->node, put->token, put->seq,
                           0};

    if (put->offset == giver->has) {
        fill(&giver->copy, put->offset, put->piece);
        giver->has += put->piece.size;
    }
    giver->until_ns = hub_clock_after(CLUSTER_COPY_KEEPER_STALL_NS);
    if (giver->has < put->state_size + put->dedup_size) {
        like.offset = giver->has;
        answer(keeper, &like, CLUSTER_COPY_TAKEN_MORE, "");
        return;
    }
    keep(keeper, giver, put, &giver->copy);
    giver->copy.state = giver->copy.dedup = (struct rapahub_bytes){NULL, 0};
    drop(keeper, giver);
}

/* A piece that follows none of this copy is left out: the copy begins anew, later. */
static int put_piece(struct cluster_copy_keeper *keeper, struct giver *giver,
                     const struct cluster_body_copy_put *put)
{
    const struct keeping like = {
        keeper, {put->pool, put->container}, giver->node, put->token, put->seq, 0};
    bool known = giver->head.pool != 0 && is_of(&giver->head, put);

    if (!known && put->offset > 0) {
        answer(keeper, &like, CLUSTER_COPY_TAKEN_LATER, "it has not the pieces before this one");
        return 0;
    }
    if (!known && !begin(keeper, giver, put)) {
        answer(keeper, &like, CLUSTER_COPY_TAKEN_LATER, "the node has too many copies to take");
        return 0;
    }
    if (put->offset > giver->has)
        return rapahub_fail(RAPAHUB_EPROTOCOL, RULE,
                            "node %" PRIu32 " leaves out a piece of a copy", giver->node);
    take_piece(keeper, giver, put);
    return 0;
}

static int put_small(struct cluster_copy_keeper *keeper, struct giver *giver,
                     const struct cluster_body_copy_put *put)
{
    struct cluster_copy copy;

    if (!make_copy(put, &copy))
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a copy");
    fill(&copy, 0, put->piece);
    keep(keeper, giver, put, &copy);
    return 0;
}

/* r[impl cluster.copy.put] */
int cluster_copy_keeper_put(struct cluster_copy_keeper *keeper, uint32_t from,
                            const struct cluster_body_copy_put *put)
{
    const struct keeping like = {keeper, {put->pool, put->container}, from, put->token, put->seq,
                                 0};
    struct giver *giver = giver_of(keeper, from);
    enum right right = right_of(keeper, from, like.of, put->token);

    if (right == NEVER) {
        answer(keeper, &like, CLUSTER_COPY_TAKEN_REFUSED,
               "the container has another owner, or a later epoch");
        return 0;
    }
    if (!giver || right == LATER) {
        answer(keeper, &like, CLUSTER_COPY_TAKEN_LATER,
               giver ? "it is no holder of the container, as far as it knows"
                     : "it has copies of too many nodes");
        return 0;
    }
    if (giver->open >= CLUSTER_COPY_KEEPER_OPEN_MAX)
        return rapahub_fail(RAPAHUB_EPROTOCOL, RULE,
                            "node %" PRIu32 " sends more copies than it may", from);
    return put->offset == 0 && put->piece.size == put->state_size + put->dedup_size
               ? put_small(keeper, giver, put)
               : put_piece(keeper, giver, put);
}

/* ---- it is sealed, and given back ---- */

static void answer_seal(const struct keeping *of, const struct cluster_disk_result *result)
{
    struct cluster_body body = {.copy_sealed = {.pool = of->of.pool,
                                                .container = of->of.container,
                                                .seal = of->token,
                                                .status = result->status}};

    if (result->status < 0) {
        body.copy_sealed.text = cut(result->text);
    } else {
        body.copy_sealed.token = result->token;
        body.copy_sealed.seq = result->seq;
        body.copy_sealed.size = result->size;
    }
    say(of->keeper, of->node, CLUSTER_FRAME_COPY_SEALED, &body);
}

static void on_sealed(void *user, struct cluster_disk_result *result)
{
    struct keeping *keeping = user;

    answer_seal(keeping, result);
    close_request(keeping);
}

static void refuse_seal(const struct keeping *like, int status, const char *text)
{
    const struct cluster_disk_result result = {.status = status, .text = text};

    answer_seal(like, &result);
}

/* Only the owner of now may seal, and only what this node is to have.
 * r[impl cluster.copy.seal] */
int cluster_copy_keeper_seal(struct cluster_copy_keeper *keeper, uint32_t from,
                             const struct cluster_body_copy_seal *seal)
{
    const struct keeping like = {keeper, {seal->pool, seal->container}, from, seal->seal, 0, 0};
    struct giver *giver = giver_of(keeper, from);
    enum right right = right_of(keeper, from, like.of, seal->seal);
    struct keeping *keeping;

    if (right == NEVER || right == LATER || !giver || giver->open >= CLUSTER_COPY_KEEPER_OPEN_MAX) {
        refuse_seal(&like, right == NEVER ? RAPAHUB_ESTALE : RAPAHUB_EAGAIN,
                    right == NEVER ? "the container has another owner, or a later epoch"
                                   : "not now");
        return 0;
    }
    keeping = open_request(giver, &like);
    if (keeping && cluster_copy_jobs_seal(keeper->disk, like.of, seal->seal,
                                          (struct cluster_disk_request){on_sealed, keeping}) == 0)
        return 0;
    refuse_seal(&like, RAPAHUB_EAGAIN, "the node has too much to do");
    if (keeping)
        close_request(keeping);
    return 0;
}

static void answer_piece(const struct keeping *of, const struct cluster_disk_result *result)
{
    struct cluster_body body = {.copy_piece = {.pool = of->of.pool,
                                               .container = of->of.container,
                                               .token = of->token,
                                               .seq = of->seq,
                                               .offset = of->offset,
                                               .status = result->status}};

    if (result->status == 0 && result->part.size == 0)
        body.copy_piece.status = RAPAHUB_EINVAL;
    if (result->status < 0)
        body.copy_piece.text = cut(result->text);
    else
        body.copy_piece.piece = result->part;
    say(of->keeper, of->node, CLUSTER_FRAME_COPY_PIECE, &body);
}

static void on_read(void *user, struct cluster_disk_result *result)
{
    struct keeping *keeping = user;

    answer_piece(keeping, result);
    close_request(keeping);
}

/* r[impl cluster.copy.fetch] */
int cluster_copy_keeper_ask(struct cluster_copy_keeper *keeper, uint32_t from,
                            const struct cluster_body_copy_ask *ask)
{
    const struct keeping like = {
        keeper, {ask->pool, ask->container}, from, ask->token, ask->seq, ask->offset};
    const struct cluster_copy_jobs_piece piece = {like.of, ask->token, ask->seq, ask->offset,
                                                  CLUSTER_COPY_BODY_PIECE};
    const struct cluster_address *address =
        cluster_address_map_find(keeper->core->map, ask->pool, ask->container);
    struct giver *giver = giver_of(keeper, from);
    struct keeping *keeping = NULL;
    struct cluster_disk_result none = {.status = RAPAHUB_EAGAIN, .text = "not now"};

    if (address && address->entry.owner == from && giver &&
        giver->open < CLUSTER_COPY_KEEPER_OPEN_MAX)
        keeping = open_request(giver, &like);
    if (keeping && cluster_copy_jobs_read(keeper->disk, &piece,
                                          (struct cluster_disk_request){on_read, keeping}) == 0)
        return 0;
    answer_piece(&like, &none);
    if (keeping)
        close_request(keeping);
    return 0;
}

/* ---- steps ---- */

uint64_t cluster_copy_keeper_step(struct cluster_copy_keeper *keeper, uint64_t now_ns)
{
    uint64_t next_ns = HUB_NEVER;

    for (uint32_t i = 0; i < NODES_MAX; i++) {
        struct giver *giver = &keeper->givers[i];

        if (giver->head.pool != 0 && now_ns >= giver->until_ns)
            drop(keeper, giver);
        if (giver->head.pool != 0 && giver->until_ns < next_ns)
            next_ns = giver->until_ns;
    }
    return next_ns;
}
