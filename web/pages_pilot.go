package web

import (
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"signalbox/session"
	"signalbox/views"
)

var pilotProviders = []views.Choice{
	{Value: "", Words: "Off"},
	{Value: "anthropic", Words: "Anthropic"},
	{Value: "openai", Words: "OpenAI, or what speaks its API"},
	{Value: "scripted", Words: "Scripted: a file of decisions, for demonstrations"},
}

// pilotView is the Pilot's part of the settings page.
func pilotView(s session.PilotSettings) views.PilotSettings {
	v := views.PilotSettings{
		Model: s.Model, BaseURL: s.BaseURL, KeyEnv: s.KeyEnv, PriceIn: price(s.PriceIn), PriceOut: price(s.PriceOut),
		KeyKept: s.KeyKept, FromEnv: s.FromEnv, Problem: s.Problem,
		Now: "The Pilot pursues a goal in a session, one instruction at a time. A model that you choose decides; it sees the goal, the steps and the end of the pane.",
	}
	if s.FromEnv {
		v.Now += " The environment sets it up: " + s.Provider + ", " + s.Model + "."
	}
	for _, c := range pilotProviders {
		c.Selected = c.Value == s.Provider
		v.Providers = append(v.Providers, c)
	}
	return v
}

func price(p float64) string {
	if p == 0 {
		return ""
	}
	return strconv.FormatFloat(p, 'f', -1, 64)
}

// savePilot changes who decides for the Pilot.
func (s *Server) savePilot(c echo.Context) error {
	in := session.PilotSettings{
		Provider: c.FormValue("provider"), Model: c.FormValue("model"), BaseURL: c.FormValue("baseURL"), KeyEnv: c.FormValue("keyEnv"),
		NewKey: c.FormValue("key"), DropKey: c.FormValue("dropKey") == "1",
	}
	var err error
	if in.PriceIn, err = readPrice(c.FormValue("priceIn")); err == nil {
		in.PriceOut, err = readPrice(c.FormValue("priceOut"))
	}
	if err == nil {
		err = s.pilot.Change(c.Request().Context(), in)
	}
	if err == nil {
		return back(c, "/settings#pilot")
	}
	f := faultOf(err)
	if f.code == "internal" {
		return err
	}
	return s.settings(c, f.status, "", &views.Problem{Title: "The Pilot's settings were not changed.", Words: f.words})
}

func readPrice(text string) (float64, error) {
	text = strings.ReplaceAll(strings.TrimSpace(text), ",", ".")
	if text == "" {
		return 0, nil
	}
	p, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, session.Problemf(session.ErrInvalid, "A price is a number of USD for a million tokens.")
	}
	return p, nil
}

// pilotPart gathers the part of the settings page.
func (s *Server) pilotPart(c echo.Context) (views.PilotSettings, error) {
	shown, err := s.pilot.Shown(c.Request().Context())
	return pilotView(shown), err
}
