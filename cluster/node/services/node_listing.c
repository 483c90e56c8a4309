/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/services/node_listing.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "cluster/node/services/alarms.h"
#include "cluster/node/services/document.h"
#include "cluster/node/services/questions.h"
#include "cluster/wire/record.h"

#define SEAT             "seat:" /* scheme of a metastore on another node */
#define ADDRESS_SIZE     256
#define INCARNATION_SIZE 40

struct row {
    uint32_t number, boot; /* boot 0: it has no session */
    uint8_t state;
    char name[CLUSTER_KEYS_NAME_MAX + 1];
    char addresses[ADDRESS_SIZE];
    uint64_t session;
};

struct listing {
    struct cluster_asking_question *question;
    size_t count;
    struct row rows[CLUSTER_NODE_LISTING_MAX];
};

/* ---- records of the metastore ---- */

static int read_all(const struct listing *listing, enum cluster_keys_kind kind, uint64_t rev,
                    cluster_on_range *on_range)
{
    char from[CLUSTER_KEYS_SIZE_MAX], past[CLUSTER_KEYS_SIZE_MAX];
    int size = cluster_keys_prefix(kind, 0, from, past);
    const struct cluster_span span = {.from = {from, (size_t)size},
                                      .to = {past, (size_t)size},
                                      .rev = rev,
                                      .pairs_max = CLUSTER_NODE_LISTING_MAX};

    return cluster_metastore_range(listing->question->asking->store, &span, on_range,
                                   (void *)(uintptr_t)listing);
}

/* Says whether a pair is a sound one of this kind. */
static bool read_pair(const struct cluster_pair *pair, enum cluster_keys_kind kind, uint32_t *node,
                      struct cluster_record *record)
{
    struct cluster_key key;

    if (cluster_keys_parse(pair->key, &key) < 0 || key.kind != kind ||
        cluster_record_read(kind, pair->value, record) < 0) {
        rapahub_clear_error();
        return false;
    }
    *node = key.node;
    return true;
}

static void note_addresses(struct row *row, struct cluster_list *list)
{
    struct rapahub_string address;
    size_t at = 0;

    while (at < sizeof row->addresses && cluster_record_next_address(list, &address))
        at += (size_t)snprintf(row->addresses + at, sizeof row->addresses - at, "%s%.*s",
                               at > 0 ? "," : "", (int)address.size, address.data);
}

static void note_nodes(struct listing *listing, const struct cluster_page *page)
{
    for (size_t i = 0; i < page->count && listing->count < CLUSTER_NODE_LISTING_MAX; i++) {
        struct row *row = &listing->rows[listing->count];
        struct cluster_record record;

        if (!read_pair(&page->pairs[i], CLUSTER_KEY_NODE, &row->number, &record))
            continue;
        row->state = record.node.state;
        snprintf(row->name, sizeof row->name, "%.*s", (int)record.node.name.size,
                 record.node.name.data);
        note_addresses(row, &record.node.addresses);
        listing->count++;
    }
}

/* Both lists are in the order of the numbers. */
static void note_sessions(struct listing *listing, const struct cluster_page *page)
{
    size_t at = 0;

    for (size_t i = 0; i < page->count; i++) {
        struct cluster_record record;
        uint32_t node;

        if (!read_pair(&page->pairs[i], CLUSTER_KEY_SESSION, &node, &record))
            continue;
        while (at < listing->count && listing->rows[at].number < node)
            at++;
        if (at == listing->count || listing->rows[at].number != node)
            continue;
        listing->rows[at].boot = record.session.boot;
        listing->rows[at].session = page->pairs[i].create_rev;
    }
}

/* ---- the document ---- */

static const char *const states[CLUSTER_NODE_STATES] = {
    [CLUSTER_NODE_JOINING] = "JOINING",   [CLUSTER_NODE_ACTIVE] = "ACTIVE",
    [CLUSTER_NODE_DRAINING] = "DRAINING", [CLUSTER_NODE_LEFT] = "LEFT",
    [CLUSTER_NODE_FENCED] = "FENCED",
};

/* A link whose node has not said its session is of use to the seat alone. */
static const char *link_to(const struct cluster_lists *lists, uint32_t node)
{
    if (node == lists->node)
        return "SELF";
    return cluster_peer_links_session(lists->peers, node) != 0 ? "UP" : "DOWN";
}

/* Without a verdict the node is not watched. r[impl cluster.detect.shown] */
static void add_verdict(const struct cluster_detector *detector, uint32_t node,
                        struct json_t *object)
{
    struct cluster_detector_verdict verdict;
    char incarnation[INCARNATION_SIZE];

    if (!cluster_detector_verdict(detector, node, &verdict))
        return;
    snprintf(incarnation, sizeof incarnation, "%" PRIu64 ".%" PRIu32, verdict.incarnation.session,
             verdict.incarnation.refutations);
    cluster_document_text(object, "verdict", rapahub_string_of(verdict.word));
    cluster_document_time(object, "since", verdict.since_s);
    cluster_document_text(object, "incarnation", rapahub_string_of(incarnation));
}

/* Its name is among the first columns, its text is the last one. */
static void add_alarm(struct json_t *object, const struct cluster_alarms_alarm *alarm)
{
    if (alarm->name)
        cluster_document_text(object, "alarm", rapahub_string_of(alarm->name));
}

static void add_remedy(struct json_t *object, const struct cluster_alarms_alarm *alarm)
{
    if (alarm->name)
        cluster_document_text(object, "remedy", rapahub_string_of(alarm->text));
}

static const char *role_of(const struct listing *listing, uint32_t node)
{
    const struct cluster_lists *lists = &listing->question->asking->lists;
    uint32_t leads = lists->leader->node != 0 ? lists->leader->node : lists->node;

    return node == leads ? "LEADS" : "FOLLOWS";
}

static char *make_document(const struct listing *listing)
{
    struct cluster_document document;
    struct cluster_alarms_alarm alarm;
    struct json_t *list;

    cluster_document_begin(&document, "rapahub.node.nodes/1");
    list = cluster_document_list(document.root, "nodes");
    for (size_t i = 0; i < listing->count; i++) {
        const struct row *row = &listing->rows[i];
        struct json_t *item = cluster_document_item(list);

        cluster_document_count(item, "number", row->number);
        cluster_document_text(item, "name", rapahub_string_of(row->name));
        cluster_document_text(item, "state", rapahub_string_of(states[row->state]));
        cluster_document_text(item, "role", rapahub_string_of(role_of(listing, row->number)));
        cluster_alarms_of_node(&listing->question->asking->lists, row->number, row->session,
                               &alarm);
        add_alarm(item, &alarm);
        cluster_document_text(item, "address", rapahub_string_of(row->addresses));
        cluster_document_number(item, "session", row->session);
        cluster_document_count(item, "boot", row->boot);
        cluster_document_text(
            item, "link",
            rapahub_string_of(link_to(&listing->question->asking->lists, row->number)));
        add_verdict(listing->question->asking->lists.detector, row->number, item);
        add_remedy(item, &alarm);
    }
    return cluster_document_end(&document);
}

/* ---- asked and answered ---- */

/* Another node has the metastore, and is away: what this one holds of each node is all that it can
 * say. Without a detector that is nothing. */
static char *make_own_document(const struct cluster_detector *detector)
{
    uint32_t node = cluster_detector_after(detector, 0);
    struct cluster_document document;
    struct json_t *list;

    if (node == 0)
        return NULL;
    cluster_document_begin(&document, "rapahub.node.nodes/1");
    cluster_document_text(document.root, "metastore", rapahub_string_of("away"));
    list = cluster_document_list(document.root, "nodes");
    for (; node != 0; node = cluster_detector_after(detector, node)) {
        struct json_t *item = cluster_document_item(list);

        cluster_document_count(item, "number", node);
        add_verdict(detector, node, item);
    }
    return cluster_document_end(&document);
}

static void fail(struct listing *listing, int status)
{
    char *own = make_own_document(listing->question->asking->lists.detector);

    if (own)
        cluster_questions_text(listing->question, own);
    else if (status == CLUSTER_TXN_OK)
        cluster_questions_fail_as_said(listing->question);
    else
        cluster_questions_fail_store(listing->question, status);
    free(listing);
}

static void on_sessions(void *user, int status, uint64_t rev, const struct cluster_page *page)
{
    struct listing *listing = user;

    (void)rev;
    if (status != CLUSTER_TXN_OK) {
        fail(listing, status);
        return;
    }
    note_sessions(listing, page);
    cluster_questions_text(listing->question, make_document(listing));
    free(listing);
}

static void on_nodes(void *user, int status, uint64_t rev, const struct cluster_page *page)
{
    struct listing *listing = user;

    if (status != CLUSTER_TXN_OK) {
        fail(listing, status);
        return;
    }
    note_nodes(listing, page);
    if (read_all(listing, CLUSTER_KEY_SESSION, rev, on_sessions) < 0)
        fail(listing, CLUSTER_TXN_OK);
}

/* Where it is in etcd the store says it. */
static bool is_away(const struct cluster_lists *lists)
{
    return strncmp(lists->metastore, SEAT, strlen(SEAT)) == 0 &&
           cluster_detector_leader_is_away(lists->detector);
}

/* r[impl cluster.node.nodes] */
int cluster_node_listing_ask(struct cluster_asking *asking, struct cluster_asker *asker)
{
    struct listing *listing = calloc(1, sizeof *listing);

    if (!listing)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a list of nodes");
    listing->question = cluster_questions_new(asking, asker);
    if (!listing->question) {
        free(listing);
        return RAPAHUB_ENOMEM;
    }
    if (is_away(&asking->lists)) {
        rapahub_fail(-ENOTCONN, "", "the node with the metastore is away");
        fail(listing, CLUSTER_TXN_OK);
    } else if (read_all(listing, CLUSTER_KEY_NODE, 0, on_nodes) < 0)
        fail(listing, CLUSTER_TXN_OK);
    return 0;
}
