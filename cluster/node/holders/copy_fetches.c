/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/holders/copy_fetches.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <rapahub/error.h>
#include <rapahub/log.h>

#include "cluster/core/copies/sealed.h"
#include "cluster/core/dispatch.h"
#include "cluster/node/holders/copy_faults.h"
#include "cluster/node/holders/copy_own.h"
#include "hub/base/clock.h"
#include "hub/base/list.h"
#include "hub/base/states.h"

#define RULE      "cluster.copy.fetch"
#define AGAIN_NS  (HUB_SECOND / 5)
#define SETTLE_NS (HUB_SECOND / 2) /* for other holders, once one has answered */
#define PIECE_NS  (5 * HUB_SECOND) /* a holder that gives no piece for as long has failed */
#define TEXT_MAX  256

enum fetch_state {
    OWN,      /* the own disk is sealed */
    SEALING,  /* the other holders are */
    FETCHING, /* a piece was asked for */
    WRITING,  /* the disk has a request of it */
    ENDED,    /* which is told in the next step, after the request */
    FETCH_STATES
};

static const struct hub_states states = {
    "copy fetch",
    {[OWN] = {"Own", HUB_TO(SEALING) | HUB_TO(ENDED)},
     [SEALING] = {"Sealing", HUB_TO(FETCHING) | HUB_TO(ENDED)},
     [FETCHING] = {"Fetching", HUB_TO(SEALING) | HUB_TO(WRITING) | HUB_TO(ENDED)},
     [WRITING] = {"Writing", HUB_TO(SEALING) | HUB_TO(FETCHING) | HUB_TO(ENDED)},
     [ENDED] = {"Ended", 0}}};

struct fetch {
    struct hub_list link; /* the first member */
    struct cluster_copy_fetches *fetches;
    struct cluster_copy_fetch_order order;
    uint32_t state, count;
    struct cluster_sealed sealed[CLUSTER_RECORD_HOLDERS_MAX];
    bool asked[CLUSTER_RECORD_HOLDERS_MAX], answered[CLUSTER_RECORD_HOLDERS_MAX];
    struct cluster_copy_faults faults;
    struct cluster_copy_own own;
    uint64_t again_ns, settle_ns; /* FETCHING: again_ns is the time by which the piece must come */
    uint32_t from;                /* FETCHING: place of the holder */
    uint64_t offset;
    uint64_t piece; /* bytes that are written */
    bool writes;    /* the disk has a request of it */
    int status;
    char text[TEXT_MAX];
};

struct cluster_copy_fetches {
    const struct cluster_dispatch *core;
    struct cluster_peer_links *links;
    struct cluster_store_thread *disk;
    struct hub_list all;
    bool stopped;
};

#define FETCH_OF(at) HUB_LIST_ITEM(at, struct fetch, link)

int cluster_copy_fetches_create(const struct cluster_core *core, struct cluster_peer_links *links,
                                struct cluster_store_thread *disk,
                                struct cluster_copy_fetches **out)
{
    struct cluster_copy_fetches *fetches = calloc(1, sizeof *fetches);

    *out = fetches;
    if (!fetches)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for copies that are fetched");
    fetches->core = cluster_core_parts(core);
    fetches->links = links;
    fetches->disk = disk;
    hub_list_init(&fetches->all);
    return 0;
}

void cluster_copy_fetches_release(struct cluster_copy_fetches **fetches)
{
    struct hub_list *link;

    while (*fetches && (link = hub_list_pop(&(*fetches)->all)))
        free(FETCH_OF(link)); /* the disk had a request of it when the node stopped */
    free(*fetches);
    *fetches = NULL;
}

static void move(struct fetch *fetch, enum fetch_state to, const char *why)
{
    hub_states_move(&states, &fetch->state, to, "copy fetch", why);
}

static void end(struct fetch *fetch, int status, const char *text)
{
    if (fetch->state == ENDED)
        return;
    fetch->status = status;
    snprintf(fetch->text, sizeof fetch->text, "%s", text);
    move(fetch, ENDED, text);
}

static struct cluster_disk_container on_disk(const struct fetch *fetch)
{
    return (struct cluster_disk_container){fetch->order.pool, fetch->order.container};
}

/* ---- the other holders are sealed ---- */

/* The holders may have changed since the last time. */
static void list_holders(struct fetch *fetch)
{
    const struct cluster_dispatch *core = fetch->fetches->core;
    const struct cluster_holders_row *row =
        cluster_holders_find(core->holders, fetch->order.pool, fetch->order.container);

    fetch->count = 0;
    fetch->settle_ns = HUB_NEVER;
    for (uint32_t i = 0; row && i < row->count; i++) {
        if (row->nodes[i] == core->node ||
            cluster_copy_faults_leave_out(&fetch->faults, row->nodes[i]))
            continue;
        fetch->sealed[fetch->count] = (struct cluster_sealed){.node = row->nodes[i]};
        fetch->asked[fetch->count] = fetch->answered[fetch->count] = false;
        fetch->count++;
    }
}

static void ask_for_seal(struct fetch *fetch, uint32_t at)
{
    const struct cluster_body body = {.copy_seal = {.pool = fetch->order.pool,
                                                    .container = fetch->order.container,
                                                    .seal = fetch->order.token}};

    fetch->asked[at] = cluster_peer_links_put(fetch->fetches->links, fetch->sealed[at].node,
                                              CLUSTER_FRAME_COPY_SEAL, &body) == 0;
    if (!fetch->asked[at])
        rapahub_clear_error();
}

/* r[impl cluster.copy.seal] */
static void ask_all(struct fetch *fetch)
{
    for (uint32_t i = 0; i < fetch->count; i++)
        if (!fetch->asked[i] &&
            cluster_peer_links_session(fetch->fetches->links, fetch->sealed[i].node) != 0)
            ask_for_seal(fetch, i);
    fetch->again_ns = hub_clock_after(AGAIN_NS);
}

static void begin_sealing(struct fetch *fetch, const char *why)
{
    move(fetch, SEALING, why);
    list_holders(fetch);
    ask_all(fetch);
}

/* Without anything newer to be had the own copy is the newest: the part that was cut off its file
 * had not become durable, for all that is known. r[impl cluster.copy.cut] */
static void fall_back(struct fetch *fetch, int status, const char *text)
{
    bool own = cluster_copy_own_is_there(&fetch->own);

    end(fetch, own ? 0 : status, own ? "" : text);
}

/* The others may have a copy that is sound. The seals are asked for in a while, or a holder that
 * has too much to do would have more. r[impl cluster.copy.faults] */
static void blame(struct fetch *fetch, uint32_t node, uint32_t weight, int status, const char *text)
{
    cluster_copy_faults_add(&fetch->faults, node, weight, status, text);
    if (fetch->state != SEALING)
        move(fetch, SEALING, "a holder failed");
    list_holders(fetch);
    fetch->again_ns = hub_clock_after(AGAIN_NS);
    if (fetch->count == 0)
        fall_back(fetch, fetch->faults.status, fetch->faults.text);
}

static void ask_piece(struct fetch *fetch)
{
    const struct cluster_sealed *of = &fetch->sealed[fetch->from];
    const struct cluster_body body = {.copy_ask = {.pool = fetch->order.pool,
                                                   .container = fetch->order.container,
                                                   .token = of->token,
                                                   .seq = of->seq,
                                                   .offset = fetch->offset}};

    move(fetch, FETCHING, "the next piece");
    fetch->again_ns = hub_clock_after(PIECE_NS);
    if (cluster_peer_links_put(fetch->fetches->links, of->node, CLUSTER_FRAME_COPY_ASK, &body) <
        0) {
        rapahub_clear_error();
        begin_sealing(fetch, "no link");
    }
}

/* Holders of one set have all that was answered, so one is enough; the others get a moment. */
static void choose(struct fetch *fetch, uint64_t now_ns)
{
    uint32_t answered = 0, open = 0;

    for (uint32_t i = 0; i < fetch->count; i++) {
        answered += fetch->answered[i];
        open += fetch->asked[i] && !fetch->answered[i];
    }
    if (answered == 0 || (open > 0 && now_ns < fetch->settle_ns))
        return;
    fetch->from = cluster_sealed_newest(fetch->sealed, fetch->count);
    fetch->offset = 0;
    if (fetch->from < fetch->count &&
        cluster_copy_own_is_older(&fetch->own, &fetch->sealed[fetch->from])) {
        ask_piece(fetch);
    } else if (answered == fetch->count) {
        fall_back(fetch, RAPAHUB_ENOCOPY, "no node that is to have a copy of its state has one");
    }
}

/* ---- the disk ---- */

static void go_on_writing(struct fetch *fetch, const struct cluster_disk_result *result)
{
    if (result->status == RAPAHUB_EFORMAT) {
        blame(fetch, fetch->sealed[fetch->from].node, CLUSTER_COPY_FAULTS_UNUSABLE, result->status,
              result->text);
    } else if (result->status < 0) {
        end(fetch, result->status, result->text);
    } else if (result->done) {
        rapahub_log(RAPAHUB_LOG_INFO, "node",
                    "container %" PRIu32 " of pool %016" PRIx64 " begins with copy %" PRIu64
                    " of node %" PRIu32,
                    fetch->order.container, fetch->order.pool, fetch->sealed[fetch->from].seq,
                    fetch->sealed[fetch->from].node);
        end(fetch, 0, "");
    } else {
        fetch->offset += fetch->piece;
        ask_piece(fetch);
    }
}

static void on_written(void *user, struct cluster_disk_result *result)
{
    struct fetch *fetch = user;

    fetch->writes = false;
    if (fetch->state == WRITING)
        go_on_writing(fetch, result);
}

static void write_piece(struct fetch *fetch, struct rapahub_bytes bytes)
{
    const struct cluster_sealed *of = &fetch->sealed[fetch->from];
    const struct cluster_copy_jobs_piece piece = {on_disk(fetch), of->token, of->seq, fetch->offset,
                                                  of->size};
    int status = cluster_copy_jobs_adopt(fetch->fetches->disk, &piece, bytes,
                                         (struct cluster_disk_request){on_written, fetch});

    move(fetch, WRITING, "a piece came");
    fetch->piece = bytes.size;
    fetch->writes = status == 0;
    if (status < 0)
        end(fetch, status, rapahub_last_error()->text);
}

/* A disk that is to have a copy, and has none, has lost it; so it may have where it was cut. */
static void on_own(void *user, struct cluster_disk_result *result)
{
    struct fetch *fetch = user;
    const struct cluster_dispatch *core = fetch->fetches->core;
    const struct cluster_holders_row *row =
        cluster_holders_find(core->holders, fetch->order.pool, fetch->order.container);

    fetch->writes = false;
    if (fetch->state == ENDED)
        return;
    cluster_copy_own_take(&fetch->own, result);
    if (result->status < 0)
        end(fetch, result->status, result->text);
    else if ((result->token != 0 && !result->cut) || !row ||
             !cluster_holders_names_others(row, core->node))
        end(fetch, 0, "");
    else
        begin_sealing(fetch, "the own disk may lack the newest");
}

/* ---- begun ---- */

static int begin_own(struct fetch *fetch)
{
    int status = cluster_copy_jobs_seal(fetch->fetches->disk, on_disk(fetch), fetch->order.token,
                                        (struct cluster_disk_request){on_own, fetch});

    fetch->writes = status == 0;
    return status;
}

/* r[impl cluster.copy.own] */
int cluster_copy_fetches_begin(struct cluster_copy_fetches *fetches,
                               const struct cluster_copy_fetch_order *order)
{
    const struct cluster_dispatch *core = fetches->core;
    const struct cluster_holders_row *row =
        cluster_holders_find(core->holders, order->pool, order->container);
    struct fetch *fetch;
    int status = 0;

    if (!row || (row->joining == 0 && !cluster_holders_names_others(row, core->node)))
        return 0;
    fetch = fetches->stopped ? NULL : calloc(1, sizeof *fetch);
    if (!fetch)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a copy that is fetched");
    fetch->fetches = fetches;
    fetch->order = *order;
    hub_list_append(&fetches->all, &fetch->link);
    if (cluster_holders_names(row, core->node))
        status = begin_own(fetch);
    else
        begin_sealing(fetch, "the own disk is named no more");
    if (status == 0)
        return 1;
    hub_list_remove(&fetch->link);
    free(fetch);
    return status;
}

/* ---- the links tell ---- */

void cluster_copy_fetches_lost(struct cluster_copy_fetches *fetches, uint32_t node)
{
    HUB_LIST_EACH (&fetches->all, at) {
        struct fetch *fetch = FETCH_OF(at);

        for (uint32_t i = 0; i < fetch->count; i++)
            if (fetch->sealed[i].node == node && !fetch->answered[i])
                fetch->asked[i] = false;
        if (fetch->state == FETCHING && fetch->sealed[fetch->from].node == node)
            begin_sealing(fetch, "the link is lost");
    }
}

static struct fetch *find(const struct cluster_copy_fetches *fetches, uint64_t pool,
                          uint32_t container)
{
    HUB_LIST_EACH (&fetches->all, at)
        if (FETCH_OF(at)->order.pool == pool && FETCH_OF(at)->order.container == container &&
            FETCH_OF(at)->state != ENDED)
            return FETCH_OF(at);
    return NULL;
}

static void take_seal(struct fetch *fetch, uint32_t at,
                      const struct cluster_body_copy_sealed *sealed)
{
    if (sealed->status == RAPAHUB_ESTALE) {
        blame(fetch, fetch->sealed[at].node, CLUSTER_COPY_FAULTS_UNUSABLE, RAPAHUB_ESTALE,
              "it is sealed for a later life");
    } else if (sealed->status < 0) {
        fetch->asked[at] = false; /* it is asked again */
    } else {
        fetch->answered[at] = true;
        fetch->sealed[at].token = sealed->token;
        fetch->sealed[at].seq = sealed->seq;
        fetch->sealed[at].size = sealed->size;
        if (fetch->settle_ns == HUB_NEVER)
            fetch->settle_ns = hub_clock_after(SETTLE_NS);
    }
}

/* An answer may come after its fetch, which another holder's has ended. */
int cluster_copy_fetches_sealed(struct cluster_copy_fetches *fetches, uint32_t from,
                                const struct cluster_body_copy_sealed *sealed)
{
    struct fetch *fetch = find(fetches, sealed->pool, sealed->container);

    if (!fetch || fetch->state != SEALING || fetch->order.token != sealed->seal)
        return 0;
    if (sealed->token >= sealed->seal)
        return rapahub_fail(RAPAHUB_EPROTOCOL, RULE,
                            "node %" PRIu32 " has a copy of a life that has not begun", from);
    for (uint32_t i = 0; i < fetch->count; i++)
        if (fetch->sealed[i].node == from && fetch->asked[i] && !fetch->answered[i])
            take_seal(fetch, i, sealed);
    if (fetch->state == SEALING)
        choose(fetch, hub_clock_now());
    return 0;
}

static uint64_t size_of_next(const struct fetch *fetch)
{
    uint64_t left = fetch->sealed[fetch->from].size - fetch->offset;

    return left < CLUSTER_COPY_BODY_PIECE ? left : CLUSTER_COPY_BODY_PIECE;
}

/* r[impl cluster.copy.fetch] */
int cluster_copy_fetches_piece(struct cluster_copy_fetches *fetches, uint32_t from,
                               const struct cluster_body_copy_piece *piece)
{
    struct fetch *fetch = find(fetches, piece->pool, piece->container);
    const struct cluster_sealed *of = fetch ? &fetch->sealed[fetch->from] : NULL;

    if (!fetch || fetch->state != FETCHING || of->node != from || of->token != piece->token ||
        of->seq != piece->seq || fetch->offset != piece->offset)
        return 0; /* it is of a fetch that has ended, or begun anew */
    if (piece->status < 0) {
        blame(fetch, from,
              piece->status == RAPAHUB_EAGAIN ? CLUSTER_COPY_FAULTS_BUSY
                                              : CLUSTER_COPY_FAULTS_REFUSED,
              RAPAHUB_ENOCOPY, "the node gives no piece of it");
        return 0;
    }
    if (piece->piece.size != size_of_next(fetch)) {
        blame(fetch, from, CLUSTER_COPY_FAULTS_REFUSED, RAPAHUB_EPROTOCOL,
              "a piece has another size than it must have");
        return rapahub_fail(RAPAHUB_EPROTOCOL, RULE,
                            "node %" PRIu32 " gives a piece of another size than it has", from);
    }
    write_piece(fetch, piece->piece);
    return 0;
}

/* ---- steps ---- */

static void look_at_time(struct fetch *fetch, uint64_t now_ns)
{
    char text[TEXT_MAX];

    if (fetch->state == SEALING && now_ns >= cluster_copy_own_due(&fetch->own))
        end(fetch, 0, "");
    if (fetch->state != ENDED && now_ns >= fetch->order.deadline_ns) {
        cluster_copy_faults_list_away(fetch->sealed, fetch->count, text);
        end(fetch, RAPAHUB_ENOCOPY, text);
    }
    if (fetch->state == FETCHING && now_ns >= fetch->again_ns)
        blame(fetch, fetch->sealed[fetch->from].node, CLUSTER_COPY_FAULTS_UNUSABLE,
              RAPAHUB_ETIMEDOUT, "no piece of it came for 5 s");
    if (fetch->state == SEALING && now_ns >= fetch->again_ns)
        ask_all(fetch);
    if (fetch->state == SEALING)
        choose(fetch, now_ns);
}

static void tell(struct fetch *fetch)
{
    hub_list_remove(&fetch->link);
    fetch->order.on_done(fetch->order.user, fetch->status, fetch->text);
    free(fetch);
}

uint64_t cluster_copy_fetches_step(struct cluster_copy_fetches *fetches, uint64_t now_ns)
{
    uint64_t next_ns = HUB_NEVER;
    struct hub_list *at = fetches->all.next;

    while (at != &fetches->all) {
        struct fetch *fetch = FETCH_OF(at);

        at = at->next;
        look_at_time(fetch, now_ns);
        if (fetch->state == ENDED && !fetch->writes) {
            tell(fetch);
            continue;
        }
        if ((fetch->state == SEALING || fetch->state == FETCHING) && fetch->again_ns < next_ns)
            next_ns = fetch->again_ns;
        if (fetch->state == SEALING && cluster_copy_own_due(&fetch->own) < next_ns)
            next_ns = cluster_copy_own_due(&fetch->own);
        if (fetch->state != ENDED && fetch->order.deadline_ns < next_ns)
            next_ns = fetch->order.deadline_ns;
    }
    return next_ns;
}

/* A fetch of which the disk has a request is told no more: that ends with the thread of the disk.
 */
void cluster_copy_fetches_stop(struct cluster_copy_fetches *fetches)
{
    struct hub_list *at;

    if (!fetches)
        return;
    fetches->stopped = true;
    for (at = fetches->all.next; at != &fetches->all;) {
        struct fetch *fetch = FETCH_OF(at);

        at = at->next;
        end(fetch, -ECANCELED, "the node stops");
        if (!fetch->writes)
            tell(fetch);
    }
}
