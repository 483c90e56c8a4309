/* SPDX-License-Identifier: Apache-2.0 */
/* The suites of conformance on SQLite, and on the oracle that others are compared with. */
#include "cluster/metastore/sqlite/sqlite.h"
#include "tests/metastore/conformance.h"
#include "tests/metastore/conformance_step.h"
#include "tests/metastore/conformance_watch.h"
#include "tests/metastore/oracle.h"

static int run(const struct cluster_metastore_end *end)
{
    return conformance_run(end) + conformance_watch_run(end) + conformance_step_run(end);
}

int main(void)
{
    int failed = run(&oracle_end);

    return run(&cluster_sqlite_end) + failed;
}
