/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "host/cli/command/cli.h"
#include "host/cli/command/failure.h"
#include "host/cli/command/process.h"
#include "host/cli/command/program.h"
#include "host/cli/commands.h"
#include "host/cli/target/elf_methods.h"
#include "host/cli/text/files.h"
#include "host/cli/text/json.h"
#include "host/config/module.h"
#include "host/config/units.h"
#include "hub/base/clock.h"

#define STEPS_TIMEOUT 20 /* times --timeout, for a compiler */
#define WORDS_MAX     12
#define PATH_SIZE     4096

struct building {
    struct cli *cli;
    const char *folder;
    char build[PATH_SIZE]; /* folder/build, or build */
    uint64_t began_ns, duration_ns;
    struct cli_texts files;
};

/* Replaces the line of the phase before; "": there is none after it. */
static void tell_phase(const struct building *building, const char *phase)
{
    if (building->cli->progress && isatty(STDERR_FILENO))
        fprintf(stderr, "\r\033[K%s%s%s", phase, phase[0] ? " " : "",
                phase[0] ? building->folder : "");
}

static int run(const struct building *building, const char *const *words)
{
    int r =
        cli_process_run(words, building->cli->verbose, building->cli->timeout_ns * STEPS_TIMEOUT);

    if (r == RAPAHUB_ENOENT)
        cli_failure_hint(building->cli, "apt install cmake gcc ninja-build");
    else if (r < 0)
        cli_failure_hint(building->cli, "its messages are above");
    return r;
}

/* In the order of the choices of --sanitize. */
static const char *const sanitizer_flags[] = {"-fsanitize=address -fno-omit-frame-pointer",
                                              "-fsanitize=thread",
                                              "-fsanitize=undefined -fno-sanitize-recover=all"};

static bool has_ninja(const struct building *building)
{
    const char *const words[] = {"ninja", "--version", NULL};

    return cli_process_run(words, false, building->cli->timeout_ns) == 0;
}

static bool is_configured(const struct building *building)
{
    char path[PATH_SIZE + 32];

    snprintf(path, sizeof path, "%s/CMakeCache.txt", building->build);
    return access(path, F_OK) == 0;
}

static int configure(const struct building *building)
{
    const struct cli_arguments *arguments = &building->cli->arguments;
    char prefix[CLI_PROGRAM_PATH], prefix_word[CLI_PROGRAM_PATH + 32], c[160], cxx[160];
    const char *flags = cli_arguments_text(arguments, "sanitize")
                            ? sanitizer_flags[cli_arguments_choice(arguments, "sanitize")]
                            : "";
    const char *words[WORDS_MAX] = {
        "cmake", "-S", building->folder, "-B", building->build, prefix_word, c, cxx};
    unsigned count = 8;
    int r = cli_program_path("..", prefix);

    if (r < 0)
        return r;
    snprintf(prefix_word, sizeof prefix_word, "-DCMAKE_PREFIX_PATH=%s", prefix);
    snprintf(c, sizeof c, "-DCMAKE_C_FLAGS=%s", flags);
    snprintf(cxx, sizeof cxx, "-DCMAKE_CXX_FLAGS=%s", flags);
    words[count++] = cli_arguments_flag(arguments, "release") ? "-DCMAKE_BUILD_TYPE=Release"
                                                              : "-DCMAKE_BUILD_TYPE=Debug";
    if (!is_configured(building) && has_ninja(building))
        words[count++] = "-GNinja";
    words[count] = NULL;
    tell_phase(building, "configuring");
    return run(building, words);
}

static int compile(const struct building *building)
{
    const char *const words[] = {"cmake", "--build", building->build, "--parallel", NULL};

    tell_phase(building, "building");
    return run(building, words);
}

struct built {
    struct config_module elf;
    struct cli_texts methods;
    bool known; /* the methods are */
};

/* Nothing of it is run. */
static void look_at(const char *path, struct built *built)
{
    if (config_module_read(path, &built->elf) == 0 && built->elf.is_chimod)
        built->known = cli_elf_methods_read(path, &built->methods) == 0;
}

static void print_line(const struct building *building, const char *path, const struct built *built)
{
    char glibc[HUB_ELF_NAME];

    printf("%s  %s", path, SIZE_TEXT(built->elf.size_bytes));
    if (!built->elf.is_chimod)
        fputs("  no chimod: a call names the whole signature", stdout);
    else if (built->known)
        printf("  abi %" PRIu32 "  %u method%s", built->elf.abi, built->methods.count,
               built->methods.count == 1 ? "" : "s");
    else
        printf("  abi %" PRIu32 "  methods unknown: rapahub inspect says why", built->elf.abi);
    hub_elf_facts_glibc(&built->elf.facts, glibc);
    if (glibc[0])
        printf("  needs glibc %s", glibc);
    printf("  %s\n", SPAN_TEXT(building->duration_ns));
}

static void write_module(struct cli_json *json, const char *path, const struct built *built)
{
    cli_json_put(json, BRACKET(CLI_JSON_OBJECT, NULL), MEMBER("file", path),
                 MEMBER("size_bytes", built->elf.size_bytes),
                 MEMBER_IF(built->elf.is_chimod, "abi", built->elf.abi),
                 MEMBER("methods", built->methods.count));
    cli_json_open(json, "needs", CLI_JSON_LIST);
    for (unsigned i = 0; i < built->elf.facts.need_count; i++)
        cli_json_put(json, MEMBER(NULL, built->elf.facts.needs[i].library));
    cli_json_close(json);
    cli_json_close(json);
}

static int report(struct building *building)
{
    bool wants_json = cli_json_wanted(building->cli);
    struct built *built = malloc(sizeof *built);
    struct cli_json json;
    int r = 0;

    if (!built)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory to look at the modules");
    if (wants_json) {
        cli_json_begin(&json, stdout, building->cli->command->schema);
        cli_json_put(&json, MEMBER("folder", building->build),
                     MEMBER("duration_ns", building->duration_ns),
                     BRACKET(CLI_JSON_LIST, "modules"));
    }
    for (unsigned i = 0; i < building->files.count; i++) {
        *built = (struct built){.known = false};
        look_at(building->files.texts[i], built);
        if (wants_json)
            write_module(&json, building->files.texts[i], built);
        else
            print_line(building, building->files.texts[i], built);
        cli_texts_fini(&built->methods);
    }
    if (wants_json)
        r = cli_json_end(&json);
    free(built);
    return r;
}

static int carry_out(struct building *building)
{
    char list[PATH_SIZE + 32];
    int r;

    snprintf(list, sizeof list, "%s/CMakeLists.txt", building->folder);
    if (access(list, F_OK) < 0) {
        cli_failure_hint(building->cli, "rapahub new NAME makes one");
        return rapahub_fail(-errno, "", "there is no CMakeLists.txt");
    }
    r = configure(building);
    if (r == 0)
        r = compile(building);
    tell_phase(building, "");
    building->duration_ns = hub_clock_now() - building->began_ns;
    if (r == 0)
        r = cli_files_add_all(&building->files, building->build);
    return r < 0 ? r : report(building);
}

int cli_build(struct cli *cli)
{
    struct building building = {.cli = cli, .folder = ".", .began_ns = hub_clock_now()};
    int r;

    if (cli->arguments.count)
        building.folder = cli->arguments.operands[0];
    cli_failure_about(cli, "build %s", building.folder);
    if (strlen(building.folder) > PATH_SIZE - 64)
        return rapahub_fail(RAPAHUB_EINVAL, "", "the path is too long");
    if (strcmp(building.folder, ".") == 0)
        snprintf(building.build, sizeof building.build, "build");
    else
        snprintf(building.build, sizeof building.build, "%s/build", building.folder);
    r = carry_out(&building);
    cli_texts_fini(&building.files);
    return r;
}
