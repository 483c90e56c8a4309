/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/guest.h>

#include "guest-sdk/arena.h"
#include "guest-sdk/attach.h"
#include "guest-sdk/current.h"
#include "guest-sdk/last_words.h"
#include "guest-sdk/outward.h"
#include "guest-sdk/serve.h"
#include "guest-sdk/serve_run.h"
#include "hub/base/own.h"

#define PLAIN_OPTION "--plain="
#define LOAN_LEAST   4096 /* bytes; fewer are copied faster */

/* Returns the signatures among the arguments, ended by NULL. Any number of the arguments may be
 * signatures. */
static const char **plain_signatures(int argc, char **argv)
{
    const char **list = calloc((size_t)argc + 1, sizeof *list);
    size_t count = 0;

    for (int i = 1; list && i < argc; i++)
        if (strncmp(argv[i], PLAIN_OPTION, strlen(PLAIN_OPTION)) == 0)
            list[count++] = argv[i] + strlen(PLAIN_OPTION);
    return list;
}

static bool is_option(const char *argument)
{
    return strncmp(argument, "--", 2) == 0;
}

/* A person who starts a guest by hand names the module's file: the first argument that is no
 * option. It is opened before the segment is touched. */
static int open_file(struct guest *guest, int argc, char **argv, const char **name)
{
    struct hub_ticket ticket;
    int i = 1;

    *name = NULL;
    if (hub_ticket_parse_path(argc, argv, &ticket) < 0 || ticket.peer != 0)
        return 0; /* there is a ticket, or attaching reports its fault */
    while (i < argc && is_option(argv[i]))
        i++;
    if (i == argc)
        return rapahub_fail(RAPAHUB_EFORMAT, "shm.spawn.args", "no module is named");
    *name = argv[i];
    /* a FIFO does not block */
    guest->file = open(argv[i], O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (guest->file < 0)
        return rapahub_fail(-errno, "", "cannot open '%s': %s", argv[i], strerrordesc_np(errno));
    return 0;
}

/* The file is closed once the module is loaded. r[impl hub.spawn.closed] */
static int load_module(struct guest *guest, int argc, char **argv)
{
    const char **plain = plain_signatures(argc, argv);
    OWN(hub_fd) int file = guest->file >= 0 ? TAKE(guest->file) : TAKE(guest->attach.ticket.module);
    int r;

    if (!plain)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for the arguments");
    if (file < 0)
        r = rapahub_fail(RAPAHUB_EFORMAT, "shm.spawn.args", "the ticket names no module");
    else
        r = guest_load_open(&guest->module, file,
                            guest->attach.ticket.name ? guest->attach.ticket.name : "the module",
                            plain);
    free(plain);
    return r;
}

static int prepare(struct guest *guest, int argc, char **argv, const struct rapahub_chimod *chimod)
{
    const struct hub_heartbeat_order heart = {
        .entry = guest->attach.view.entry,
        .epoch = guest->attach.epoch,
        .link = guest->attach.connection.link,
        .served = guest->attach.connection.served,
        .interval_ns = hub_link_limits(guest->attach.connection.link)->heartbeat_ns,
        .on_end = guest_last_words_of_thread,
        .user = guest};
    int r = guest_containers_init(&guest->containers);

    if (r == 0)
        r = hub_heartbeat_start(&guest->heartbeat, &heart);
    guest->scratch = malloc(hub_link_limits(guest->attach.connection.link)->payload_max);
    if (r == 0 && !guest->scratch)
        r = rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for answers");
    if (r < 0)
        return r;
    return chimod ? guest_load_own(&guest->module, chimod) : load_module(guest, argc, argv);
}

/* A code without a diagnosis of its own still gets a text. */
static const char *text_of(int code)
{
    const struct rapahub_diagnosis *why = rapahub_last_error();

    return why->code == code && why->text[0] ? why->text : rapahub_error_text(code);
}

static void tell(int code)
{
    const struct rapahub_diagnosis *why = rapahub_last_error();
    const char *rule = why->code == code ? why->rule : "";

    fprintf(stderr, "%s: %s%s%s\n", rapahub_error_name(code), text_of(code),
            rule[0] ? "  rule " : "", rule);
}

/* The goodbye carries the error, so that the host knows exactly why. */
static int give_up(struct guest *guest, int code)
{
    char reason[900];

    tell(code);
    snprintf(reason, sizeof reason, "start: %d %s", code, text_of(code));
    hub_link_say_goodbye(guest->attach.connection.link, "", reason);
    guest_serve_leave(guest);
    return RAPAHUB_GUEST_FAILED;
}

static int serve(struct guest *guest, int argc, char **argv, const struct rapahub_chimod *chimod)
{
    int r = prepare(guest, argc, argv, chimod);
    int status;

    if (r < 0)
        return give_up(guest, r);
    guest->loaded = true;
    r = guest_serve_announce(guest);
    if (r < 0 && !guest_serve_over(guest))
        return give_up(guest, r);
    status = guest_serve_run(guest);
    if (status == RAPAHUB_GUEST_DONE)
        guest_containers_fini(&guest->containers, &guest->module.ops);
    return status;
}

/* A thread that ends by pthread_exit would leave a process whose heart beats but which serves no
 * calls. The beat thread, if there is one, detects this end too, and also an end by the bare system
 * call. */
static int serve_guarded(struct guest *guest, int argc, char **argv,
                         const struct rapahub_chimod *chimod)
{
    int status;

    /* the frames of the method are off the stack by then */
    pthread_cleanup_push(guest_last_words_of_thread, NULL);
    status = serve(guest, argc, argv, chimod);
    pthread_cleanup_pop(0);
    return status;
}

static int refuse(const struct guest *guest, int code)
{
    tell(code);
    if (!guest->attach.ticket.hub_path && code == RAPAHUB_EFORMAT)
        return RAPAHUB_GUEST_USAGE;
    return code == RAPAHUB_EDIED ? RAPAHUB_GUEST_ORPHAN : RAPAHUB_GUEST_FAILED;
}

int rapahub_guest_run(int argc, char **argv, const struct rapahub_chimod *chimod)
{
    struct guest *guest = calloc(1, sizeof *guest);
    const char *name = NULL;
    int r, status;

    if (!guest)
        return RAPAHUB_GUEST_FAILED;
    guest->file = -1;
    guest->raw.method = &guest->raw;
    guest_roles_init(&guest->roles);
    guest_current_set(guest);
    r = guest_fd_store_open(&guest->keep, argc, argv);
    if (r == 0 && !chimod)
        r = open_file(guest, argc, argv, &name);
    if (r == 0)
        r = guest_attach_open(guest, argc, argv);
    if (r == 0 && name)
        guest->attach.ticket.name = name;
    status = r < 0 ? refuse(guest, r) : serve_guarded(guest, argc, argv, chimod);
    hub_heartbeat_stop(&guest->heartbeat);
    guest_current_set(NULL);
    guest_roles_close(&guest->roles);
    guest_attach_close(guest);
    guest_outward_fini(guest);
    guest_containers_fini(&guest->containers, NULL);
    guest_roles_fini(&guest->roles);
    guest_load_close(&guest->module);
    hub_fd_release(&guest->file);
    guest_fd_store_close(&guest->keep);
    free(guest->scratch);
    free(guest);
    return status;
}

/* A signal handler may call this at any point: it only stores, and wakes by system calls. */
void rapahub_guest_leave(const char *reason)
{
    struct guest *guest = guest_current();

    if (!guest)
        return;
    guest->reason = reason;
    hub_publish(&guest->leave, 1);
    hub_publish(&guest->arrived, 1);
    if (guest->attach.connection.link)
        hub_link_nudge(guest->attach.connection.link);
}

void rapahub_guest_last_words(void)
{
    guest_last_words_install();
}

/* ---- functions of chimod.h ---- */

int rapahub_chimod_call(const struct rapahub_call *call, void *result)
{
    struct guest *guest = guest_current();

    if (!guest || !guest->frame)
        return rapahub_fail(RAPAHUB_ESTATE, "",
                            "a chimod calls on the guest's serving thread, from a callback or a "
                            "method");
    return guest_outward_call(guest, call, result);
}

/* Large memory for a result of type bytes lies where the host will read it, if there is space.
 * r[impl hub.loan.align] */
static void *lend(struct guest *guest, size_t size)
{
    struct guest_frame *frame = guest->frame;

    if (size < LOAN_LEAST || !frame->lends || frame->loan.data ||
        hub_loan_take(guest->attach.connection.link, size, &frame->loan) < 0)
        return NULL;
    return frame->loan.data;
}

__attribute__((flatten)) void *rapahub_chimod_alloc(size_t size)
{
    struct guest *guest = guest_current();
    void *lent;

    if (!guest || !guest->frame)
        return NULL;
    lent = lend(guest, size);
    return lent ? lent : guest_arena_alloc(&guest->frame->arena, size);
}

bool rapahub_chimod_cancelled(void)
{
    struct guest *guest = guest_current();

    if (!guest || !guest->frame)
        return false;
    /* No other thread receives now, so a Cancel is seen only by receiving it here. */
    (void)hub_link_sweep(guest->attach.connection.link, UINT32_MAX);
    return hub_request_is_cancelled(guest->frame->request) || guest_serve_deserted(guest);
}

/* Only the host says it: requests of others come by way of the host. r[impl hub.route.uid] */
static struct rapahub_uid uid_of(const struct guest_frame *frame)
{
    struct rapahub_uid uid = {0, 0};

    _Static_assert(sizeof uid == HUB_METADATA_UID, "its size");
    if (frame->request && frame->request->metadata.uid)
        memcpy(&uid, frame->request->metadata.uid, sizeof uid);
    return uid;
}

/* r[impl cluster.token] */
int rapahub_chimod_token(struct rapahub_token *out)
{
    const struct guest *guest = guest_current();
    const struct guest_container *container = NULL;

    if (guest && guest->frame)
        container = guest->frame->container ? guest->frame->container : guest->containers.asked;
    if (!container)
        return rapahub_fail(RAPAHUB_ESTATE, "", "no callback and no method runs on this thread");
    *out = (struct rapahub_token){.token = container->token, .uid = uid_of(guest->frame)};
    return 0;
}
