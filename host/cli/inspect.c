/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rapahub/error.h>
#include <rapahub/version.h>

#include "host/cli/command/cli.h"
#include "host/cli/commands.h"
#include "host/cli/target/elf_methods.h"
#include "host/cli/target/remote.h"
#include "host/cli/target/runtime.h"
#include "host/cli/target/session.h"
#include "host/cli/text/json.h"
#include "host/cli/text/sha256.h"
#include "host/cli/text/table.h"
#include "host/config/module.h"
#include "host/config/units.h"
#include "hub/base/own.h"

struct inspection {
    struct cli *cli;
    char file[CLI_REMOTE_FILE];
    char sha256[65]; /* the file's; "" where the kernel does not compute it */
    struct config_module elf;
    char name[64], version[64];
    struct cli_texts methods;
    struct cli_texts problems;
};

/* Runs the module in a guest process, which is killed at its start time-out. Its constructors run
 * there with the rights of the user, so this is done on request only. */
static void load(struct inspection *inspection)
{
    const struct cli_session_options options = {
        .file = inspection->file,
        .params = cli_arguments_text(&inspection->cli->arguments, "params"),
        .timeout_ns = inspection->cli->timeout_ns};
    struct cli_session session;
    int r = cli_session_open(inspection->cli, &options, &session);

    /* A module that started is sound; a container that wants parameters is no fault of the file. */
    if (r == 0 || session.name[0])
        r = cli_session_methods(&session, &inspection->methods);
    if (r < 0)
        cli_texts_add(&inspection->problems, rapahub_last_error()->text);
    if (session.name[0]) {
        snprintf(inspection->name, sizeof inspection->name, "%s", session.name);
        snprintf(inspection->version, sizeof inspection->version, "%s", session.version);
    }
    cli_session_close(&session);
}

static void judge(struct inspection *inspection)
{
    const struct config_module *elf = &inspection->elf;

    snprintf(inspection->name, sizeof inspection->name, "%s", elf->name);
    snprintf(inspection->version, sizeof inspection->version, "%s", elf->version);
    if (elf->is_chimod && elf->abi != RAPAHUB_CHIMOD_ABI)
        cli_texts_print(&inspection->problems, "built for abi %" PRIu32 "; this is abi %d",
                        elf->abi, RAPAHUB_CHIMOD_ABI);
    if (elf->facts.text_relocations)
        cli_texts_add(&inspection->problems, "has text relocations: build it with -fPIC");
    if (elf->facts.executable_stack)
        cli_texts_add(&inspection->problems,
                      "wants an executable stack: link it with -z noexecstack");
}

static void read_methods(struct inspection *inspection)
{
    if (cli_elf_methods_read(inspection->file, &inspection->methods) < 0)
        cli_texts_print(&inspection->problems,
                        "%.900s; --load runs it, in a process of its own, and asks",
                        rapahub_last_error()->text);
}

static int read_file(struct inspection *inspection)
{
    struct hub_elf image;
    int r = hub_elf_open(inspection->file, &image);

    if (r < 0)
        return r;
    config_module_describe(&image, &inspection->elf);
    if (!cli_sha256(image.data, image.size, inspection->sha256))
        inspection->sha256[0] = '\0';
    hub_elf_fini(&image);
    return 0;
}

/* r[impl exp.inspect.unloaded] */
static int inspect_file(struct inspection *inspection)
{
    int r = read_file(inspection);

    if (r < 0)
        return r;
    judge(inspection);
    if (inspection->elf.is_chimod && cli_arguments_flag(&inspection->cli->arguments, "load"))
        load(inspection);
    else if (inspection->elf.is_chimod)
        read_methods(inspection);
    return 0;
}

/* The file may have changed since it was loaded: the methods are those of the running guest. */
static int inspect_guest(struct inspection *inspection, const char *name)
{
    struct cli_remote_guest guest;
    struct cli_runtime_place place;
    int r = cli_runtime_find(inspection->cli, name, CLI_RUNTIME_GUESTS, &place);

    if (r < 0)
        return r;
    r = cli_remote_guest(inspection->cli, place.guest, &guest);
    if (guest.found)
        memcpy(inspection->file, guest.file, sizeof inspection->file);
    if (r == 0)
        r = cli_remote_methods(inspection->cli, place.guest, &inspection->methods);
    if (r < 0)
        return r;
    r = read_file(inspection);
    if (r < 0)
        cli_texts_add(&inspection->problems, rapahub_last_error()->text);
    else
        judge(inspection);
    snprintf(inspection->name, sizeof inspection->name, "%s", place.guest);
    return 0;
}

static void print_head(const struct inspection *inspection)
{
    const struct config_module *elf = &inspection->elf;

    printf("%s%s%s  %s", inspection->name[0] ? inspection->name : inspection->file,
           inspection->version[0] ? " " : "", inspection->version, SIZE_TEXT(elf->size_bytes));
    if (inspection->sha256[0])
        printf("  sha256 %.16s…", inspection->sha256);
    if (elf->is_chimod)
        printf("  abi %" PRIu32 "  state %s", elf->abi, SIZE_TEXT(elf->state_bytes));
    else
        printf("  no chimod");
    printf("  constructors %" PRIu64 "\n", elf->facts.constructors);
}

static void print_methods(const struct cli_texts *methods)
{
    int widest = 0;

    for (unsigned i = 0; i < methods->count; i++) {
        int width = (int)strlen(methods->texts[i]);

        widest = width > widest ? width : widest;
    }
    for (unsigned i = 0; i < methods->count; i++)
        printf("  %-*s  %016" PRIx64 "\n", widest, methods->texts[i],
               hub_signature_hash(methods->texts[i]));
}

static void print_callbacks(const struct config_module *elf)
{
    if (!elf->callbacks)
        return;
    fputs("  callbacks", stdout);
    for (unsigned i = 0; config_module_callback(i); i++) {
        if (elf->callbacks & UINT32_C(1) << i)
            printf(" %s", config_module_callback(i));
    }
    putchar('\n');
}

/* The system must have the highest of the versions. */
static void print_needs(const struct config_module *elf)
{
    for (unsigned i = 0; i < elf->facts.need_count; i++) {
        const struct hub_elf_need *need = &elf->facts.needs[i];
        const char *highest = "";

        for (unsigned j = 0; j < need->version_count; j++)
            highest = strverscmp(need->versions[j], highest) > 0 ? need->versions[j] : highest;
        printf("  needs %s%s%s%s\n", need->library, highest[0] ? " (" : "", highest,
               highest[0] ? ")" : "");
    }
}

static void print_text(const struct inspection *inspection)
{
    print_head(inspection);
    print_methods(&inspection->methods);
    print_callbacks(&inspection->elf);
    print_needs(&inspection->elf);
    if (inspection->elf.facts.build_id[0])
        printf("  build id %s\n", inspection->elf.facts.build_id);
    for (unsigned i = 0; i < inspection->problems.count; i++)
        printf("  problem: %s\n", inspection->problems.texts[i]);
}

static void write_methods(struct cli_json *json, const struct cli_texts *methods)
{
    cli_json_open(json, "methods", CLI_JSON_LIST);
    for (unsigned i = 0; i < methods->count; i++) {
        const char *id = CELL("%016" PRIx64, hub_signature_hash(methods->texts[i]));

        cli_json_object(json, NULL, MEMBER("signature", methods->texts[i]), MEMBER("id", id));
    }
    cli_json_close(json);
}

static void write_needs(struct cli_json *json, const struct config_module *elf)
{
    cli_json_open(json, "needs", CLI_JSON_LIST);
    for (unsigned i = 0; i < elf->facts.need_count; i++) {
        cli_json_put(json, BRACKET(CLI_JSON_OBJECT, NULL),
                     MEMBER("library", elf->facts.needs[i].library));
        cli_json_open(json, "versions", CLI_JSON_LIST);
        for (unsigned j = 0; j < elf->facts.needs[i].version_count; j++)
            cli_json_put(json, MEMBER(NULL, elf->facts.needs[i].versions[j]));
        cli_json_close(json);
        cli_json_close(json);
    }
    cli_json_close(json);
}

static void write_callbacks(struct cli_json *json, const struct config_module *elf)
{
    cli_json_open(json, "callbacks", CLI_JSON_LIST);
    for (unsigned i = 0; config_module_callback(i); i++) {
        if (elf->callbacks & UINT32_C(1) << i)
            cli_json_put(json, MEMBER(NULL, config_module_callback(i)));
    }
    cli_json_close(json);
}

static int print_json(const struct inspection *inspection)
{
    const struct config_module *elf = &inspection->elf;
    struct cli_json json;

    cli_json_begin(&json, stdout, inspection->cli->command->schema);
    cli_json_put(&json, MEMBER("file", inspection->file), MEMBER("size_bytes", elf->size_bytes),
                 MEMBER_IF(inspection->sha256[0], "sha256", inspection->sha256),
                 MEMBER("name", inspection->name), MEMBER("version", inspection->version),
                 MEMBER_IF(elf->is_chimod, "abi", elf->abi),
                 MEMBER_IF(elf->is_chimod, "state_bytes", elf->state_bytes));
    write_callbacks(&json, elf);
    write_methods(&json, &inspection->methods);
    write_needs(&json, elf);
    cli_json_put(&json, MEMBER("constructors", elf->facts.constructors),
                 MEMBER("text_relocations", elf->facts.text_relocations),
                 MEMBER("executable_stack", elf->facts.executable_stack),
                 MEMBER("build_id", elf->facts.build_id), BRACKET(CLI_JSON_LIST, "problems"));
    for (unsigned i = 0; i < inspection->problems.count; i++)
        cli_json_put(&json, MEMBER(NULL, inspection->problems.texts[i]));
    return cli_json_end(&json);
}

/* A path is a file; a bare word is a file where there is one, else a guest. */
static bool is_file(const char *operand)
{
    return strchr(operand, '/') || strstr(operand, ".so") || access(operand, F_OK) == 0;
}

int cli_inspect(struct cli *cli)
{
    const char *operand = cli->arguments.operands[0];
    OWN(hub_memory) struct inspection *inspection = calloc(1, sizeof *inspection);
    int r;

    if (!inspection)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for an inspection");
    inspection->cli = cli;
    snprintf(inspection->file, sizeof inspection->file, "%s", operand);
    r = is_file(operand) ? inspect_file(inspection) : inspect_guest(inspection, operand);
    if (r == 0 && cli_json_wanted(cli))
        r = print_json(inspection);
    else if (r == 0)
        print_text(inspection);
    cli_texts_fini(&inspection->methods);
    cli_texts_fini(&inspection->problems);
    return r;
}
