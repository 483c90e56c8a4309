/* SPDX-License-Identifier: Apache-2.0 */
/* Starts the counter plugin in a process of its own, and calls it. */
#include <stdio.h>

#include <rapahub/host.h>

RAPAHUB_STUB(add, i64, i64); /* int add(host, target, int64_t amount, int64_t *total) */

int main(void)
{
    const struct rapahub_guest_options plugin = {.chimod = "./counter.so"};
    const struct rapahub_container_options demo = {.id = {.pool = {1, 0}}, .pool_name = "demo"};
    struct rapahub_host *host = NULL;
    struct rapahub_guest_id guest;
    int64_t total = 0;
    int r = rapahub_host_create(NULL, &host);

    if (r == 0)
        r = rapahub_host_spawn(host, &plugin, &guest);
    if (r == 0)
        r = rapahub_host_add_container(host, guest, &demo);
    if (r == 0)
        r = add(host, demo.id, 5, &total);
    if (r < 0)
        fprintf(stderr, "%s: %s\n", rapahub_error_name(r), rapahub_last_error()->text);
    else
        printf("total is %lld\n", (long long)total);
    rapahub_host_destroy(host);
    return r != 0;
}
