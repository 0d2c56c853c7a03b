// Console is Signalbox: a web console for coding agents. See README.md.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"signalbox/session"
)

// version is set at build time; without it the build's own record is used.
var version = ""

func main() { os.Exit(run()) }

// run runs the command line as it was typed and returns its exit status: 0
// success, 1 failure, 2 wrong usage.
func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return execute(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
}

func execute(ctx context.Context, args []string, in io.Reader, out, errs io.Writer) int {
	root := newRoot()
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errs)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	fmt.Fprintln(errs, "console: "+sentence(err))
	var usage *usageError
	if errors.As(err, &usage) {
		return 2
	}
	return 1
}

// usageError is a command line that cannot be meant.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error {
	return &usageError{fmt.Errorf(format, args...)}
}

// sentence is an error as one sentence on one line, as the command line says it.
func sentence(err error) string {
	text := err.Error()
	var p *session.Problem
	if errors.As(err, &p) {
		text = p.Sentence
	}
	text = betweenSentences.ReplaceAllStringFunc(session.Line(text, 1000), func(end string) string {
		return "; " + strings.ToLower(end[2:])
	})
	return strings.TrimSuffix(text, ".")
}

// betweenSentences is the end of one sentence and the first word of the next,
// unless that is a name in capitals.
var betweenSentences = regexp.MustCompile(`\. [A-Z][a-z]*\b`)

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:           "console",
		Short:         "A web console for coding agents that tells the truth about them",
		SilenceErrors: true, SilenceUsage: true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("there is no command %q; run console --help for the list", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			_ = cmd.Usage()
			return usagef("say which command to run")
		},
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usagef("%w; run %s --help for its flags", err, cmd.CommandPath())
	})
	root.AddCommand(serveCommand(), loginCommand(), runnerCommand(), detectCommand(), replayCommand(),
		tokenCommand(), backupCommand(), doctorCommand(), versionCommand())
	return root
}

// args wants exactly these arguments, named for the error.
func args(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, given []string) error {
		if len(given) == len(names) {
			return nil
		}
		if len(names) == 0 {
			return usagef("%s takes no argument, and was given %q", cmd.CommandPath(), given[0])
		}
		return usagef("%s takes %s; see %s --help", cmd.CommandPath(), strings.Join(names, " "), cmd.CommandPath())
	}
}

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: args(),
		Run: func(cmd *cobra.Command, _ []string) {
			fmt.Fprintf(cmd.OutOrStdout(), "console %s %s/%s %s\n", build(), runtime.GOOS, runtime.GOARCH, runtime.Version())
		},
	}
}

// build is this program's version.
func build() string {
	if version != "" {
		return version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "development"
	}
	return info.Main.Version
}

// env gives the value of an environment variable, or other.
func env(name, other string) string {
	if v := os.Getenv(name); v != "" {
		return v
	}
	return other
}

// dataDir is the user's data directory for this program.
func dataDir() string {
	if d := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(d) {
		return filepath.Join(d, "signalbox")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "signalbox-data"
	}
	switch runtime.GOOS {
	case "darwin":
		return filepath.Join(home, "Library", "Application Support", "signalbox")
	case "windows":
		return filepath.Join(env("LOCALAPPDATA", home), "signalbox")
	}
	return filepath.Join(home, ".local", "share", "signalbox")
}

// dbFlag adds --db.
func dbFlag(cmd *cobra.Command, into *string) {
	cmd.Flags().StringVar(into, "db", env("CONSOLE_DB", filepath.Join(dataDir(), "console.db")), "the database file (CONSOLE_DB)")
}
