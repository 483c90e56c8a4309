/* SPDX-License-Identifier: Apache-2.0 */
/* Where control sockets lie when another user was there first. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "host/cli/runtime.h"
#include "tests/support/testing.h"

/* An otherwise unused user, who owns these folders. */
struct stage {
    uid_t user;
    char shared[64], temporary[64];
};

static void open_stage(struct stage *stage)
{
    if (geteuid() != 0)
        skip(); /* only root may be another user */
    stage->user = 200000000u + (uid_t)getpid();
    snprintf(stage->shared, sizeof stage->shared, "/dev/shm/rapahub-%u", stage->user);
    snprintf(stage->temporary, sizeof stage->temporary, "/tmp/rapahub-%u", stage->user);
    assert_int_equal(mkdir(stage->shared, 0700), 0);
}

static void close_stage(const struct stage *stage)
{
    rmdir(stage->shared);
    rmdir(stage->temporary);
}

/* Asks as that user: 0 if the folder is `wanted`, else the refusal has those words. */
static int ask(const struct stage *stage, const char *wanted, const char *words)
{
    char folder[CLI_RUNTIME_PATH];
    int status;
    pid_t child = fork();

    assert_true(child >= 0);
    if (child > 0) {
        assert_int_equal(waitpid(child, &status, 0), child);
        return status;
    }
    unsetenv("XDG_RUNTIME_DIR");
    if (seteuid(stage->user) < 0)
        _exit(1);
    if (cli_runtime_folder(true, folder) == 0)
        _exit(wanted && strcmp(folder, wanted) == 0 ? 0 : 2);
    _exit(words && strstr(rapahub_last_error()->text, words) ? 0 : 3);
}

/* r[verify exp.runtime.folder] */
static void another_users_folder_stops_nobody(void **state)
{
    struct stage stage;

    (void)state;
    open_stage(&stage);
    assert_int_equal(ask(&stage, stage.temporary, NULL), 0);
    assert_int_equal(chown(stage.shared, stage.user, (gid_t)-1), 0);
    assert_int_equal(ask(&stage, stage.shared, NULL), 0);
    close_stage(&stage);
}

/* r[verify exp.runtime.folder] */
static void where_there_is_none_the_owner_is_named(void **state)
{
    struct stage stage;
    char words[160];

    (void)state;
    open_stage(&stage);
    assert_int_equal(mkdir(stage.temporary, 0700), 0);
    snprintf(words, sizeof words,
             "'%s' belongs to user 0; name a folder of yours in XDG_RUNTIME_DIR", stage.shared);
    assert_int_equal(ask(&stage, NULL, words), 0);
    close_stage(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(another_users_folder_stops_nobody),
        cmocka_unit_test(where_there_is_none_the_owner_is_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
