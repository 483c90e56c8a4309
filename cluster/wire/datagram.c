/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/wire/datagram.h"

#include <string.h>

#include <rapahub/error.h>

#include "cluster/base/ids.h"

#define VERSION    1
#define HEALTH_MAX 8
#define RULE       "cluster.swim.datagram"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "datagrams are little-endian");
#define PUT(to, at, number)    memcpy((to) + (at), &(number), sizeof(number))
#define TAKE(number, from, at) memcpy(&(number), (from) + (at), sizeof(number))

void cluster_datagram_write_clear(const struct cluster_datagram_clear *clear,
                                  uint8_t to[CLUSTER_DATAGRAM_CLEAR])
{
    to[0] = VERSION;
    to[1] = clear->key;
    PUT(to, 2, clear->size);
    PUT(to, 4, clear->node);
    memcpy(to + 8, clear->salt, sizeof clear->salt);
    PUT(to, 24, clear->counter);
}

/* r[impl cluster.swim.datagram] */
int cluster_datagram_read_clear(const uint8_t *from, size_t size,
                                struct cluster_datagram_clear *out)
{
    if (size < CLUSTER_DATAGRAM_CLEAR + CLUSTER_DATAGRAM_HEAD + CLUSTER_DATAGRAM_TAG ||
        size > CLUSTER_DATAGRAM_CLEAR + CLUSTER_DATAGRAM_PAYLOAD_MAX + CLUSTER_DATAGRAM_TAG)
        return rapahub_fail(RAPAHUB_EPROTOCOL, RULE, "no datagram has %zu bytes", size);
    if (from[0] != VERSION)
        return rapahub_fail(RAPAHUB_EPROTOCOL, RULE, "it is of version %u", from[0]);
    out->key = from[1];
    TAKE(out->size, from, 2);
    TAKE(out->node, from, 4);
    memcpy(out->salt, from + 8, sizeof out->salt);
    TAKE(out->counter, from, 24);
    if (out->size != size - CLUSTER_DATAGRAM_CLEAR)
        return rapahub_fail(RAPAHUB_EPROTOCOL, RULE, "it is to have %u bytes after its header",
                            out->size);
    return out->node != 0 ? 0 : rapahub_fail(RAPAHUB_EPROTOCOL, RULE, "no node has number 0");
}

static void write_update(const struct cluster_update *update, uint8_t *to)
{
    PUT(to, 0, update->id);
    PUT(to, 4, update->session);
    PUT(to, 12, update->refutations);
    PUT(to, 16, update->from);
    to[20] = update->state;
}

size_t cluster_datagram_write(const struct cluster_datagram *datagram,
                              uint8_t to[CLUSTER_DATAGRAM_PAYLOAD_MAX])
{
    to[0] = datagram->type;
    to[1] = datagram->health;
    to[2] = datagram->updates_count;
    to[3] = 0;
    PUT(to, 4, datagram->sequence);
    PUT(to, 8, datagram->target);
    PUT(to, 12, datagram->refutations);
    PUT(to, CLUSTER_DATAGRAM_SESSION, datagram->session);
    PUT(to, 24, datagram->revision);
    for (size_t i = 0; i < datagram->updates_count; i++)
        write_update(&datagram->updates[i],
                     to + CLUSTER_DATAGRAM_HEAD + i * CLUSTER_DATAGRAM_UPDATE);
    return CLUSTER_DATAGRAM_HEAD + (size_t)datagram->updates_count * CLUSTER_DATAGRAM_UPDATE;
}

bool cluster_datagram_update_is_sound(const struct cluster_update *update)
{
    return update->id != 0 && update->from != 0 && cluster_ids_is_revision(update->session) &&
           update->refutations < UINT32_MAX && update->state >= CLUSTER_DATAGRAM_ALIVE &&
           update->state < CLUSTER_DATAGRAM_STATES;
}

static int read_update(const uint8_t *from, struct cluster_update *out)
{
    TAKE(out->id, from, 0);
    TAKE(out->session, from, 4);
    TAKE(out->refutations, from, 12);
    TAKE(out->from, from, 16);
    out->state = from[20];
    return cluster_datagram_update_is_sound(out) ? 0 : RAPAHUB_EPROTOCOL;
}

static bool head_is_sound(const struct cluster_datagram *datagram, uint8_t zero, size_t size)
{
    return datagram->type >= CLUSTER_DATAGRAM_PING && datagram->type < CLUSTER_DATAGRAM_TYPES &&
           datagram->health <= HEALTH_MAX && zero == 0 &&
           datagram->updates_count <= CLUSTER_DATAGRAM_UPDATES_MAX &&
           size ==
               CLUSTER_DATAGRAM_HEAD + (size_t)datagram->updates_count * CLUSTER_DATAGRAM_UPDATE &&
           (datagram->target != 0) == (datagram->type != CLUSTER_DATAGRAM_GOSSIP) &&
           cluster_ids_is_revision(datagram->session) && datagram->refutations < UINT32_MAX;
}

/* r[impl cluster.swim.datagram] */
int cluster_datagram_read(const uint8_t *from, size_t size, struct cluster_datagram *out)
{
    if (size < CLUSTER_DATAGRAM_HEAD)
        return rapahub_fail(RAPAHUB_EPROTOCOL, RULE, "no payload has %zu bytes", size);
    out->type = from[0];
    out->health = from[1];
    out->updates_count = from[2];
    TAKE(out->sequence, from, 4);
    TAKE(out->target, from, 8);
    TAKE(out->refutations, from, 12);
    TAKE(out->session, from, CLUSTER_DATAGRAM_SESSION);
    TAKE(out->revision, from, 24);
    if (!head_is_sound(out, from[3], size))
        return rapahub_fail(RAPAHUB_EPROTOCOL, RULE, "the head of a payload is not sound");
    for (size_t i = 0; i < out->updates_count; i++)
        if (read_update(from + CLUSTER_DATAGRAM_HEAD + i * CLUSTER_DATAGRAM_UPDATE,
                        &out->updates[i]) < 0)
            return rapahub_fail(RAPAHUB_EPROTOCOL, RULE, "update %zu is not sound", i);
    return 0;
}
