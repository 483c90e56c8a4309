/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/services/pool_orders.h"

#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "cluster/node/guests/spec_options.h"
#include "cluster/node/services/questions.h"
#include "hub/base/clock.h"
#include "hub/base/own.h"

/* A spec that waits for its module to be found. */
struct apply {
    bool check;
    uint8_t digest[CLUSTER_DIGEST_SIZE]; /* the spec's */
    struct cluster_pool_spec spec;
    size_t size;
    uint8_t bytes[];
};

static int order(struct cluster_asking *asking, const struct cluster_orders_order *wanted)
{
    const struct cluster_event event = {.kind = CLUSTER_EVENT_ORDER, .order = wanted};

    return cluster_event_queue_add(asking->events, &event);
}

/* ---- apply ---- */

static int check_options(const struct cluster_pool_spec *spec)
{
    OWN(hub_memory) struct cluster_spec_options *options = malloc(sizeof *options);

    return options ? cluster_spec_options_read(spec, options)
                   : rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for options");
}

static int read_spec(struct apply *apply)
{
    struct cluster_digest digest;
    int status =
        cluster_pool_spec_read((struct rapahub_bytes){apply->bytes, apply->size}, &apply->spec);

    if (status == 0)
        status = check_options(&apply->spec);
    if (status == 0)
        status = cluster_digest_begin(&digest);
    if (status < 0)
        return status;
    cluster_digest_add(&digest, apply->bytes, apply->size);
    cluster_digest_end(&digest, apply->digest);
    return 0;
}

static int check_module(const struct apply *apply, const struct cluster_page *page)
{
    const struct cluster_pool_spec *spec = &apply->spec;
    struct cluster_record record;
    int status;

    if (page->count == 0)
        return rapahub_fail(RAPAHUB_ENOENT, "cluster.node.modules",
                            "the node has no module %.*s:%.*s: push it first",
                            (int)spec->module.size, spec->module.data, (int)spec->version.size,
                            spec->version.data);
    status = cluster_record_read(CLUSTER_KEY_MODULE, page->pairs[0].value, &record);
    if (status < 0)
        return status;
    if (memcmp(record.module.digest.data, spec->digest.data, CLUSTER_DIGEST_SIZE) != 0)
        return rapahub_fail(RAPAHUB_EDIFFERS, "cluster.node.modules",
                            "the module %.*s:%.*s of this node has other bytes than the pool wants",
                            (int)spec->module.size, spec->module.data, (int)spec->version.size,
                            spec->version.data);
    return 0;
}

static void go_on(struct cluster_asking *asking, struct cluster_asker *asker,
                  const struct cluster_page *page)
{
    const struct apply *apply = asker->memory;
    int status = check_module(apply, page);

    if (status == 0 && apply->check) {
        cluster_askers_answer_number(asking->askers, asker, 0);
        return;
    }
    if (status == 0)
        status = order(
            asking, &(struct cluster_orders_order){.kind = CLUSTER_ORDER_APPLY,
                                                   .number = asker->number,
                                                   .spec = {apply->bytes, apply->size},
                                                   .digest = {apply->digest, sizeof apply->digest},
                                                   .manifest = page->pairs[0].value,
                                                   .module_revision = page->pairs[0].mod_rev});
    if (status < 0)
        cluster_askers_fail(asking->askers, asker, status, rapahub_last_error()->text);
}

static void on_module(void *user, int status, uint64_t rev, const struct cluster_page *page)
{
    struct cluster_asking_question *question = user;
    struct cluster_asking *asking = question->asking;
    struct cluster_asker *asker = cluster_questions_asker(question);

    (void)rev;
    if (status != CLUSTER_TXN_OK) {
        cluster_questions_fail_store(question, status);
        return;
    }
    cluster_questions_drop(question);
    if (asker)
        go_on(asking, asker, page);
}

static int find_module(struct cluster_asking *asking, const struct cluster_asker *asker,
                       const struct apply *apply)
{
    const struct cluster_key key = {
        .kind = CLUSTER_KEY_MODULE, .text = apply->spec.module, .version = apply->spec.version};
    char from[CLUSTER_KEYS_SIZE_MAX + 1];
    int size = cluster_keys_build(&key, from);
    struct cluster_span span = {
        .from = {from, (size_t)size}, .to = {from, (size_t)size + 1}, .pairs_max = 1};
    struct cluster_asking_question *question;
    int status;

    if (size < 0)
        return size;
    from[size] = '\0'; /* the next key there could be */
    question = cluster_questions_new(asking, asker);
    if (!question)
        return RAPAHUB_ENOMEM;
    status = cluster_metastore_range(asking->store, &span, on_module, question);
    if (status < 0)
        free(question);
    return status;
}

int cluster_pool_orders_apply(struct cluster_asking *asking, struct cluster_asker *asker,
                              struct rapahub_bytes spec, bool check)
{
    struct apply *apply = malloc(sizeof *apply + spec.size);
    int status;

    if (!apply)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for the spec of a pool");
    apply->check = check;
    apply->size = spec.size;
    if (spec.size > 0)
        memcpy(apply->bytes, spec.data, spec.size);
    asker->memory = apply;
    status = read_spec(apply);
    return status < 0 ? status : find_module(asking, asker, apply);
}

/* ---- the others ---- */

int cluster_pool_orders_remove(struct cluster_asking *asking, struct cluster_asker *asker,
                               struct rapahub_string pool)
{
    return order(asking, &(struct cluster_orders_order){
                             .kind = CLUSTER_ORDER_DELETE, .number = asker->number, .pool = pool});
}

int cluster_pool_orders_release(struct cluster_asking *asking, struct cluster_asker *asker,
                                struct rapahub_string pool, uint32_t container)
{
    return order(asking, &(struct cluster_orders_order){.kind = CLUSTER_ORDER_RELEASE,
                                                        .number = asker->number,
                                                        .pool = pool,
                                                        .container = container});
}

int cluster_pool_orders_wait(struct cluster_asking *asking, struct cluster_asker *asker,
                             uint64_t operation, uint64_t timeout_ns)
{
    if (timeout_ns > 0)
        asker->deadline_ns = hub_clock_after(timeout_ns);
    asker->operation = operation;
    return order(asking, &(struct cluster_orders_order){.kind = CLUSTER_ORDER_WAIT,
                                                        .number = asker->number,
                                                        .operation = operation});
}

/* ---- their ends ---- */

static uint64_t number_of(struct rapahub_bytes body)
{
    const uint8_t *bytes = body.data;
    uint64_t number = 0;

    for (size_t i = body.size < 8 ? body.size : 8; i-- > 0;)
        number = number << 8 | bytes[i];
    return number;
}

static void answer_wait(struct cluster_asking *asking, struct cluster_asker *asker)
{
    OWN(hub_memory) char *text = cluster_lists_operation(&asking->lists, asker->operation);

    if (text)
        cluster_askers_answer_text(asking->askers, asker, text);
    else
        cluster_askers_fail(asking->askers, asker, rapahub_last_error()->code,
                            rapahub_last_error()->text);
}

void cluster_pool_orders_ordered(struct cluster_asking *asking, const struct cluster_effect *effect)
{
    struct cluster_asker *asker = cluster_askers_find(asking->askers, effect->number);
    char text[CLUSTER_EFFECTS_BODY_MAX + 1];
    size_t size = effect->text.size;

    if (!asker)
        return;
    if (size > 0)
        memcpy(text, effect->text.data, size);
    text[size] = '\0';
    if (effect->status < 0)
        cluster_askers_fail(asking->askers, asker, effect->status, text);
    else if (asker->operation != 0)
        answer_wait(asking, asker);
    else
        cluster_askers_answer_number(asking->askers, asker, number_of(effect->body));
}

void cluster_pool_orders_cancel(struct cluster_asking *asking, uint64_t number)
{
    const struct cluster_event event = {.kind = CLUSTER_EVENT_ORDER_CANCEL, .number = number};

    if (cluster_event_queue_add(asking->events, &event) < 0)
        rapahub_clear_error(); /* its end finds no asker */
}
