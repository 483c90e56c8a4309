/* SPDX-License-Identifier: Apache-2.0 */
/* Calls the pool `counter` of this machine's node, which may die and start again meanwhile. */
#include <inttypes.h>
#include <stdio.h>

#include <rapahub/client.h>

static int add(struct rapahub_client *client, struct rapahub_pool_id pool, int64_t amount,
               int64_t *total)
{
    const void *const arguments[] = {&amount, NULL};
    const struct rapahub_call call = {
        .target = {pool, 0}, .method = "add(i64) -> i64", .arguments = arguments};

    return rapahub_client_call(client, &call, total);
}

int main(void)
{
    struct rapahub_client_options options = {.nodes = NULL};
    struct rapahub_client *client = NULL;
    struct rapahub_pool_id pool;
    int64_t total = 0;
    int r = rapahub_client_environment(&options);

    if (r == 0)
        r = rapahub_client_open(&options, &client);
    if (r == 0)
        r = rapahub_client_pool(client, "counter", &pool);
    for (int i = 0; i < 10 && r == 0; i++)
        r = add(client, pool, 1, &total);
    if (r < 0)
        fprintf(stderr, "%s: %s\n", rapahub_error_name(r), rapahub_last_error()->text);
    else
        printf("total is %" PRId64 "\n", total);
    rapahub_client_close(client);
    return r != 0;
}
