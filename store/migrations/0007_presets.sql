-- The owner's named ways to launch an engine, and what each session began with.
CREATE TABLE presets (
	name   TEXT PRIMARY KEY,
	engine TEXT NOT NULL,
	extra  TEXT NOT NULL -- JSON: args, env
) STRICT;
ALTER TABLE sessions ADD COLUMN preset TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN extra TEXT NOT NULL DEFAULT ''; -- JSON; empty: nothing was added
