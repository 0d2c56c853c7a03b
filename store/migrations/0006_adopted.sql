-- Engines that the owner started in a tmux of their own: the pane, as JSON; empty
-- for an engine that a runner started.
ALTER TABLE sessions ADD COLUMN adopted TEXT NOT NULL DEFAULT '';
