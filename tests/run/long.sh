# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# long: the tests of `./run tests --long`.
# shellcheck source=tests/run/fuzz.sh
. tests/run/fuzz.sh
# shellcheck source=tests/run/mutants.sh
. tests/run/mutants.sh
# shellcheck source=tests/run/steps.sh
. tests/run/steps.sh

# explore MODEL BOUND...: farther than the tests do.
explore() {
    local good=0
    tests/models/explore.sh "tests/models/$1.pml" build/models "${@:2}" && good=1
    report long <<<"models $good $((1 - good)) 0"
}

# without OPTION: a build that lacks a library has its programs nevertheless.
without() {
    local folder=build/without_$1
    cmake --preset release -B "$folder" "-DWITH_$1=OFF" &&
        cmake --build "$folder" -j "$jobs" --target rapahub_program rapahubd
}

long_tests() {
    local seed sweep option
    for option in YAML ETCD; do
        step "without $option" without "$option"
    done
    fuzz
    need "${mutant_packages[@]}"
    step 'mutants 400' mutants 400 --seed "$RANDOM"
    explore wait -DMESSAGES=4
    explore lists -DPOPS=6
    explore returns -DSLOTS=4 -DRESENDS=3
    explore life -DTICKETS=2
    explore copies -DDEATHS=1 -DNODES=2
    explore copies -DDEATHS=1 -DCHANGES=0
    explore copies -DEPOCHS=3 -DCOPIES=1
    for seed in 1 2 3; do
        step "archive $seed" build/release/bin/archive --kills 300 --seed "$seed" --seconds 1200
    done
    RAPAHUB_TEST_CALLS=10000000 step 'steady daemon' build/release/tests/test_cluster_steady
    RAPAHUB_TEST_KILLS=200,1000,200,200,200 step 'acked kills' build/release/tests/test_cluster_acked_kills
    RAPAHUB_TEST_ROUNDS=2000 step 'wall clock' build/release/tests/test_cluster_wall_clock
    RAPAHUB_TEST_SECONDS=30 step 'suspended' build/release/tests/test_cluster_suspended
    RAPAHUB_TEST_KILLS=200 RAPAHUB_TEST_TLS=1 step 'acked kills, by TLS' build/release/tests/test_cluster_acked_kills
    RAPAHUB_TEST_CONNECTIONS=10000 step '10,000 connections' build/release/tests/test_cluster_network_abuse
    step 'attach storm' build/release/tests/test_fault_attach_storm \
        --cycles 2000000 --kills 100000 --seed "$RANDOM"
    for sweep in class loan host stranger spawn fanout fanin state sequencer store boot log power node_disk node; do
        step "$sweep sweep" "build/release/tests/test_fault_${sweep}_sweep" --every
    done
    RAPAHUB_TEST_ROUNDS=20 step 'upgrades with roles' build/release/tests/test_integration_upgrade_roles
    step 'sequencer grid' build/release/tests/test_fault_sequencer_grid --every
    step 'sequencers, 4 * 10^7 positions' build/release/tests/test_unit_bus_sequencer_threads --long
    step 'states, 10^9 versions' build/release/tests/test_unit_bus_state_threads --long
    for seed in 1 2 3; do
        step "metastore, random $seed" build/release/tests/test_unit_cluster-metastore_random \
            --operations 100000 --seed "$seed"
    done
    for seed in 1 2; do
        RAPAHUB_TEST_SEED=$seed RAPAHUB_TEST_IMAGES=138304 step "crash images, log $seed" \
            build/release/tests/test_unit_cluster-store_crash_log
        RAPAHUB_TEST_SEED=$seed RAPAHUB_TEST_IMAGES=138304 step "crash images, copies $seed" \
            build/release/tests/test_unit_cluster-store_crash_copy
    done
    step 'metastore to bare SQLite' build/release/bench/store-bench build
    step 'supervision, lives' build/release/tests/test_simulation_lives --lives 200000 --seed "$RANDOM"
    step 'supervision, model' build/release/tests/test_simulation_model --steps 1000000 --seed 1
    step 'cluster, lives' build/release/tests/test_simulation_cluster_node_lives --lives 20000 --seed "$RANDOM"
    step 'cluster, orders' build/release/tests/test_simulation_cluster_ops_lives --lives 20000 --seed "$RANDOM"
    step 'cluster, nodes and one that leads' \
        build/release/tests/test_simulation_cluster_lead_lives --lives 50000 --seed "$RANDOM"
    step 'cluster, copies' build/release/tests/test_simulation_cluster_node_copies --lives 20000 --seed "$RANDOM"
    for seed in 1 2 3; do
        step "detector of dead nodes $seed" build/release/tests/test_simulation_cluster_swim --long --seed "$seed"
    done
    RAPAHUB_TEST_LIVES=1000 step 'lives under a raw host' build/release/tests/test_conformance_raw_lives
    RAPAHUB_TEST_KILLS=1000 step orphans build/release/tests/test_fault_orphans
    RAPAHUB_TEST_ROUNDS=10000 step 'restart race' build/release/tests/test_integration_restart_race
    RAPAHUB_TEST_KILLS=1000 RAPAHUB_TEST_SEED=$RANDOM step 'clients of a node that is killed' \
        build/release/tests/test_unit_cluster-client_client_restarts
    RAPAHUB_TEST_ROUNDS=100 step 'daemons killed' build/release/tests/test_cluster_warden
    RAPAHUB_TEST_ROUNDS=10000 step 'wardens killed, races' build/release/tests/test_cluster_warden_ends
    RAPAHUB_TEST_ROUNDS=1000 step 'pending calls' build/release/tests/test_integration_pending
    RAPAHUB_TEST_SECONDS=60 step 'restart storm' build/release/tests/test_fault_restart_storm
    RAPAHUB_TEST_ROUNDS=40 step 'upgrades of kv' build/release/tests/test_integration_upgrade_kv
    RAPAHUB_TEST_KILLS=25 step 'chain kills' build/release/tests/test_cluster_chain_kills
    MOVES=10000 step 'moves' build/release/tests/test_integration_moves
    RAPAHUB_TEST_POINTS=400 step 'steps of a move' build/release/tests/test_integration_step_sweep
    step 'stream 10 GiB' build/release/tests/test_fault_long_stream 10240
    step 'pauses of the host' build/release/tests/test_integration_pauses 30
    [ ! -x build/asan/bin/archive ] || step 'archive asan' build/asan/bin/archive --kills 100 --seconds 1800
}
