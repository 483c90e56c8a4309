/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/suite.h"

#include <stddef.h>
#include <string.h>

static const struct suite_subject *const tables[] = {
    bases_subjects,      calls_subjects,       direct_subjects,     streams_subjects,
    threads_subjects,    guests_subjects,      idle_subjects,       processes_subjects,
    exact_subjects,      starts_subjects,      storm_subjects,      peers_subjects,
    pinned_subjects,     ring_subjects,
#ifdef BENCH_HAS_CLUSTER
    node_calls_subjects, node_copies_subjects, node_lives_subjects, node_store_subjects,
    node_tls_subjects,
#endif
};

const char *suite_mode_name(enum suite_mode mode)
{
    static const char *const names[] = {"adapt", "poll", "sleep", "bell"};

    return names[mode];
}

const char *suite_place_name(enum suite_place place)
{
    static const char *const names[] = {"cross", "same", "free"};

    return names[place];
}

const struct suite_subject *suite_at(unsigned index)
{
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        for (const struct suite_subject *at = tables[i]; at->id; at++)
            if (index-- == 0)
                return at;
    return NULL;
}

const struct suite_subject *suite_find(const char *id)
{
    const struct suite_subject *at;

    for (unsigned i = 0; (at = suite_at(i)); i++)
        if (strcmp(at->id, id) == 0)
            return at;
    return NULL;
}
