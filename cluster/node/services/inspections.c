/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/services/inspections.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include <rapahub/error.h>
#include <rapahub/supervise.h>

#include "cluster/wire/record.h"
#include "host/config/module.h"
#include "hub/base/own.h"
#include "hub/wire/arena.h"
#include "hub/wire/signature.h"

#define EVENTS      16
#define RECORD_MAX  ((size_t)256 << 10)
#define MODULE_PATH 32

struct inspection {
    struct rapahub_child_id child; /* 0: the place is free */
    uint8_t digest[CLUSTER_DIGEST_SIZE];
    uint64_t size;
    uint32_t abi;
    char name[HUB_ELF_NAME], version[HUB_ELF_NAME];
    cluster_inspections_done *done; /* NULL: it was told, and its guest ends */
    void *user;
};

struct cluster_inspections {
    struct rapahub_host *host;
    struct rapahub_supervisor *supervisor;
    struct rapahub_observer *observer;
    struct inspection all[CLUSTER_INSPECTIONS_MAX];
    uint64_t begun;
};

int cluster_inspections_create(struct rapahub_host *host, struct cluster_inspections **out)
{
    const struct rapahub_supervisor_options options = {.name = "inspected modules",
                                                       .strategy = RAPAHUB_SIMPLE};
    struct cluster_inspections *inspections = calloc(1, sizeof *inspections);
    struct rapahub_supervisor *root;
    int status;

    *out = inspections;
    if (!inspections)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for modules");
    inspections->host = host;
    status = rapahub_host_supervisor(host, &root);
    if (status == 0)
        status = rapahub_supervisor_create(root, &options, &inspections->supervisor);
    if (status == 0)
        status = rapahub_supervisor_observe(inspections->supervisor, NULL, &inspections->observer);
    if (status < 0)
        cluster_inspections_release(out);
    return status;
}

void cluster_inspections_stop(struct cluster_inspections *inspections, uint64_t timeout_ns)
{
    if (inspections->supervisor && rapahub_supervisor_stop(inspections->supervisor, timeout_ns) < 0)
        rapahub_clear_error();
    inspections->supervisor = NULL;
}

void cluster_inspections_release(struct cluster_inspections **inspections)
{
    if (*inspections)
        rapahub_observer_close((*inspections)->observer);
    free(*inspections);
    *inspections = NULL;
}

int cluster_inspections_fd(const struct cluster_inspections *inspections)
{
    return rapahub_observer_fd(inspections->observer);
}

/* ---- the record ---- */

struct methods {
    struct cluster_record_method list[CLUSTER_RECORD_METHODS_MAX];
    uint32_t count;
    void *texts;
    bool failed;
};

static void visit_method(void *user, const char *signature)
{
    struct methods *methods = user;
    char *text = hub_arena_copy(&methods->texts, signature, strlen(signature));

    if (!text || methods->count == CLUSTER_RECORD_METHODS_MAX) {
        methods->failed = true;
        return;
    }
    methods->list[methods->count++] =
        (struct cluster_record_method){hub_signature_hash(text), rapahub_string_of(text)};
}

static int by_id(const void *one, const void *other)
{
    const struct cluster_record_method *a = one, *b = other;

    return a->id < b->id ? -1 : a->id > b->id;
}

static int write_record(const struct inspection *inspection, struct methods *methods,
                        struct hub_writer *writer)
{
    struct cluster_record record = {0};
    struct utsname machine;

    if (methods->failed)
        return rapahub_fail(RAPAHUB_EFULL, "", "a module has at most %d methods",
                            CLUSTER_RECORD_METHODS_MAX);
    if (uname(&machine) < 0)
        return rapahub_fail(-errno, "", "uname: the machine is unknown");
    qsort(methods->list, methods->count, sizeof methods->list[0], by_id);
    record.module =
        (struct cluster_record_module){.name = rapahub_string_of(inspection->name),
                                       .version = rapahub_string_of(inspection->version),
                                       .machine = rapahub_string_of(machine.machine),
                                       .abi = inspection->abi,
                                       .size = inspection->size,
                                       .digest = {inspection->digest, sizeof inspection->digest},
                                       .methods = {.of = methods->list, .count = methods->count}};
    return cluster_record_put(writer, CLUSTER_KEY_MODULE, &record);
}

static void tell(struct inspection *inspection, int status, const char *text,
                 struct rapahub_bytes record)
{
    cluster_inspections_done *done = inspection->done;

    inspection->done = NULL;
    if (done)
        done(inspection->user, status, text, record);
}

static void tell_failure(struct inspection *inspection, int status, const char *text)
{
    tell(inspection, status, text, (struct rapahub_bytes){NULL, 0});
}

static void tell_record(struct cluster_inspections *inspections, struct inspection *inspection,
                        struct rapahub_guest_id guest)
{
    OWN(hub_memory) struct methods *methods = calloc(1, sizeof *methods);
    OWN(hub_memory) uint8_t *bytes = malloc(RECORD_MAX);
    struct hub_writer writer;
    int status = methods && bytes ? 0 : rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a module");

    hub_writer_init(&writer, bytes, RECORD_MAX);
    if (status == 0)
        status = rapahub_host_guest_methods(inspections->host, guest, visit_method, methods);
    if (status == 0)
        status = write_record(inspection, methods, &writer);
    if (status == 0)
        tell(inspection, 0, "", (struct rapahub_bytes){bytes, writer.size});
    else
        tell_failure(inspection, status, rapahub_last_error()->text);
    if (methods)
        hub_arena_release(&methods->texts);
}

/* ---- its guest ---- */

static void end(struct cluster_inspections *inspections, struct inspection *inspection)
{
    int status = rapahub_child_close(inspections->host, inspection->child, 0);

    if (status < 0 && status != RAPAHUB_ETIMEDOUT)
        rapahub_clear_error();
}

static void fail(struct cluster_inspections *inspections, struct inspection *inspection)
{
    OWN(hub_memory) struct rapahub_report *report = malloc(sizeof *report);
    bool known =
        report && rapahub_child_report(inspections->host, inspection->child, 0, report) == 0;

    tell_failure(inspection, RAPAHUB_ELOAD,
                 known ? report->cause : "the module cannot be loaded by a guest");
}

static void look(struct cluster_inspections *inspections, struct inspection *inspection)
{
    struct rapahub_child_status status;

    if (inspection->child.number == 0)
        return;
    if (rapahub_child_status(inspections->host, inspection->child, &status) < 0 ||
        strcmp(status.state, "closed") == 0) {
        fail(inspections, inspection);
        inspection->child.number = 0;
    } else if (strcmp(status.state, "ready") == 0 && inspection->done) {
        tell_record(inspections, inspection, status.guest);
        end(inspections, inspection);
    } else if (strcmp(status.state, "failed") == 0 && inspection->done) {
        fail(inspections, inspection);
        end(inspections, inspection);
    }
}

void cluster_inspections_step(struct cluster_inspections *inspections)
{
    struct rapahub_observation events[EVENTS];
    size_t count = EVENTS;

    while (count == EVENTS)
        if (rapahub_observer_read(inspections->observer, events, EVENTS, &count) < 0) {
            rapahub_clear_error(); /* its supervisor is gone */
            return;
        }
    for (size_t i = 0; i < CLUSTER_INSPECTIONS_MAX; i++)
        look(inspections, &inspections->all[i]);
}

/* ---- it begins ---- */

static int read_module(struct inspection *inspection, int module)
{
    OWN(hub_memory) struct config_module *read = malloc(sizeof *read);
    char path[MODULE_PATH];
    int status;

    if (!read)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a module");
    snprintf(path, sizeof path, "/proc/self/fd/%d", module);
    status = config_module_read(path, read);
    if (status < 0)
        return status;
    if (!read->is_chimod)
        return rapahub_fail(RAPAHUB_EABI, "", "the module is no chimod: it has no rapahub_chimod");
    inspection->size = read->size_bytes;
    inspection->abi = read->abi;
    snprintf(inspection->name, sizeof inspection->name, "%s", read->name);
    snprintf(inspection->version, sizeof inspection->version, "%s", read->version);
    if (!cluster_keys_is_name(rapahub_string_of(inspection->name)) ||
        !cluster_keys_is_version(rapahub_string_of(inspection->version)))
        return rapahub_fail(RAPAHUB_EABI, "",
                            "the module has no name and version that a node takes: "
                            "'%s', '%s'",
                            inspection->name, inspection->version);
    return 0;
}

static int start(struct cluster_inspections *inspections, struct inspection *inspection, int module)
{
    const struct rapahub_supervision once = {.restart = RAPAHUB_RESTART_TEMPORARY,
                                             .restarts_max = -1};
    char name[HUB_ELF_NAME + 32];
    const struct rapahub_guest_options options = {
        .chimod = inspection->name, .name = name, .supervision = &once, .module_fd = module};

    snprintf(name, sizeof name, "%.40s.inspected.%llu", inspection->name,
             (unsigned long long)++inspections->begun);
    return rapahub_supervisor_add(inspections->supervisor, &options, &inspection->child);
}

/* r[impl cluster.node.modules] */
int cluster_inspections_begin(struct cluster_inspections *inspections, int module,
                              const uint8_t digest[CLUSTER_DIGEST_SIZE],
                              cluster_inspections_done *done, void *user)
{
    struct inspection *inspection = inspections->all;
    int status;

    while (inspection < inspections->all + CLUSTER_INSPECTIONS_MAX && inspection->child.number != 0)
        inspection++;
    if (inspection == inspections->all + CLUSTER_INSPECTIONS_MAX)
        return rapahub_fail(RAPAHUB_EBUSY, "cluster.node.services",
                            "%d modules are looked at already", CLUSTER_INSPECTIONS_MAX);
    *inspection = (struct inspection){.done = done, .user = user};
    memcpy(inspection->digest, digest, sizeof inspection->digest);
    status = read_module(inspection, module);
    if (status == 0)
        status = start(inspections, inspection, module);
    if (status < 0)
        *inspection = (struct inspection){.done = NULL};
    return status;
}
