/* SPDX-License-Identifier: Apache-2.0 */
/* schema: the tables of a metastore in SQLite.
 *
 * `kv` is map and history in one: a row for each change of a key, where `del` says that the key was
 * deleted by it. A revision of the map is the row of the greatest `rev` up to it, of each key.
 * `marker` has what became of the last 64 transactions of each client. `meta` has the numbers
 * `rev`, `compacted` and `generation`. */
#ifndef CLUSTER_METASTORE_SQLITE_SCHEMA_H
#define CLUSTER_METASTORE_SQLITE_SCHEMA_H

#define CLUSTER_SCHEMA_APPLICATION 0x52504842
#define CLUSTER_SCHEMA_VERSION     1

/* A single transaction, so that a file is set up whole or not at all. */
#define CLUSTER_SCHEMA_SETUP                                                            \
    "BEGIN IMMEDIATE;"                                                                  \
    "PRAGMA application_id = 0x52504842;"                                               \
    "PRAGMA user_version = 1;"                                                          \
    "CREATE TABLE kv (k BLOB NOT NULL, rev INTEGER NOT NULL, del INTEGER NOT NULL,"     \
    " create_rev INTEGER NOT NULL, ver INTEGER NOT NULL, v BLOB, PRIMARY KEY (k, rev))" \
    " WITHOUT ROWID;"                                                                   \
    "CREATE INDEX kv_rev ON kv (rev);"                                                  \
    "CREATE TABLE meta (name TEXT PRIMARY KEY, n INTEGER NOT NULL) WITHOUT ROWID;"      \
    "CREATE TABLE marker (client INTEGER NOT NULL, slot INTEGER NOT NULL,"              \
    " seq INTEGER NOT NULL, outcome INTEGER NOT NULL, rev INTEGER NOT NULL,"            \
    " PRIMARY KEY (client, slot)) WITHOUT ROWID;"                                       \
    "INSERT INTO meta VALUES ('rev', 0), ('compacted', 0), ('generation', 0);"          \
    "COMMIT;"

/* The name of each statement, and its text. */
#define CLUSTER_SCHEMA_STATEMENTS(X)                                                  \
    X(BEGIN, "BEGIN IMMEDIATE")                                                       \
    X(COMMIT, "COMMIT")                                                               \
    X(ROLLBACK, "ROLLBACK")                                                           \
    X(FIND, "SELECT rev, del, create_rev, ver, v FROM kv WHERE k = ?1 AND rev <= ?2"  \
            " ORDER BY rev DESC LIMIT 1")                                             \
    X(NEXT, "SELECT k FROM kv WHERE k >= ?1 ORDER BY k LIMIT 1")                      \
    X(INSERT, "INSERT INTO kv (k, rev, del, create_rev, ver, v)"                      \
              " VALUES (?1, ?2, ?3, ?4, ?5, ?6)")                                     \
    X(CHANGES, "SELECT k, rev, del, create_rev, ver, v FROM kv INDEXED BY kv_rev"     \
               " WHERE rev > ?1 AND rev <= ?2 ORDER BY rev, k")                       \
    X(FORGET, "DELETE FROM kv WHERE k = ?1 AND rev < ?2")                             \
    X(MARKER, "SELECT seq, outcome, rev FROM marker WHERE client = ?1 AND slot = ?2") \
    X(LATER_BOOT, "SELECT 1 FROM marker WHERE client > ?1 AND client <= ?2 LIMIT 1")  \
    X(SET_MARKER, "INSERT OR REPLACE INTO marker (client, slot, seq, outcome, rev)"   \
                  " VALUES (?1, ?2, ?3, ?4, ?5)")                                     \
    X(FORGET_BOOTS, "DELETE FROM marker WHERE client >= ?1 AND client < ?2")          \
    X(META, "SELECT n FROM meta WHERE name = ?1")                                     \
    X(SET_META, "UPDATE meta SET n = ?2 WHERE name = ?1")                             \
    X(BACKUP, "VACUUM INTO ?1")

#endif
