/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes join a cluster by the command that people type; and whatever is wrong is told in one line.
 */
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "tests/cluster/join_stage.h"
#include "tests/support/testing.h"

extern char **environ;

static const struct join_words right = {.address = NULL};

static bool exists(const char *folder, const char *name)
{
    char path[2 * NODE_PROCESS_PATH];

    snprintf(path, sizeof path, "%s/%s", folder, name);
    return access(path, F_OK) == 0;
}

static void expect(struct join_stage *stage, const struct join_words *words, int status,
                   const char *text)
{
    assert_int_equal(join_type(stage, words), status);
    join_says(stage, text);
    if (strstr(stage->result.err, "error: ") != strrchr(stage->result.err, 'e') &&
        strstr(strstr(stage->result.err, "error: ") + 1, "error: "))
        fail_msg("more than one line: %s", stage->result.err);
    assert_false(exists(words->data ? words->data : stage->data, "node.id"));
}

/* Nothing in it is wrong. A folder that was not started yet lacks one that the start makes. */
static void check_folder(struct join_stage *stage)
{
    assert_true(join_run(stage, (const char *const[]){PROCESS_RAPAHUB, "fsck", "--data",
                                                      stage->data, NULL}) <= 1);
    if (strstr(stage->result.out, "wrong") || strstr(stage->result.out, "stray"))
        fail_msg("%s", stage->result.out);
}

/* A word with another last character. */
static const char *spoil(const char *word, char to[JOIN_HASH])
{
    size_t size = strlen(word);

    memcpy(to, word, size + 1);
    to[size - 1] = word[size - 1] == '0' ? '1' : '0';
    return to;
}

/* r[verify cluster.join.number] r[verify cluster.join.answer] */
static void a_node_joins(void **state)
{
    struct join_stage *stage = *state;
    struct stat key;
    char path[2 * NODE_PROCESS_PATH];

    assert_int_equal(join_type(stage, &right), 0);
    join_says(stage, "node       2\n");
    join_says(stage, stage->address);
    snprintf(path, sizeof path, "%s/tls/node.key", stage->data);
    assert_int_equal(stat(path, &key), 0);
    assert_int_equal(key.st_mode & 0777, 0600);
    assert_false(exists(stage->data, "ca/ca.key"));
    check_folder(stage);
    join_says(stage, "node 2");
    assert_int_equal(JOIN_ASK(stage, "token", "ls"), 0);
    join_says(stage, "  0     5");
}

/* r[verify cluster.join.folder] */
static void a_folder_joins_once(void **state)
{
    struct join_stage *stage = *state;
    char first[NODE_PROCESS_PATH + 8], path[2 * NODE_PROCESS_PATH];

    join_make_token(stage, "3");
    assert_int_equal(join_type(stage, &right), 0);
    assert_int_equal(join_type(stage, &right), 6);
    join_says(stage, "the folder of a node already");
    snprintf(first, sizeof first, "%s/data", stage->first.folder);
    assert_int_equal(join_type(stage, &(struct join_words){.data = first}), 6);
    snprintf(path, sizeof path, "%s/run/thesis.tex", stage->first.folder);
    fclose(fopen(path, "we"));
    snprintf(path, sizeof path, "%s/run", stage->first.folder);
    assert_int_not_equal(join_type(stage, &(struct join_words){.data = path}), 0);
    join_says(stage, "not a data folder of a node, and not empty");
    assert_int_equal(JOIN_ASK(stage, "token", "ls"), 0);
    join_says(stage, "  2     5"); /* none of these took a use */
    assert_int_not_equal(
        join_run(stage, (const char *const[]){PROCESS_RAPAHUB, "node", "init", stage->data, NULL}),
        0);
    join_says(stage, "has joined a cluster");
}

/* r[verify cluster.join.token] */
static void a_token_that_is_not_good_is_refused(void **state)
{
    struct join_stage *stage = *state;
    char spoiled[JOIN_HASH], id[17];

    expect(stage, &(struct join_words){.token = "rh1.1234"}, 2, "it is no token");
    expect(stage,
           &(struct join_words){.token = "rh1.00000000000000aa.00000000000000000000000000000000"},
           7, "this cluster has no such token");
    for (unsigned i = 0; i < 5; i++)
        expect(stage, &(struct join_words){.token = spoil(stage->token, spoiled)}, 7,
               "the secret in the token is wrong");
    expect(stage, &right, 7, "too many wrong secrets");
    join_make_token(stage, "1");
    snprintf(id, sizeof id, "%s", stage->token + 4);
    assert_int_equal(JOIN_ASK(stage, "token", "revoke", id), 0);
    expect(stage, &right, 7, "or it was revoked");
    assert_int_equal(JOIN_ASK(stage, "token", "create", "--ttl", "1s"), 0);
    assert_int_equal(sscanf(stage->result.out, "%63s", stage->token), 1);
    pause_ms(2100);
    expect(stage, &right, 7, "the time of the token is over");
}

static void spawn_join(const struct join_stage *stage, pid_t *out)
{
    char program[] = PROCESS_RAPAHUB, node[] = "node", join[] = "join", token[] = "--token",
         hash[] = "--ca-hash", by_data[] = "--data", address[64], shown[JOIN_TOKEN],
         digits[JOIN_HASH], data[sizeof stage->data];
    char *const argv[] = {program, node,   join,    address, token, shown,
                          hash,    digits, by_data, data,    NULL};

    memcpy(address, stage->address, sizeof address);
    memcpy(shown, stage->token, sizeof shown);
    memcpy(digits, stage->hash, sizeof digits);
    memcpy(data, stage->data, sizeof data);
    assert_int_equal(posix_spawn(out, argv[0], NULL, NULL, argv, environ), 0);
}

/* Waits for commands that were begun; returns how many have joined. */
static int await_all(const pid_t *pids, unsigned count)
{
    int ended, joined = 0;

    for (unsigned i = 0; i < count; i++) {
        assert_int_equal(waitpid(pids[i], &ended, 0), pids[i]);
        assert_true(WIFEXITED(ended));
        joined += WEXITSTATUS(ended) == 0 ? 1 : 0;
    }
    return joined;
}

/* The number that a folder has, as its file says it. */
static unsigned number_of(const char *data)
{
    char path[2 * NODE_PROCESS_PATH], line[80];
    unsigned number = 0;
    FILE *file;

    snprintf(path, sizeof path, "%s/node.id", data);
    file = fopen(path, "re");
    assert_non_null(file);
    while (number == 0 && fgets(line, sizeof line, file))
        (void)!sscanf(line, "number %u", &number);
    fclose(file);
    return number;
}

/* r[verify cluster.join.number] */
static void a_token_of_one_use_takes_one_node(void **state)
{
    struct join_stage *stage = *state;
    pid_t pids[8];

    for (unsigned i = 0; i < 8; i++) {
        snprintf(stage->data, sizeof stage->data, "%s/many%u", stage->first.folder, i);
        spawn_join(stage, &pids[i]);
    }
    assert_int_equal(await_all(pids, 8), 1);
}

/* r[verify cluster.join.number] */
static void nodes_that_join_at_once_have_numbers_of_their_own(void **state)
{
    struct join_stage *stage = *state;
    unsigned numbers = 0;
    pid_t pids[8];

    for (unsigned i = 0; i < 8; i++) {
        join_make_token(stage, "1"); /* each another one */
        snprintf(stage->data, sizeof stage->data, "%s/many%u", stage->first.folder, i);
        spawn_join(stage, &pids[i]);
        kill(pids[i], SIGSTOP);
    }
    for (unsigned i = 0; i < 8; i++)
        kill(pids[i], SIGCONT);
    assert_int_equal(await_all(pids, 8), 8);
    for (unsigned i = 0; i < 8; i++) {
        snprintf(stage->data, sizeof stage->data, "%s/many%u", stage->first.folder, i);
        numbers |= 1u << number_of(stage->data);
    }
    assert_int_equal(numbers, 0xff << 2); /* 2 to 9 */
}

/* r[verify cluster.join.pinned] */
static void another_authority_is_not_trusted(void **state)
{
    struct join_stage *stage = *state;
    char spoiled[JOIN_HASH];

    expect(stage, &(struct join_words){.hash = spoil(stage->hash, spoiled)}, 7,
           "no authority that is trusted here has signed it");
    join_says(stage, stage->address);
    expect(stage, &(struct join_words){.hash = "12ab"}, 2, "has 64 hexadecimal digits");
    assert_int_equal(JOIN_ASK(stage, "token", "ls"), 0);
    join_says(stage, "  1     5"); /* the token was shown to nobody */
    assert_int_equal(join_type(stage, &right), 0);
}

/* A server of another protocol, and nobody. */
static void what_is_no_node_is_told_so(void **state)
{
    struct join_stage *stage = *state;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), fd;
    char plain[64], nobody[64];
    pid_t server;

    address.sin_port = htons(network_free_port());
    assert_int_equal(bind(listener, (void *)&address, sizeof address), 0);
    assert_int_equal(listen(listener, 4), 0);
    snprintf(plain, sizeof plain, "127.0.0.1:%u", ntohs(address.sin_port));
    server = fork();
    if (server == 0) {
        fd = accept(listener, NULL, NULL);
        _exit(send(fd, "220 mail.example ESMTP\r\n", 24, 0) == 24 ? 0 : 1);
    }
    expect(stage, &(struct join_words){.address = plain}, 9, "does not speak TLS 1.3");
    assert_int_equal(waitpid(server, NULL, 0), server);
    close(listener);
    snprintf(nobody, sizeof nobody, "127.0.0.1:%u", network_free_port());
    assert_int_not_equal(join_type(stage, &(struct join_words){.address = nobody}), 0);
    join_says(stage, "nobody listens there");
    assert_int_not_equal(join_type(stage, &(struct join_words){.address = "no address:x"}), 0);
    assert_int_not_equal(
        join_type(stage, &(struct join_words){.address = "no-such-host.invalid:1"}), 0);
    assert_int_equal(join_type(stage, &right), 0);
}

static void set_authority_aside(const struct join_stage *stage, bool aside)
{
    char here[NODE_PROCESS_PATH + 32], there[NODE_PROCESS_PATH + 32];

    snprintf(here, sizeof here, "%s/data/ca", stage->first.folder);
    snprintf(there, sizeof there, "%s/ca.aside", stage->first.folder);
    assert_int_equal(aside ? rename(here, there) : rename(there, here), 0);
}

/* r[verify cluster.join.token] */
static void a_node_without_the_authority_says_so(void **state)
{
    struct join_stage *stage = *state;

    node_process_end(&stage->first);
    set_authority_aside(stage, true);
    node_process_begin(&stage->first);
    join_await(&stage->first);
    expect(stage, &right, 6, "does not have the authority of the cluster");
    node_process_end(&stage->first);
    set_authority_aside(stage, false);
    node_process_begin(&stage->first);
    join_await(&stage->first);
    assert_int_equal(join_type(stage, &right), 0);
}

/* Whoever dies, and when: the folder is a node's, or it can be joined with again.
 * r[verify cluster.join.folder] r[verify cluster.join.number] */
static void a_death_leaves_a_folder_that_is_whole_or_can_join(void **state)
{
    struct join_stage *stage = *state;
    unsigned whole = 0;
    pid_t pid;

    for (unsigned i = 0; i < 24; i++) {
        join_make_token(stage, "1");
        snprintf(stage->data, sizeof stage->data, "%s/kill%u", stage->first.folder, i);
        spawn_join(stage, &pid);
        pause_ms((int)i);
        if (i % 4 == 3)
            (void)node_process_kill_daemon(&stage->first);
        else
            kill(pid, SIGKILL);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        if (i % 4 == 3)
            join_await(&stage->first);
        if (exists(stage->data, "node.id")) {
            whole++;
            continue;
        }
        join_make_token(stage, "1");
        if (join_type(stage, &right) != 0)
            fail_msg("after a death %u ms later: %s", i, stage->result.err);
    }
    print_message("%u of 24 had joined before the death\n", whole);
    for (unsigned i = 0; i < 24; i++) {
        snprintf(stage->data, sizeof stage->data, "%s/kill%u", stage->first.folder, i);
        check_folder(stage);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_node_joins, join_begin, join_end),
        cmocka_unit_test_setup_teardown(a_folder_joins_once, join_begin, join_end),
        cmocka_unit_test_setup_teardown(a_token_that_is_not_good_is_refused, join_begin, join_end),
        cmocka_unit_test_setup_teardown(a_token_of_one_use_takes_one_node, join_begin, join_end),
        cmocka_unit_test_setup_teardown(nodes_that_join_at_once_have_numbers_of_their_own,
                                        join_begin, join_end),
        cmocka_unit_test_setup_teardown(another_authority_is_not_trusted, join_begin, join_end),
        cmocka_unit_test_setup_teardown(what_is_no_node_is_told_so, join_begin, join_end),
        cmocka_unit_test_setup_teardown(a_node_without_the_authority_says_so, join_begin, join_end),
        cmocka_unit_test_setup_teardown(a_death_leaves_a_folder_that_is_whole_or_can_join,
                                        join_begin, join_end),
    };

    if (!process_possible())
        return PROCESS_SKIPPED;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
