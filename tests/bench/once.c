/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/once.h"

#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include <rapahub/version.h>

#include "tests/bench/place.h"

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

void once_print(FILE *file, const struct suite_subject *subject, const struct trial *trial,
                uint32_t round, uint64_t seed)
{
    struct utsname system;

    if (uname(&system) < 0)
        system.release[0] = '\0';
    fprintf(file,
            "{\"schema\":\"rapahub.suite/1\",\"id\":\"%s\",\"mode\":\"%s\",\"size\":%u,"
            "\"place\":\"%s\",\"fifo\":%s,\"round\":%u,\"seed\":%llu,",
            subject->id, suite_mode_name(subject->mode), subject->size,
            suite_place_name(subject->place), trial->fifo ? "true" : "false", round,
            (unsigned long long)seed);
    fprintf(file,
            "\"batch_ns\":%.1f,\"p50_ns\":%.1f,\"p90_ns\":%.1f,\"p99_ns\":%.1f,\"p999_ns\":%.1f,"
            "\"n\":%llu,\"rate\":%.6g,\"preempted\":%llu,\"load\":%.2f,",
            trial->batch_ns, trial->p50_ns, trial->p90_ns, trial->p99_ns, trial->p999_ns,
            (unsigned long long)trial->n, trial->value, (unsigned long long)trial->preempted,
            trial->load);
    fprintf(file, "\"version\":\"%s\",\"cpu\":\"%s\",\"cpus\":%u,\"kernel\":\"%s\"}\n",
            RAPAHUB_VERSION, cpu_name(), place_cpus(), system.release);
    fflush(file);
}
