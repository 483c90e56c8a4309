/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/once.h"

#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include <rapahub/version.h>

#include "tests/bench/place.h"
#include "tests/support/process.h"

#define WITHIN_NS UINT64_C(60000000000)

int once_run(const struct suite_subject *subject, const struct suite_options *options,
             struct trial *out)
{
    int r;

    if (getloadavg(&out->load, 1) != 1)
        out->load = 0;
    r = subject->run(subject, options, out);
    if (r < 0)
        fprintf(stderr, "\n%s: failed (%d)\n", subject->id, r);
    return r;
}

static double field_of(const char *line, const char *name)
{
    char quoted[32];
    const char *at;

    snprintf(quoted, sizeof quoted, "\"%s\":", name);
    at = strstr(line, quoted);
    return at ? strtod(at + strlen(quoted), NULL) : 0;
}

void once_read(const char *line, struct trial *out)
{
    out->batch_ns = field_of(line, "batch_ns");
    out->p50_ns = field_of(line, "p50_ns");
    out->p90_ns = field_of(line, "p90_ns");
    out->p99_ns = field_of(line, "p99_ns");
    out->p999_ns = field_of(line, "p999_ns");
    out->value = field_of(line, "rate");
    out->second = field_of(line, "second");
    out->n = (uint64_t)field_of(line, "n");
    out->preempted = (uint64_t)field_of(line, "preempted");
    out->load = field_of(line, "load");
    out->fifo = strstr(line, "\"fifo\":true") != NULL;
}

int once_elsewhere(const char *program, const struct suite_subject *subject,
                   const struct suite_options *options, struct trial *out)
{
    char ms[32];
    const char *const argv[] = {program,
                                "--trial",
                                ms,
                                options->fifo ? "trial" : "--no-fifo",
                                options->fifo ? subject->id : "trial",
                                options->fifo ? NULL : subject->id,
                                NULL};
    const struct process_options how = {.argv = argv, .within_ns = WITHIN_NS};
    struct process_result result;
    int r;

    snprintf(ms, sizeof ms, "%g", options->trial_ms);
    r = process_run(&how, &result);
    if (r < 0)
        return r;
    if (result.status == 0)
        once_read(result.out, out);
    else if (result.status != SUITE_STATUS_NOT_HERE)
        fprintf(stderr, "%s: %s: status %d: %.300s\n", program, subject->id, result.status,
                result.err);
    snprintf(out->why, sizeof out->why, "%s", result.status == 0 ? "" : "one build cannot do it");
    r = result.status == 0                                             ? 0
        : result.status == SUITE_STATUS_NOT_HERE || result.status == 2 ? SUITE_NOT_HERE
                                                                       : -1;
    process_result_fini(&result);
    return r;
}

/* The model of the CPU, for people. */
static const char *cpu_name(void)
{
    static char name[96];
    char line[256];
    FILE *file = *name ? NULL : fopen("/proc/cpuinfo", "re");

    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, "model name", 10) == 0 && strchr(line, ':')) {
            snprintf(name, sizeof name, "%.95s", strchr(line, ':') + 2);
            name[strcspn(name, "\n\"\\")] = '\0';
            break;
        }
    if (file)
        fclose(file);
    return name;
}

static void print_where(FILE *file, const struct once_where *where)
{
    if (where->row)
        fprintf(file, "\"row\":\"%s\",", where->row);
    else
        fprintf(file, "\"row\":null,");
    if (where->base && where->ratio > 0)
        fprintf(file, "\"base\":\"%s\",\"ratio\":%.4g,", where->base, where->ratio);
    else
        fprintf(file, "\"base\":null,\"ratio\":null,");
}

void once_print(FILE *file, const struct suite_subject *subject, const struct trial *trial,
                const struct once_where *where)
{
    struct utsname system;

    if (uname(&system) < 0)
        system.release[0] = '\0';
    fprintf(file,
            "{\"schema\":\"rapahub.suite/1\",\"id\":\"%s\",\"mode\":\"%s\",\"size\":%u,"
            "\"place\":\"%s\",\"fifo\":%s,\"round\":%u,\"seed\":%llu,",
            subject->id, suite_mode_name(subject->mode), subject->size,
            suite_place_name(subject->place), trial->fifo ? "true" : "false", where->round,
            (unsigned long long)where->seed);
    fprintf(file,
            "\"batch_ns\":%.1f,\"p50_ns\":%.1f,\"p90_ns\":%.1f,\"p99_ns\":%.1f,\"p999_ns\":%.1f,"
            "\"n\":%llu,\"rate\":%.6g,\"second\":%.6g,\"preempted\":%llu,\"load\":%.2f,",
            trial->batch_ns, trial->p50_ns, trial->p90_ns, trial->p99_ns, trial->p999_ns,
            (unsigned long long)trial->n, trial->value, trial->second,
            (unsigned long long)trial->preempted, trial->load);
    print_where(file, where);
    fprintf(file, "\"version\":\"%s\",\"cpu\":\"%s\",\"cpus\":%u,\"kernel\":\"%s\"}\n",
            RAPAHUB_VERSION, cpu_name(), place_cpus(), system.release);
    fflush(file);
}
