/* SPDX-License-Identifier: Apache-2.0 */
/* transcript: what the program prints, word for word, for what is typed: a file of
 *
 *     $ COMMAND
 *     > more of it
 *     what it prints, on both streams
 *     [STATUS]
 *
 * each by `sh -c` in a new folder of the test, PATH beginning with its bin and the program's; no
 * [STATUS] means 0. MODULES and CHIMODS are the folders of modules, HERE is the new folder. Paths
 * of the build are printed as PREFIX; `COMMAND | norm` makes of times, sizes and numbers of
 * processes what is the same in each run. Lines before the first command are comments. With
 * TRANSCRIPT_WRITE set the file is written as it is then: read it before it is believed. */
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/process.h"
#include "tests/support/testing.h"

#define SECOND UINT64_C(1000000000)

static const char helpers[] =
    "exec 2>&1\n"
    "norm() { sed -E '/needs lib/d; s/(constructors\"?:?) [0-9]+/\\1 N/; s/sha256 [0-9a-f]+/sha256 "
    "N/;"
    " s/\"(sha256|build_id|time)\": \"[^\"]*\"/\"\\1\": N/g; s/build id .*/build id N/;"
    " s/\"([a-z]+_ns|pid|[a-z]+_bytes)\": [0-9]+/\"\\1\": N/g;"
    " s/\"needs\": [[]([^][]|[[][^]]*[]])*[]]/\"needs\": N/g;" /* lists in it, too */
    " s/(pid|request) [0-9]+/\\1 N/; s/[+]0x[0-9a-f]+/+N/; s/ *needs glibc [0-9.]+//;"
    " s/[0-9.]+ ([mn]|µ|u)?s( |$|,|;)/TIME\\2/g; s/[0-9.]+ [KM]iB/SIZE/g' | tr -s ' '; }\n"
    /* Each wait has an end, and shows then what it saw. */
    "until_says() { timeout 40 sh -c 'until [ $(cat \"$1\" 2>&1 | grep -c -e \"$0\") -ge $2 ]; do "
    "sleep 0.02; done' \"$1\" \"$2\" \"${3:-1}\" || { echo \"$2 does not say '$1':\"; cat $2; }; "
    "}\n"
    "until_log() { until_says \"$1\" host.log \"${2:-1}\"; }\n"
    "until_open() { timeout 40 sh -c 'until rapahub stats $0 | grep -q \"calls_open *1\"; do sleep "
    "0.02; done' $1 || { echo \"$1 has no open call:\"; rapahub stats $1; }; }\n"
    "until_gone() { timeout 40 sh -c 'while kill -0 $(cat $0) 2>/dev/null; do sleep 0.02; done' "
    "${1:-pid} || { echo \"the process of ${1:-pid} goes on:\"; ps ax; }; }\n";

static const char *transcript;
static char folder[] = "/tmp/rapahub-transcript-XXXXXX";

struct text {
    char *bytes;
    size_t size;
};

static struct text read_all(const char *path)
{
    struct text text = {malloc(1 << 20), 0};
    FILE *file = fopen(path, "re");

    assert_non_null(text.bytes);
    assert_non_null(file);
    text.size = fread(text.bytes, 1, (1 << 20) - 1, file);
    text.bytes[text.size] = '\0';
    fclose(file);
    return text;
}

/* Without where it was built. */
static void print(const char *text, FILE *to)
{
    for (const char *found; (found = strstr(text, TEST_PREFIX)) != NULL;) {
        fprintf(to, "%.*sPREFIX", (int)(found - text), text);
        text = found + strlen(TEST_PREFIX);
    }
    fputs(text, to);
}

static void run(const char *command, FILE *to)
{
    char path[4096], home[128], session[128], here[128], both[65536];
    const char *const argv[] = {"sh", "-c", both, NULL};
    const char *const variables[] = {path,
                                     home,
                                     session,
                                     here,
                                     "MODULES=" TEST_MODULES,
                                     "CHIMODS=" TEST_PREFIX "/" TEST_LIBDIR "/rapahub",
                                     "LC_ALL=C",
                                     NULL};
    const struct process_options options = {
        .argv = argv, .variables = variables, .folder = folder, .within_ns = 60 * SECOND};
    struct process_result result;

    snprintf(path, sizeof path, "PATH=%s/bin:" TEST_PREFIX "/bin:%.3000s", folder, getenv("PATH"));
    snprintf(home, sizeof home, "HOME=%s", folder);
    snprintf(session, sizeof session, "XDG_RUNTIME_DIR=%s/session", folder);
    snprintf(here, sizeof here, "HERE=%s", folder);
    snprintf(both, sizeof both, "%s%s", helpers, command);
    assert_int_equal(process_run(&options, &result), 0);
    assert_false(result.timed_out);
    print(result.out, to);
    if (result.out_size > 0 && result.out[result.out_size - 1] != '\n')
        fputs("(no end of line)\n", to);
    if (result.status != 0)
        fprintf(to, "[%d]\n", result.status);
    process_result_fini(&result);
}

/* The expected content of the file. */
static struct text run_all(char *said)
{
    struct text text = {NULL, 0};
    FILE *to = open_memstream(&text.bytes, &text.size);
    char command[32768];
    bool any = false;

    assert_non_null(to);
    for (char *line = said, *next; *line; line = next) {
        size_t size = strcspn(line, "\n"), at;

        next = line + size + (line[size] == '\n');
        if (strncmp(line, "$ ", 2) != 0) {
            if (!any)
                fprintf(to, "%.*s\n", (int)size, line);
            continue;
        }
        any = true;
        fprintf(to, "%.*s\n", (int)size, line);
        at = (size_t)snprintf(command, sizeof command, "%.*s\n", (int)size - 2, line + 2);
        for (; strncmp(next, "> ", 2) == 0; next += size + (next[size] == '\n')) {
            size = strcspn(next, "\n");
            fprintf(to, "%.*s\n", (int)size, next);
            at += (size_t)snprintf(command + at, sizeof command - at, "%.*s\n", (int)size - 2,
                                   next + 2);
        }
        run(command, to);
    }
    fclose(to);
    return text;
}

static void show_first_difference(const char *is, const char *wanted)
{
    const char *line = is;

    for (size_t i = 0; is[i] == wanted[i] && is[i]; i++)
        if (is[i] == '\n')
            line = is + i + 1;
    wanted += line - is;
    print_error("is:     %.*s\nwanted: %.*s\n", (int)strcspn(line, "\n"), line,
                (int)strcspn(wanted, "\n"), wanted);
}

static void the_program_prints_what_the_transcript_says(void **state)
{
    struct text said = read_all(transcript), is = run_all(said.bytes);

    (void)state;
    if (getenv("TRANSCRIPT_WRITE")) {
        FILE *file = fopen(transcript, "we");

        assert_non_null(file);
        assert_int_equal(fwrite(is.bytes, 1, is.size, file), is.size);
        fclose(file);
    } else if (strcmp(is.bytes, said.bytes) != 0) {
        show_first_difference(is.bytes, said.bytes);
        fail_msg("%s: another output", transcript);
    }
    free(said.bytes);
    free(is.bytes);
}

static int set_up(void **state)
{
    char path[128];

    (void)state;
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/session", folder);
    return mkdir(path, 0700);
}

static int drop(const char *path, const struct stat *status, int kind, struct FTW *at)
{
    (void)status;
    (void)kind;
    (void)at;
    return remove(path);
}

static int tear_down(void **state)
{
    (void)state;
    return nftw(folder, drop, 16, FTW_DEPTH | FTW_PHYS);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_program_prints_what_the_transcript_says),
    };

    if (argc != 2)
        return 2;
    transcript = argv[1];
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
