package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"signalbox/runner"
	"signalbox/session"
	"signalbox/store"
)

func doctorCommand() *cobra.Command {
	var db string
	cmd := &cobra.Command{
		Use: "doctor", Short: "Say what works on this machine, with the fix for what does not", Args: args(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, cancel := context.WithTimeout(cmd.Context(), 30*time.Second)
			defer cancel()
			checks := []finding{database(ctx, db), tool(ctx, "tmux", "-V", "install tmux to hold interactive engines"),
				tool(ctx, "git", "--version", "install git, so that folders can be checked before a session starts")}
			checks = append(checks, engines(ctx)...)
			return report(cmd.OutOrStdout(), checks)
		},
	}
	dbFlag(cmd, &db)
	return cmd
}

// finding is one thing that was looked at. Only a broken one fails the command:
// what is merely absent may not be wanted.
type finding struct {
	name, words string
	ok, broken  bool
}

func database(ctx context.Context, db string) finding {
	f := finding{name: "database"}
	if _, err := os.Stat(db); errors.Is(err, os.ErrNotExist) {
		f.words = fmt.Sprintf("none yet at %s; console serve makes it", db)
		return f
	}
	st, err := store.Open(ctx, db)
	if err == nil {
		err = errors.Join(st.Ping(ctx), st.Close())
	}
	if err != nil {
		f.words, f.broken = sentence(err), true
		return f
	}
	f.ok, f.words = true, db
	return f
}

func tool(ctx context.Context, name, flag, fix string) finding {
	f := finding{name: name}
	path, err := exec.LookPath(name)
	if err != nil {
		f.words = "not found; " + fix
		return f
	}
	out, err := exec.CommandContext(ctx, path, flag).Output()
	if err != nil {
		f.words, f.broken = fmt.Sprintf("%s does not run: %v", path, err), true
		return f
	}
	f.ok, f.words = true, session.Line(string(out), 80)
	return f
}

func engines(ctx context.Context) []finding {
	var out []finding
	for _, e := range runner.Probe(ctx) {
		if e.Engine == session.Custom {
			continue
		}
		f := finding{name: string(e.Engine), ok: e.Found, words: e.Version}
		switch {
		case !e.Found:
			f.words = "not found on PATH; install it to start sessions with it"
		case e.Version == "":
			f.words = "found, but it did not say its version"
		}
		out = append(out, f)
	}
	return out
}

func report(w io.Writer, checks []finding) error {
	var broken []string
	for _, c := range checks {
		mark := "ok     "
		switch {
		case c.broken:
			mark = "broken "
			broken = append(broken, c.name)
		case !c.ok:
			mark = "missing"
		}
		fmt.Fprintf(w, "%s  %-10s %s\n", mark, c.name, c.words)
	}
	if len(broken) > 0 {
		return fmt.Errorf("broken: %s", strings.Join(broken, ", "))
	}
	return nil
}
