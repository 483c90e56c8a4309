/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/boot/boot_node.h"

#include <inttypes.h>
#include <string.h>

#include <rapahub/error.h>

#include "cluster/node/boot/store_keys.h"

#define RULE "cluster.join.active"

struct own {
    uint8_t state;
    bool same; /* the record has these addresses already */
    struct rapahub_string addresses[CLUSTER_RECORD_ADDRESSES_MAX];
    uint32_t addresses_count;
    uint64_t mod_rev;
    struct cluster_store_keys_put put; /* the same record, active */
};

/* ---- addresses ---- */

static bool begins_with(struct rapahub_string text, const char *with)
{
    size_t size = strlen(with);

    return text.size >= size && memcmp(text.data, with, size) == 0;
}

/* A port 0 is another one each time. */
static bool names_a_machine(struct rapahub_string text)
{
    return text.size > 0 && !begins_with(text, "*") && !begins_with(text, "0.0.0.0") &&
           !begins_with(text, "[::]") &&
           !(text.size > 2 && memcmp(text.data + text.size - 2, ":0", 2) == 0);
}

static void note_addresses(struct own *own, const char *listen)
{
    while (listen && *listen && own->addresses_count < CLUSTER_RECORD_ADDRESSES_MAX) {
        const struct rapahub_string text = {listen, strcspn(listen, ",")};

        if (names_a_machine(text))
            own->addresses[own->addresses_count++] = text;
        listen += text.size;
        listen += *listen == ',' ? 1 : 0;
    }
}

struct rapahub_string cluster_boot_node_address(const char *listen)
{
    struct own own = {.state = 0};

    note_addresses(&own, listen);
    return own.addresses[0];
}

static bool has_same(const struct own *own, struct cluster_list list)
{
    struct rapahub_string address;
    uint32_t i = 0;

    while (i < own->addresses_count && cluster_record_next_address(&list, &address)) {
        if (address.size != own->addresses[i].size ||
            memcmp(address.data, own->addresses[i].data, address.size) != 0)
            return false;
        i++;
    }
    return i == own->addresses_count && list.count == 0;
}

/* ---- the record ---- */

static int take(void *user, const struct cluster_key *key, const struct cluster_pair *pair,
                const struct cluster_record *record)
{
    struct own *own = user;
    struct cluster_record active = *record;

    own->state = record->node.state;
    own->mod_rev = pair->mod_rev;
    own->same = has_same(own, record->node.addresses);
    active.node.state = CLUSTER_NODE_ACTIVE;
    active.node.addresses =
        (struct cluster_list){.of = own->addresses, .count = own->addresses_count};
    return cluster_store_keys_build(key, &active, &own->put);
}

static int write_active(const struct cluster_store_wait *wait, const struct own *own)
{
    const struct cluster_compare unchanged = {
        .kind = CLUSTER_MOD_EQ, .key = own->put.key_bytes, .rev = own->mod_rev};
    const struct cluster_write write = {CLUSTER_PUT, own->put.key_bytes, own->put.value_bytes};
    int status;
    uint64_t rev;
    int r = cluster_store_wait_txn(
        wait,
        &(struct cluster_txn){
            .compares = &unchanged, .compares_count = 1, .then = &write, .then_count = 1},
        &status, &rev);

    return r == 0 && status != CLUSTER_TXN_OK
               ? rapahub_fail(RAPAHUB_ESTATE, RULE,
                              "%s: the record of this node changed while it joined: start it again",
                              wait->url)
               : r;
}

/* A node that was fenced is one again, with the session that it has begun; another that is to leave
 * ends in order as soon as it has read that.
 * r[impl cluster.join.active] r[impl cluster.session.back] */
int cluster_boot_node_activate(const struct cluster_boot *boot, const char *listen)
{
    const struct cluster_store_wait wait = {.store = boot->store,
                                            .marker = boot->marker,
                                            .wait_ns = boot->wait_ns,
                                            .stop_fd = boot->stop_fd,
                                            .url = boot->folder.place.url,
                                            .opened = boot->opened};
    struct own own = {.state = 0};
    int r;

    note_addresses(&own, listen);
    r = cluster_store_keys_get(
        &wait, &(struct cluster_key){.kind = CLUSTER_KEY_NODE, .node = boot->folder.node}, 0, take,
        &own);
    if (r < 0 || (own.state == CLUSTER_NODE_ACTIVE && own.same) ||
        own.state == CLUSTER_NODE_DRAINING)
        return r;
    if (own.state != CLUSTER_NODE_JOINING && own.state != CLUSTER_NODE_ACTIVE &&
        own.state != CLUSTER_NODE_FENCED)
        return rapahub_fail(RAPAHUB_ESTATE, RULE,
                            "%s: node %" PRIu32
                            " is no node of the cluster any more: join with an empty folder",
                            wait.url, boot->folder.node);
    return write_active(&wait, &own);
}
