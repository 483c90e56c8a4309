/* SPDX-License-Identifier: Apache-2.0 */
/* conformance_watch: what every back end of the metastore keeps of watches, shown through the
 * interface alone. */
#ifndef TESTS_METASTORE_CONFORMANCE_WATCH_H
#define TESTS_METASTORE_CONFORMANCE_WATCH_H

#include "tests/metastore/store_stage.h"

/* Runs all tests on stores of this back end, each on a new one. Returns how many failed. */
int conformance_watch_run(const struct cluster_metastore_end *end);

#endif
