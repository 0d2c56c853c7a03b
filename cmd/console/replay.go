package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"signalbox/session"
)

func replayCommand() *cobra.Command {
	var server, token, id string
	var speed float64
	cmd := &cobra.Command{
		Use: "replay FILE", Short: "Push recorded snapshots to an external session", Args: args("FILE"),
		RunE: func(cmd *cobra.Command, given []string) error {
			if u, err := url.Parse(server); err != nil || u.Host == "" {
				return usagef("--server needs the console's URL, such as http://127.0.0.1:7878")
			}
			if id == "" || token == "" {
				return usagef("replay needs --session and --token")
			}
			if !(speed > 0) {
				return usagef("--speed is a number above 0")
			}
			file, err := os.Open(given[0])
			if err != nil {
				return fmt.Errorf("open the recording: %w; name a file of snapshots, one a line", err)
			}
			defer file.Close()
			push := pusher{url: strings.TrimRight(server, "/") + "/api/v1/sessions/" + url.PathEscape(id) + "/snapshots", token: token}
			return replay(cmd.Context(), file, speed, push.push)
		},
	}
	cmd.Flags().StringVar(&server, "server", os.Getenv("CONSOLE_SERVER"), "the console's URL (CONSOLE_SERVER)")
	cmd.Flags().StringVar(&token, "token", os.Getenv("CONSOLE_TOKEN"), "an owner or push token (CONSOLE_TOKEN)")
	cmd.Flags().StringVar(&id, "session", "", "the external session to push to")
	cmd.Flags().Float64Var(&speed, "speed", 1, "how many times faster than recorded")
	cmd.Flags().Lookup("token").DefValue = ""
	return cmd
}

// replay pushes each line of a recording, paced by the snapshots' times.
func replay(ctx context.Context, recording io.Reader, speed float64, push func(context.Context, []byte) error) error {
	lines := bufio.NewReaderSize(recording, 1<<20)
	var first time.Time
	var began time.Time
	for n := 1; ; n++ {
		line, readErr := lines.ReadBytes('\n')
		if body := bytes.TrimSpace(line); len(body) > 0 {
			var snap session.Snapshot
			if err := json.Unmarshal(body, &snap); err != nil {
				return fmt.Errorf("line %d is not a snapshot; write one JSON object a line (%s)", n, jsonFault(err))
			}
			if !snap.At.IsZero() {
				if first.IsZero() {
					first, began = snap.At, time.Now()
				}
				due := began.Add(time.Duration(float64(snap.At.Sub(first)) / speed))
				if err := waitUntil(ctx, due); err != nil {
					return err
				}
			}
			if err := push(ctx, body); err != nil {
				return fmt.Errorf("line %d: %w", n, err)
			}
		}
		if readErr == io.EOF {
			return nil
		}
		if readErr != nil {
			return fmt.Errorf("read the recording: %w", readErr)
		}
	}
}

func waitUntil(ctx context.Context, due time.Time) error {
	timer := time.NewTimer(time.Until(due))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// pusher pushes snapshots over HTTP.
type pusher struct{ url, token string }

func (p pusher) push(ctx context.Context, body []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+p.token)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("push: %w", err)
	}
	defer res.Body.Close()
	if res.StatusCode == http.StatusOK {
		_, err = io.Copy(io.Discard, res.Body)
		return err
	}
	var answer struct {
		Error struct{ Message string }
	}
	if err := json.NewDecoder(io.LimitReader(res.Body, 1<<20)).Decode(&answer); err != nil || answer.Error.Message == "" {
		return fmt.Errorf("the console answered %s", res.Status)
	}
	return fmt.Errorf("the console answered %s: %s", res.Status, answer.Error.Message)
}
