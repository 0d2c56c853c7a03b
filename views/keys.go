package views

// KeyPad is keys for what no card covers, on sessions whose engine has a terminal.
type KeyPad struct {
	Prompt string // id of the prompt that the keys would meet; empty: none is live
	Note   string // what the keys would do to that prompt; empty: none is live
	Keys   []Key
}

// Key is one key to press.
type Key struct {
	Name  string // as the API takes it: "Escape"
	Label string // "Esc"
	Words string // for those who cannot see the label: "Escape"
}
