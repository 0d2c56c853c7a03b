-- Runs of the Pilot, and the log of their steps.

CREATE TABLE runs (
	number  INTEGER PRIMARY KEY AUTOINCREMENT,
	id      TEXT NOT NULL UNIQUE,
	session INTEGER NOT NULL REFERENCES sessions(number),
	state   TEXT NOT NULL,
	created INTEGER NOT NULL,
	ended   INTEGER NOT NULL, -- 0 while it is active
	body    TEXT NOT NULL     -- session.Run as JSON
) STRICT;
CREATE INDEX runs_session ON runs(session, number);
CREATE UNIQUE INDEX runs_active ON runs(session) WHERE ended = 0; -- one active run a session

CREATE TABLE run_steps (
	run  INTEGER NOT NULL REFERENCES runs(number),
	n    INTEGER NOT NULL, -- from 1
	body TEXT NOT NULL,    -- session.RunStep as JSON
	PRIMARY KEY (run, n)
) STRICT, WITHOUT ROWID;
