package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"signalbox/runner"
	"signalbox/session"
)

func runnerCommand() *cobra.Command {
	var server, token, name, state, pane string
	var verbose bool
	cmd := &cobra.Command{
		Use: "runner", Short: "Connect this machine to a console", Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, words []string) error {
			adopts := cmd.Flags().Changed("adopt")
			switch {
			case len(words) == 1 && adopts && pane == anyPane: // "--adopt %3"
				pane = words[0]
			case len(words) > 0:
				return usagef("runner takes no argument %q", words[0])
			}
			if u, err := url.Parse(server); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
				return usagef("--server needs the console's URL, such as http://127.0.0.1:7878")
			}
			if token == "" {
				return usagef("--token needs a runner token; make one with: console token create --kind runner --name NAME")
			}
			if name = session.Line(name, 60); name == "" {
				return usagef("--name needs a name for this machine")
			}
			if state == "" {
				state = filepath.Join(dataDir(), "runner-"+fileName(name))
			}
			cfg := runner.Config{Server: server, Token: token, Name: name, StateDir: state, Build: build(), Log: logger(cmd.ErrOrStderr(), verbose)}
			if adopts {
				found, err := paneToAdopt(cmd.Context(), pane)
				if err != nil {
					return err
				}
				cfg.Adopt = []session.PaneFound{found}
			}
			err := runner.Run(cmd.Context(), cfg)
			if adopts && errors.Is(err, session.ErrConflict) {
				return session.Problemf(session.ErrConflict, "%s A runner that runs already adopts what you choose on the page Runners.", err)
			}
			return err
		},
	}
	host, err := os.Hostname()
	if err != nil {
		host = "runner"
	}
	cmd.Flags().StringVar(&server, "server", os.Getenv("CONSOLE_SERVER"), "the console's URL (CONSOLE_SERVER)")
	cmd.Flags().StringVar(&token, "token", os.Getenv("CONSOLE_RUNNER_TOKEN"), "a runner token (CONSOLE_RUNNER_TOKEN)")
	cmd.Flags().StringVar(&name, "name", host, "the name of this machine")
	cmd.Flags().StringVar(&state, "state", "", "the folder for its records and spool (default in the user's data directory)")
	cmd.Flags().StringVar(&pane, "adopt", "", "make a session of the engine that you started by hand in this tmux pane, such as %3 or work:1.0; without a pane, of the only one there is")
	cmd.Flags().Lookup("adopt").NoOptDefVal = anyPane
	cmd.Flags().BoolVar(&verbose, "verbose", false, "log more")
	cmd.Flags().Lookup("token").DefValue = "" // never print a token in --help
	return cmd
}

// anyPane is --adopt without a pane.
const anyPane = "the only one"

// paneToAdopt finds the pane that the owner means, and says which there are where
// that is not one.
func paneToAdopt(ctx context.Context, pane string) (session.PaneFound, error) {
	if pane == anyPane {
		pane = ""
	}
	found := runner.FindPanes(ctx, pane)
	if len(found) == 1 {
		return found[0], nil
	}
	var list strings.Builder
	for _, p := range found {
		number, _, _ := strings.Cut(p.Pane, "@")
		fmt.Fprintf(&list, "; %s (%s) runs %s in %s on the socket %s", number, session.Line(p.Where, 60), p.Engine, session.Line(p.Dir, 100), p.Socket)
	}
	switch {
	case len(found) > 1 && pane != "":
		return session.PaneFound{}, session.Problemf(session.ErrConflict, "Several tmux servers have such a pane, so adopt it on the page Runners%s.", list.String())
	case len(found) > 1:
		return session.PaneFound{}, session.Problemf(session.ErrConflict, "Say which pane to adopt, as --adopt %%3%s.", list.String())
	case pane != "":
		return session.PaneFound{}, session.Problemf(session.ErrNotFound, "No program that could be adopted runs in the tmux pane %s of this user. Look with: tmux list-panes -a", session.Line(pane, 60))
	}
	return session.PaneFound{}, session.Problemf(session.ErrNotFound, "No engine that Signalbox knows runs in a tmux of this user. Start one there, or name its pane: --adopt %%3")
}

// fileName makes a name safe as part of a path.
func fileName(name string) string {
	safe := []rune(name)
	for i, r := range safe {
		if !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_') {
			safe[i] = '-'
		}
	}
	return string(safe)
}
