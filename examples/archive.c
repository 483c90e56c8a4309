/* SPDX-License-Identifier: Apache-2.0 */
/* archive: stores files, compressed, in a key-value store, and reads them back, while its plugins
 * are killed. The two plugins, codec and kv, run in processes of their own; four threads call
 * them like functions. Exits with 0 only if every byte came back and the plugins were killed ten
 * times. */
#include <stdio.h>
#include <string.h>

#include <rapahub/host.h>

#include "archive_run.h"

#define GUESTS 2u
#define KILLS  12u

struct archive {
    struct rapahub_host *host;
};

static int call(void *to, const struct rapahub_call *asked, void *result)
{
    return rapahub_host_call(to, asked, result);
}

/* Starts a plugin and its container. It restarts as often as it is killed, almost at once. */
static int start_plugin(struct archive *archive, const char *file, const char *params,
                        struct rapahub_container_id id)
{
    static const struct rapahub_supervision supervision = {
        .restarts_max = 256, .backoff_initial_ns = 1000000, .backoff_max_ns = 5000000};
    const struct rapahub_guest_options plugin = {.chimod = file, .supervision = &supervision};
    const struct rapahub_container_options container = {
        .id = id, .pool_name = "archive", .params = {params, strlen(params)}};
    struct rapahub_guest_id guest;
    int r = rapahub_host_spawn(archive->host, &plugin, &guest);

    return r < 0 ? r : rapahub_host_add_container(archive->host, guest, &container);
}

static int start(void *self, struct archive_run *run, const struct archive_options *options,
                 const char *folder)
{
    const struct rapahub_host_options host = {
        .name = "archive", .own_thread = true, .call_timeout_ns = UINT64_C(10000000000)};
    struct archive *archive = self;
    char file[4096], params[4096];
    int r = rapahub_host_create(&host, &archive->host);

    run->way = (struct archive_way){call, archive->host};
    run->kv = (struct rapahub_container_id){.pool = {1, 0}};
    run->codec = (struct rapahub_container_id){.pool = {2, 0}};
    (void)snprintf(file, sizeof(file), "%s/kv.so", options->chimods);
    (void)snprintf(params, sizeof(params), "dir=%s/kv", folder);
    if (r == 0)
        r = start_plugin(archive, file, params, run->kv);
    (void)snprintf(file, sizeof(file), "%s/codec.so", options->chimods);
    if (r == 0)
        r = start_plugin(archive, file, "", run->codec);
    if (r < 0)
        fprintf(stderr, "error: cannot start: %s\n  code %s\nhint: %s\n",
                rapahub_last_error()->text, rapahub_error_name(r), rapahub_error_hint(r));
    return r;
}

/* Looks for the process of a guest that serves at this moment, and counts restarts. */
struct search {
    unsigned index, at, restarts;
    int32_t pid;
};

static void look(void *user, const struct rapahub_guest_status *status)
{
    struct search *search = user;

    search->restarts += status->restarts;
    if (search->at++ == search->index && strcmp(status->state, "ready") == 0)
        search->pid = status->pid;
}

static bool is_still(void *user, int32_t pid)
{
    struct archive *archive = user;
    bool is = false;

    for (unsigned i = 0; i < GUESTS && !is; i++) {
        struct search search = {.index = i};

        is = rapahub_host_guests(archive->host, look, &search) == 0 && search.pid == pid;
    }
    return is;
}

static bool kill_guest(void *self, unsigned victim)
{
    struct archive *archive = self;
    struct search search = {.index = victim};

    return rapahub_host_guests(archive->host, look, &search) == 0 &&
           archive_killer_kill(search.pid, is_still, self);
}

static void print(void *self)
{
    struct archive *archive = self;
    struct search search = {.index = GUESTS};

    if (rapahub_host_guests(archive->host, look, &search) < 0)
        fprintf(stderr, "error: %s\n", rapahub_last_error()->text);
    printf("restarts        %u\n", search.restarts);
}

static void stop(void *self)
{
    struct archive *archive = self;

    rapahub_host_destroy(archive->host);
}

int main(int argc, char **argv)
{
    static const unsigned moments[] = {1, 2, 3}; /* the first, the second, both */
    static const struct archive_victims victims = {
        .moments = moments, .moments_count = 3, .count = GUESTS, .kill = kill_guest};
    struct archive archive = {NULL};
    const struct archive_plugins plugins = {&archive, start, print, NULL, stop, &victims, KILLS};

    return archive_run_main(argc, argv, &plugins);
}
