/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/cluster/entering.h"

#include <stdio.h>
#include <time.h>

#include <rapahub/client.h>
#include <rapahub/error.h>

#include "tests/support/pause.h"
#include "tests/support/process.h"
#include "tests/support/testing.h"

#define SECOND       UINT64_C(1000000000)
#define CALL_TIMEOUT (120 * SECOND)

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * SECOND + (uint64_t)now.tv_nsec;
}

static int open_client(const struct entering *entering, unsigned index,
                       struct rapahub_client **client, struct rapahub_container_id *ledger)
{
    const char *const nodes[] = {entering->address, NULL};
    const struct rapahub_client_options options = {
        .nodes = nodes,
        .transport = index % 2 == 0 ? RAPAHUB_CLIENT_SHARED_MEMORY : RAPAHUB_CLIENT_SOCKET};
    int r = rapahub_client_open(&options, client);

    *ledger = (struct rapahub_container_id){{0, 0}, 0};
    return r < 0 ? r : rapahub_client_pool(*client, "ledger", &ledger->pool);
}

static int call(struct rapahub_client *client, struct rapahub_container_id ledger,
                const char *method, uint64_t number, uint32_t *out)
{
    const void *const arguments[] = {&number};
    const struct rapahub_call call = {.target = ledger,
                                      .method = method,
                                      .types = RAPAHUB_TYPES(u32, u64),
                                      .arguments = arguments,
                                      .timeout_ns = CALL_TIMEOUT};

    return rapahub_client_call(client, &call, out);
}

static uint64_t number_of(const struct entering_client *self, unsigned place)
{
    return (uint64_t)place * ENTERING_CLIENTS + self->index;
}

static int enter_one(struct entering_client *self, struct rapahub_client *client,
                     struct rapahub_container_id ledger)
{
    uint64_t begun_ns = now_ns(), took_ns;
    uint32_t version;
    int r = call(client, ledger, "enter", number_of(self, self->entered++), &version);

    took_ns = now_ns() - begun_ns;
    if (took_ns > self->longest_ns)
        self->longest_ns = took_ns;
    if (r < 0)
        fprintf(stderr, "client %u: %s: %s\n", self->index, rapahub_error_name(r),
                rapahub_last_error()->text);
    atomic_fetch_add(&self->of->answers, 1);
    return r;
}

static void check_all(struct entering_client *self, struct rapahub_client *client,
                      struct rapahub_container_id ledger)
{
    for (unsigned place = 0; place < self->entered; place++) {
        uint32_t count = 0;

        if (call(client, ledger, "count", number_of(self, place), &count) < 0 || count != 1)
            self->wrong++;
    }
}

static void *work(void *user)
{
    struct entering_client *self = user;
    struct rapahub_container_id ledger;
    struct rapahub_client *client = NULL;
    int r = open_client(self->of, self->index, &client, &ledger);

    while (r == 0 && !atomic_load(&self->of->ends)) {
        r = enter_one(self, client, ledger);
        pause_ms(ENTERING_PACE_MS);
    }
    if (r == 0)
        check_all(self, client, ledger);
    rapahub_client_close(client);
    self->result = r;
    return NULL;
}

void entering_begin(struct entering *entering, const char *address)
{
    *entering = (struct entering){.address = address};
    for (unsigned i = 0; i < ENTERING_CLIENTS; i++) {
        struct entering_client *client = &entering->clients[i];

        client->of = entering;
        client->index = i;
        assert_int_equal(pthread_create(&client->thread, NULL, work, client), 0);
    }
}

struct awaited {
    struct entering *entering;
    unsigned answers;
};

static bool have_come(void *user)
{
    const struct awaited *awaited = user;

    return atomic_load(&awaited->entering->answers) >= awaited->answers;
}

/* Each client has one call open at most, so these many answers are of later ones too. */
void entering_await(struct entering *entering, uint64_t within_ns)
{
    struct awaited awaited = {entering, atomic_load(&entering->answers) + 3 * ENTERING_CLIENTS};

    assert_true(process_until(have_come, &awaited, within_ns));
}

unsigned entering_end(struct entering *entering, uint64_t *longest_ns)
{
    unsigned entered = 0;

    atomic_store(&entering->ends, true);
    *longest_ns = 0;
    for (unsigned i = 0; i < ENTERING_CLIENTS; i++) {
        const struct entering_client *client = &entering->clients[i];

        assert_int_equal(pthread_join(client->thread, NULL), 0);
        assert_int_equal(client->result, 0);
        assert_int_equal(client->wrong, 0);
        entered += client->entered;
        *longest_ns = client->longest_ns > *longest_ns ? client->longest_ns : *longest_ns;
    }
    return entered;
}
