/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/call/thread_ends.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "hub/base/mutex.h"

struct ends {
    pthread_key_t key; /* each thread has a list of struct hub_thread_end there, its own */
    int code;          /* why there is no key; 0: there is */
    struct hub_mutex lock;
};

/* A thread ends for the whole process, so these are the process's. */
static struct ends *all(void)
{
    static struct ends ends;

    return &ends;
}

static void on_thread_end(void *value)
{
    struct hub_list *ends = value;

    hub_mutex_lock(&all()->lock);
    HUB_LIST_EACH (ends, link) {
        struct hub_thread_end *end = HUB_LIST_ITEM(link, struct hub_thread_end, of_thread);

        hub_list_remove(link);
        end->ended(end);
    }
    hub_mutex_unlock(&all()->lock);
    free(ends);
}

/* Another thread of the parent may have held it; the child has none. */
static void init_lock(void)
{
    hub_mutex_init(&all()->lock, HUB_MUTEX_THREAD_ENDS);
}

static void init(void)
{
    struct ends *ends = all();

    init_lock();
    ends->code = pthread_key_create(&ends->key, on_thread_end);
    if (ends->code == 0)
        ends->code = pthread_atfork(NULL, NULL, init_lock);
}

static struct ends *use(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, init);
    return all();
}

static struct hub_list *make(void)
{
    struct hub_list *ends = malloc(sizeof *ends);

    if (!ends || pthread_setspecific(all()->key, ends) != 0) {
        free(ends);
        return NULL;
    }
    hub_list_init(ends);
    return ends;
}

int hub_thread_ends_add(struct hub_thread_end *end, void (*ended)(struct hub_thread_end *end))
{
    struct ends *shared = use();
    struct hub_list *ends;

    if (shared->code != 0)
        return -ENOMEM;
    ends = pthread_getspecific(shared->key);
    if (!ends)
        ends = make();
    if (!ends)
        return -ENOMEM;
    end->ended = ended;
    hub_mutex_lock(&shared->lock);
    hub_list_append(ends, &end->of_thread);
    hub_mutex_unlock(&shared->lock);
    return 0;
}

UNCHECKED void hub_thread_ends_lock(void)
{
    hub_mutex_lock(&use()->lock);
}

UNCHECKED void hub_thread_ends_unlock(void)
{
    hub_mutex_unlock(&all()->lock);
}

void hub_thread_ends_remove(struct hub_thread_end *end)
{
    hub_list_remove(&end->of_thread);
}
