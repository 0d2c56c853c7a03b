package session

import "regexp"

// homeRule finds the name of a home folder.
var homeRule = regexp.MustCompile(`(?:/home/|/Users/|\\Users\\)([^/\\\s"'│|:,;<>()]+)`)

// maskRules are what Mask hides, besides random words and names. Each is what one
// kind of secret or address looks like.
var maskRules = []maskRule{
	// Keys that name themselves.
	{regexp.MustCompile(`\b(?:sk|pk|rk|whsec|tskey|sbx)[-_](?:[A-Za-z0-9]+[-_])*[A-Za-z0-9_-]{12,}`), maskAll, nil},
	{regexp.MustCompile(`\b(?:gh[pousr]_|github_pat_|glpat-|gldt-|npm_|hf_|pypi-|dop_v1_|shpat_|xox[a-z]-|xapp-|lin_api_|AIza|ya29\.|AGE-SECRET-KEY-)[A-Za-z0-9_.-]{10,}`), maskAll, nil},
	{regexp.MustCompile(`\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{12,}`), maskAll, nil},
	{regexp.MustCompile(`\bSG\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}`), maskAll, nil},
	{regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?`), maskAll, nil}, // a JWT
	{regexp.MustCompile(`\bssh-(?:rsa|dss|ed25519) (AAAA[A-Za-z0-9+/=]+)(?: (\S+))?`), maskAll, nil},
	{regexp.MustCompile(`(?s)-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----(.*?)(?:-----END|\z)`), maskAll, nil},
	{regexp.MustCompile(`(?i)\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`), maskAll, nil},
	{regexp.MustCompile(`(?i)\b[0-9a-f]{32,}\b`), maskAll, nil},

	// Values whose name says what they are.
	{regexp.MustCompile(`(?i)\b[\w.-]*(?:token|secret|passw(?:or)?d|passphrase|pwd|api[_-]?key|access[_-]?key|private[_-]?key|credentials?)[\w-]*["']?[ \t]*[:=][ \t]*["']?([^\s"'│┃|,;&]+)`), maskAll, harmless},
	{regexp.MustCompile(`(?i)-{1,2}(?:password|passwd|passphrase|token|secret|api-?key|access-?key|auth|user|u|p)[ =]["']?([^\s"'│┃|]+:[^\s"'│┃|]+)`), maskAll, nil},
	{regexp.MustCompile(`(?i)--(?:password|passwd|passphrase|token|secret|api-?key|access-?key|auth)[ =]["']?([^\s"'│┃|]+)`), maskAll, harmless},
	{regexp.MustCompile(`(?i)\b(?:set-)?(?:cookie|authorization)["']?[ \t]*[:=][ \t]*([^\n│┃|]+)`), maskAll, nil},
	{regexp.MustCompile(`(?i)\b(?:bearer|basic)[ \t]+([A-Za-z0-9._~+/=-]{8,})`), maskAll, nil},
	{regexp.MustCompile(`(?i)[?&](?:key|sig|signature|code|auth|state)=([^\s&"'│┃|]+)`), maskAll, nil},
	{regexp.MustCompile(`(?i)\b[a-z][a-z0-9+.-]*://([^\s/@:│]*:?[^\s/@│]*)@`), maskAll, nil},

	// People and machines.
	{homeRule, maskLetters, nil},
	{regexp.MustCompile(`[\w.+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,}\b`), maskLetters, nil},
	{regexp.MustCompile(`(?m)^[ \t│┃|(\[]*([A-Za-z_][\w.-]*@[A-Za-z][\w.-]*)[\]): ~$#%>]`), maskLetters, nil}, // a shell's prompt
	{regexp.MustCompile(`\b(?:\d{1,3}\.){3}\d{1,3}\b`), maskLetters, func(s string) bool { return s == "127.0.0.1" || s == "0.0.0.0" }},
	{regexp.MustCompile(`(?i)\b(?:[0-9a-f]{1,4}:){4,7}[0-9a-f]{0,4}\b`), maskLetters, nil},
	{regexp.MustCompile(`(?i)\b[a-z0-9-]+(?:\.[a-z0-9-]+)*\.(?:internal|local|lan|corp|intra|localdomain|home\.arpa|ts\.net)\b`), maskLetters, nil},
}

// harmless are values that hide nothing, and that rules of detection may look for.
func harmless(value string) bool {
	for _, c := range []byte(value) {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' {
			return false
		}
	}
	return true
}
