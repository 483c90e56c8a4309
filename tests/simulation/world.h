/* SPDX-License-Identifier: Apache-2.0 */
/* world: what a supervisor has to do with, out of a seed: a random tree, guests that start or do
 * not, die, go when asked or do not, people who start and stop them, time. It carries out what is
 * decided, and looks at each decision for what must never be:
 *
 *   once        a child has one process at most; incarnations rise
 *   alive       nobody is stopped or killed who has no process
 *   closed      who is closed, held, temporary and dead, or over is not started
 *   needs       a child starts only where all it requires serve, and what it is part of runs
 *   linear      children of ONE_FOR_ALL and REST_FOR_ONE start one behind the other
 *   reverse     nobody is asked to go before those that need it are gone
 *   early       nobody is started before its delay is over
 *   late        no delay is longer than the longest
 *   budget      nobody is started again beyond its budget
 *   pace        not too many start at once, nor in a second
 *   untouched   a death asks nobody to go who has nothing to do with it
 *   stale       what is told of another life changes nothing
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

/* What the worlds so far have seen, for a line at the end. */
struct world_figures {
    uint64_t lives, events, starts, stops, kills, failures, given_up, escalations;
};
const struct world_figures *world_figures(void);

#endif
