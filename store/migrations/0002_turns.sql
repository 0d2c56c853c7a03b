-- Turns and what was said in them, and how a message came to be sent.

ALTER TABLE messages ADD COLUMN steer INTEGER NOT NULL DEFAULT 0;
ALTER TABLE messages ADD COLUMN waited INTEGER NOT NULL DEFAULT 0;

-- One row for each turn that a runner has reported, of every runtime.
CREATE TABLE turns (
	number  INTEGER PRIMARY KEY AUTOINCREMENT, -- the order in which they were first reported
	session INTEGER NOT NULL REFERENCES sessions(number) ON DELETE CASCADE,
	journal TEXT NOT NULL, -- the runner journal that named it: one that began anew uses its names again
	turn    TEXT NOT NULL,
	began   INTEGER NOT NULL, -- by the console's clock; 0 if only the end was reported
	ended   INTEGER NOT NULL, -- 0 while it runs
	outcome TEXT NOT NULL,    -- session.LastTurn as JSON; empty while it runs
	blocked TEXT NOT NULL,    -- session.Block as JSON; empty if no hook refused a prompt in it
	usage   TEXT NOT NULL     -- session.Usage as JSON; empty where the engine does not say
) STRICT;
CREATE UNIQUE INDEX turns_turn ON turns(session, turn, journal);
CREATE INDEX turns_order ON turns(session, number);
CREATE INDEX turns_open ON turns(session) WHERE ended = 0;

-- The conversation of structured sessions.
CREATE TABLE items (
	number  INTEGER PRIMARY KEY AUTOINCREMENT, -- the order in which they began
	session INTEGER NOT NULL REFERENCES sessions(number) ON DELETE CASCADE,
	place   INTEGER NOT NULL, -- twice its turn's number; one more than its predecessor's for what stands before a turn
	journal TEXT NOT NULL,
	item    TEXT NOT NULL,
	bytes   INTEGER NOT NULL, -- of body
	body    TEXT NOT NULL     -- session.Item as JSON
) STRICT;
CREATE UNIQUE INDEX items_item ON items(session, item, journal);
CREATE INDEX items_place ON items(session, place, number);
