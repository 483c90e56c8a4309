/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/base/entry.h"

#include "cluster/base/ids.h"

#define NONE        HUB_TO(CLUSTER_ENTRY_NONE)
#define STARTING    HUB_TO(CLUSTER_ENTRY_STARTING)
#define ACTIVE      HUB_TO(CLUSTER_ENTRY_ACTIVE)
#define MIGRATING   HUB_TO(CLUSTER_ENTRY_MIGRATING)
#define RECOVERING  HUB_TO(CLUSTER_ENTRY_RECOVERING)
#define RESTARTING  HUB_TO(CLUSTER_ENTRY_RESTARTING)
#define PASSIVE     HUB_TO(CLUSTER_ENTRY_PASSIVE)
#define QUARANTINED HUB_TO(CLUSTER_ENTRY_QUARANTINED)
#define BEGINNING   (STARTING | RECOVERING | RESTARTING)
#define OWNED       (BEGINNING | ACTIVE | MIGRATING)
#define STAYS       0

const struct hub_states cluster_entry_states = {
    "cluster.entry",
    {[CLUSTER_ENTRY_NONE] = {"NONE", STARTING},
     [CLUSTER_ENTRY_STARTING] = {"STARTING",
                                 NONE | STARTING | ACTIVE | RECOVERING | RESTARTING | QUARANTINED},
     [CLUSTER_ENTRY_ACTIVE] = {"ACTIVE",
                               NONE | ACTIVE | MIGRATING | RECOVERING | RESTARTING | PASSIVE},
     [CLUSTER_ENTRY_MIGRATING] = {"MIGRATING", NONE | ACTIVE | RECOVERING | RESTARTING},
     [CLUSTER_ENTRY_RECOVERING] = {"RECOVERING",
                                   NONE | ACTIVE | RECOVERING | RESTARTING | QUARANTINED},
     [CLUSTER_ENTRY_RESTARTING] = {"RESTARTING",
                                   NONE | ACTIVE | RECOVERING | RESTARTING | QUARANTINED},
     [CLUSTER_ENTRY_PASSIVE] = {"PASSIVE", NONE | STARTING},
     [CLUSTER_ENTRY_QUARANTINED] = {"QUARANTINED", NONE | RECOVERING}}};

const struct cluster_entry_transition cluster_entry_transitions[] = {
    {"it is created", NONE, STARTING, CLUSTER_ENTRY_ANY, true},
    {"its owner has begun it", BEGINNING, ACTIVE, CLUSTER_ENTRY_SAME, false},
    {"it failed to begin, or its owner is fenced", BEGINNING, STAYS, CLUSTER_ENTRY_ANY, true},
    {"it failed to begin too often", BEGINNING, QUARANTINED, CLUSTER_ENTRY_NOBODY, true},
    {"it is to move", ACTIVE, MIGRATING, CLUSTER_ENTRY_SAME, false},
    {"it has moved", MIGRATING, ACTIVE, CLUSTER_ENTRY_ARRIVED, true},
    {"it does not move", MIGRATING, ACTIVE, CLUSTER_ENTRY_SAME, false},
    {"another version of its module has taken over", ACTIVE, STAYS, CLUSTER_ENTRY_SAME, false},
    {"its owner's daemon has come back", OWNED, RESTARTING, CLUSTER_ENTRY_SAME_NODE, true},
    {"its owner is fenced, or gave it up", OWNED, RECOVERING, CLUSTER_ENTRY_ANY, true},
    {"it was idle", ACTIVE, PASSIVE, CLUSTER_ENTRY_NOBODY, true},
    {"it is called again", PASSIVE, STARTING, CLUSTER_ENTRY_ANY, true},
    {"the operator has released it", QUARANTINED, RECOVERING, CLUSTER_ENTRY_ANY, true},
    {"its pool is removed", OWNED | PASSIVE | QUARANTINED, NONE, CLUSTER_ENTRY_NOBODY, false},
    {NULL, 0, 0, CLUSTER_ENTRY_NOBODY, false}};

static bool is_owned(const struct cluster_entry *entry)
{
    return (HUB_TO(entry->state) & OWNED) != 0;
}

/* r[impl cluster.entry.sound] */
bool cluster_entry_is_sound(const struct cluster_entry *entry)
{
    bool moves = entry->state == CLUSTER_ENTRY_MIGRATING;

    if (entry->state == CLUSTER_ENTRY_NONE || entry->state >= CLUSTER_ENTRY_STATES)
        return false;
    if (is_owned(entry) != (entry->owner != 0) || is_owned(entry) != (entry->session != 0) ||
        (moves && (entry->destination == 0 || entry->op == 0)) ||
        (entry->destination != 0 && !moves && entry->state != CLUSTER_ENTRY_QUARANTINED))
        return false;
    if (is_owned(entry) && !cluster_ids_is_revision(entry->session))
        return false;
    return entry->epoch > 0 && entry->epoch <= CLUSTER_EPOCH_MAX &&
           cluster_ids_is_lineage(entry->lineage) &&
           cluster_ids_epoch(entry->lineage) <= entry->epoch &&
           (!moves || entry->destination != entry->owner);
}

uint32_t cluster_entry_holder(const struct cluster_entry *entry)
{
    return entry->state == CLUSTER_ENTRY_QUARANTINED ? entry->destination : entry->owner;
}

static bool has_right_owner(enum cluster_entry_owner owner, const struct cluster_entry *before,
                            const struct cluster_entry *after)
{
    switch (owner) {
    case CLUSTER_ENTRY_SAME:
        return after->owner == before->owner && after->session == before->session;
    case CLUSTER_ENTRY_SAME_NODE:
        return after->owner == before->owner;
    case CLUSTER_ENTRY_ARRIVED:
        return after->owner == before->destination;
    case CLUSTER_ENTRY_NOBODY:
        return after->owner == 0;
    case CLUSTER_ENTRY_ANY:
        break;
    }
    return true;
}

/* The history of calls goes on, or begins with the new epoch. r[impl cluster.entry.lineage] */
static bool has_right_lineage(const struct cluster_entry *before, const struct cluster_entry *after)
{
    return after->lineage == before->lineage ||
           (after->epoch > before->epoch && after->lineage == cluster_ids_lineage(after->epoch, 0));
}

static bool leads(const struct cluster_entry_transition *row, const struct cluster_entry *before,
                  const struct cluster_entry *after)
{
    uint32_t to = row->to == STAYS ? HUB_TO(before->state) : row->to;

    return (HUB_TO(before->state) & row->from) != 0 && HUB_TO(after->state) == to &&
           has_right_owner(row->owner, before, after) &&
           (after->state == CLUSTER_ENTRY_NONE ||
            (after->epoch == before->epoch + row->raises && has_right_lineage(before, after)));
}

/* r[impl cluster.entry.transitions] */
const struct cluster_entry_transition *cluster_entry_transition(const struct cluster_entry *before,
                                                                const struct cluster_entry *after)
{
    static const struct cluster_entry none = {.state = CLUSTER_ENTRY_NONE};
    const struct cluster_entry_transition *row = cluster_entry_transitions;

    if ((before && !cluster_entry_is_sound(before)) || (after && !cluster_entry_is_sound(after)))
        return NULL;
    while (row->when && !leads(row, before ? before : &none, after ? after : &none))
        row++;
    return row->when ? row : NULL;
}
