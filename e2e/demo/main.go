// Command demo shows the product in a minute, without any engine: a console of its
// own, with machines that play recordings of real engines. All that is real goes
// through the runner protocol: what you send is taken, answered and shown as with an
// engine. Nothing is run, and nothing is kept.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

func main() {
	program := flag.String("console", "bin/console", "the program")
	addr := flag.String("addr", "127.0.0.1:7879", "the address to listen on; port 0 picks one")
	panes := flag.String("panes", "testdata/panes", "the recorded screens")
	shots := flag.String("shots", "", "a folder to put pictures of the pages into, instead of going on")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *program, *addr, *panes, *shots); err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

// server is the console that the demo runs.
type server struct {
	program string
	env     []string
	url     string // without a slash at its end
	token   string
}

func run(ctx context.Context, program, addr, panes, shots string) error {
	dir, err := os.MkdirTemp("", "signalbox-demo")
	if err != nil {
		return fmt.Errorf("make a folder for the demo: %w", err)
	}
	defer os.RemoveAll(dir)
	script := filepath.Join(dir, "pilot.jsonl")
	if err := os.WriteFile(script, []byte(pilotScript), 0o600); err != nil {
		return fmt.Errorf("write the Pilot's script: %w", err)
	}
	s := &server{program: program, token: "demo-owner-token"}
	s.env = append(os.Environ(), "CONSOLE_DB="+filepath.Join(dir, "console.db"), "CONSOLE_ADDR="+addr,
		"CONSOLE_PILOT_PROVIDER=scripted", "CONSOLE_PILOT_SCRIPT="+script, "CONSOLE_TOKEN="+s.token)
	cmd := exec.CommandContext(ctx, program, "serve", "--no-runner")
	cmd.Env, cmd.Stderr, cmd.Cancel, cmd.WaitDelay = s.env, os.Stderr, func() error { return cmd.Process.Signal(syscall.SIGTERM) }, 10*time.Second
	out, err := cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("start the console: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start the console: %w", err)
	}
	defer cmd.Wait()
	line, err := bufio.NewReader(out).ReadString('\n')
	link, ok := strings.CutPrefix(strings.TrimSpace(line), "ready ")
	if err != nil || !ok {
		return errors.New("the console did not start; what it said stands above")
	}
	s.url = link[:strings.Index(link, "/login")]

	rec, err := loadRecordings(panes)
	if err != nil {
		return err
	}
	if err := stage(ctx, s, rec); err != nil {
		return err
	}
	if shots != "" {
		defer cmd.Cancel()
		return takeShots(ctx, s, link, shots)
	}
	fmt.Printf("ready %s\n", link)
	fmt.Fprintln(os.Stderr, "This is a demo: recorded screens, no engines, nothing kept. Ctrl-C ends it.")
	<-ctx.Done()
	return nil
}

// command runs one of the console's commands and returns what it printed.
func (s *server) command(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, s.program, args...)
	cmd.Env, cmd.Stderr = s.env, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("console %s: %w", strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out)), nil
}
