/* SPDX-License-Identifier: Apache-2.0 */
/* Tree files: what each key becomes. r[verify exp.config] */
#include "tests/unit/host-config/tree_file.h"

static void a_tree_is_read_in_order_with_its_defaults(void **state)
{
    struct file file;
    const struct config_tree_node *top;

    (void)state;
    open_good(&file, "supervisor:\n"
                     "  name: shop\n"
                     "  children:\n"
                     "    - {name: store, module: " MODULE "}\n"
                     "    - supervisor:\n"
                     "        name: workers\n"
                     "        strategy: one_for_all\n"
                     "        children:\n"
                     "          - module: " MODULE "\n"
                     "    - {name: last, module: " MODULE "}\n");
    assert_int_equal(file.tree.count, 5);
    assert_int_equal(file.tree.guests, 3);
    assert_int_equal(file.tree.supervisors, 2);
    top = file.tree.nodes[0];
    assert_string_equal(top->name, "shop");
    assert_int_equal(top->how.restart, RAPAHUB_RESTART_TRANSIENT);
    assert_int_equal(top->how.restarts_max, -1);
    assert_string_equal(file.tree.nodes[1]->name, "store");
    assert_ptr_equal(file.tree.nodes[1]->parent, top);
    assert_string_equal(file.tree.nodes[2]->name, "workers");
    assert_int_equal(file.tree.nodes[2]->group.strategy, RAPAHUB_ONE_FOR_ALL);
    assert_int_equal(file.tree.nodes[2]->how.restarts_max, 0);
    assert_string_equal(file.tree.nodes[3]->name, "exe");
    assert_ptr_equal(file.tree.nodes[3]->parent, file.tree.nodes[2]);
    assert_string_equal(file.tree.nodes[4]->name, "last");
    assert_string_equal(file.tree.nodes[4]->path, MODULE);
    close_file(&file);
}

static const char all_of_a_guest[] =
    "supervisor:\n"
    "  auto_shutdown: any_significant\n"
    "  children:\n"
    "    - {name: log, module: " MODULE "}\n"
    "    - name: kv\n"
    "      module: " MODULE "\n"
    "      trust: trusted\n"
    "      params: 'a: b'\n"
    "      plain: ['gcd(u64, u64) -> u64', 'f() -> u8']\n"
    "      restart: [signal, oom]\n"
    "      start: lazy\n"
    "      when_down: wait\n"
    "      success_exit: [3, SIGTERM]\n"
    "      finish: [/bin/sh, -c, 'exit 0']\n"
    "      finish_timeout: 2s\n"
    "      keep_fds: [listener, log.pipe]\n"
    "      prevent_exit: 0\n"
    "      force_exit: [hup]\n"
    "      intensity: {max: 7, period: forever}\n"
    "      on_exhausted: slow_retry\n"
    "      backoff: {initial: 1ms, max: 2m, factor: 1.5, steps: 9, jitter: additive,\n"
    "                jitter_share: 0.25, first_immediate: false, reset_after: 1h}\n"
    "      start_timeout: 1.5s\n"
    "      heartbeat_misses: 4\n"
    "      watchdog_signal: QUIT\n"
    "      abort: none\n"
    "      debug: true\n"
    "      stop: {drain: 250ms, goodbye: 0, term: 7us}\n"
    "      significant: true\n"
    "      requires: log\n";

static void every_option_of_a_guest_has_a_key(void **state)
{
    struct file file;
    const struct config_tree_node *kv;
    const struct rapahub_supervision *how;

    (void)state;
    open_good(&file, all_of_a_guest);
    kv = node(&file, "kv");
    how = &kv->how;
    assert_int_equal(kv->trust, RAPAHUB_TRUST_TRUSTED);
    assert_string_equal(kv->params, "a: b");
    assert_string_equal(kv->plain[1], "f() -> u8");
    assert_null(kv->plain[2]);
    assert_int_equal(how->restart, RAPAHUB_RESTART_MASK);
    assert_int_equal(how->restart_mask, 1u << RAPAHUB_EXIT_SIGNAL | 1u << RAPAHUB_EXIT_OOM);
    assert_int_equal(how->start, RAPAHUB_START_LAZY);
    assert_int_equal(how->when_down, RAPAHUB_WHEN_DOWN_WAIT);
    assert_int_equal(how->success_exit[0], RAPAHUB_STATUS(3));
    assert_int_equal(how->success_exit[1], RAPAHUB_SIGNAL(SIGTERM));
    assert_int_equal(how->success_exit[2], 0);
    assert_string_equal(how->finish[0], "/bin/sh");
    assert_string_equal(how->finish[2], "exit 0");
    assert_null(how->finish[3]);
    assert_int_equal(how->finish_timeout_ns, 2 * SECOND);
    assert_string_equal(how->keep_fds[0], "listener");
    assert_string_equal(how->keep_fds[1], "log.pipe");
    assert_null(how->keep_fds[2]);
    assert_int_equal(how->prevent_exit[0], RAPAHUB_STATUS(0));
    assert_int_equal(how->force_exit[0], RAPAHUB_SIGNAL(SIGHUP));
    assert_int_equal(how->restarts_max, 7);
    assert_true(how->period_ns == RAPAHUB_FOREVER);
    assert_int_equal(how->on_exhausted, RAPAHUB_EXHAUSTED_SLOW_RETRY);
    assert_int_equal(how->backoff_initial_ns, MS);
    assert_int_equal(how->backoff_max_ns, 120 * SECOND);
    assert_true(how->backoff_factor > 1.49 && how->backoff_factor < 1.51);
    assert_int_equal(how->backoff_steps, 9);
    assert_int_equal(how->jitter, RAPAHUB_JITTER_ADDITIVE);
    assert_true(how->jitter_share > 0.24 && how->jitter_share < 0.26);
    assert_true(how->backoff_first);
    assert_int_equal(how->reset_after_ns, 3600 * SECOND);
    assert_int_equal(how->start_timeout_ns, 1500 * MS);
    assert_int_equal(how->heartbeat_misses, 4);
    assert_int_equal(how->watchdog_signal, SIGQUIT);
    assert_true(how->abort_ns == RAPAHUB_NONE);
    assert_true(how->debug);
    assert_int_equal(how->drain_ns, 250 * MS);
    assert_true(how->goodbye_ns == RAPAHUB_NONE); /* the written value, not the default */
    assert_int_equal(how->term_ns, 7000);
    assert_true(how->significant);
    assert_int_equal(how->dependencies[0].kind, RAPAHUB_REQUIRES);
    assert_string_equal(how->dependencies[0].on, "log");
    assert_null(how->dependencies[1].on);
    close_file(&file);
}

static void what_watches_and_bounds_a_guest_has_keys(void **state)
{
    struct file file;
    const struct config_tree_node *a;

    (void)state;
    open_good(&file,
              "starts: {parallel: 2, burst: 8, per_second: 50}\n"
              "cgroup: /sys/fs/cgroup/here\n"
              "supervisor:\n"
              "  children:\n"
              "    - name: a\n"
              "      module: " MODULE "\n"
              "      stall: 5s\n"
              "      overrun: 2s\n"
              "      probes: {startup: {period: 1s, failure: 9}, liveness: {period: 3s},\n"
              "               readiness: {period: 50ms, timeout: 20ms, success: 2}}\n"
              "      ready: probe\n"
              "      kill_mode: cgroup\n"
              "      oom_policy: stop\n"
              "      log: {ring: 16K, line: 128, rate: 50}\n"
              "      limits: {address: 1G, data: 64M, stack: 1M, file: 2M, core: 3K, cpu: 9,\n"
              "               descriptors: 64, processes: 100, memory_max: 64M, memory_high: 32M,\n"
              "               pids_max: 32, cpu_percent: 150, required: true}\n");
    a = node(&file, "a");
    assert_int_equal(file.tree.file.host.starts_parallel_max, 2);
    assert_int_equal(file.tree.file.host.starts_burst, 8);
    assert_int_equal(file.tree.file.host.starts_per_s, 50);
    assert_int_equal(a->how.stall_ns, 5 * SECOND);
    assert_int_equal(a->how.overrun_ns, 2 * SECOND);
    assert_int_equal(a->how.startup.period_ns, SECOND);
    assert_int_equal(a->how.startup.failure, 9);
    assert_int_equal(a->how.liveness.period_ns, 3 * SECOND);
    assert_int_equal(a->how.readiness.timeout_ns, 20 * MS);
    assert_int_equal(a->how.readiness.success, 2);
    assert_int_equal(a->how.ready, RAPAHUB_READY_PROBE);
    assert_int_equal(a->how.kill_mode, RAPAHUB_KILL_CGROUP);
    assert_int_equal(a->how.oom_policy, RAPAHUB_OOM_STOP);
    assert_string_equal(file.tree.file.host.cgroup, "/sys/fs/cgroup/here");
    assert_int_equal(a->how.log_ring, 16384);
    assert_int_equal(a->how.log_line, 128);
    assert_int_equal(a->how.log_rate, 50);
    assert_int_equal(a->limits.address_bytes, 1 << 30);
    assert_int_equal(a->limits.data_bytes, 64 << 20);
    assert_int_equal(a->limits.stack_bytes, 1 << 20);
    assert_int_equal(a->limits.file_bytes, 2 << 20);
    assert_int_equal(a->limits.core_bytes, 3072);
    assert_int_equal(a->limits.cpu_s, 9);
    assert_int_equal(a->limits.descriptors, 64);
    assert_int_equal(a->limits.processes, 100);
    assert_int_equal(a->limits.memory_max, 64 << 20);
    assert_int_equal(a->limits.memory_high, 32 << 20);
    assert_int_equal(a->limits.pids_max, 32);
    assert_int_equal(a->limits.cpu_percent, 150);
    assert_true(a->limits.required);
    close_file(&file);
}

static void every_option_of_a_supervisor_has_a_key(void **state)
{
    struct file file;
    const struct config_tree_node *inner;

    (void)state;
    open_good(&file,
              "limits: {guests: 40, payload: 4M, slot: 8K, slots: 32, ring: 512, memory: 1G}\n"
              "supervisor:\n"
              "  children:\n"
              "    - {name: a, module: " MODULE ", stop: brutal}\n"
              "    - supervisor:\n"
              "        name: inner\n"
              "        strategy: rest_for_one\n"
              "        intensity: 3/10s\n"
              "        on_exhausted: park\n"
              "        auto_shutdown: all_significant\n"
              "        children_max: 9\n"
              "        itself: {intensity: none, on_exhausted: escalate}\n"
              "        wants: a\n"
              "        part_of: [a]\n"
              "        stop: {term: 9s}\n"
              "        children: []\n");
    inner = node(&file, "inner");
    assert_true(node(&file, "a")->how.brutal);
    assert_int_equal(file.tree.file.host.guests_max, 40);
    assert_int_equal(file.tree.file.host.payload_max, 4 << 20);
    assert_int_equal(file.tree.file.host.slot_size, 8192);
    assert_int_equal(file.tree.file.host.slot_count, 32);
    assert_int_equal(file.tree.file.host.ring_size, 512);
    assert_int_equal(file.tree.file.host.var_bytes_max, 1 << 30);
    assert_int_equal(inner->group.strategy, RAPAHUB_REST_FOR_ONE);
    assert_int_equal(inner->group.restarts_max, 3);
    assert_int_equal(inner->group.period_ns, 10 * SECOND);
    assert_int_equal(inner->group.on_exhausted, RAPAHUB_EXHAUSTED_PARK);
    assert_int_equal(inner->group.auto_shutdown, RAPAHUB_AUTO_SHUTDOWN_ALL_SIGNIFICANT);
    assert_int_equal(inner->group.children_max, 9);
    assert_int_equal(inner->how.restarts_max, -1);
    assert_int_equal(inner->how.on_exhausted, RAPAHUB_EXHAUSTED_ESCALATE);
    assert_int_equal(inner->how.term_ns, 9 * SECOND);
    assert_int_equal(inner->how.dependencies[1].kind, RAPAHUB_PART_OF);
    close_file(&file);
}

static void the_bounds_of_a_number_are_good_numbers(void **state)
{
    struct file file;

    (void)state;
    open_good(&file, "supervisor:\n"
                     "  children:\n"
                     "    - {name: a, module: " MODULE ", backoff: {factor: 1}}\n"
                     "    - {name: b, module: " MODULE ", backoff: {factor: 1e6}}\n");
    assert_true(node(&file, "a")->how.backoff_factor <= 1.0);
    assert_true(node(&file, "b")->how.backoff_factor >= 1e6);
    close_file(&file);
}

static void who_may_use_the_host_has_keys(void **state)
{
    struct file file;

    (void)state;
    open_good(&file, "control: {group: '1000', role: operator}\n"
                     "supervisor: {children: [{name: a, module: " MODULE "}]}\n");
    assert_string_equal(file.tree.file.control_group, "1000");
    assert_int_equal(file.tree.file.control_role, RAPAHUB_CONTROL_OPERATOR);
    close_file(&file);
    open_good(&file, "supervisor: {children: [{name: a, module: " MODULE "}]}\n");
    assert_null(file.tree.file.control_group);
    assert_int_equal(file.tree.file.control_role, RAPAHUB_CONTROL_VIEWER);
    close_file(&file);
}

static void each_key_is_said_with_a_text(void **state)
{
    (void)state;
    for (const struct config_tree_key *key = config_tree_keys_table; key->path; key++) {
        assert_non_null(key->text);
        assert_true(key->of != 0 && strlen(key->path) < 32);
        assert_non_null(config_tree_keys_example(key->type));
        assert_true((key->type == CONFIG_TREE_CHOICE || key->type == CONFIG_TREE_WORD ||
                     key->type == CONFIG_TREE_CLASSES) == (key->choices != NULL));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tree_is_read_in_order_with_its_defaults),
        cmocka_unit_test(every_option_of_a_guest_has_a_key),
        cmocka_unit_test(what_watches_and_bounds_a_guest_has_keys),
        cmocka_unit_test(every_option_of_a_supervisor_has_a_key),
        cmocka_unit_test(the_bounds_of_a_number_are_good_numbers),
        cmocka_unit_test(who_may_use_the_host_has_keys),
        cmocka_unit_test(each_key_is_said_with_a_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
