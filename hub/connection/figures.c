/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/connection/figures.h"

const struct hub_figure_kind hub_figures_kinds[HUB_FIGURES_COUNT] = {
    [HUB_FIGURE_SENT] = {"messages_sent", false},
    [HUB_FIGURE_RECEIVED] = {"messages_received", false},
    [HUB_FIGURE_SENT_BYTES] = {"bytes_sent", false},
    [HUB_FIGURE_RECEIVED_BYTES] = {"bytes_received", false},
    [HUB_FIGURE_SENT_SLOTS] = {"slots_sent", false},
    [HUB_FIGURE_RECEIVED_SLOTS] = {"slots_received", false},
    [HUB_FIGURE_WAITS_RING] = {"waits_for_ring", false},
    [HUB_FIGURE_WAITS_SLOT] = {"waits_for_slot", false},
    [HUB_FIGURE_WAITS_CREDIT] = {"waits_for_credit", false},
    [HUB_FIGURE_WAKES_FUTEX] = {"wakes_by_futex", false},
    [HUB_FIGURE_WAKES_BELL] = {"wakes_by_bell", false},
    [HUB_FIGURE_WAKES_SAVED] = {"wakes_saved", false},
    [HUB_FIGURE_BELLS_OWED] = {"bells_owed", false},
    [HUB_FIGURE_FLOODS] = {"floods", false},
    [HUB_FIGURE_CALLS_ANSWERED] = {"calls_answered", false},
    [HUB_FIGURE_CALLS_LOST] = {"calls_lost", false},
    [HUB_FIGURE_CALLS_LATE] = {"calls_late", false},
    [HUB_FIGURE_REQUESTS_UNKNOWN] = {"requests_unknown", false},
    [HUB_FIGURE_REQUESTS_REFUSED] = {"requests_refused", false},
    [HUB_FIGURE_REFUSED_BY_BUDGET] = {"refused_by_budget", false},
    [HUB_FIGURE_ORPHANS] = {"orphans", false},
    [HUB_FIGURE_STRAY_BITS] = {"stray_bits", true},
    [HUB_FIGURE_RING_OUT] = {"ring_out", true},
    [HUB_FIGURE_RING_IN] = {"ring_in", true},
    [HUB_FIGURE_SLOTS_FREE] = {"slots_free", true},
    [HUB_FIGURE_SLOTS_TOTAL] = {"slots_total", true},
    [HUB_FIGURE_SLOTS_GRANTED] = {"slots_granted", true},
    [HUB_FIGURE_CALLS_OPEN] = {"calls_open", true},
    [HUB_FIGURE_CALLS_SERVED] = {"calls_served", true},
    [HUB_FIGURE_BYTES_KEPT] = {"bytes_kept", true},
    [HUB_FIGURE_CHANNELS_OPEN] = {"channels_open", true},
};

static void read_link(const struct hub_link *link, uint64_t *values)
{
    const struct hub_link_counters *counters = hub_link_counters(link);
    struct hub_link_gauges gauges;

    hub_link_gauge(link, &gauges);
    values[HUB_FIGURE_SENT] = hub_load_relaxed64(&counters->sent);
    values[HUB_FIGURE_RECEIVED] = hub_load_relaxed64(&counters->received);
    values[HUB_FIGURE_SENT_BYTES] = hub_load_relaxed64(&counters->sent_bytes);
    values[HUB_FIGURE_RECEIVED_BYTES] = hub_load_relaxed64(&counters->received_bytes);
    values[HUB_FIGURE_SENT_SLOTS] = hub_load_relaxed64(&counters->sent_slots);
    values[HUB_FIGURE_RECEIVED_SLOTS] = hub_load_relaxed64(&counters->received_slots);
    values[HUB_FIGURE_WAITS_RING] = hub_load_relaxed64(&counters->waits_ring);
    values[HUB_FIGURE_WAITS_SLOT] = hub_load_relaxed64(&counters->waits_slot);
    values[HUB_FIGURE_RING_OUT] = gauges.ring_out;
    values[HUB_FIGURE_RING_IN] = gauges.ring_in;
    values[HUB_FIGURE_SLOTS_FREE] = gauges.slots.free;
    values[HUB_FIGURE_SLOTS_TOTAL] = gauges.slots.total;
    values[HUB_FIGURE_SLOTS_GRANTED] = gauges.slots.granted;
    values[HUB_FIGURE_STRAY_BITS] = gauges.slots.stray;
}

static void read_wait(const struct hub_wait *wait, uint64_t *values)
{
    values[HUB_FIGURE_WAKES_FUTEX] = hub_load_relaxed64(&wait->wakes_futex);
    values[HUB_FIGURE_WAKES_BELL] = hub_load_relaxed64(&wait->wakes_bell);
    values[HUB_FIGURE_WAKES_SAVED] = hub_load_relaxed64(&wait->wakes_saved);
    values[HUB_FIGURE_BELLS_OWED] = hub_load_relaxed64(&wait->bells_owed);
    values[HUB_FIGURE_FLOODS] = hub_load_relaxed64(&wait->flood.count);
}

static void read_budget(const struct hub_budget *budget, uint64_t *values)
{
    values[HUB_FIGURE_REFUSED_BY_BUDGET] = hub_load_relaxed64(&budget->refused);
    values[HUB_FIGURE_BYTES_KEPT] = hub_load_relaxed64(&budget->used);
}

void hub_figures_read(const struct hub_connection *connection, uint64_t values[HUB_FIGURES_COUNT])
{
    read_link(connection->link, values);
    read_wait(hub_link_wakes(connection->link), values);
    values[HUB_FIGURE_CALLS_ANSWERED] = hub_calls_answered(connection->calls);
    values[HUB_FIGURE_CALLS_LOST] = hub_calls_lost(connection->calls);
    values[HUB_FIGURE_CALLS_LATE] = hub_calls_late(connection->calls);
    values[HUB_FIGURE_REQUESTS_UNKNOWN] = hub_load_relaxed64(&connection->unknown);
    values[HUB_FIGURE_REQUESTS_REFUSED] = hub_load_relaxed64(&connection->refused);
    read_budget(hub_inbound_calls_budget(connection->served), values);
    values[HUB_FIGURE_CALLS_OPEN] = hub_calls_open(connection->calls);
    values[HUB_FIGURE_CALLS_SERVED] = hub_inbound_calls_open(connection->served);
    values[HUB_FIGURE_CHANNELS_OPEN] = hub_channels_count(connection->channels);
    values[HUB_FIGURE_ORPHANS] = hub_channels_orphans(connection->channels);
    values[HUB_FIGURE_WAITS_CREDIT] = hub_channels_waits(connection->channels);
}
