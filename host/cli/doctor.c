/* SPDX-License-Identifier: Apache-2.0 */
/* doctor: a function for each check. Features that this release lacks are reported, not left out.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <rapahub/error.h>
#include <rapahub/version.h>

#include "host/cli/cli.h"
#include "host/cli/commands.h"
#include "host/cli/listing.h"
#include "host/cli/program.h"
#include "host/cli/runtime.h"
#include "host/config/units.h"
#include "hub/base/mapping.h"

#define EXIT_PROBLEMS  11
#define SEGMENT_PREFIX "rapahub" /* prefix of the files of segments in /dev/shm */
#define SHM_LEAST      (UINT64_C(64) << 20)
#define FILES_LEAST    1024

#ifdef RAPAHUB_WITH_JANSSON
#define JSON_READER "jansson"
#else
#define JSON_READER "without jansson: no JSON"
#endif

#ifdef RAPAHUB_WITH_YAML
#define YAML_READER "libfyaml"
#else
#define YAML_READER "without libfyaml: no trees from files"
#endif

enum result { RESULT_OK, RESULT_WARN, RESULT_FAIL, RESULT_SKIPPED };

static const char *const result_names[] = {"ok", "warn", "fail", "skipped"};
static const char *const result_colors[] = {"\033[32m", "\033[33m", "\033[31m", "\033[2m"};

struct finding {
    enum result result;
    char text[CLI_RUNTIME_PATH], remedy[256];
};

struct check {
    const char *id;
    void (*look)(struct cli *cli, struct finding *out);
};

static void set_finding(struct finding *out, enum result result, const char *text,
                        const char *remedy)
{
    out->result = result;
    snprintf(out->text, sizeof out->text, "%s", text);
    snprintf(out->remedy, sizeof out->remedy, "%s", remedy);
}

static void look_at_kernel(struct cli *cli, struct finding *out)
{
    unsigned long major, minor;
    struct utsname name;
    char *end;

    (void)cli;
    uname(&name);
    major = strtoul(name.release, &end, 10);
    minor = *end == '.' ? strtoul(end + 1, NULL, 10) : 0;
    if (major > 5 || (major == 5 && minor >= 10))
        set_finding(out, RESULT_OK, name.release, "");
    else
        set_finding(out, RESULT_FAIL, name.release, "Linux 5.10 or later is needed");
}

static void look_at_libraries(struct cli *cli, struct finding *out)
{
    char guest[CLI_PROGRAM_PATH], text[512];

    (void)cli;
    if (cli_program_guest(guest) < 0 || access(guest, X_OK) < 0) {
        set_finding(out, RESULT_FAIL, "the program rapahub-guest is not where it should be",
                    "install the package rapahub anew, or set RAPAHUB_GUEST");
        return;
    }
    snprintf(text, sizeof text, "rapahub %s, segment %d, abi %d, %s, %s", rapahub_version(),
             RAPAHUB_SEGMENT_VERSION, RAPAHUB_CHIMOD_ABI, JSON_READER, YAML_READER);
    set_finding(out, RESULT_OK, text, "");
}

static void look_at_shm(struct cli *cli, struct finding *out)
{
    char size[CONFIG_UNITS_TEXT], text[128];
    struct statvfs status;
    uint64_t free_bytes;

    (void)cli;
    if (statvfs("/dev/shm", &status) < 0 || access("/dev/shm", W_OK) < 0) {
        set_finding(out, RESULT_FAIL, "/dev/shm cannot be written",
                    "mount -t tmpfs -o mode=1777 tmpfs /dev/shm");
        return;
    }
    free_bytes = (uint64_t)status.f_bavail * status.f_frsize;
    snprintf(text, sizeof text, "/dev/shm %s free", config_units_print_size(free_bytes, size));
    if (free_bytes < SHM_LEAST)
        set_finding(out, RESULT_WARN, text, "mount -o remount,size=1G /dev/shm");
    else
        set_finding(out, RESULT_OK, text, "");
}

static void look_at_segments(struct cli *cli, struct finding *out)
{
    bool fix = cli_arguments_flag(&cli->arguments, "fix");
    int count = hub_mapping_sweep(SEGMENT_PREFIX, !fix);
    char text[128];

    if (count < 0) {
        set_finding(out, RESULT_FAIL, rapahub_last_error()->text, "");
        return;
    }
    snprintf(text, sizeof text, "%d stale segment%s%s", count, count == 1 ? "" : "s",
             fix && count > 0 ? ", removed" : "");
    if (count > 0 && !fix)
        set_finding(out, RESULT_WARN, text, "rapahub doctor --fix");
    else
        set_finding(out, RESULT_OK, text, "");
}

/* r[impl exp.honest] */
static void look_at_levels(struct cli *cli, struct finding *out)
{
    (void)cli;
    set_finding(out, RESULT_WARN,
                "trusted; standard: a segment of its own, but no jail; strict: not available",
                "this release has no jail: run only modules that you trust with your files");
}

static void look_at_limits(struct cli *cli, struct finding *out)
{
    struct rlimit files;
    char text[128];

    (void)cli;
    getrlimit(RLIMIT_NOFILE, &files);
    snprintf(text, sizeof text, "open files %" PRIu64, (uint64_t)files.rlim_cur);
    if (files.rlim_cur < FILES_LEAST)
        set_finding(out, RESULT_WARN, text, "ulimit -n 4096");
    else
        set_finding(out, RESULT_OK, text, "");
}

static void look_at_runtime(struct cli *cli, struct finding *out)
{
    char path[CLI_RUNTIME_PATH];

    (void)cli;
    if (cli_runtime_folder(true, path) < 0)
        set_finding(out, RESULT_FAIL, rapahub_last_error()->text,
                    "remove it, or set XDG_RUNTIME_DIR to a folder of yours");
    else
        set_finding(out, RESULT_OK, path, "");
}

static const struct check checks[] = {
    {"kernel", look_at_kernel},     {"libraries", look_at_libraries}, {"shm", look_at_shm},
    {"segments", look_at_segments}, {"levels", look_at_levels},       {"limits", look_at_limits},
    {"runtime", look_at_runtime},
};

static void print_finding(const struct cli *cli, const char *id, const struct finding *finding)
{
    printf("%-10s %s%-7s%s %s", id, cli->color_out ? result_colors[finding->result] : "",
           result_names[finding->result], cli->color_out ? "\033[0m" : "", finding->text);
    if (finding->remedy[0])
        printf("\n%-18s do: %s", "", finding->remedy);
    putchar('\n');
}

static void write_finding(struct cli_json *json, const char *id, const struct finding *finding)
{
    cli_json_object(json, NULL,
                    MEMBERS(MEMBER("id", id), MEMBER("result", result_names[finding->result]),
                            MEMBER("text", finding->text), MEMBER("remedy", finding->remedy)));
}

int cli_doctor(struct cli *cli)
{
    unsigned counts[sizeof result_names / sizeof *result_names] = {0};
    struct cli_listing listing = {.cli = cli};
    int r;

    cli_listing_begin(&listing, "checks", NULL);
    for (unsigned i = 0; i < sizeof checks / sizeof *checks; i++) {
        struct finding finding = {.result = RESULT_OK};

        checks[i].look(cli, &finding);
        counts[finding.result]++;
        if (cli_json_wanted(cli))
            write_finding(&listing.json, checks[i].id, &finding);
        else
            print_finding(cli, checks[i].id, &finding);
    }
    r = cli_listing_end(&listing, 0);
    if (!cli_json_wanted(cli))
        printf("%u problem%s, %u warning%s\n", counts[RESULT_FAIL],
               counts[RESULT_FAIL] == 1 ? "" : "s", counts[RESULT_WARN],
               counts[RESULT_WARN] == 1 ? "" : "s");
    return r < 0 ? r : counts[RESULT_FAIL] ? EXIT_PROBLEMS : 0;
}
