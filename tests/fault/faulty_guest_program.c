/* SPDX-License-Identifier: Apache-2.0 */
/* rapahub-guest, in which one thing fails: which is in a file named after the host's process, for a
 * guest gets no variables; the first guest that finds it removes it. Where it comes to
 * that it leaves another one. */
#include <stdio.h>
#include <unistd.h>

#include <rapahub/guest.h>

#include "tests/support/faults.h"

static void arm(void)
{
    unsigned function = FAULTS_COUNT;
    unsigned long long number = 0;
    char path[40], met[48];
    FILE *file;

    snprintf(path, sizeof path, "/tmp/rapahub-fault-%d", (int)getppid());
    file = fopen(path, "re");
    if (!file)
        return;
    if (fscanf(file, "%u %llu", &function, &number) == 2 && function < FAULTS_COUNT) {
        (void)unlink(path);
        snprintf(met, sizeof met, "%s.met", path);
        faults_leave(met);
        faults_arm((enum faults_function)function, number);
    }
    fclose(file);
}

int main(int argc, char **argv)
{
    arm();
    rapahub_guest_last_words();
    return rapahub_guest_run(argc, argv, NULL);
}
