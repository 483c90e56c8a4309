/* SPDX-License-Identifier: Apache-2.0 */
/* conformance_step: what every back end of the metastore keeps of its step and its bounds, shown
 * through the interface alone. */
#ifndef TESTS_METASTORE_CONFORMANCE_STEP_H
#define TESTS_METASTORE_CONFORMANCE_STEP_H

#include "tests/metastore/store_stage.h"

/* Runs all tests on stores of this back end, each on a new one. Returns how many failed. */
int conformance_step_run(const struct cluster_metastore_end *end);

#endif
