package detect

import (
	"strings"

	"signalbox/session"
)

// dead are the rules for every engine that say the engine is gone, whatever its
// last screen still shows: a killed one leaves its dialog or spinner behind.
var dead = []rule{
	{Rule{"not-alive", session.StatusError, "alive is false", "the process has ended; a pane outlives it"},
		func(s *screen, out *session.Reading) bool { return s.in.Alive != nil && !*s.in.Alive }},
	{Rule{"exited", session.StatusError, "there is an exit code", "a process that has a code has ended"},
		func(s *screen, out *session.Reading) bool { return s.in.ExitCode != nil }},
	{Rule{"shell-in-front", session.StatusError, "the pane's foreground program is a shell",
		"what is typed now runs as a command; text cannot tell, the foreground program did in every recording"},
		func(s *screen, out *session.Reading) bool { return isShell(s.in.Foreground) }},
	{Rule{"shell-prompt", session.StatusError, "a shell's prompt as the last row, or under the words Killed or Terminated; only where the foreground program was not measured",
		"an engine that left gives the pane back to the shell"}, shellPrompt},
}

func isShell(name string) bool {
	name = strings.TrimPrefix(name, "-")
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		name = name[i+1:]
	}
	switch name {
	case "bash", "sh", "zsh", "fish", "dash", "ksh", "tcsh", "csh", "ash", "nu", "pwsh", "xonsh", "elvish", "busybox", "login":
		return true
	}
	return false
}

func shellPrompt(s *screen, out *session.Reading) bool {
	if s.in.Foreground != "" {
		return false
	}
	last := s.last()
	if last < 0 {
		return false
	}
	if endsAtPrompt(s.at(last)) && !s.screenReader(last) {
		out.Evidence = s.evidence(last)
		return true
	}
	for i := last - 1; i >= 0; i-- { // written over a screen that was left as it stood
		text := s.trim(i)
		if r := first(text); r == '›' || r == '❯' || r == '>' || r == '┃' || r == '▌' {
			text = after(text)
		}
		if strings.HasPrefix(text, "$ Type your message") { // over Gemini's and Qwen's placeholder
			out.Evidence = s.evidence(i)
			return true
		}
		if !startsWithAny(text, "Killed", "Terminated", "Segmentation fault", "Aborted", "Hangup") {
			continue
		}
		if next := s.at(i + 1); startsWithAny(next, "$", "# ", "% ") || endsAtPrompt(next) {
			out.Evidence = s.evidence(i, i+1)
			return true
		}
	}
	return false
}

// endsAtPrompt reports whether a row is a shell's prompt at the margin, with
// nothing typed or with a line typed after it: "$", "root@host:~# ls".
func endsAtPrompt(text string) bool {
	if text == "" || text[0] == ' ' {
		return false
	}
	if text == "$" || text == "#" || text == "%" || strings.HasPrefix(text, "$ ") {
		return true
	}
	mark := strings.IndexAny(text, "$#%")
	if mark <= 0 || mark+1 < len(text) && text[mark+1] != ' ' {
		return false
	}
	head := text[:mark] // user@host:dir or bash-5.2
	if strings.IndexByte(head, ' ') >= 0 && !strings.HasPrefix(head, "[") {
		return false
	}
	if at := strings.IndexByte(head, '@'); at > 0 && (strings.ContainsAny(head[at:], ":~ ]/")) {
		return true
	}
	for _, sh := range []string{"bash-", "sh-", "zsh-"} {
		if strings.HasPrefix(head, sh) {
			return true
		}
	}
	return false
}
