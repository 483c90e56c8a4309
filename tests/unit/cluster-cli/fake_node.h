/* SPDX-License-Identifier: Apache-2.0 */
/* fake_node: the functions of <rapahub/client.h> without a node behind them: they write down what
 * is asked, and answer what a test has said. */
#ifndef TESTS_UNIT_CLUSTER_CLI_FAKE_NODE_H
#define TESTS_UNIT_CLUSTER_CLI_FAKE_NODE_H

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rapahub/client.h>
#include <rapahub/error.h>

#include "hub/wire/signature.h"
#include "hub/wire/text.h"

#define FAKE_ANSWERS 8
#define FAKE_ASKED   4096

/* The answer to a method, by its name. */
struct fake_answer {
    const char *method;
    int status;
    const char *text; /* a string that it returns, or that of a failure */
    uint64_t number;  /* a number that it returns */
};

struct fake_node {
    int open_status; /* of rapahub_client_open */
    struct fake_answer answers[FAKE_ANSWERS];
    unsigned containers;    /* of the pool that is called */
    int failing;            /* a container whose calls fail; -1: none */
    unsigned interrupts;    /* SIGINT that a call sends to its own process, and waits for */
    char asked[FAKE_ASKED]; /* methods and arguments, a line each */
    char opened[128];       /* the node that was named */
    uint64_t wait_ns, timeout_ns;
    unsigned closed;
};

static struct fake_node fake_node;

static const char digest[] = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

/* A call that was started, until it is told. */
struct rapahub_client {
    pthread_t thread;
    bool started;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool cancelled, closing;
    struct hub_signature *signature;
    struct rapahub_query query;
    struct rapahub_container_id target;
    bool has_query;
    int64_t argument;
    rapahub_on_done *on_done;
    void *user;
};

/* Sets the answer to a method. */
static void fake_node_answer(const struct fake_answer *answer)
{
    for (unsigned i = 0; i < FAKE_ANSWERS; i++) {
        struct fake_answer *at = &fake_node.answers[i];

        if (at->method && strcmp(at->method, answer->method) != 0)
            continue;
        *at = *answer;
        return;
    }
    abort();
}

static char modules_text[1024];

/* A node that has the pools tally, of 4 containers, and one, of 1, both of the module counter. */
static void fake_node_reset(void)
{
    memset(&fake_node, 0, sizeof fake_node);
    fake_node.failing = -1;
    fake_node.containers = 4;
    snprintf(modules_text, sizeof modules_text,
             "{\"schema\": \"rapahub.node.modules/1\", \"modules\": ["
             "{\"name\": \"counter\", \"version\": \"1.9.0\", \"machine\": \"x86-64\", "
             "\"sha256\": \"%s\", \"size\": 100, \"saves\": true, \"methods\": ["
             "{\"signature\": \"old() -> void\"}]}, "
             "{\"name\": \"counter\", \"version\": \"1.10.0\", \"machine\": \"x86-64\", "
             "\"sha256\": \"%s\", \"size\": 100, \"saves\": true, \"methods\": ["
             "{\"signature\": \"add(i64) -> i64\"}, {\"signature\": \"name() -> string\"}]}, "
             "{\"name\": \"other\", \"version\": \"1\", \"sha256\": \"%s\", \"size\": 5, "
             "\"methods\": []}]}",
             digest, digest, digest);
    fake_node_answer(&(struct fake_answer){"modules", 0, modules_text, 0});
    fake_node_answer(&(struct fake_answer){
        "pools", 0,
        "{\"schema\": \"rapahub.node.pools/1\", \"pools\": [{\"name\": \"tally\", \"id\": "
        "\"256.1\", \"state\": \"ACTIVE\", \"containers\": 4, \"idle_ns\": 1500000000}, "
        "{\"name\": \"one\", \"id\": \"256.2\", \"state\": \"CREATING\", \"containers\": 1, "
        "\"kept_bytes\": 2048}]}",
        0});
    fake_node_answer(&(struct fake_answer){"wait", 0, "{\"number\": \"7\", \"result\": 0}", 0});
}

static void note(const struct rapahub_call *call, const struct hub_signature *signature)
{
    size_t at = strlen(fake_node.asked);

    at += (size_t)snprintf(fake_node.asked + at, FAKE_ASKED - at, "%s(", signature->name);
    for (unsigned i = 0; i < signature->argument_count; i++) {
        char *text = hub_text_print(signature->types[1 + i], call->arguments[i]);

        at +=
            (size_t)snprintf(fake_node.asked + at, FAKE_ASKED - at, "%s%.80s", i ? ", " : "", text);
        free(text);
    }
    snprintf(fake_node.asked + at, FAKE_ASKED - at, ")\n");
}

int rapahub_client_environment(struct rapahub_client_options *options)
{
    (void)options;
    return 0;
}

int rapahub_client_open(const struct rapahub_client_options *options, struct rapahub_client **out)
{
    *out = NULL;
    snprintf(fake_node.opened, sizeof fake_node.opened, "%s",
             options->nodes ? options->nodes[0] : "");
    fake_node.wait_ns = options->wait_ns;
    if (fake_node.open_status < 0)
        return rapahub_fail(fake_node.open_status, "", "no node answers");
    *out = calloc(1, sizeof **out);
    pthread_mutex_init(&(*out)->lock, NULL);
    pthread_cond_init(&(*out)->changed, NULL);
    return 0;
}

void rapahub_client_close(struct rapahub_client *client)
{
    if (!client)
        return;
    pthread_mutex_lock(&client->lock);
    client->closing = true;
    pthread_cond_broadcast(&client->changed);
    pthread_mutex_unlock(&client->lock);
    if (client->started)
        pthread_join(client->thread, NULL);
    hub_signature_release(&client->signature);
    pthread_mutex_destroy(&client->lock);
    pthread_cond_destroy(&client->changed);
    free(client);
    fake_node.closed++;
}

int rapahub_client_pool(struct rapahub_client *client, const char *name,
                        struct rapahub_pool_id *out)
{
    (void)client;
    *out = (struct rapahub_pool_id){256, strcmp(name, "tally") == 0 ? 1 : 2};
    if (strcmp(name, "tally") == 0 || strcmp(name, "one") == 0)
        return 0;
    return rapahub_fail(RAPAHUB_ENOPOOL, "", "there is no pool '%s'", name);
}

/* ---- what is asked of rapahub.node ---- */

static const char *describe(const struct rapahub_call *call)
{
    static char text[1024];
    const struct rapahub_string *name = call->arguments[0];
    bool tally = name->size == 5 && memcmp(name->data, "tally", 5) == 0;

    if (!tally && !(name->size == 3 && memcmp(name->data, "one", 3) == 0))
        return NULL;
    snprintf(text, sizeof text,
             "{\"schema\": \"rapahub.node.pool/1\", \"name\": \"%.*s\", \"module\": \"counter\", "
             "\"version\": \"1.10.0\", \"containers\": %d, \"uptime_ns\": 2000000000, \"of\": ["
             "{\"container\": 0, \"state\": \"ACTIVE\", \"token\": \"17\"}%s]}",
             (int)name->size, name->data, tally ? 4 : 1,
             tally ? ", {\"container\": 1, \"state\": \"QUARANTINED\", \"failures\": 3, \"cause\": "
                     "\"init \\u001b[31m fails\"}"
                   : "");
    return text;
}

static int give(const struct fake_answer *answer, const struct rapahub_type *type, void *result)
{
    if (answer->status < 0)
        return rapahub_fail(answer->status, "", "%s", answer->text);
    if (type->kind == RAPAHUB_KIND_STRING)
        *(struct rapahub_string *)result = rapahub_string_of(answer->text);
    else if (type->kind == RAPAHUB_KIND_U64)
        *(uint64_t *)result = answer->number;
    else if (type->kind == RAPAHUB_KIND_BOOL)
        *(bool *)result = answer->number != 0;
    return 0;
}

static int answer(const struct rapahub_call *call, const struct hub_signature *signature,
                  void *result)
{
    const struct fake_answer none = {signature->name, RAPAHUB_ENOMETHOD, "there is no such method",
                                     0};
    const char *pool = strcmp(signature->name, "pool") == 0 ? describe(call) : NULL;

    for (unsigned i = 0; i < FAKE_ANSWERS && fake_node.answers[i].method; i++)
        if (strcmp(fake_node.answers[i].method, signature->name) == 0)
            return give(&fake_node.answers[i], signature->types[0], result);
    if (pool)
        return give(&(struct fake_answer){"pool", 0, pool, 0}, signature->types[0], result);
    return strcmp(signature->name, "pool") == 0
               ? rapahub_fail(RAPAHUB_ENOPOOL, "", "there is no such pool")
               : give(&none, signature->types[0], result);
}

int rapahub_client_call(struct rapahub_client *client, const struct rapahub_call *call,
                        void *result)
{
    struct hub_signature *signature;
    int r = hub_signature_parse(call->method, &signature);

    (void)client;
    if (r < 0)
        return r;
    if (call->target.pool.major != UINT32_MAX || call->target.pool.minor != 16 ||
        call->target.container != 0)
        abort();
    note(call, signature);
    fake_node.timeout_ns = call->timeout_ns;
    r = answer(call, signature, result);
    hub_signature_release(&signature);
    return r;
}

/* ---- calls to pools ---- */

/* The sum of the argument and the number of the container. */
static int end_one(struct rapahub_client *client, uint32_t container, int64_t *sum)
{
    *sum = client->argument + container;
    return (int)container == fake_node.failing ? rapahub_fail(RAPAHUB_EMAYBE, "", "it is \"gone\"")
                                               : 0;
}

static int end_each(struct rapahub_client *client, uint32_t from, uint32_t past)
{
    int status = 0;

    for (uint32_t c = from; c < past && (status == 0 || client->query.collect); c++) {
        struct rapahub_container_id id = {client->target.pool, c};
        int64_t sum;
        int r = end_one(client, c, &sum);

        client->query.each(client->query.user, id, r, r == 0 ? &sum : NULL);
        status = status < 0 ? status : r;
    }
    return status < 0 ? rapahub_fail(status, "", "it is \"gone\"") : 0;
}

/* Interrupts its own process. The first time it waits to be cancelled, and goes on where there is
 * a second one: then only the end of the client ends it. */
static bool wait_to_be_cancelled(struct rapahub_client *client)
{
    unsigned left = fake_node.interrupts;

    pthread_mutex_lock(&client->lock);
    while (left-- > 0) {
        client->cancelled = false;
        kill(getpid(), SIGINT);
        while (!client->closing && !(client->cancelled && (left > 0 || fake_node.interrupts == 1)))
            pthread_cond_wait(&client->changed, &client->lock);
    }
    pthread_mutex_unlock(&client->lock);
    return fake_node.interrupts > 0;
}

static void *run(void *argument)
{
    struct rapahub_client *client = argument;
    const struct rapahub_query *query = &client->query;
    int64_t sum = 0;
    int r;

    if (wait_to_be_cancelled(client))
        r = rapahub_fail(RAPAHUB_ECANCELED, "", "cancelled");
    else if (client->has_query && query->mode == RAPAHUB_QUERY_BROADCAST)
        r = end_each(client, 0, fake_node.containers);
    else if (client->has_query && query->mode == RAPAHUB_QUERY_RANGE)
        r = end_each(client, query->offset, query->offset + query->count);
    else
        r = end_one(client, client->target.container, &sum);
    client->on_done(client->user, r, r == 0 && !query->each ? &sum : NULL);
    return NULL;
}

static void note_query(const struct rapahub_call *call)
{
    static const char *const modes[] = {"direct", "local",     "physical", "hash",
                                        "range",  "broadcast", "dynamic"};
    size_t at = strlen(fake_node.asked);

    if (call->query)
        snprintf(fake_node.asked + at, FAKE_ASKED - at, "%u.%u %s %llx %u+%u ",
                 call->target.pool.major, call->target.pool.minor, modes[call->query->mode],
                 (unsigned long long)call->query->number, call->query->offset, call->query->count);
    else
        snprintf(fake_node.asked + at, FAKE_ASKED - at, "%u.%u #%u ", call->target.pool.major,
                 call->target.pool.minor, call->target.container);
}

int rapahub_client_call_async(struct rapahub_client *client, const struct rapahub_call *call,
                              rapahub_on_done *on_done, void *user, struct rapahub_request_id *out)
{
    if (client->started)
        pthread_join(client->thread, NULL);
    hub_signature_release(&client->signature);
    if (hub_signature_parse(call->method, &client->signature) < 0)
        return RAPAHUB_EINVAL;
    note_query(call);
    note(call, client->signature);
    fake_node.timeout_ns = call->timeout_ns;
    client->has_query = call->query != NULL;
    client->query = call->query ? *call->query : (struct rapahub_query){.number = 0};
    client->target = call->target;
    client->argument = client->signature->argument_count ? *(const int64_t *)call->arguments[0] : 0;
    client->on_done = on_done;
    client->user = user;
    client->cancelled = false;
    client->started = true;
    *out = (struct rapahub_request_id){1};
    return pthread_create(&client->thread, NULL, run, client) == 0 ? 0 : RAPAHUB_EAGAIN;
}

void rapahub_client_cancel(struct rapahub_client *client, struct rapahub_request_id request)
{
    (void)request;
    pthread_mutex_lock(&client->lock);
    client->cancelled = true;
    pthread_cond_broadcast(&client->changed);
    pthread_mutex_unlock(&client->lock);
}

#endif
