package session

import (
	"errors"
	"slices"
	"testing"
)

func TestCheckKeys(t *testing.T) {
	for _, good := range [][]string{{"Escape"}, {"Enter"}, {"C-c"}, {"Up", "Up", "Enter"}, {"y"}, {"é"}, {"-"}, {";"}, slices.Repeat([]string{"Down"}, MaxKeys)} {
		if err := CheckKeys(good); err != nil {
			t.Errorf("%v: %v", good, err)
		}
	}
	for _, bad := range [][]string{nil, {""}, {"rm -rf"}, {"C-z"}, {"\n"}, {"\x1b"}, {"\xff"}, {"Escape", "M-x"}, slices.Repeat([]string{"Down"}, MaxKeys+1)} {
		if err := CheckKeys(bad); !errors.Is(err, ErrInvalid) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
