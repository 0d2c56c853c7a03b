package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"signalbox/session"
)

// jsonFault says in words what is wrong with a line of JSON.
func jsonFault(err error) string {
	var typed *json.UnmarshalTypeError
	if errors.As(err, &typed) {
		field := strings.TrimPrefix(strings.ReplaceAll("."+typed.Field, ".plain", ""), ".")
		if field == "" {
			return "it holds a " + typed.Value + ", not an object"
		}
		return fmt.Sprintf("the field %q cannot be a %s", field, typed.Value)
	}
	return strings.TrimPrefix(session.Line(err.Error(), 200), "json: ")
}

// noEngine says that an engine is not known, and which are.
func noEngine(name string) string {
	names := make([]string, len(session.Engines))
	for i, e := range session.Engines {
		names[i] = string(e)
	}
	return fmt.Sprintf("there is no engine called %q; use one of %s", session.Line(name, 40), strings.Join(names, ", "))
}
