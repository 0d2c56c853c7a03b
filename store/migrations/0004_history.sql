-- Screens as line deltas, what happened when, and a search over the latest screens.

-- The whole pane that a moment's delta begins from, by its id; 0 for a moment
-- whose pane is whole itself.
ALTER TABLE moments ADD COLUMN key INTEGER NOT NULL DEFAULT 0;

-- When a session began to do something else.
CREATE TABLE marks (
	number  INTEGER PRIMARY KEY AUTOINCREMENT, -- the order in which they were seen
	session INTEGER NOT NULL REFERENCES sessions(number) ON DELETE CASCADE,
	at      INTEGER NOT NULL, -- by the console's clock
	moment  INTEGER NOT NULL, -- the latest moment by then; 0 before the first
	mark    TEXT NOT NULL,    -- session.Headline, of those that need no more than the state
	prompt  TEXT NOT NULL,    -- the id of the question that came up; empty for none
	words   TEXT NOT NULL     -- the question, or the engine's words about its failure; one line
) STRICT;
CREATE INDEX marks_session ON marks(session, number);

-- What was answered from here, and by whom.
CREATE TABLE answers (
	number  INTEGER PRIMARY KEY AUTOINCREMENT,
	session INTEGER NOT NULL REFERENCES sessions(number) ON DELETE CASCADE,
	at      INTEGER NOT NULL,
	prompt  TEXT NOT NULL, -- its id
	title   TEXT NOT NULL, -- the question
	answer  TEXT NOT NULL, -- the option's label, or the text
	author  TEXT NOT NULL, -- session.Author
	browser TEXT NOT NULL  -- the browser or the token, by name; empty if unknown
) STRICT;
CREATE INDEX answers_session ON answers(session, number);

-- When the owner last looked at a session, and the time before that.
CREATE TABLE visits (
	session INTEGER PRIMARY KEY REFERENCES sessions(number) ON DELETE CASCADE,
	seen    INTEGER NOT NULL,
	before  INTEGER NOT NULL -- the end of the visit before this one; 0 for none
) STRICT;

-- Screens that the owner says were read wrong.
CREATE TABLE cases (
	number  INTEGER PRIMARY KEY AUTOINCREMENT,
	id      TEXT NOT NULL UNIQUE,
	session INTEGER NOT NULL REFERENCES sessions(number) ON DELETE CASCADE,
	at      INTEGER NOT NULL,
	engine  TEXT NOT NULL,
	got     TEXT NOT NULL, -- session.Status
	want    TEXT NOT NULL, -- session.Status
	body    TEXT NOT NULL  -- the case file: one line of JSON
) STRICT;

-- A search over title, folder, engine, machine and latest screen. It keeps no text
-- of its own, and is brought up to date now and then.
CREATE VIRTUAL TABLE search USING fts5(words, content='', contentless_delete=1, tokenize="unicode61 remove_diacritics 2");
CREATE TABLE searched (
	session INTEGER PRIMARY KEY REFERENCES sessions(number) ON DELETE CASCADE,
	pane    INTEGER NOT NULL, -- the moment whose screen it holds; -1 if it must be read again
	at      INTEGER NOT NULL
) STRICT;
CREATE TRIGGER sessions_renamed AFTER UPDATE OF title, dir ON sessions WHEN new.title <> old.title OR new.dir <> old.dir
	BEGIN UPDATE searched SET pane = -1 WHERE session = new.number; END;
