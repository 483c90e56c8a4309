/* SPDX-License-Identifier: Apache-2.0 */
/* The suites of conformance on a real etcd, plain and by TLS. */
#include "tests/metastore/conformance.h"
#include "tests/metastore/conformance_step.h"
#include "tests/metastore/conformance_watch.h"
#include "tests/metastore/etcd_process.h"

static int run(const struct etcd_process_options *options, const struct cluster_metastore_end *end)
{
    struct etcd_process etcd;
    int failed;

    etcd_process_begin(&etcd, options);
    etcd_process_of_suite = &etcd;
    failed = conformance_run(end) + conformance_watch_run(end) + conformance_step_run(end);
    etcd_process_end(&etcd);
    return failed;
}

int main(void)
{
    const struct etcd_process_options plain = {.members = 1}, tls = {.members = 1, .tls = true};
    int failed;

    if (!etcd_process_possible())
        return PROCESS_SKIPPED;
    failed = run(&plain, &etcd_process_suite_end);
    return run(&tls, &etcd_process_tls_suite_end) + failed;
}
