/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/blobs/blob_fetches.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>
#include <rapahub/log.h>

#include "hub/base/clock.h"
#include "hub/base/list.h"
#include "hub/base/states.h"

#define RULE      "cluster.blobs.fetch"
#define TRIES_MAX 3 /* of a file that a person pushes meanwhile */

enum fetch_state {
    WAITING, /* for its turn, or for the link */
    ASKED,   /* for a part */
    WRITING, /* the disk has a request of it */
    ENDED,   /* while it was written */
    FETCH_STATES
};

static const struct hub_states states = {
    "fetch",
    {[WAITING] = {"Waiting", HUB_TO(ASKED) | HUB_TO(ENDED)},
     [ASKED] = {"Asked", HUB_TO(WAITING) | HUB_TO(WRITING) | HUB_TO(ENDED)},
     [WRITING] = {"Writing", HUB_TO(WAITING) | HUB_TO(ENDED)},
     [ENDED] = {"Ended", 0}}};

/* A begin that waits for a file. */
struct waiter {
    struct hub_list link; /* the first member */
    struct cluster_blob_fetches *fetches;
    uint8_t digest[CLUSTER_DIGEST_SIZE];
    bool fetched; /* it was, or cannot be */
    cluster_disk_on_done *on_done;
    void *user;
};

struct fetch {
    struct hub_list link; /* the first member */
    struct cluster_blob_fetches *fetches;
    uint8_t digest[CLUSTER_DIGEST_SIZE];
    struct hub_list waiters;
    uint32_t state;
    uint64_t offset, size; /* size 0: not known yet */
    uint64_t part;         /* bytes that are written */
    uint64_t until_ns;     /* the next part has come by then */
    unsigned tries;
};

struct cluster_blob_fetches {
    struct cluster_blob_source source;
    struct cluster_peer_links *links;
    struct cluster_store_thread *disk;
    uint32_t lead, before; /* before: that was asked before it; a part may still come of it */
    bool up, stopped;
    struct hub_list all; /* the first one has its turn */
    struct {             /* a part that was asked for by a fetch that has ended, and has not come */
        uint64_t until_ns; /* 0: there is none */
        uint64_t offset;
        uint8_t digest[CLUSTER_DIGEST_SIZE];
    } late;
};

int cluster_blob_fetches_create(struct cluster_peer_links *links, struct cluster_store_thread *disk,
                                uint32_t lead, struct cluster_blob_fetches **out)
{
    struct cluster_blob_fetches *fetches = calloc(1, sizeof *fetches);

    *out = fetches;
    if (!fetches)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for files of modules");
    fetches->links = links;
    fetches->disk = disk;
    fetches->lead = lead;
    hub_list_init(&fetches->all);
    cluster_blob_source_init(&fetches->source, links, disk);
    return 0;
}

void cluster_blob_fetches_release(struct cluster_blob_fetches **fetches)
{
    free(*fetches);
    *fetches = NULL;
}

static void move(struct fetch *fetch, enum fetch_state to, const char *why)
{
    hub_states_move(&states, &fetch->state, to, "fetch", why);
}

static struct fetch *first(const struct cluster_blob_fetches *fetches)
{
    return hub_list_empty(&fetches->all) ? NULL
                                         : HUB_LIST_ITEM(fetches->all.next, struct fetch, link);
}

/* ---- asked ---- */

/* Without a link it waits for that, and for a part that is late: there is one at a time. */
static void ask(struct fetch *fetch)
{
    const struct cluster_blob_fetches *fetches = fetch->fetches;
    const struct cluster_body body = {
        .blob_ask = {{fetch->digest, sizeof fetch->digest}, fetch->offset}};

    if (fetch != first(fetches) || fetch->state != WAITING || !fetches->up ||
        fetches->late.until_ns != 0)
        return;
    move(fetch, ASKED, "its turn");
    if (cluster_peer_links_put(fetches->links, fetches->lead, CLUSTER_FRAME_BLOB_ASK, &body) < 0) {
        rapahub_clear_error(); /* the link ends, and is told as lost */
        move(fetch, WAITING, "no link");
    }
}

static void begin_first(const struct cluster_blob_fetches *fetches)
{
    struct fetch *fetch = first(fetches);

    if (!fetch || fetches->stopped)
        return;
    fetch->until_ns = hub_clock_after(CLUSTER_BLOB_FETCHES_STALL_NS);
    ask(fetch);
}

/* ---- ended ---- */

static void on_looked(void *user, struct cluster_disk_result *result);

static void end_waiter(struct waiter *waiter, struct cluster_disk_result *result)
{
    waiter->on_done(waiter->user, result);
    free(waiter);
}

static void fail_waiter(struct waiter *waiter, int status, const char *text)
{
    struct cluster_disk_result result = {.status = status, .text = text, .fd = -1};

    end_waiter(waiter, &result);
}

static void look(struct waiter *waiter)
{
    int status =
        cluster_store_thread_blob_get(waiter->fetches->disk, waiter->digest, on_looked, waiter);

    if (status < 0)
        fail_waiter(waiter, status, rapahub_last_error()->text);
}

/* A waiter may ask anew at once: this fetch is none of the list any more then. */
static void end_fetch(struct fetch *fetch, int status, const char *text)
{
    struct cluster_blob_fetches *fetches = fetch->fetches;
    bool writes = fetch->state == WRITING;
    struct hub_list *link;

    hub_list_remove(&fetch->link);
    move(fetch, ENDED, text);
    while ((link = hub_list_pop(&fetch->waiters))) {
        struct waiter *waiter = HUB_LIST_ITEM(link, struct waiter, link);

        waiter->fetched = true;
        if (status < 0)
            fail_waiter(waiter, status, text);
        else
            look(waiter);
    }
    if (!writes)
        free(fetch);
    begin_first(fetches);
}

/* ---- wanted ---- */

static struct fetch *find(const struct cluster_blob_fetches *fetches,
                          const uint8_t digest[CLUSTER_DIGEST_SIZE])
{
    HUB_LIST_EACH (&fetches->all, link) {
        struct fetch *fetch = HUB_LIST_ITEM(link, struct fetch, link);

        if (memcmp(fetch->digest, digest, CLUSTER_DIGEST_SIZE) == 0)
            return fetch;
    }
    return NULL;
}

static struct fetch *add(struct cluster_blob_fetches *fetches,
                         const uint8_t digest[CLUSTER_DIGEST_SIZE])
{
    struct fetch *fetch = calloc(1, sizeof *fetch);

    if (!fetch)
        return NULL;
    fetch->fetches = fetches;
    memcpy(fetch->digest, digest, CLUSTER_DIGEST_SIZE);
    hub_list_init(&fetch->waiters);
    hub_list_append(&fetches->all, &fetch->link);
    return fetch;
}

/* r[impl cluster.blobs.fetch] */
static void join(struct waiter *waiter)
{
    struct cluster_blob_fetches *fetches = waiter->fetches;
    struct fetch *fetch = find(fetches, waiter->digest);
    bool is_new = !fetch;

    if (!fetch)
        fetch = add(fetches, waiter->digest);
    if (!fetch) {
        fail_waiter(waiter, RAPAHUB_ENOMEM, "no memory to fetch a module");
        return;
    }
    hub_list_append(&fetch->waiters, &waiter->link);
    if (is_new && fetch == first(fetches))
        begin_first(fetches);
}

static void on_looked(void *user, struct cluster_disk_result *result)
{
    struct waiter *waiter = user;
    const struct cluster_blob_fetches *fetches = waiter->fetches;

    if (result->status == RAPAHUB_ENOENT && fetches->lead != 0 && !waiter->fetched &&
        !fetches->stopped)
        join(waiter);
    else
        end_waiter(waiter, result);
}

int cluster_blob_fetches_get(struct cluster_blob_fetches *fetches,
                             const uint8_t digest[CLUSTER_DIGEST_SIZE],
                             cluster_disk_on_done *on_done, void *user)
{
    struct waiter *waiter = calloc(1, sizeof *waiter);
    int status;

    if (!waiter)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a file of a module");
    waiter->fetches = fetches;
    waiter->on_done = on_done;
    waiter->user = user;
    memcpy(waiter->digest, digest, CLUSTER_DIGEST_SIZE);
    status = cluster_store_thread_blob_get(fetches->disk, digest, on_looked, waiter);
    if (status < 0)
        free(waiter);
    return status;
}

/* ---- parts that come ---- */

/* A push of the same file by a person takes the place of the parts that were written before. */
static bool begins_anew(struct fetch *fetch, int status)
{
    if (status != RAPAHUB_EINVAL || ++fetch->tries >= TRIES_MAX)
        return false;
    fetch->offset = fetch->size = 0;
    return true;
}

static void on_written(void *user, struct cluster_disk_result *result)
{
    struct fetch *fetch = user;

    if (fetch->state == ENDED) {
        free(fetch);
        return;
    }
    move(fetch, WAITING, "written");
    if (result->status == 0 && result->done) {
        rapahub_log(RAPAHUB_LOG_INFO, "node",
                    "a module of %" PRIu64 " bytes has come from node %" PRIu32, fetch->size,
                    fetch->fetches->lead);
        end_fetch(fetch, 0, "it is there");
        return;
    }
    if (result->status < 0 && !begins_anew(fetch, result->status)) {
        end_fetch(fetch, result->status, result->text);
        return;
    }
    fetch->offset += result->status == 0 ? fetch->part : 0;
    fetch->until_ns = hub_clock_after(CLUSTER_BLOB_FETCHES_STALL_NS);
    ask(fetch);
}

static void write_part(struct fetch *fetch, const struct cluster_body_blob_part *from)
{
    struct cluster_disk_part part = {
        .offset = fetch->offset, .size = from->size, .part = from->part};
    int status;

    memcpy(part.digest, fetch->digest, sizeof part.digest);
    fetch->size = from->size;
    fetch->part = from->part.size;
    move(fetch, WRITING, "a part came");
    status = cluster_store_thread_blob_part(fetch->fetches->disk, &part, on_written, fetch);
    if (status == 0)
        return;
    move(fetch, WAITING, "the disk does not take it");
    end_fetch(fetch, status, rapahub_last_error()->text);
}

/* It comes after its fetch has ended, and is dropped. */
static bool take_late(struct cluster_blob_fetches *fetches,
                      const struct cluster_body_blob_part *part)
{
    if (fetches->late.until_ns == 0 || part->offset != fetches->late.offset ||
        memcmp(part->digest.data, fetches->late.digest, CLUSTER_DIGEST_SIZE) != 0)
        return false;
    fetches->late.until_ns = 0;
    begin_first(fetches);
    return true;
}

static bool is_next(const struct fetch *fetch, const struct cluster_body_blob_part *part)
{
    return fetch && fetch->state == ASKED && part->offset == fetch->offset &&
           memcmp(part->digest.data, fetch->digest, sizeof fetch->digest) == 0 &&
           (part->status < 0 || fetch->offset == 0 || part->size == fetch->size);
}

/* r[impl cluster.blobs.fetch] */
static int take_part(struct cluster_blob_fetches *fetches, uint32_t from,
                     const struct cluster_body_blob_part *part)
{
    struct fetch *fetch = first(fetches);
    char text[CLUSTER_BODY_BLOB_TEXT + 1];

    if ((from == fetches->before && from != fetches->lead) ||
        (from == fetches->lead && take_late(fetches, part)))
        return 0;
    if (from != fetches->lead || !is_next(fetch, part))
        return rapahub_fail(RAPAHUB_EPROTOCOL, RULE,
                            "node %" PRIu32 " sends a part of a module that was not asked for",
                            from);
    if (part->status == 0) {
        write_part(fetch, part);
        return 0;
    }
    memcpy(text, part->text.data ? part->text.data : "", part->text.size);
    text[part->text.size] = '\0';
    end_fetch(fetch, part->status, text);
    return 0;
}

/* ---- the links tell ---- */

static void on_up(void *user, uint32_t node, uint64_t session, uint32_t boot)
{
    struct cluster_blob_fetches *fetches = user;

    (void)session, (void)boot;
    cluster_blob_source_up(&fetches->source, node);
    if (node != fetches->lead)
        return;
    fetches->up = true;
    if (first(fetches))
        ask(first(fetches));
}

static void on_lost(void *user, uint32_t node)
{
    struct cluster_blob_fetches *fetches = user;
    struct fetch *fetch = first(fetches);

    cluster_blob_source_lost(&fetches->source, node);
    if (node != fetches->lead)
        return;
    fetches->up = false;
    fetches->late.until_ns = 0;
    if (fetch && fetch->state == ASKED)
        move(fetch, WAITING, "the link is lost");
}

static int on_frame(void *user, uint32_t from, const struct cluster_frame *header,
                    struct rapahub_bytes bytes)
{
    struct cluster_blob_fetches *fetches = user;
    struct cluster_body body;
    int status = cluster_body_read(header->type, bytes, &body);

    if (status < 0)
        return status;
    return header->type == CLUSTER_FRAME_BLOB_ASK
               ? cluster_blob_source_ask(&fetches->source, from, &body.blob_ask)
               : take_part(fetches, from, &body.blob_part);
}

const struct cluster_peer_links_hooks cluster_blob_fetches_hooks = {on_up, on_lost, on_frame};

void cluster_blob_fetches_set_lead(struct cluster_blob_fetches *fetches, uint32_t lead)
{
    struct fetch *fetch = first(fetches);

    fetches->before = fetches->lead;
    fetches->lead = lead;
    fetches->late.until_ns = 0; /* a part of the one before is dropped anyway */
    fetches->up = lead != 0 && cluster_peer_links_session(fetches->links, lead) != 0;
    if (fetch && fetch->state == ASKED)
        move(fetch, WAITING, "another node leads");
    if (fetch)
        ask(fetch);
}

/* ---- steps ---- */

/* The link has more to carry than modules, the metastore for one: a disk that stands still does not
 * end it. */
static void note_late(struct cluster_blob_fetches *fetches, const struct fetch *fetch,
                      uint64_t now_ns)
{
    fetches->late.until_ns = now_ns + CLUSTER_BLOB_FETCHES_LATE_NS;
    fetches->late.offset = fetch->offset;
    memcpy(fetches->late.digest, fetch->digest, sizeof fetch->digest);
}

static uint64_t step_first(struct cluster_blob_fetches *fetches, uint64_t now_ns)
{
    struct fetch *fetch = first(fetches);

    if (!fetch || fetch->state == WRITING)
        return HUB_NEVER;
    if (now_ns < fetch->until_ns)
        return fetch->until_ns;
    if (fetch->state == ASKED)
        note_late(fetches, fetch, now_ns);
    end_fetch(fetch, RAPAHUB_ETIMEDOUT,
              "the node that leads has not sent its module in time: is it there?");
    return now_ns;
}

uint64_t cluster_blob_fetches_step(struct cluster_blob_fetches *fetches, uint64_t now_ns)
{
    uint64_t next_ns = step_first(fetches, now_ns), late_ns = fetches->late.until_ns;

    if (late_ns != 0 && now_ns >= late_ns) {
        fetches->late.until_ns = 0;
        cluster_peer_links_hang_up(fetches->links, fetches->lead);
        rapahub_clear_error();
        return now_ns;
    }
    return late_ns != 0 && late_ns < next_ns ? late_ns : next_ns;
}

void cluster_blob_fetches_stop(struct cluster_blob_fetches *fetches)
{
    if (!fetches)
        return;
    fetches->stopped = true;
    while (first(fetches))
        end_fetch(first(fetches), -ECANCELED, "the node stops");
}
