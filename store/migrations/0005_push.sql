-- Notifications: the browsers that take them, the sessions that are quiet, and
-- what the owner was told already, so that a restart repeats nothing.

CREATE TABLE subscriptions (
	number   INTEGER PRIMARY KEY AUTOINCREMENT,
	browser  TEXT NOT NULL, -- the signed-in browser it belongs to; it goes with it
	name     TEXT NOT NULL, -- of the browser, for the owner
	endpoint TEXT NOT NULL UNIQUE,
	p256dh   TEXT NOT NULL,
	auth     TEXT NOT NULL,
	created  INTEGER NOT NULL,
	sent     INTEGER NOT NULL, -- when the push service last took one; 0 never
	answer   TEXT NOT NULL     -- what it said to the last one, if it did not take it
) STRICT;

CREATE TABLE notified (
	session INTEGER PRIMARY KEY REFERENCES sessions(number),
	muted   INTEGER NOT NULL,
	asked   TEXT NOT NULL, -- the prompt or handoff that the owner was told of and that waits; empty for none
	ended   TEXT NOT NULL  -- the end that was told last, or that was there before anything was told
) STRICT;
