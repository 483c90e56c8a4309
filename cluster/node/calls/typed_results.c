/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/calls/typed_results.h"

#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "hub/base/own.h"
#include "hub/wire/align.h"
#include "hub/wire/payload.h"
#include "hub/wire/postcard.h"
#include "hub/wire/signature.h"

static char *copy_text(struct rapahub_string text)
{
    char *copy = malloc(text.size + 1);

    if (copy) {
        memcpy(copy, text.data, text.size);
        copy[text.size] = '\0';
    }
    return copy;
}

void cluster_typed_results_visit(const struct cluster_record_module *manifest,
                                 void (*visit)(void *visitor, const char *signature), void *visitor)
{
    struct cluster_list methods = manifest->methods;
    struct cluster_record_method method;

    while (cluster_record_next_method(&methods, &method)) {
        OWN(hub_memory) char *signature = copy_text(method.signature);

        if (signature)
            visit(visitor, signature);
    }
}

static int find(const struct cluster_record_module *manifest, uint64_t id,
                struct hub_signature **out)
{
    struct cluster_list methods = manifest ? manifest->methods : (struct cluster_list){.count = 0};
    struct cluster_record_method method;

    while (cluster_record_next_method(&methods, &method)) {
        OWN(hub_memory) char *text = NULL;

        if (method.id != id)
            continue;
        text = copy_text(method.signature);
        return text ? hub_signature_parse(text, out) : RAPAHUB_ENOMEM;
    }
    return RAPAHUB_ENOMETHOD;
}

/* Reads the result into memory of its own; that of bytes and strings is the answer's. */
static int read_result(const struct rapahub_type *type, struct rapahub_bytes payload,
                       struct hub_align *aligned, void *value)
{
    const struct rapahub_type *const types[] = {type, NULL};
    const size_t places[] = {0};
    struct hub_reader reader;
    int status;

    hub_reader_init(&reader, payload.data, payload.size);
    hub_payload_decode(&reader, type, value);
    status = hub_postcard_end(&reader);
    return status == 0 && hub_align_concerns(type) ? hub_align_values(types, value, places, aligned)
                                                   : status;
}

/* r[impl cluster.node.each] */
void cluster_typed_results_tell(const struct cluster_record_module *manifest, uint64_t method,
                                const struct rapahub_query *query, struct rapahub_container_id from,
                                const struct rapahub_raw_answer *answer)
{
    OWN(hub_signature) struct hub_signature *signature = NULL;
    OWN(hub_memory) void *value = NULL;
    struct hub_align aligned = {NULL, 0};
    int status = answer->status;

    if (status == 0)
        status = find(manifest, method, &signature);
    if (status == 0 && signature->types[0]->size > 0) {
        value = calloc(1, signature->types[0]->size);
        status = value ? read_result(signature->types[0], answer->payload, &aligned, value)
                       : RAPAHUB_ENOMEM;
    }
    query->each(query->user, from, status, status == 0 ? value : NULL);
    hub_align_fini(&aligned);
}
