/* SPDX-License-Identifier: Apache-2.0 */
/* raw: the functions of <rapahub/route.h>. */
#include <rapahub/route.h>

#include "host/call/raw_call.h"
#include "host/call/router.h"
#include "host/container/container_lifecycle.h"
#include "host/host.h"
#include "host/owner/forked.h"
#include "host/owner/threads.h"
#include "host/turn.h"

int rapahub_host_call_raw(struct rapahub_host *host, const struct rapahub_raw_call *call,
                          rapahub_on_raw *on_done, void *user, struct rapahub_request_id *out)
{
    struct host_raw_begun begun;
    int r = host_forked_check(HOST_OWNER(host));

    if (r == 0)
        r = host_raw_call_begin(HOST_CALL(host), call, on_done, user, &begun);
    if (r < 0)
        return r;
    if (out)
        out->number = begun.number;
    host_turn_expect(host, begun.deadline_ns);
    return 0;
}

static int run_set(struct host_owner *host, void *argument)
{
    return host_router_set(HOST_CALL(host), argument);
}

int rapahub_host_set_router(struct rapahub_host *host, const struct rapahub_router *router)
{
    return host_threads_run(HOST_OWNER(host), run_set, (void *)(uintptr_t)router);
}

struct inquiries_job {
    const struct rapahub_container_options *options;
    const struct rapahub_inquiries *inquiries;
};

static int run_offer(struct host_owner *host, void *argument)
{
    const struct inquiries_job *job = argument;

    if (job->options->routed || job->options->managed)
        return rapahub_fail(RAPAHUB_EINVAL, "", "inquiries are neither routed nor managed");
    return host_container_lifecycle_inquire(HOST_CALL(host), job->options, job->inquiries);
}

int rapahub_host_offer_inquiries(struct rapahub_host *host,
                                 const struct rapahub_container_options *options,
                                 const struct rapahub_inquiries *inquiries)
{
    struct inquiries_job job = {options, inquiries};

    return host_threads_run(HOST_OWNER(host), run_offer, &job);
}

int rapahub_host_answer_raw(struct rapahub_host *host, struct rapahub_request_id request,
                            const struct rapahub_raw_answer *answer)
{
    int r = host_forked_check(HOST_OWNER(host));

    return r < 0 ? r : host_router_answer(HOST_CALL(host), request.number, answer);
}
