/* SPDX-License-Identifier: Apache-2.0 */
/* living: a node in a thread of its own, on a folder of its own, and what tests ask of it. */
#ifndef TESTS_CLUSTER_LIVING_H
#define TESTS_CLUSTER_LIVING_H

#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rapahub/host.h>
#include <rapahub/node.h>
#include <rapahub/stream.h>

#include "cluster/store/digest.h"
#include "cluster/wire/pool_spec.h"
#include "tests/support/pause.h"
#include "tests/support/testing.h"

#define UNUSED       __attribute__((unused))
#define KV           TEST_CHIMODS "/kv.so"
#define MODULE(name) TEST_MODULES "/" name ".so"
#define SECOND       UINT64_C(1000000000)
#define PART         ((size_t)128 << 10)

#define LIVING_PLACES 4u /* for clients with shared memory */

#define assert_done(r)                                                                   \
    do {                                                                                 \
        int r_ = (r);                                                                    \
        if (r_ < 0)                                                                      \
            print_error("%s: %s\n", rapahub_error_name(r_), rapahub_last_error()->text); \
        assert_true(r_ >= 0);                                                            \
    } while (0)

struct living;
typedef void living_job(struct living *on);

struct living {
    char root[32], folder[48], run[48]; /* of all; of the node's data; of its socket */
    struct rapahub_host *host;
    struct rapahub_node *node;
    pthread_t thread;
    atomic_int state;          /* 0: it begins; 1: it serves; < 0: it failed so */
    atomic_bool stops;         /* as a crash leaves it, but in order */
    bool in_order;             /* or as a stop does */
    atomic_bool kills;         /* the guest `store` */
    atomic_bool waits;         /* for its descriptors, and looks at nothing by itself */
    _Atomic(living_job *) job; /* is done once by the owner of the host */
    bool stopped;
    char text[1024]; /* of a failure */
    atomic_uint came, left;
};

UNUSED static void living_told(void *user, struct rapahub_container_id id, uint64_t token,
                               bool came)
{
    struct living *on = user;

    (void)id;
    (void)token;
    atomic_fetch_add(came ? &on->came : &on->left, 1);
}

UNUSED static void living_stopped(void *user, int status, const void *result)
{
    (void)status;
    (void)result;
    ((struct living *)user)->stopped = true;
}

UNUSED static int living_open(struct living *on)
{
    const struct rapahub_host_options host = {
        .guests_max = 32, .admitted_max = LIVING_PLACES, .guest_program = TEST_GUEST};
    const struct rapahub_node_options node = {
        .data = on->folder, .run = on->run, .on_container = living_told, .user = on};
    int r = rapahub_host_create(&host, &on->host);

    if (r == 0)
        r = rapahub_node_open(on->host, &node, &on->node);
    snprintf(on->text, sizeof on->text, "%s", r < 0 ? rapahub_last_error()->text : "");
    return r;
}

UNUSED static void living_find(void *user, const struct rapahub_guest_status *status)
{
    if (strcmp(status->name, "store") == 0)
        *(int32_t *)user = status->pid;
}

UNUSED static void living_kill_now(struct living *on)
{
    int32_t pid = 0;

    assert_done(rapahub_host_guests(on->host, living_find, &pid));
    if (pid > 0 && kill(pid, SIGKILL) == 0)
        atomic_store(&on->kills, false);
}

UNUSED static int living_turn(struct living *on)
{
    struct pollfd fds[] = {{.fd = rapahub_host_fd(on->host), .events = POLLIN},
                           {.fd = rapahub_node_fd(on->node), .events = POLLIN}};
    living_job *job;
    int r;

    poll(fds, 2, atomic_load(&on->waits) ? 5000 : 20);
    if (atomic_load(&on->kills))
        living_kill_now(on);
    job = atomic_exchange(&on->job, NULL);
    if (job)
        job(on);
    r = rapahub_host_dispatch(on->host, 0);
    return r < 0 ? r : rapahub_node_dispatch(on->node);
}

UNUSED static void *living_run(void *user)
{
    struct living *on = user;
    int r = living_open(on);

    atomic_store(&on->state, r < 0 ? r : 1);
    while (r >= 0 && !atomic_load(&on->stops))
        r = living_turn(on);
    if (r >= 0 && on->in_order && rapahub_node_stop(on->node, living_stopped, on) == 0)
        while (r >= 0 && !on->stopped)
            r = living_turn(on);
    if (r < 0)
        snprintf(on->text, sizeof on->text, "%s", rapahub_last_error()->text);
    rapahub_node_close(on->node);
    rapahub_host_destroy(on->host);
    if (r < 0)
        atomic_store(&on->state, r);
    return NULL;
}

UNUSED static void living_drop(void *user, enum rapahub_log_level level, const char *topic,
                               const char *text)
{
    (void)user;
    if (getenv("TEST_LOG"))
        fprintf(stderr, "%d %s: %s\n", (int)level, topic, text);
}

/* Starts the node on its folder, and waits until it serves. */
UNUSED static void living_start(struct living *on)
{
    on->node = NULL;
    on->host = NULL;
    on->stopped = false;
    atomic_store(&on->state, 0);
    atomic_store(&on->stops, false);
    rapahub_log_to(living_drop, NULL, RAPAHUB_LOG_DEBUG);
    assert_int_equal(pthread_create(&on->thread, NULL, living_run, on), 0);
    while (atomic_load(&on->state) == 0)
        pause_ms(1);
    if (atomic_load(&on->state) < 0)
        print_error("%s\n", on->text);
    assert_int_equal(atomic_load(&on->state), 1);
}

UNUSED static void living_stop(struct living *on, bool in_order)
{
    on->in_order = in_order;
    atomic_store(&on->stops, true);
    pthread_join(on->thread, NULL);
    if (atomic_load(&on->state) != 1)
        print_error("%s\n", on->text);
    assert_int_equal(atomic_load(&on->state), 1);
}

/* Kills the guest of the pool `store`, and waits until the node knows that. */
UNUSED static void living_kill(struct living *on)
{
    unsigned left = atomic_load(&on->left);

    atomic_store(&on->kills, true);
    while (atomic_load(&on->kills) || atomic_load(&on->left) == left)
        pause_ms(1);
}

UNUSED static int living_remove(const char *path, const struct stat *status, int kind,
                                struct FTW *at)
{
    (void)status;
    (void)kind;
    (void)at;
    return remove(path);
}

/* Makes its folders, but that of its data. */
UNUSED static void living_make(struct living *on)
{
    memset(on, 0, sizeof *on);
    snprintf(on->root, sizeof on->root, "/tmp/rapahub-node-XXXXXX");
    assert_non_null(mkdtemp(on->root));
    snprintf(on->folder, sizeof on->folder, "%s/data", on->root);
    snprintf(on->run, sizeof on->run, "%s/run", on->root);
    assert_int_equal(mkdir(on->run, 0700), 0);
}

UNUSED static void living_begin(struct living *on)
{
    living_make(on);
    living_start(on);
}

UNUSED static void living_end(struct living *on)
{
    living_stop(on, false);
    nftw(on->root, living_remove, 16, FTW_DEPTH | FTW_PHYS);
}

/* ---- rapahub.node ---- */

UNUSED static int living_ask(struct living *on, const char *method, const void *const *arguments,
                             void *result)
{
    const struct rapahub_call call = {.target = {.pool = {UINT32_MAX, 16}},
                                      .method = method,
                                      .arguments = arguments,
                                      .timeout_ns = 60 * SECOND};

    return rapahub_host_call(on->host, &call, result);
}

/* Copies a document, to be freed. */
UNUSED static char *living_list(struct living *on, const char *method, const void *const *arguments)
{
    struct rapahub_string text = {NULL, 0};
    int r = living_ask(on, method, arguments, &text);

    return r == 0 ? strndup(text.data, text.size) : NULL;
}

UNUSED static uint8_t *living_read(const char *path, size_t *size)
{
    FILE *file = fopen(path, "re");
    uint8_t *bytes;
    struct stat status;

    assert_non_null(file);
    assert_int_equal(fstat(fileno(file), &status), 0);
    *size = (size_t)status.st_size;
    bytes = malloc(*size);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, *size, file), *size);
    fclose(file);
    return bytes;
}

UNUSED static void living_digest(const void *bytes, size_t size, uint8_t to[CLUSTER_DIGEST_SIZE])
{
    struct cluster_digest digest;

    assert_done(cluster_digest_begin(&digest));
    cluster_digest_add(&digest, bytes, size);
    cluster_digest_end(&digest, to);
}

/* Pushes a file, and returns its digest. */
UNUSED static int living_push(struct living *on, const char *path,
                              uint8_t digest[CLUSTER_DIGEST_SIZE])
{
    char text[2 * CLUSTER_DIGEST_SIZE + 1];
    size_t size, n;
    uint8_t *bytes = living_read(path, &size);
    const struct rapahub_string name = {text, sizeof text - 1};
    uint64_t all = size;
    bool done = false;
    int r = 0;

    living_digest(bytes, size, digest);
    for (size_t i = 0; i < CLUSTER_DIGEST_SIZE; i++)
        snprintf(&text[2 * i], 3, "%02x", digest[i]);
    for (uint64_t at = 0; r == 0 && at < size; at += n) {
        struct rapahub_bytes part;

        n = size - at < PART ? size - at : PART;
        part = (struct rapahub_bytes){bytes + at, n};
        r = living_ask(on, "push(string, u64, u64, bytes) -> bool",
                       (const void *const[]){&name, &at, &all, &part, NULL}, &done);
    }
    free(bytes);
    if (r == 0)
        assert_true(done);
    return r;
}

/* Applies a pool. Returns the failure, or 0 and the number of its operation. */
UNUSED static int living_apply(struct living *on, const struct cluster_pool_spec *spec,
                               uint64_t *operation)
{
    static uint8_t to[65536];
    struct hub_writer writer;
    struct rapahub_bytes bytes;
    bool check = false;

    hub_writer_init(&writer, to, sizeof to);
    assert_done(cluster_pool_spec_put(&writer, spec));
    bytes = (struct rapahub_bytes){to, writer.size};
    return living_ask(on, "apply(bytes, bool) -> u64", (const void *const[]){&bytes, &check, NULL},
                      operation);
}

UNUSED static int living_wait(struct living *on, uint64_t operation)
{
    uint64_t timeout = 50 * SECOND;
    struct rapahub_string text;

    return living_ask(on, "wait(u64, u64) -> string",
                      (const void *const[]){&operation, &timeout, NULL}, &text);
}

UNUSED static int living_delete(struct living *on, const char *name)
{
    struct rapahub_string text = rapahub_string_of(name);
    uint64_t operation = 0;
    int r = living_ask(on, "remove(string) -> u64", (const void *const[]){&text, NULL}, &operation);

    return r == 0 && operation != 0 ? living_wait(on, operation) : r;
}

/* The id of a pool, from its document. */
UNUSED static struct rapahub_pool_id living_pool(struct living *on, const char *name)
{
    struct rapahub_string text = rapahub_string_of(name);
    struct rapahub_pool_id id = {0, 0};
    char *list = living_list(on, "pool(string) -> string", (const void *const[]){&text, NULL});
    const char *at;

    assert_non_null(list);
    at = strstr(list, "\"id\":\"");
    assert_non_null(at);
    assert_int_equal(sscanf(at, "\"id\":\"%" SCNu32 ".%" SCNu32, &id.major, &id.minor), 2);
    free(list);
    return id;
}

#endif
