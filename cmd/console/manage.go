package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"signalbox/session"
	"signalbox/store"
	"signalbox/web"
)

// withStore opens the database of a console that may be running, and closes it.
// It makes no new database: these commands are about one that is there.
func withStore(ctx context.Context, db string, do func(*store.Store) error) error {
	if _, err := os.Stat(db); errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("there is no database at %s; run console serve once, or name another with --db", db)
	}
	st, err := store.Open(ctx, db)
	if err != nil {
		return err
	}
	return errors.Join(do(st), st.Close())
}

func loginCommand() *cobra.Command {
	var db string
	cmd := &cobra.Command{
		Use: "login", Short: "Print a link that signs a browser in, once, within ten minutes", Args: args(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withStore(cmd.Context(), db, func(st *store.Store) error {
				base, err := st.Meta(cmd.Context(), "url")
				if err != nil || base == "" {
					return errors.Join(errors.New("this console has never run; run console serve first"), err)
				}
				link, err := loginLink(cmd.Context(), st, base)
				if err == nil {
					fmt.Fprintln(cmd.OutOrStdout(), link)
				}
				return err
			})
		},
	}
	dbFlag(cmd, &db)
	return cmd
}

func tokenCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "token", Short: "Make, list and revoke tokens",
		Args: func(cmd *cobra.Command, given []string) error {
			if len(given) > 0 {
				return usagef("there is no command %q; use create, list or revoke", given[0])
			}
			return nil
		},
		RunE: func(*cobra.Command, []string) error { return usagef("say what to do: create, list or revoke") },
	}
	cmd.AddCommand(tokenCreate(), tokenList(), tokenRevoke())
	return cmd
}

func tokenCreate() *cobra.Command {
	var db, name, kind string
	cmd := &cobra.Command{
		Use: "create", Short: "Make a token and print it, this once", Args: args(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := web.CheckToken(name, kind); err != nil {
				return &usageError{err}
			}
			return withStore(cmd.Context(), db, func(st *store.Store) error {
				secret := web.NewSecret()
				if _, err := st.CreateToken(cmd.Context(), name, kind, secret, time.Now()); err != nil {
					return err
				}
				fmt.Fprintln(cmd.OutOrStdout(), secret)
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&name, "name", "", "what it is for, such as the machine's name")
	cmd.Flags().StringVar(&kind, "kind", "owner", "owner, runner or push")
	dbFlag(cmd, &db)
	return cmd
}

func tokenList() *cobra.Command {
	var db string
	cmd := &cobra.Command{
		Use: "list", Short: "List the tokens", Args: args(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withStore(cmd.Context(), db, func(st *store.Store) error {
				tokens, err := st.Tokens(cmd.Context())
				if err != nil {
					return err
				}
				w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 4, 2, ' ', 0)
				fmt.Fprintln(w, "NAME\tKIND\tCREATED\tLAST USED\tSTATE")
				for _, t := range tokens {
					state := "good"
					if !t.RevokedAt.IsZero() {
						state = "revoked " + t.RevokedAt.Local().Format(time.DateTime)
					}
					fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", t.Name, t.Kind, t.CreatedAt.Local().Format(time.DateTime), used(t.LastUsed), state)
				}
				return w.Flush()
			})
		},
	}
	dbFlag(cmd, &db)
	return cmd
}

func used(at time.Time) string {
	if at.IsZero() {
		return "never"
	}
	return at.Local().Format(time.DateTime)
}

func tokenRevoke() *cobra.Command {
	var db string
	cmd := &cobra.Command{
		Use: "revoke NAME", Short: "Make a token useless", Args: args("NAME"),
		RunE: func(cmd *cobra.Command, given []string) error {
			return withStore(cmd.Context(), db, func(st *store.Store) error {
				err := st.RevokeToken(cmd.Context(), given[0], time.Now())
				if errors.Is(err, session.ErrNotFound) {
					return fmt.Errorf("there is no token called %q; run console token list", session.Line(given[0], 60))
				}
				return err
			})
		},
	}
	dbFlag(cmd, &db)
	return cmd
}

func backupCommand() *cobra.Command {
	var db string
	cmd := &cobra.Command{
		Use: "backup FILE", Short: "Write a consistent copy of the live database", Args: args("FILE"),
		RunE: func(cmd *cobra.Command, given []string) error {
			return withStore(cmd.Context(), db, func(st *store.Store) error {
				return st.Backup(cmd.Context(), given[0])
			})
		},
	}
	dbFlag(cmd, &db)
	return cmd
}
