/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/detection/detector_members.h"

#include <stdio.h>

#include <rapahub/error.h>

struct cluster_detector_member *cluster_detector_members_find(
    struct cluster_detector_members *members, uint32_t node)
{
    for (uint32_t i = 0; i < members->count; i++)
        if (members->all[i].node == node)
            return &members->all[i];
    return NULL;
}

/* Each node writes its own record: an address that is none in numbers is left out. */
static void note_address(struct cluster_detector_member *member, struct cluster_list list)
{
    struct rapahub_string text;
    char copy[CLUSTER_HOST_PORT_HOST + 16];
    struct cluster_host_port where;

    member->address.size = 0;
    while (member->address.size == 0 && cluster_record_next_address(&list, &text)) {
        if (text.size >= sizeof copy)
            continue;
        snprintf(copy, sizeof copy, "%.*s", (int)text.size, text.data);
        if (cluster_host_port_parse(copy, &where) < 0)
            rapahub_clear_error();
        else
            (void)cluster_host_port_in_numbers(&where, &member->address);
    }
}

struct cluster_detector_member *cluster_detector_members_note(
    struct cluster_detector_members *members, uint32_t node, uint64_t session,
    const struct cluster_record_node *record)
{
    struct cluster_detector_member *member = cluster_detector_members_find(members, node);

    if (!member && members->count == CLUSTER_DETECTOR_MEMBERS_MAX)
        return NULL;
    if (!member) {
        member = &members->all[members->count++];
        *member = (struct cluster_detector_member){.node = node};
    }
    if (session != 0)
        member->session = session;
    note_address(member, record->addresses);
    return member;
}

void cluster_detector_members_remove(struct cluster_detector_members *members, uint32_t node)
{
    struct cluster_detector_member *member = cluster_detector_members_find(members, node);

    if (member)
        *member = members->all[--members->count];
}
