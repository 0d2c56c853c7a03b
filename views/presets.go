package views

// Presets is the page "/settings/presets".
type Presets struct {
	Page
	Error *Problem
	Rows  []Preset
	Form  PresetForm
	Would []Would // the dry run of what stands in the form; empty: not asked for
	Note  string  // why there is no dry run; empty: there is one, or none was asked for
}

// Preset is a row of the list.
type Preset struct {
	Name   string
	Engine string
	Adds   string // what it adds, in one line
	Edit   string // address
}

// PresetForm is what was typed.
type PresetForm struct {
	Name    string
	Engines []Choice
	Args    string
	Env     string
	Saved   bool // it is one of the list
}

// Would is one line of a dry run.
type Would struct {
	Where   string // "One process a turn · Edit"
	Line    string // the command line; empty: refused
	Refused string // why; empty: it is not
}
