package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"signalbox/detect"
	"signalbox/session"
)

// detectFlags are the facts beside a pane, as typed.
type detectFlags struct {
	engine, size, title, cursor, foreground string
	raw, batch                              bool
}

func detectCommand() *cobra.Command {
	var f detectFlags
	cmd := &cobra.Command{
		Use: "detect [FILE]", Short: "Read a pane and say what the engine does",
		Args: func(_ *cobra.Command, given []string) error {
			if len(given) > 1 {
				return usagef("detect reads one file; name one, or pipe the pane in")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, given []string) error {
			in := cmd.InOrStdin()
			if len(given) == 1 {
				file, err := os.Open(given[0])
				if err != nil {
					return fmt.Errorf("open the pane: %w; name a file that holds one, or pipe it in", err)
				}
				defer file.Close()
				in = file
			}
			if f.batch {
				return detectBatch(in, cmd.OutOrStdout())
			}
			return detectOne(f, in, cmd.OutOrStdout())
		},
	}
	cmd.Flags().StringVar(&f.engine, "engine", string(session.Generic), "whose pane it is")
	cmd.Flags().BoolVar(&f.raw, "raw", false, "the pane is an unrendered terminal stream")
	cmd.Flags().StringVar(&f.size, "size", "", "the screen's size, COLSxROWS")
	cmd.Flags().StringVar(&f.title, "title", "", "the terminal's title")
	cmd.Flags().StringVar(&f.cursor, "cursor", "", "the cursor, X,Y or X,Y,hidden")
	cmd.Flags().StringVar(&f.foreground, "foreground", "", "the foreground program")
	cmd.Flags().BoolVar(&f.batch, "batch", false, "read JSON lines, write JSON lines in the same order")
	return cmd
}

// detectAnswer is what console detect prints (contract §2).
type detectAnswer struct {
	ID         string         `json:"id,omitempty"`
	Status     session.Status `json:"status"`
	Rule       string         `json:"rule"`
	Evidence   []int          `json:"evidence"`
	Background bool           `json:"background"`
	CanType    bool           `json:"canType"`
	Failure    string         `json:"failure,omitempty"`
	Prompt     *detectPrompt  `json:"prompt,omitempty"`
}

// detectPrompt is a prompt with its digest in place of an id: which asking it is
// can only be told over time.
type detectPrompt struct {
	Digest string `json:"digest"`
	session.Prompt
}

func toAnswer(id string, r session.Reading) detectAnswer {
	a := detectAnswer{
		ID: id, Status: r.Status, Rule: r.Rule, Evidence: r.Evidence, Background: r.Background, CanType: r.CanType, Failure: r.Failure,
	}
	if a.Evidence == nil {
		a.Evidence = []int{}
	}
	if r.Prompt != nil {
		p := *r.Prompt
		a.Prompt = &detectPrompt{Digest: p.Digest, Prompt: p}
		a.Prompt.Prompt.Digest, a.Prompt.Prompt.ID = "", ""
	}
	return a
}

func detectOne(f detectFlags, in io.Reader, out io.Writer) error {
	engine := session.Engine(f.engine)
	if !engine.Known() {
		return usagef("%s", noEngine(f.engine))
	}
	input := detect.Input{Engine: engine, Title: f.title, Foreground: f.foreground}
	if f.raw {
		input.Format = session.Raw
	}
	if f.size != "" {
		cols, rows, ok := strings.Cut(f.size, "x")
		var err1, err2 error
		input.Cols, err1 = strconv.Atoi(cols)
		input.Rows, err2 = strconv.Atoi(rows)
		if !ok || err1 != nil || err2 != nil || input.Cols < 1 || input.Rows < 1 || input.Cols > 1000 || input.Rows > 1000 {
			return usagef("--size is COLSxROWS, such as 80x24, and was %q", f.size)
		}
	}
	if f.cursor != "" {
		cursor, err := parseCursor(f.cursor)
		if err != nil {
			return err
		}
		input.Cursor = cursor
	}
	pane, err := io.ReadAll(io.LimitReader(in, session.MaxPane+1))
	if err != nil {
		return fmt.Errorf("read the pane: %w", err)
	}
	if len(pane) > session.MaxPane {
		return fmt.Errorf("the pane is larger than 1 MiB; give its last rows only")
	}
	input.Pane = string(pane)
	return json.NewEncoder(out).Encode(toAnswer("", detect.Read(input)))
}

func parseCursor(s string) (*session.Cursor, error) {
	parts := strings.Split(s, ",")
	if len(parts) == 2 || len(parts) == 3 && parts[2] == "hidden" {
		x, err1 := strconv.Atoi(parts[0])
		y, err2 := strconv.Atoi(parts[1])
		if err1 == nil && err2 == nil && x >= 0 && y >= 0 {
			return &session.Cursor{X: x, Y: y, Visible: len(parts) == 2}, nil
		}
	}
	return nil, usagef("--cursor is X,Y or X,Y,hidden, and was %q", s)
}

// batchLine is one line of --batch.
type batchLine struct {
	ID         json.RawMessage `json:"id"`
	Engine     session.Engine  `json:"engine"`
	Pane       string          `json:"pane"`
	Format     session.Format  `json:"format"`
	Cols       int             `json:"cols"`
	Rows       int             `json:"rows"`
	Cursor     *session.Cursor `json:"cursor"`
	Title      string          `json:"title"`
	Foreground string          `json:"foreground"`
	InMode     *bool           `json:"inMode"`
	Alive      *bool           `json:"alive"`
	ExitCode   *int            `json:"exitCode"`
	Want       wants           `json:"want"` // of a case file: the statuses that are right
}

// wants are statuses: one, or several that are all right. What is neither says nothing.
type wants []session.Status

func (w *wants) UnmarshalJSON(data []byte) error {
	var one session.Status
	if json.Unmarshal(data, &one) == nil {
		*w = wants{one}
		return nil
	}
	_ = json.Unmarshal(data, (*[]session.Status)(w))
	return nil
}

// detectBatch reads one pane a line. A line that cannot be read ends it with an
// error that names the line; what came before it has been answered.
func detectBatch(in io.Reader, out io.Writer) error {
	reader := bufio.NewReaderSize(in, 1<<20)
	writer := bufio.NewWriterSize(out, 1<<16)
	enc := json.NewEncoder(writer)
	for n := 1; ; n++ {
		data, readErr := reader.ReadBytes('\n')
		if data = bytes.TrimSpace(data); len(data) > 0 {
			answer, err := detectLine(data)
			if err != nil {
				_ = writer.Flush()
				return fmt.Errorf("line %d: %w", n, err)
			}
			if err := enc.Encode(answer); err != nil {
				return fmt.Errorf("write the answer: %w", err)
			}
		}
		if readErr == io.EOF {
			return writer.Flush()
		}
		if readErr != nil {
			return fmt.Errorf("read the panes: %w", readErr)
		}
	}
}

// batchAnswer keeps the id as it came, whatever its type. Agrees says of a case file
// whether its screen is read now as it should be; it is absent for all else.
type batchAnswer struct {
	ID json.RawMessage `json:"id,omitempty"`
	detectAnswer
	Agrees *bool `json:"agrees,omitempty"`
}

func detectLine(data []byte) (batchAnswer, error) {
	var l batchLine
	if err := json.Unmarshal(data, &l); err != nil {
		return batchAnswer{}, fmt.Errorf("no pane in JSON; write {\"id\",\"engine\",\"pane\"} on one line (%s)", jsonFault(err))
	}
	if l.Engine == "" {
		l.Engine = session.Generic
	}
	if !l.Engine.Known() {
		return batchAnswer{}, errors.New(noEngine(string(l.Engine)))
	}
	r := detect.Read(detect.Input{
		Engine: l.Engine, Pane: l.Pane, Format: l.Format, Cols: min(max(l.Cols, 0), 1000), Rows: min(max(l.Rows, 0), 1000),
		Cursor: l.Cursor, Title: l.Title, Foreground: l.Foreground, InMode: l.InMode, Alive: l.Alive, ExitCode: l.ExitCode,
	})
	answer := batchAnswer{ID: l.ID, detectAnswer: toAnswer("", r)}
	if len(l.Want) > 0 {
		agrees := slices.Contains(l.Want, r.Status)
		answer.Agrees = &agrees
	}
	return answer, nil
}
