-- The words of package session, one table each. Times are Unix nanoseconds in
-- UTC, 0 for none. Long texts stand last in their rows, so that what is looked
-- at often is read without them.

CREATE TABLE sessions (
	number   INTEGER PRIMARY KEY AUTOINCREMENT, -- never used again: moments are keyed by it
	id       TEXT NOT NULL UNIQUE,
	title    TEXT NOT NULL,
	engine   TEXT NOT NULL,
	runtime  TEXT NOT NULL,
	dir      TEXT NOT NULL,
	runner   TEXT NOT NULL,
	trust    TEXT NOT NULL,
	command  TEXT NOT NULL, -- a JSON array; empty for none
	reads    TEXT NOT NULL,
	override INTEGER NOT NULL,
	workdir  TEXT NOT NULL,
	created  INTEGER NOT NULL,
	stopped  INTEGER NOT NULL,
	archived INTEGER NOT NULL,
	search   TEXT NOT NULL -- title, dir and engine in lower case
) STRICT;
CREATE INDEX sessions_runner ON sessions(runner);

-- What is happening in a session: one row each, rewritten with every batch.
CREATE TABLE states (
	session  INTEGER PRIMARY KEY REFERENCES sessions(number),
	activity INTEGER NOT NULL,
	pane     INTEGER NOT NULL, -- the latest of its moments; 0 before the first
	moments  INTEGER NOT NULL, -- how many are kept
	bytes    INTEGER NOT NULL, -- of their panes
	state    TEXT NOT NULL     -- session.State as JSON; empty before the first
) STRICT;
CREATE INDEX states_activity ON states(activity);

-- The history of snapshots. A moment's id is its session's number × 2^32 plus
-- its place, from 1: one session's moments lie together and in order, without
-- an index of their own.
CREATE TABLE moments (
	id       INTEGER PRIMARY KEY,
	taken    INTEGER NOT NULL,
	failures INTEGER NOT NULL,
	bytes    INTEGER NOT NULL, -- of the pane
	facts    TEXT NOT NULL,    -- the snapshot without its pane, and the reading, as JSON
	pane     TEXT NOT NULL
) STRICT;

CREATE TABLE messages (
	number  INTEGER PRIMARY KEY AUTOINCREMENT, -- the order in which they came
	id      TEXT NOT NULL UNIQUE,
	session INTEGER NOT NULL REFERENCES sessions(number),
	author  TEXT NOT NULL,
	state   TEXT NOT NULL,
	open    INTEGER NOT NULL, -- 1 until it is settled
	reason  TEXT NOT NULL,
	turn    TEXT NOT NULL,
	outcome TEXT NOT NULL,
	key     TEXT NOT NULL,
	preempt INTEGER NOT NULL,
	journal TEXT NOT NULL,
	created INTEGER NOT NULL,
	settled INTEGER NOT NULL,
	text    TEXT NOT NULL
) STRICT;
CREATE INDEX messages_session ON messages(session);
CREATE INDEX messages_newest ON messages(session) WHERE state NOT IN ('blocked', 'withdrawn', 'returned');
CREATE INDEX messages_open ON messages(session, state) WHERE open = 1;
CREATE UNIQUE INDEX messages_key ON messages(session, key) WHERE key <> '';

CREATE TABLE runners (
	name       TEXT PRIMARY KEY,
	token      TEXT NOT NULL,
	journal    TEXT NOT NULL,
	build      TEXT NOT NULL,
	os         TEXT NOT NULL,
	engines    TEXT NOT NULL, -- a JSON array
	first_seen INTEGER NOT NULL,
	last_seen  INTEGER NOT NULL,
	acked      INTEGER NOT NULL -- the last push of this journal that is stored
) STRICT;

-- Secrets are kept as their SHA-256 only.
CREATE TABLE tokens (
	id      TEXT PRIMARY KEY,
	hash    BLOB NOT NULL UNIQUE,
	name    TEXT NOT NULL,
	kind    TEXT NOT NULL,
	runner  TEXT NOT NULL, -- the runner that it is bound to; empty before its first use
	created INTEGER NOT NULL,
	used    INTEGER NOT NULL,
	revoked INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX tokens_name ON tokens(name) WHERE revoked = 0;
CREATE UNIQUE INDEX tokens_runner ON tokens(runner) WHERE revoked = 0 AND runner <> '';

CREATE TABLE logins (
	hash    BLOB PRIMARY KEY,
	expires INTEGER NOT NULL,
	used    INTEGER NOT NULL
) STRICT;

CREATE TABLE browsers (
	id      TEXT PRIMARY KEY,
	hash    BLOB NOT NULL UNIQUE,
	agent   TEXT NOT NULL,
	created INTEGER NOT NULL,
	seen    INTEGER NOT NULL,
	expires INTEGER NOT NULL
) STRICT;

CREATE TABLE meta (
	key   TEXT PRIMARY KEY,
	value TEXT NOT NULL
) STRICT;
