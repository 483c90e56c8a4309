/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/call/thread_ends.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "hub/base/mutex.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key; /* of a list of struct hub_thread_end, which is the thread's own */
static int code;
static struct hub_mutex lock;

static void on_thread_end(void *value)
{
    struct hub_list *ends = value;

    hub_mutex_lock(&lock);
    HUB_LIST_EACH (ends, link) {
        struct hub_thread_end *end = HUB_LIST_ITEM(link, struct hub_thread_end, of_thread);

        hub_list_remove(link);
        end->ended(end);
    }
    hub_mutex_unlock(&lock);
    free(ends);
}

/* Another thread of the parent may have held it; the child has none. */
static void init_lock(void)
{
    hub_mutex_init(&lock, HUB_MUTEX_THREAD_ENDS);
}

static void init(void)
{
    init_lock();
    code = pthread_key_create(&key, on_thread_end);
    if (code == 0)
        code = pthread_atfork(NULL, NULL, init_lock);
}

static struct hub_list *make(void)
{
    struct hub_list *ends = malloc(sizeof *ends);

    if (!ends || pthread_setspecific(key, ends) != 0) {
        free(ends);
        return NULL;
    }
    hub_list_init(ends);
    return ends;
}

int hub_thread_ends_add(struct hub_thread_end *end, void (*ended)(struct hub_thread_end *end))
{
    struct hub_list *ends;

    pthread_once(&once, init);
    if (code != 0)
        return -ENOMEM;
    ends = pthread_getspecific(key);
    if (!ends)
        ends = make();
    if (!ends)
        return -ENOMEM;
    end->ended = ended;
    hub_mutex_lock(&lock);
    hub_list_append(ends, &end->of_thread);
    hub_mutex_unlock(&lock);
    return 0;
}

void hub_thread_ends_lock(void)
{
    pthread_once(&once, init);
    hub_mutex_lock(&lock);
}

void hub_thread_ends_unlock(void)
{
    hub_mutex_unlock(&lock);
}

void hub_thread_ends_remove(struct hub_thread_end *end)
{
    hub_list_remove(&end->of_thread);
}
