package pilot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"signalbox/session"
)

// ErrRefused is a model's provider that says no, so that asking again will not
// help: a wrong key, a model that there is not, a request that it will not take.
var ErrRefused = errors.New("refused by the deciding model's provider")

// Book keeps small values under names.
type Book interface {
	Meta(ctx context.Context, key string) (string, error)
	SetMeta(ctx context.Context, key, value string) error
}

// The names in the book.
const (
	settingsName = "pilot"
	keyName      = "pilot.key"
)

// Settings says who decides. The environment wins over what is kept:
// CONSOLE_PILOT_PROVIDER, _MODEL, _BASE_URL, _SCRIPT and _PRICES, with the
// provider's usual variable for its key.
type Settings struct {
	book   Book
	box    *keybox
	getenv func(string) string

	mu    sync.Mutex
	made  Decider // for config
	of    config
	shown *session.PilotSettings // as Shown last found them; nil after a change
}

// NewSettings returns settings that are kept in book; dir holds the file that
// encrypts a kept key. getenv reads the environment.
func NewSettings(book Book, dir string, getenv func(string) string) *Settings {
	return &Settings{book: book, box: &keybox{dir: dir}, getenv: getenv}
}

// kept is what is kept of the settings; the key stands apart.
type kept struct {
	Provider string  `json:"provider"`
	Model    string  `json:"model"`
	BaseURL  string  `json:"baseURL,omitempty"`
	KeyEnv   string  `json:"keyEnv,omitempty"`
	PriceIn  float64 `json:"priceIn,omitempty"`
	PriceOut float64 `json:"priceOut,omitempty"`
}

// config is all that makes a Decider.
type config struct {
	kept
	Key     string
	FromEnv bool
}

// usualKey names the variable in which a provider's key usually is.
var usualKey = map[string]string{"anthropic": "ANTHROPIC_API_KEY", "openai": "OPENAI_API_KEY"}

// current reads the settings. problem says in a sentence why they are not enough.
func (s *Settings) current(ctx context.Context) (c config, problem string, err error) {
	if provider := s.getenv("CONSOLE_PILOT_PROVIDER"); provider != "" {
		c.FromEnv = true
		c.Provider, c.Model, c.BaseURL = provider, s.getenv("CONSOLE_PILOT_MODEL"), s.getenv("CONSOLE_PILOT_BASE_URL")
		if script := s.getenv("CONSOLE_PILOT_SCRIPT"); script != "" && provider == "scripted" {
			c.Model = script
		}
		c.Key = s.getenv(usualKey[provider])
		if c.PriceIn, c.PriceOut, err = prices(s.getenv("CONSOLE_PILOT_PRICES")); err != nil {
			return c, err.Error() + ".", nil
		}
		return c, c.problem(), nil
	}
	text, err := s.book.Meta(ctx, settingsName)
	if err != nil {
		return c, "", err
	}
	if text == "" {
		return c, "The Pilot is not set up yet. Choose its provider and model on the settings page.", nil
	}
	if err := json.Unmarshal([]byte(text), &c.kept); err != nil {
		return c, "", fmt.Errorf("read the Pilot's settings: %w", err)
	}
	switch sealed, err := s.book.Meta(ctx, keyName); {
	case err != nil:
		return c, "", err
	case c.KeyEnv != "":
		c.Key = s.getenv(c.KeyEnv)
		if c.Key == "" {
			return c, fmt.Sprintf("The variable %s, which should hold the Pilot's key, is not set where the console runs.", c.KeyEnv), nil
		}
	case sealed != "":
		if c.Key, err = s.box.open(sealed); err != nil {
			return c, "The Pilot's key cannot be decrypted: its key file was changed or lost. Enter the key again.", nil
		}
	default:
		c.Key = s.getenv(usualKey[c.Provider])
	}
	return c, c.problem(), nil
}

func (c config) problem() string {
	switch c.Provider {
	case "anthropic", "openai":
	case "scripted":
		if c.Model == "" {
			return "The scripted Pilot needs a file of decisions (CONSOLE_PILOT_SCRIPT)."
		}
		return ""
	default:
		return fmt.Sprintf("There is no provider called %q for the Pilot. Use anthropic, openai or scripted.", session.Line(c.Provider, 40))
	}
	switch {
	case c.Model == "":
		return "Say which model the Pilot should ask (CONSOLE_PILOT_MODEL, or the settings page)."
	case !goodURL(c.BaseURL):
		return "The Pilot's base URL is not a URL such as https://models.example/v1."
	case c.Key == "" && c.BaseURL == "":
		return fmt.Sprintf("The Pilot has no key for %s. Set %s where the console runs, or enter one on the settings page.", c.Provider, usualKey[c.Provider])
	}
	return ""
}

func goodURL(s string) bool {
	if s == "" {
		return true
	}
	u, err := url.Parse(s)
	return err == nil && u.Host != "" && u.User == nil && (u.Scheme == "http" || u.Scheme == "https")
}

// prices reads "3/15": USD for a million tokens sent and written.
func prices(s string) (in, out float64, err error) {
	if s == "" {
		return 0, 0, nil
	}
	a, b, ok := strings.Cut(s, "/")
	in, err1 := strconv.ParseFloat(strings.TrimSpace(a), 64)
	out, err2 := strconv.ParseFloat(strings.TrimSpace(b), 64)
	if !ok || err1 != nil || err2 != nil || !goodPrice(in) || !goodPrice(out) {
		return 0, 0, errors.New("CONSOLE_PILOT_PRICES is not two prices such as 3/15: USD for a million tokens sent and written")
	}
	return in, out, nil
}

func goodPrice(p float64) bool { return p >= 0 && p < 1e6 }

// ready refuses a run that nobody could decide for, or whose budget could not be
// kept.
func (s *Settings) ready(ctx context.Context, rules session.RunRules) error {
	c, problem, err := s.current(ctx)
	switch {
	case err != nil:
		return err
	case problem != "":
		return session.Problemf(session.ErrConflict, "%s", problem)
	case rules.USD > 0 && c.PriceIn == 0 && c.PriceOut == 0:
		return session.Problemf(session.ErrInvalid, "A budget in money needs the model's prices. Set them on the settings page, or give a budget in tokens.")
	}
	return nil
}

// decider returns who decides now.
func (s *Settings) decider(ctx context.Context) (Decider, error) {
	c, problem, err := s.current(ctx)
	if err != nil {
		return nil, err
	}
	if problem != "" {
		return nil, refusedf("%s", problem)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.made == nil || s.of != c {
		s.made, s.of = newDecider(c), c
	}
	return s.made, nil
}

func newDecider(c config) Decider {
	switch c.Provider {
	case "anthropic":
		return newAnthropic(c)
	case "openai":
		return newOpenAI(c)
	}
	return scripted{c.Model}
}

// refusedf is an error that ends a run, as a sentence.
func refusedf(format string, args ...any) error {
	return session.Problemf(ErrRefused, format, args...)
}

// Shown are the settings for a page, without the key. They are kept until they
// change, since every drawing of a session's page asks.
func (s *Settings) Shown(ctx context.Context) (session.PilotSettings, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shown != nil {
		return *s.shown, nil
	}
	c, problem, err := s.current(ctx)
	if err != nil {
		return session.PilotSettings{}, err
	}
	sealed, err := s.book.Meta(ctx, keyName)
	if err != nil {
		return session.PilotSettings{}, err
	}
	s.shown = &session.PilotSettings{
		Provider: c.Provider, Model: c.Model, BaseURL: c.BaseURL, KeyEnv: c.KeyEnv, PriceIn: c.PriceIn, PriceOut: c.PriceOut,
		KeyKept: sealed != "", FromEnv: c.FromEnv, Problem: problem,
	}
	return *s.shown, nil
}

var envName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,100}$`)

// Change keeps other settings. A kept key goes with the provider and the address
// that it was given for: it is never sent to another one.
func (s *Settings) Change(ctx context.Context, in session.PilotSettings) error {
	defer func() {
		s.mu.Lock()
		s.shown = nil
		s.mu.Unlock()
	}()
	invalid := func(words string, args ...any) error { return session.Problemf(session.ErrInvalid, words, args...) }
	next := kept{
		Provider: in.Provider, Model: strings.TrimSpace(in.Model), BaseURL: strings.TrimRight(strings.TrimSpace(in.BaseURL), "/"),
		KeyEnv: strings.TrimSpace(in.KeyEnv), PriceIn: in.PriceIn, PriceOut: in.PriceOut,
	}
	key := strings.TrimSpace(in.NewKey)
	switch {
	case s.getenv("CONSOLE_PILOT_PROVIDER") != "":
		return session.Problemf(session.ErrConflict, "The environment sets up the Pilot (CONSOLE_PILOT_PROVIDER), so it cannot be changed here.")
	case next.Provider == "":
		next = kept{}
	case next.Provider != "anthropic" && next.Provider != "openai" && next.Provider != "scripted":
		return invalid("There is no provider called %q for the Pilot.", session.Line(next.Provider, 40))
	case next.Model == "":
		return invalid("Say which model the Pilot should ask.")
	case !goodURL(next.BaseURL):
		return invalid("The base URL is not a URL such as https://models.example/v1.")
	case next.KeyEnv != "" && !envName.MatchString(next.KeyEnv):
		return invalid("That is no name of an environment variable. Enter a key itself in the other field.")
	case len(key) > 1000 || session.Line(key, 1000) != key:
		return invalid("That is no key: it is longer than 1000 characters or not one line.")
	case !goodPrice(next.PriceIn) || !goodPrice(next.PriceOut):
		return invalid("A price is a number of USD for a million tokens.")
	}
	var before kept
	text, err := s.book.Meta(ctx, settingsName)
	if err != nil {
		return err
	}
	if text != "" {
		if err := json.Unmarshal([]byte(text), &before); err != nil {
			return fmt.Errorf("read the Pilot's settings: %w", err)
		}
	}
	moved := before.Provider != next.Provider || before.BaseURL != next.BaseURL
	sealed := ""
	if key != "" {
		if sealed, err = s.box.seal(key); err != nil {
			return fmt.Errorf("encrypt the Pilot's key: %w", err)
		}
	}
	if key != "" || in.DropKey || moved {
		if err := s.book.SetMeta(ctx, keyName, sealed); err != nil {
			return err
		}
	}
	if next.Provider == "" {
		return s.book.SetMeta(ctx, settingsName, "")
	}
	data, err := json.Marshal(next)
	if err != nil {
		return err
	}
	return s.book.SetMeta(ctx, settingsName, string(data))
}
