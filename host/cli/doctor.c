/* SPDX-License-Identifier: Apache-2.0 */
/* doctor: a function for each check. Features that this release lacks are reported, not left out.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <rapahub/error.h>
#include <rapahub/export.h>
#include <rapahub/version.h>

#include "host/cli/command/cli.h"
#include "host/cli/command/listing.h"
#include "host/cli/command/program.h"
#include "host/cli/commands.h"
#include "host/cli/target/sockets.h"
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
    const struct cli *cli;
    enum result result;
    char text[CLI_SOCKETS_PATH], remedy[256];
};

struct check {
    const char *id;
    void (*look)(struct finding *out);
};

static void set_finding(struct finding *out, enum result result, const char *remedy,
                        const char *format, ...) RAPAHUB_PRINTF(4, 5);

/* The remedy is for a warning and a failure alone. */
static void set_finding(struct finding *out, enum result result, const char *remedy,
                        const char *format, ...)
{
    va_list arguments;

    out->result = result;
    snprintf(out->remedy, sizeof out->remedy, "%s", result == RESULT_OK ? "" : remedy);
    va_start(arguments, format);
    vsnprintf(out->text, sizeof out->text, format, arguments);
    va_end(arguments);
}

static void look_at_kernel(struct finding *out)
{
    unsigned long major, minor;
    struct utsname name;
    char *end;

    uname(&name);
    major = strtoul(name.release, &end, 10);
    minor = *end == '.' ? strtoul(end + 1, NULL, 10) : 0;
    set_finding(out, major > 5 || (major == 5 && minor >= 10) ? RESULT_OK : RESULT_FAIL,
                "Linux 5.10 or later is needed", "%s", name.release);
}

static void look_at_libraries(struct finding *out)
{
    char guest[CLI_PROGRAM_PATH];

    if (cli_program_guest(guest) < 0 || access(guest, X_OK) < 0)
        set_finding(out, RESULT_FAIL, "install the package rapahub anew, or set RAPAHUB_GUEST",
                    "the program rapahub-guest is not where it should be");
    else
        set_finding(out, RESULT_OK, "", "rapahub %s, segment %d, abi %d, %s, %s", rapahub_version(),
                    RAPAHUB_SEGMENT_VERSION, RAPAHUB_CHIMOD_ABI, JSON_READER, YAML_READER);
}

static void look_at_shm(struct finding *out)
{
    struct statvfs status;
    uint64_t free_bytes;

    if (statvfs("/dev/shm", &status) < 0 || access("/dev/shm", W_OK) < 0) {
        set_finding(out, RESULT_FAIL, "mount -t tmpfs -o mode=1777 tmpfs /dev/shm",
                    "/dev/shm cannot be written");
        return;
    }
    free_bytes = (uint64_t)status.f_bavail * status.f_frsize;
    set_finding(out, free_bytes < SHM_LEAST ? RESULT_WARN : RESULT_OK,
                "mount -o remount,size=1G /dev/shm", "/dev/shm %s free", SIZE_TEXT(free_bytes));
}

static void look_at_segments(struct finding *out)
{
    bool fix = cli_arguments_flag(&out->cli->arguments, "fix");
    int count = hub_mapping_sweep(SEGMENT_PREFIX, !fix);

    if (count < 0)
        set_finding(out, RESULT_FAIL, "", "%s", rapahub_last_error()->text);
    else
        set_finding(out, count > 0 && !fix ? RESULT_WARN : RESULT_OK, "rapahub doctor --fix",
                    "%d stale segment%s%s", count, count == 1 ? "" : "s",
                    fix && count > 0 ? ", removed" : "");
}

/* r[impl exp.honest] */
static void look_at_levels(struct finding *out)
{
    set_finding(out, RESULT_WARN,
                "this release has no jail: run only modules that you trust with your files",
                "trusted; standard: a segment of its own, but no jail; strict: not available");
}

static void look_at_limits(struct finding *out)
{
    struct rlimit files;

    getrlimit(RLIMIT_NOFILE, &files);
    set_finding(out, files.rlim_cur < FILES_LEAST ? RESULT_WARN : RESULT_OK, "ulimit -n 4096",
                "open files %" PRIu64, (uint64_t)files.rlim_cur);
}

static void look_at_runtime(struct finding *out)
{
    char path[CLI_SOCKETS_PATH];
    bool there = host_folders_of_user(true, path) == 0;

    set_finding(out, there ? RESULT_OK : RESULT_FAIL,
                "remove it, or set XDG_RUNTIME_DIR to a folder of yours", "%s",
                there ? path : rapahub_last_error()->text);
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
    cli_json_object(json, NULL, MEMBER("id", id), MEMBER("result", result_names[finding->result]),
                    MEMBER("text", finding->text), MEMBER("remedy", finding->remedy));
}

int cli_doctor(struct cli *cli)
{
    unsigned counts[sizeof result_names / sizeof *result_names] = {0};
    struct cli_listing listing = {.cli = cli};
    int r;

    cli_listing_begin(&listing, "checks", NULL);
    for (unsigned i = 0; i < sizeof checks / sizeof *checks; i++) {
        struct finding finding = {.cli = cli};

        checks[i].look(&finding);
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
