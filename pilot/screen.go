package pilot

import (
	"regexp"
	"strings"
)

// The Pilot's own instructions are screened for what publishes or merges work:
// commands wherever they stand, and plain words that ask for it.
var (
	mergeCommands = regexp.MustCompile("(?i)" + strings.Join([]string{
		`\bgit\b(?:[ \t]+-[^\s]+(?:[ \t]+[^\s-][^\s]*)??)*[ \t]+(?:push|merge|send-email)\b`,
		`\bgit\b[^\n;|&]{0,60}\bsubtree[ \t]+push\b`,
		`\b(?:gh|hub)[ \t]+pr[ \t]+merge\b`,
		`\bgh[ \t]+api\b[^\n]{0,200}/merges?\b`,
		`\bgh[ \t]+repo[ \t]+sync\b`,
		`\bglab[ \t]+mr[ \t]+(?:merge|accept)\b`,
		`\bjj[ \t]+git[ \t]+push\b`,
		`\b(?:hg|sl)[ \t]+push\b`,
	}, "|"))
	mergeWords = regexp.MustCompile(`(?i)\b(?:push|merge|force-push)(?:e[sd])?(?:ing)?\b[^.\n;]{0,40}?\b(?:pull request|merge request|pr|mr|origin|remote|upstream|main|master|trunk|github|gitlab)\b`)
	negation   = regexp.MustCompile(`(?i)\b(?:do not|don['’]?t|never|without|must not|mustn['’]?t|no|not|instead of|avoid|rather than)\b[^.\n;:]{0,24}$`)
)

// Merges finds in an instruction what would publish or merge work; empty if it
// finds nothing. Words that forbid it are not taken for a wish.
func Merges(text string) string {
	text = strings.ReplaceAll(text, "\\\n", " ")
	for _, re := range []*regexp.Regexp{mergeCommands, mergeWords} {
		for _, at := range re.FindAllStringIndex(text, -1) {
			if !negation.MatchString(text[:at[0]]) {
				return strings.Join(strings.Fields(text[at[0]:at[1]]), " ")
			}
		}
	}
	return ""
}

// claims are words by which an instruction speaks in the owner's name.
var claims = regexp.MustCompile(`(?i)(^|[.\n!?]\s*|\b)(the (?:owner|user|human|maintainer)(?: of this (?:machine|repo(?:sitory)?|session))? (?:says?|said|wants?|asks?|asked|told|approves?|approved|confirms?|confirmed|agrees?|agreed|allows?|allowed|has (?:approved|agreed|confirmed|allowed|said))\b|(?:owner|user|human)\s*:|i am the (?:owner|user|maintainer)\b|i'm the (?:owner|user|maintainer)\b|(?:on behalf of|in the name of|speaking for) the (?:owner|user)\b)`)

// pilotMark stands before an instruction that speaks in the owner's name.
const pilotMark = "[From the Pilot, an automated assistant. These are its words, not the owner's.]\n"

// Marked is an instruction as it is sent: one that claims the owner's words says
// whose it is.
func Marked(text string) (sent string, marked bool) {
	if claims.MatchString(text) && !strings.HasPrefix(text, pilotMark) {
		return pilotMark + text, true
	}
	return text, false
}

// repeatsMost is how many times in a row one instruction may be given.
const repeatsMost = 2

// window bounds how many instructions are compared.
const window = 6

// Comparable is what of an instruction tells it from another: the fenced command
// where there is one, whatever is said around it, else its words.
func Comparable(text string) string {
	var fenced []string
	parts := strings.Split(text, "```")
	for i := 1; i < len(parts); i += 2 {
		body := parts[i]
		if first, rest, found := strings.Cut(body, "\n"); found && !strings.Contains(strings.TrimSpace(first), " ") {
			body = rest // the first line names a language
		}
		fenced = append(fenced, body)
	}
	if body := strings.Join(strings.Fields(strings.Join(fenced, "\n")), " "); body != "" {
		return "$ " + body
	}
	return strings.ToLower(strings.Join(strings.Fields(text), " "))
}

// repeats counts how many of the latest instructions, going back to the first
// other one, are this one.
func repeats(recent []string, this string) (n int) {
	for i := len(recent) - 1; i >= 0 && recent[i] == this; i-- {
		n++
	}
	return n
}

// remember adds an instruction to those that are compared.
func remember(recent []string, this string) []string {
	recent = append(recent[:len(recent):len(recent)], this)
	if len(recent) > window {
		recent = recent[len(recent)-window:]
	}
	return recent
}
