package session

import (
	"hash/crc32"
	"strings"
	"time"
)

// echoMark begins the line by which a one-shot runner echoes an instruction.
const echoMark = "❯ ["

// Echo is the text that a one-shot runner writes before a turn: the mark, the
// machine's local time and the instruction, further lines indented. An empty
// line ends it, so that what the engine prints is never taken for an echo.
func Echo(instruction string, at time.Time) string {
	text := strings.ReplaceAll(strings.TrimRight(instruction, "\r\n"), "\r\n", "\n")
	return echoMark + at.Format("15:04:05") + "] " + strings.ReplaceAll(text, "\n", "\n  ") + "\n\n"
}

// ExitLine is the line that a one-shot runner writes after a turn that did not
// end well: "[codex exited with code 1]".
func ExitLine(engine string, how string) string { return "[" + engine + " " + how + "]\n" }

// paneHolds reports what a pane holds. The echo of an instruction is not output
// of the engine's, and neither is a runner's exit line where the turn it speaks
// of was filed. Where none was, the line is all that is known and counts.
func paneHolds(pane string, filed bool) (output, echo bool) {
	inEcho := false
	for line := range strings.Lines(pane) {
		line = strings.TrimRight(line, "\r\n")
		switch {
		case isEcho(line):
			inEcho, echo = true, true
		case inEcho && strings.HasPrefix(line, "  "):
		case strings.TrimSpace(line) == "" || filed && isExitLine(line):
			inEcho = false
		default:
			return true, echo
		}
	}
	return false, echo
}

// lastLine is the last line of a pane, since the last instruction, that is
// neither blank nor the runner's own.
func lastLine(pane string) string {
	rest := afterEcho(pane)
	for rest != "" {
		line := rest
		if i := strings.LastIndexByte(rest, '\n'); i >= 0 {
			rest, line = rest[:i], rest[i+1:]
		} else {
			rest = ""
		}
		if isExitLine(line) {
			continue
		}
		if clean := Line(stripSGR(line), 200); clean != "" {
			return clean
		}
	}
	return ""
}

// afterEcho is what follows the last echo of an instruction in a pane: all of it
// if there is none.
func afterEcho(pane string) string {
	for end := len(pane); end > 0; {
		start := strings.LastIndexByte(pane[:end-1], '\n') + 1
		if line := strings.TrimRight(pane[start:end], "\r\n"); !isEcho(line) {
			end = start
			continue
		}
		rest := pane[end:]
		for strings.HasPrefix(rest, "  ") { // further lines of the instruction
			_, rest, _ = strings.Cut(rest, "\n")
		}
		return rest
	}
	return pane
}

// stripSGR drops colour from a line of a pane.
func stripSGR(line string) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(line, "\x1b[")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		line = strings.TrimLeft(rest, "0123456789;:")
		if line != "" {
			line = line[1:]
		}
	}
}

func isEcho(line string) bool {
	rest, ok := strings.CutPrefix(line, echoMark)
	if !ok || len(rest) < len("15:04:05]") || rest[8] != ']' {
		return false
	}
	_, err := time.Parse("15:04:05", rest[:8])
	return err == nil
}

func isExitLine(line string) bool {
	if !strings.HasPrefix(line, "[") || !strings.HasSuffix(line, "]") {
		return false
	}
	for _, how := range exitWords {
		if strings.Contains(line, how) {
			return true
		}
	}
	return false
}

// exitWords are how a runner's own lines about a turn go on after the engine.
var exitWords = []string{
	" exited with code ", " was ended ", " was stopped: ", " was not started: ", " was lost: ", " no longer knows this conversation",
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// hashPane tells a changed pane from a repeated one.
func hashPane(pane string) uint64 {
	return uint64(len(pane))<<32 | uint64(crc32.Checksum([]byte(pane), castagnoli))
}
