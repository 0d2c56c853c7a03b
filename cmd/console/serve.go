package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"signalbox/desk"
	"signalbox/pilot"
	"signalbox/runner"
	"signalbox/session"
	"signalbox/store"
	"signalbox/web"
)

// shutdownWait bounds how long requests may take to finish at the end.
const shutdownWait = 10 * time.Second

// serveFlags are the flags of console serve.
type serveFlags struct {
	addr, db, token string
	publicURLs      []string
	noRunner        bool
	verbose         bool
}

func serveCommand() *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use: "serve", Short: "Run the server, with a runner for this machine built in", Args: args(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return serve(cmd.Context(), f, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	cmd.Flags().StringVar(&f.addr, "addr", env("CONSOLE_ADDR", "127.0.0.1:7878"), "the address to listen on; port 0 picks one (CONSOLE_ADDR)")
	dbFlag(cmd, &f.db)
	cmd.Flags().StringVar(&f.token, "token", os.Getenv("CONSOLE_TOKEN"), "the owner's token (CONSOLE_TOKEN); made and kept beside the database if absent")
	cmd.Flags().StringArrayVar(&f.publicURLs, "public-url", nil, "a URL that the console is reached by; repeatable")
	cmd.Flags().BoolVar(&f.noRunner, "no-runner", false, "without the runner for this machine")
	cmd.Flags().BoolVar(&f.verbose, "verbose", false, "log more")
	cmd.Flags().Lookup("token").DefValue = "" // never print a token in --help
	return cmd
}

func serve(ctx context.Context, f serveFlags, out, errs io.Writer) error {
	for _, p := range f.publicURLs {
		if u, err := url.Parse(p); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return usagef("--public-url %q is not a URL such as https://box.example", p)
		}
	}
	log := logger(errs, f.verbose)
	release, err := own(f.db)
	if err != nil {
		return err
	}
	defer release()
	st, err := store.Open(ctx, f.db)
	if err != nil {
		return err
	}
	defer func() {
		if err := st.Close(); err != nil {
			log.Error("close the database", "err", err)
		}
	}()
	token := f.token
	if token == "" {
		if token, err = ownerToken(filepath.Dir(f.db)); err != nil {
			return err
		}
	}
	listener, err := net.Listen("tcp", f.addr)
	if err != nil {
		return fmt.Errorf("listen on %s: %w; choose another address with --addr", f.addr, err)
	}
	listen := listener.Addr().String()
	local := "http://" + reachable(listen)

	feed := &session.Feed{}
	d, err := desk.Open(ctx, st, feed, log, time.Now)
	if err != nil {
		listener.Close()
		return err
	}
	defer d.Close()
	runs, err := pilot.Open(ctx, d, pilot.NewSettings(st, filepath.Dir(f.db), os.Getenv), log)
	if err != nil {
		listener.Close()
		return err
	}
	defer runs.Close()
	w := web.New(web.Config{Desk: d, OwnerToken: token, Listen: listen, PublicURLs: f.publicURLs, Build: build(), Log: log, Pilot: runs})
	defer w.Close()

	public := local
	if len(f.publicURLs) > 0 {
		public = strings.TrimRight(f.publicURLs[0], "/")
	}
	if err := st.SetMeta(ctx, "url", public); err != nil {
		return err
	}
	link, err := loginLink(ctx, st, local)
	if err != nil {
		return err
	}

	srv := &http.Server{Handler: w.Handler(), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug)}
	group, groupCtx := errgroup.WithContext(ctx)
	group.Go(func() error {
		if err := srv.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			return fmt.Errorf("serve: %w", err)
		}
		return nil
	})
	runnerDone := make(chan struct{})
	group.Go(func() error {
		defer close(runnerDone)
		if f.noRunner {
			return nil
		}
		return localRunner(groupCtx, st, runnerDir(f.db), local, log)
	})
	group.Go(func() error {
		<-groupCtx.Done()
		runs.Close() // before the turns are ended, which is no reason to give other instructions
		<-runnerDone // its turns end and are stored before the server goes
		w.Close()
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownWait)
		defer cancel()
		if err := srv.Shutdown(end); err != nil {
			log.Warn("requests were cut off at the end", "err", err)
			return srv.Close()
		}
		return nil
	})
	if !f.noRunner {
		waitForRunner(groupCtx, d)
	}
	fmt.Fprintf(out, "ready %s\n", link)
	log.Info("serving", "addr", listen, "build", build())
	return group.Wait()
}

// runnerWait bounds how long "ready" waits for the built-in runner.
const runnerWait = 10 * time.Second

// waitForRunner returns once the built-in runner is connected, so that who reads
// "ready" may start a session at once; or after runnerWait, since the pages are
// of use without it.
func waitForRunner(ctx context.Context, d *desk.Desk) {
	changed, stop := d.Feed().Watch(session.AnySession)
	defer stop()
	late := time.After(runnerWait)
	for !d.Connected(desk.LocalRunner) {
		select {
		case <-changed:
		case <-late:
			return
		case <-ctx.Done():
			return
		}
	}
}

// localRunner runs the built-in runner, which speaks to its own console over
// the same socket and protocol as any other.
func localRunner(ctx context.Context, st *store.Store, state, server string, log *slog.Logger) error {
	secret := web.NewSecret()
	const name = "built-in runner"
	if err := st.RevokeToken(ctx, name, time.Now()); err != nil && !errors.Is(err, session.ErrNotFound) {
		return fmt.Errorf("replace the built-in runner's token: %w", err)
	}
	if _, err := st.CreateToken(ctx, name, "runner", secret, time.Now()); err != nil {
		return fmt.Errorf("make the built-in runner's token: %w", err)
	}
	err := runner.Run(ctx, runner.Config{
		Server: server, Token: secret, Name: desk.LocalRunner, StateDir: state, Build: build(), Log: log,
	})
	if err != nil {
		return fmt.Errorf("built-in runner: %w", err)
	}
	return nil
}

// ownerToken reads the owner's token from its file, or makes one.
func ownerToken(dir string) (string, error) {
	file := filepath.Join(dir, "owner-token")
	data, err := os.ReadFile(file)
	if token := strings.TrimSpace(string(data)); err == nil && token != "" {
		return token, nil
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("read the owner's token: %w", err)
	}
	token := web.NewSecret()
	if err := os.WriteFile(file, []byte(token+"\n"), 0o600); err != nil {
		return "", fmt.Errorf("keep the owner's token: %w", err)
	}
	return token, os.Chmod(file, 0o600)
}

// reachable is a listening address as this machine can dial it.
func reachable(listen string) string {
	addr, err := netip.ParseAddrPort(listen)
	if err != nil || !addr.Addr().IsUnspecified() {
		return listen
	}
	return netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), addr.Port()).String()
}

// loginLink makes a link that signs one browser in, once, within web.LoginAge.
func loginLink(ctx context.Context, st *store.Store, base string) (string, error) {
	code := web.NewSecret()
	if err := st.CreateLogin(ctx, code, time.Now().Add(web.LoginAge)); err != nil {
		return "", fmt.Errorf("make a login link: %w", err)
	}
	return base + "/login?code=" + code, nil
}

func logger(w io.Writer, verbose bool) *slog.Logger {
	level := slog.LevelInfo
	if verbose {
		level = slog.LevelDebug
	}
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: level}))
}
