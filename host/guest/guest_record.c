/* SPDX-License-Identifier: Apache-2.0 */
#include "host/guest/guest_record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/guest/exit_command.h"
#include "host/guest/supervision.h"
#include "host/process/confinement.h"
#include "host/process/fd_store.h"
#include "host/process/module.h"
#include "host/supervise/lint.h"
#include "hub/base/clock.h"
#include "hub/base/own.h"
#include "hub/base/rlimit.h"

#define ADMITTED_ATTACHES (5 * HUB_SECOND)

static char **copy_list(const char *const *list)
{
    size_t count = 0;
    char **copy;

    while (list[count])
        count++;
    copy = calloc(count + 1, sizeof *copy);
    for (size_t i = 0; copy && i < count; i++)
        copy[i] = strdup(list[i]);
    return copy;
}

/* The name is the caller's. Without one it is the file's, until the module tells its own. */
static void take_name(struct host_guest *guest, const struct rapahub_guest_options *options)
{
    const char *slash = strrchr(options->chimod, '/');
    const char *file = slash ? slash + 1 : options->chimod;
    size_t size = strlen(file);

    guest->named = options->name ? HOST_GUEST_NAMED_BY_CALLER : HOST_GUEST_UNNAMED;
    if (size > 3 && !strcmp(file + size - 3, ".so"))
        size -= 3;
    if (options->name)
        snprintf(guest->name, sizeof guest->name, "%s", options->name);
    else
        host_output_escape(file, size, guest->name, sizeof guest->name);
}

/* A guest that is trusted may share the bytes of its module with others. */
static int open_bytes(struct host_supervision *host, const struct rapahub_guest_options *options,
                      int *out)
{
    bool trusted = options->trust == RAPAHUB_TRUST_TRUSTED;

    if (options->module_fd != 0)
        return host_module_take(options->module_fd, options->chimod, trusted, out);
    return trusted ? host_modules_open(&host->call.process.modules, options->chimod, out)
                   : host_module_open(options->chimod, out);
}

static int open_module(struct host_supervision *host, const struct rapahub_guest_options *options,
                       struct host_guest_module *module)
{
    int r;

    module->chimod = strdup(options->chimod);
    module->plain = options->plain ? copy_list(options->plain) : NULL;
    if (!module->chimod || (options->plain && !module->plain))
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a guest");
    r = open_bytes(host, options, &module->fd);
    return r < 0 ? hub_rlimit_explain(r, HOST_GUEST_DESCRIPTORS) : 0;
}

static void release_module(struct host_guest_module *module)
{
    for (size_t i = 0; module->plain && module->plain[i]; i++)
        free(module->plain[i]);
    free(module->plain);
    free(module->chimod);
    hub_fd_release(&module->fd);
}

static struct host_guest *new_guest(struct host_supervision *host, enum rapahub_trust trust)
{
    struct host_guest *guest = calloc(1, sizeof *guest);

    if (!guest)
        return NULL;
    guest->host = &host->call.process;
    guest->module.fd = -1;
    guest->child.node = HOST_TREE_NONE;
    guest->ends.rule = "";
    guest->trust = trust;
    guest->child.initial = true;
    hub_list_init(&guest->containers);
    return guest;
}

int host_guest_record_create(struct host_supervision *host,
                             const struct rapahub_guest_options *options, struct host_guest **out)
{
    OWN(host_guest_record) struct host_guest *guest = new_guest(host, options->trust);
    int r;

    if (!guest)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a guest");
    r = host_limits_take(options->limits, &guest->limits);
    if (r == 0)
        r = host_confinement_check(&host->call.process, options->supervision);
    if (r == 0)
        r = host_exit_command_create(guest, options->supervision, &guest->finish);
    if (r == 0)
        r = host_fd_store_create(options->supervision, host->call.process.closer, &guest->keep);
    if (r < 0)
        return r;
    guest->on_death = options->on_death;
    guest->on_death_user = options->user;
    take_name(guest, options);
    r = open_module(host, options, &guest->module);
    if (r < 0)
        return r;
    *out = TAKE(guest);
    return 0;
}

int host_guest_record_create_anonymous(struct host_supervision *host, pid_t pid,
                                       struct host_guest **out)
{
    OWN(host_guest_record) struct host_guest *guest = new_guest(host, RAPAHUB_TRUST_TRUSTED);
    int r;

    if (!guest)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a guest");
    guest->anonymous = true;
    guest->module.chimod = strdup("");
    if (!guest->module.chimod)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a guest");
    snprintf(guest->name, sizeof guest->name, "pid-%d", (int)pid);
    r = host_lint_child(guest->name, NULL, NULL, &guest->supervision);
    if (r < 0)
        return r;
    *out = TAKE(guest);
    return 0;
}

/* No supervisor has it, and no signal makes it leave. */
int host_guest_record_create_admitted(struct host_supervision *host,
                                      const struct rapahub_admit_options *options,
                                      struct host_guest **out)
{
    const struct rapahub_supervision how = {
        .ready = options->serves ? RAPAHUB_READY_MESSAGE : RAPAHUB_READY_ATTACH,
        .start_timeout_ns =
            options->attach_timeout_ns ? options->attach_timeout_ns : ADMITTED_ATTACHES,
        .term_ns = RAPAHUB_NONE};
    OWN(host_guest_record) struct host_guest *guest = new_guest(host, RAPAHUB_TRUST_STANDARD);
    int r;

    if (!guest)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a guest");
    guest->anonymous = guest->admitted = true;
    guest->on_death = options->on_death;
    guest->on_death_user = options->user;
    guest->named = options->name ? HOST_GUEST_NAMED_BY_CALLER : HOST_GUEST_UNNAMED;
    snprintf(guest->name, sizeof guest->name, "%s", options->name ? options->name : "client");
    guest->module.chimod = strdup("");
    if (!guest->module.chimod)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a guest");
    r = host_lint_child(guest->name, &how, NULL, &guest->supervision);
    if (r < 0)
        return r;
    *out = TAKE(guest);
    return 0;
}

void host_guest_record_release(struct host_guest **pointer)
{
    struct host_guest *guest = *pointer;

    *pointer = NULL;
    if (!guest)
        return;
    host_loop_clear(&guest->timer);
    host_exit_command_release(&guest->finish);
    host_fd_store_release(&guest->keep);
    release_module(&guest->module);
    host_tail_release(&guest->tail);
    free(guest->ends.reports);
    host_methods_release(&guest->methods);
    free(guest);
}
