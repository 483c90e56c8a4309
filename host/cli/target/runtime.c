/* SPDX-License-Identifier: Apache-2.0 */
#include "host/cli/target/runtime.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "host/cli/command/cli.h"
#include "host/cli/command/failure.h"
#include "host/cli/target/sockets.h"
#include "host/cli/text/view.h"
#include "host/config/suggest.h"
#include "hub/base/clock.h"

#define ANSWER_NS (2 * HUB_SECOND)

#define EXIT_NOBODY 4 /* no host reached */

static int receive_all(struct host_client *client, uint64_t deadline_ns, cli_runtime_item *item,
                       void *user)
{
    union host_frame_record record;
    enum host_frame_kind kind;
    int r, found = 0;

    while ((r = host_client_receive(client, deadline_ns, -1, &kind, &record)) > 0) {
        if (item && found == 0)
            found = item(user, kind, &record);
    }
    return r < 0 ? r : found;
}

int cli_runtime_ask(struct cli *cli, enum host_frame_kind request, const void *record,
                    cli_runtime_item *item, void *user)
{
    uint64_t deadline_ns = hub_clock_after(cli->timeout_ns);
    int r = host_client_send(cli->client, request, record, deadline_ns);

    return r < 0 ? r : receive_all(cli->client, deadline_ns, item, user);
}

/* Asks a host that may be stuck, and that other hosts do not wait for. */
static int ask_soon(struct host_client *client, enum host_frame_kind request,
                    cli_runtime_item *item, void *user)
{
    uint64_t deadline_ns = hub_clock_after(ANSWER_NS);
    int r = host_client_send(client, request, &(struct control_none){1}, deadline_ns);

    return r < 0 ? r : receive_all(client, deadline_ns, item, user);
}

/* A host without an answer is no failure of the command. */
static int note_silence(const struct cli *cli, const char *host)
{
    cli_failure_note(cli, "%s: no answer: %s", host, rapahub_last_error()->text);
    return 0;
}

struct walk {
    struct cli *cli;
    cli_runtime_visit *visit;
    void *user;
    const char *host;
    unsigned guests;
};

static int visit_guest(void *user, enum host_frame_kind kind, const union host_frame_record *record)
{
    struct walk *walk = user;

    if (kind != HOST_FRAME_GUEST)
        return 0;
    walk->guests++;
    return walk->visit(walk->user, walk->host, &record->guest);
}

static int visit_host(void *user, const char *host, const char *path)
{
    struct walk *walk = user;
    struct host_client *client = NULL;
    int r = host_client_open(path, &client);

    if (r == RAPAHUB_EACCES)
        return note_silence(walk->cli, host);
    if (r < 0)
        return 0;
    walk->host = host;
    walk->guests = 0;
    r = ask_soon(client, HOST_FRAME_LIST, visit_guest, walk);
    if (r == 0 && walk->guests == 0)
        r = walk->visit(walk->user, host, NULL);
    host_client_release(&client);
    return r < 0 ? note_silence(walk->cli, host) : r;
}

int cli_runtime_each(struct cli *cli, cli_runtime_visit *visit, void *user)
{
    struct walk walk = {.cli = cli, .visit = visit, .user = user};

    return cli_sockets_each(visit_host, &walk);
}

struct tour {
    struct cli *cli;
    cli_runtime_visit_host *visit;
    void *user;
};

static int count_guest(void *user, enum host_frame_kind kind, const union host_frame_record *record)
{
    (void)record;
    *(unsigned *)user += kind == HOST_FRAME_GUEST;
    return 0;
}

static int visit_place(void *user, const char *host, const char *path)
{
    const struct tour *tour = user;
    struct cli *cli = tour->cli;
    struct cli_runtime_place place = {.guests = 0};

    host_client_release(&cli->client);
    if (host_client_open(path, &cli->client) < 0)
        return 0;
    if (ask_soon(cli->client, HOST_FRAME_LIST, count_guest, &place.guests) < 0)
        return note_silence(cli, host);
    snprintf(place.host, sizeof place.host, "%s", host);
    return place.guests > 0 ? tour->visit(tour->user, &place) : 0;
}

int cli_runtime_each_host(struct cli *cli, cli_runtime_visit_host *visit, void *user)
{
    struct tour tour = {cli, visit, user};

    return cli_sockets_each(visit_place, &tour);
}

/* Places of a name that is searched. */
struct matches {
    unsigned count;
    struct cli_runtime_place place; /* the last one */
};

struct search {
    char host[CLI_RUNTIME_NAME],
        name[CLI_RUNTIME_NAME]; /* the searched ones; host "": any; name "": the host itself */
    bool split;                 /* HOST/NAME was given */
    char others[512];           /* names that are there */
    bool is_guest;              /* `listed` counts guests, else hosts */
    struct matches listed, supervisors;
    bool guests_only; /* only guests are suggested */
    struct config_suggest suggest;
    char nearest[CLI_RUNTIME_NAME];
    const char *at; /* the host whose tree is looked at */
};

static void add_match(struct matches *matches, const char *host, const char *name)
{
    matches->count++;
    snprintf(matches->place.host, sizeof matches->place.host, "%s", host);
    snprintf(matches->place.guest, sizeof matches->place.guest, "%s", name);
}

static void add_name(struct search *search, const char *name, size_t size)
{
    size_t at = strlen(search->others);

    snprintf(search->others + at, sizeof search->others - at, "%s%.*s", at ? ", " : "", (int)size,
             name);
}

static void note_match(struct search *search, const char *host, bool is_guest)
{
    struct matches *listed = &search->listed;

    if (is_guest && !search->is_guest)
        listed->count = 0; /* a guest is preferred to a host of the same name */
    if ((search->is_guest && !is_guest) ||
        (listed->count > 0 && strcmp(listed->place.host, host) == 0))
        return;
    search->is_guest = is_guest;
    add_match(listed, host, is_guest ? search->name : "");
}

static int compare(void *user, const char *host, const struct control_guest *guest)
{
    struct search *search = user;

    if (guest)
        add_name(search, guest->name.data, guest->name.size);
    if (search->split && strcmp(search->host, host) != 0)
        return 0;
    if (guest && search->name[0] && cli_view_is(guest->name, search->name))
        note_match(search, host, true);
    else if (strcmp(search->host, host) == 0 && (!search->split || !search->name[0]))
        note_match(search, host, false);
    return 0;
}

static void split_name(const char *name, struct search *out)
{
    const char *slash = strchr(name, '/');

    snprintf(out->host, sizeof out->host, "%.*s", slash ? (int)(slash - name) : (int)strlen(name),
             name);
    snprintf(out->name, sizeof out->name, "%s", slash ? slash + 1 : name);
    out->split = slash != NULL;
    out->suggest = (struct config_suggest){out->name, NULL, CONFIG_SUGGEST_FAR};
}

struct opening {
    const char *host;
    struct host_client **client;
};

static int open_socket(void *user, const char *host, const char *path)
{
    struct opening *opening = user;

    return strcmp(host, opening->host) == 0 && host_client_open(path, opening->client) == 0;
}

static int connect_to(struct cli *cli, struct cli_runtime_place *place)
{
    struct opening opening = {place->host, &cli->client};

    host_client_release(&cli->client);
    if (cli_sockets_each(open_socket, &opening) == 0)
        return rapahub_fail(RAPAHUB_ENOENT, "", "host '%s' ended at this moment", place->host);
    return cli_runtime_ask(cli, HOST_FRAME_LIST, &(struct control_none){1}, count_guest,
                           &place->guests);
}

/* ---- supervisors: they are in the trees of the hosts ---- */

/* Considers a name as a suggestion. A name that is too long is cut, and then it is near to none. */
static void look_near(struct search *search, struct rapahub_string name)
{
    char candidate[CLI_RUNTIME_NAME];

    cli_view_copy(candidate, sizeof candidate, name);
    config_suggest_consider(&search->suggest, candidate);
    if (search->suggest.nearest != candidate)
        return;
    memcpy(search->nearest, candidate, sizeof search->nearest);
    search->suggest.nearest = search->nearest;
}

static int note_node(void *user, enum host_frame_kind kind, const union host_frame_record *record)
{
    struct search *search = user;
    const struct control_child *child = &record->child;

    if (kind != HOST_FRAME_CHILD || child->name.size == 0)
        return 0;
    if (!search->guests_only || !child->is_supervisor)
        look_near(search, child->name);
    if (child->is_supervisor && cli_view_is(child->name, search->name)) {
        add_match(&search->supervisors, search->at, search->name);
        search->supervisors.place.is_supervisor = true;
    }
    return 0;
}

static int look_into(void *user, const char *host, const char *path)
{
    struct search *search = user;
    struct host_client *client = NULL;

    if ((search->split && strcmp(host, search->host) != 0) || host_client_open(path, &client) < 0)
        return 0;
    search->at = host;
    (void)ask_soon(client, HOST_FRAME_TREE, note_node, search);
    host_client_release(&client);
    return 0;
}

static int refuse(struct cli *cli, const char *name, const struct search *search)
{
    const char *others = search->others[0] ? search->others : "none";
    const char *nearest = search->suggest.nearest;
    const struct matches *many = search->listed.count > 1 ? &search->listed : &search->supervisors;

    if (many->count > 1) {
        cli_failure_hint(cli, "say which: %s/%s", many->place.host, name);
        return rapahub_fail(RAPAHUB_EEXIST, "", "%u hosts have a '%s'", many->count, name);
    }
    if (many->count == 1) {
        cli_failure_hint(cli, "rapahub ps --tree shows its guests; stop and restart take it");
        return rapahub_fail(RAPAHUB_EINVAL, "", "that is a supervisor; %s takes a guest",
                            cli->command->name);
    }
    cli->exit_status = EXIT_NOBODY;
    cli_failure_about(cli, "%s", "");
    cli_failure_hint(cli, nearest ? "rapahub ps --tree shows all names"
                                  : "rapahub run FILE starts one; rapahub ps shows what runs");
    return rapahub_fail(RAPAHUB_ENOENT, "", "no host or guest named '%s'%s%s%s running: %s", name,
                        nearest ? ", did you mean '" : "", nearest ? nearest : "",
                        nearest ? "'?" : ";", others);
}

int cli_runtime_find(struct cli *cli, const char *name, enum cli_runtime_sought sought,
                     struct cli_runtime_place *out)
{
    struct search search = {.guests_only = sought == CLI_RUNTIME_GUESTS};
    int r;

    cli_failure_about(cli, "%s", name);
    split_name(name, &search);
    r = cli_runtime_each(cli, compare, &search);
    if (r < 0)
        return r;
    if (search.name[0] &&
        (search.listed.count == 0 || (sought == CLI_RUNTIME_NODES_FIRST && !search.is_guest)))
        (void)cli_sockets_each(look_into, &search);
    if (search.supervisors.count == 1 && !search.guests_only)
        *out = search.supervisors.place;
    else if (search.listed.count == 1)
        *out = search.listed.place;
    else
        return refuse(cli, name, &search);
    return connect_to(cli, out);
}
