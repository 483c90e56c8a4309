/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/core/calls/receive.h"

#include <rapahub/error.h>

#include "hub/base/check.h"

static void run(struct cluster_receive *receive, const struct cluster_dedup_call *call,
                uint32_t payload, struct cluster_effect effect)
{
    struct cluster_payload_body body = cluster_payload_body(receive->payload, payload);
    const struct cluster_local_container *local =
        cluster_local_containers_find(receive->locals, call->pool, call->container);

    ENSURE(local != NULL);
    effect.token = local->token;
    effect.kind = CLUSTER_EFFECT_RUN;
    effect.pool = call->pool;
    effect.container = call->container;
    effect.method = call->method;
    effect.uid = call->uid;
    effect.payload = body.number;
    effect.body = body.bytes;
    cluster_effects_add(receive->effects, &effect);
}

/* The end of a run comes with the id of its effect, which leads to the admitted call. */
static enum cluster_receive_outcome admit(struct cluster_receive *receive,
                                          const struct cluster_dedup_call *call, uint32_t payload,
                                          uint64_t deadline_ns)
{
    struct cluster_pending_question question = {.kind = CLUSTER_EFFECT_RUN};
    uint64_t id;

    if (cluster_effects_space(receive->effects) == 0 ||
        cluster_pending_space(receive->pending) == 0 ||
        cluster_dedup_admit(receive->dedup, call, &question.subject) < 0)
        return CLUSTER_RECEIVED_BUSY;
    id = cluster_pending_add(receive->pending, &question);
    ENSURE(id != 0);
    run(receive, call, payload,
        (struct cluster_effect){
            .id = id, .at_ns = deadline_ns, .chain = cluster_dedup_chain(receive->dedup, call)});
    return CLUSTER_RECEIVED_RUNS;
}

void cluster_receive_call(struct cluster_receive *receive, const struct cluster_dedup_call *call,
                          uint32_t payload, uint64_t deadline_ns,
                          struct cluster_receive_result *out)
{
    *out = (struct cluster_receive_result){.outcome = CLUSTER_RECEIVED_REFUSED};
    switch (cluster_dedup_look(receive->dedup, call, &out->answer)) {
    case CLUSTER_VERDICT_NEW:
        out->outcome = admit(receive, call, payload, deadline_ns);
        return;
    case CLUSTER_VERDICT_RUNNING:
        out->outcome = CLUSTER_RECEIVED_RUNS;
        return;
    case CLUSTER_VERDICT_DONE:
        out->outcome = CLUSTER_RECEIVED_ANSWERED;
        return;
    case CLUSTER_VERDICT_ENDED:
        out->answer.status = RAPAHUB_ESTALE;
        return;
    case CLUSTER_VERDICT_LOST:
    case CLUSTER_VERDICT_OTHER:
    case CLUSTER_VERDICT_MAYBE:
        out->answer.status = RAPAHUB_EMAYBE;
        return;
    }
}

static bool has_ended(const struct cluster_receive *receive, const struct cluster_effect *run)
{
    const struct cluster_local_container *local =
        cluster_local_containers_find(receive->locals, run->pool, run->container);

    return !local || local->state == CLUSTER_LOCAL_DOWN || local->token != run->token;
}

/* Effects wait for a step where there are many. Outside, such a call would wait for the next life,
 * and run there beside the run by which it is repeated. r[impl cluster.core.ended] */
void cluster_receive_sift(struct cluster_receive *receive, struct cluster_effects *effects)
{
    uint32_t kept = 0;
    uint64_t subject;

    for (uint32_t i = 0; i < effects->count; i++) {
        const struct cluster_effect *effect = &effects->effects[i];

        if (effect->kind == CLUSTER_EFFECT_RUN && has_ended(receive, effect))
            (void)cluster_pending_end(receive->pending, effect->id, CLUSTER_EFFECT_RUN, &subject);
        else if (kept++ != i)
            effects->effects[kept - 1] = *effect;
    }
    effects->count = kept;
}

/* r[impl cluster.core.answer] */
bool cluster_receive_end(struct cluster_receive *receive, uint64_t id,
                         const struct cluster_dedup_answer *answer, struct cluster_receive_end *out)
{
    struct cluster_payload_body body;
    uint64_t number, weight = 0;

    if (!cluster_pending_end(receive->pending, id, CLUSTER_EFFECT_RUN, &number) ||
        !cluster_dedup_where(receive->dedup, number, &out->pool, &out->container))
        return false;
    if (answer->payload != 0) {
        body = cluster_payload_body(receive->payload, answer->payload);
        weight = cluster_payload_weight(&body);
    }
    return cluster_dedup_end(receive->dedup, number, answer, weight, &out->asker) != 0;
}
