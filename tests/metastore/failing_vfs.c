/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/metastore/failing_vfs.h"

#include <sqlite3.h>
#include <string.h>

#include "hub/base/atomic.h"

struct file {
    sqlite3_file base;
    sqlite3_file real[]; /* with what its VFS puts after it */
};

static sqlite3_vfs vfs;
static sqlite3_vfs *real_vfs;
static sqlite3_io_methods methods;
static struct hub_a64 calls, syncs, fails_at, fails_on, fired;
static struct hub_a32 failure;

static sqlite3_file *real_of(sqlite3_file *base)
{
    return ((struct file *)(void *)base)->real;
}

static bool is_to_fail(void)
{
    uint64_t number = hub_add64(&calls, 1) + 1, at = hub_observe64(&fails_at);

    if (at == 0 || number < at || (number > at && hub_observe64(&fails_on) == 0))
        return false;
    hub_publish64(&fired, 1);
    return true;
}

static int close_file(sqlite3_file *base)
{
    return real_of(base)->pMethods->xClose(real_of(base));
}

static int read_file(sqlite3_file *base, void *to, int size, sqlite3_int64 at)
{
    return real_of(base)->pMethods->xRead(real_of(base), to, size, at);
}

static int write_file(sqlite3_file *base, const void *from, int size, sqlite3_int64 at)
{
    bool fails = is_to_fail();
    int rc = real_of(base)->pMethods->xWrite(real_of(base), from, fails ? size / 2 : size, at);

    return fails ? (int)hub_observe(&failure) : rc;
}

static int truncate_file(sqlite3_file *base, sqlite3_int64 size)
{
    return is_to_fail() ? SQLITE_IOERR_TRUNCATE
                        : real_of(base)->pMethods->xTruncate(real_of(base), size);
}

static int sync_file(sqlite3_file *base, int flags)
{
    hub_add64(&syncs, 1);
    return is_to_fail() ? SQLITE_IOERR_FSYNC : real_of(base)->pMethods->xSync(real_of(base), flags);
}

static int size_of_file(sqlite3_file *base, sqlite3_int64 *out)
{
    return real_of(base)->pMethods->xFileSize(real_of(base), out);
}

static int lock_file(sqlite3_file *base, int level)
{
    return real_of(base)->pMethods->xLock(real_of(base), level);
}

static int unlock_file(sqlite3_file *base, int level)
{
    return real_of(base)->pMethods->xUnlock(real_of(base), level);
}

static int look_at_lock(sqlite3_file *base, int *out)
{
    return real_of(base)->pMethods->xCheckReservedLock(real_of(base), out);
}

static int control_file(sqlite3_file *base, int what, void *argument)
{
    return real_of(base)->pMethods->xFileControl(real_of(base), what, argument);
}

static int size_of_sector(sqlite3_file *base)
{
    return real_of(base)->pMethods->xSectorSize(real_of(base));
}

static int traits_of(sqlite3_file *base)
{
    return real_of(base)->pMethods->xDeviceCharacteristics(real_of(base));
}

static int open_file(sqlite3_vfs *self, sqlite3_filename name, sqlite3_file *base, int flags,
                     int *out_flags)
{
    int rc = real_vfs->xOpen(real_vfs, name, real_of(base), flags, out_flags);

    (void)self;
    base->pMethods = real_of(base)->pMethods ? &methods : NULL;
    return rc;
}

void failing_vfs_begin(void)
{
    real_vfs = sqlite3_vfs_find(NULL);
    vfs = *real_vfs;
    vfs.zName = "failing";
    vfs.pNext = NULL;
    vfs.szOsFile = (int)sizeof(struct file) + real_vfs->szOsFile;
    vfs.xOpen = open_file;
    methods = (sqlite3_io_methods){
        .iVersion = 1,
        .xClose = close_file,
        .xRead = read_file,
        .xWrite = write_file,
        .xTruncate = truncate_file,
        .xSync = sync_file,
        .xFileSize = size_of_file,
        .xLock = lock_file,
        .xUnlock = unlock_file,
        .xCheckReservedLock = look_at_lock,
        .xFileControl = control_file,
        .xSectorSize = size_of_sector,
        .xDeviceCharacteristics = traits_of,
    };
    failing_vfs_arm(0, 0, false);
    sqlite3_vfs_register(&vfs, 1);
}

void failing_vfs_end(void)
{
    failing_vfs_arm(0, 0, false);
    sqlite3_vfs_unregister(&vfs);
    sqlite3_vfs_register(real_vfs, 1);
}

void failing_vfs_arm(uint64_t number, int code, bool on)
{
    hub_publish64(&fails_at, 0);
    hub_publish(&failure, (uint32_t)code);
    hub_publish64(&fails_on, on);
    hub_publish64(&calls, 0);
    hub_publish64(&syncs, 0);
    hub_publish64(&fired, 0);
    hub_publish64(&fails_at, number);
}

bool failing_vfs_fired(void)
{
    return hub_observe64(&fired) != 0;
}

uint64_t failing_vfs_calls(void)
{
    return hub_observe64(&calls);
}

uint64_t failing_vfs_syncs(void)
{
    return hub_observe64(&syncs);
}
