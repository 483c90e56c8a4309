/* SPDX-License-Identifier: Apache-2.0 */
/* world: everything around a supervisor, made from a seed: a random tree, guests that start or do
 * not, die, go when asked or do not, people who start and stop them, time. It carries out the
 * decisions, and checks each of them for conditions that must never occur:
 *
 *   once        a child has one process at most; incarnations rise
 *   alive       no child without a process is stopped or killed
 *   closed      no closed, held, dead temporary or finished child is started
 *   needs       a child starts only if all it requires serve, and the one it is part of runs
 *   linear      children of ONE_FOR_ALL and REST_FOR_ONE start one after the other
 *   reverse     no child is asked to go before those that need it are gone
 *   early       no child is started before its delay is over
 *   late        no delay is longer than the longest
 *   budget      no child is started again beyond its budget
 *   pace        not too many start at once, nor in a second
 *   untouched   a death asks no child to go that has nothing to do with it
 *   stale       reports about another life change nothing
 *   rest        when nothing more happens, each child serves, or has a reason not to
 *   deadline    when its time is over all of a tree has been killed, each once, and ends
 */
#ifndef TESTS_SIMULATION_WORLD_H
#define TESTS_SIMULATION_WORLD_H

#include <stdbool.h>
#include <stdint.h>

/* Lives one world of `steps` events. NULL: nothing was broken; else what, in words that name the
 * seed. The text is good until the next one. */
const char *world_live(uint64_t seed, unsigned steps);

/* Counts over the worlds so far, for a line at the end. */
struct world_figures {
    uint64_t lives, events, starts, stops, kills, failures, given_up, escalations;
};
const struct world_figures *world_figures(void);

#endif
