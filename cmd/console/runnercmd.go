package main

import (
	"net/url"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"signalbox/runner"
	"signalbox/session"
)

func runnerCommand() *cobra.Command {
	var server, token, name, state string
	var verbose bool
	cmd := &cobra.Command{
		Use: "runner", Short: "Connect this machine to a console", Args: args(),
		RunE: func(cmd *cobra.Command, _ []string) error {
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
			return runner.Run(cmd.Context(), runner.Config{
				Server: server, Token: token, Name: name, StateDir: state, Build: build(), Log: logger(cmd.ErrOrStderr(), verbose),
			})
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
	cmd.Flags().BoolVar(&verbose, "verbose", false, "log more")
	cmd.Flags().Lookup("token").DefValue = "" // never print a token in --help
	return cmd
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
