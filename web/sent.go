package web

import (
	"bytes"
	"context"
	"fmt"
	"hash/maphash"
	"io"
	"strconv"
	"strings"

	"github.com/a-h/templ"

	"signalbox/session"
	"signalbox/views"
)

var fragmentSeed = maphash.MakeSeed()

// listed is a fragment that is one entry of a list, drawn already: it comes and
// goes, and takes its place by what it says it stands behind.
type listed struct {
	list session.ID
	id   string
	html string
}

// Render implements templ.Component.
func (l listed) Render(_ context.Context, w io.Writer) error {
	_, err := io.WriteString(w, l.html)
	return err
}

// sentFragments is what a socket was last sent of a part.
type sentFragments struct {
	fixed  map[int]uint64    // by their place
	listed map[string]uint64 // by their element; nil before the first message
	pane   []string          // lines of the pane
}

// changedFragments renders fragments and appends to patch those that differ from
// what was sent: of the pane only the lines from the first that differs. Entries
// that are gone are told of too.
func changedFragments(ctx context.Context, fragments []templ.Component, sent *sentFragments, patch *bytes.Buffer) error {
	if sent.fixed == nil {
		sent.fixed = map[int]uint64{}
	}
	var entries []listed
	for i, f := range fragments {
		if l, ok := f.(listed); ok {
			entries = append(entries, l)
			continue
		}
		start := patch.Len()
		if err := f.Render(ctx, patch); err != nil {
			return fmt.Errorf("draw fragment %d: %w", i, err)
		}
		sum := maphash.Bytes(fragmentSeed, patch.Bytes()[start:])
		if old, ok := sent.fixed[i]; ok && old == sum {
			patch.Truncate(start)
			continue
		}
		sent.fixed[i] = sum
		if html := patch.Bytes()[start:]; bytes.HasPrefix(html, []byte("<pre ")) {
			short := sent.newLines(string(html))
			patch.Truncate(start)
			patch.WriteString(short)
		}
	}
	return changedEntries(ctx, entries, sent, patch)
}

// changedEntries is changedFragments for a list.
func changedEntries(ctx context.Context, entries []listed, sent *sentFragments, patch *bytes.Buffer) error {
	if len(entries) == 0 && len(sent.listed) == 0 {
		return nil
	}
	sums := make(map[string]uint64, len(entries))
	for _, e := range entries {
		sums[e.id] = maphash.String(fragmentSeed, e.html)
	}
	if sent.listed == nil {
		ids := make([]string, len(entries))
		for i, e := range entries {
			ids[i] = e.id
		}
		if err := views.ConversationOnly(string(entries[0].list), strings.Join(ids, " ")).Render(ctx, patch); err != nil {
			return fmt.Errorf("draw a list: %w", err)
		}
	}
	for id := range sent.listed {
		if _, ok := sums[id]; !ok {
			if err := views.ConversationGone(id).Render(ctx, patch); err != nil {
				return fmt.Errorf("draw entry %s: %w", id, err)
			}
		}
	}
	for _, e := range entries {
		if old, ok := sent.listed[e.id]; !ok || old != sums[e.id] {
			patch.WriteString(e.html)
		}
	}
	sent.listed = sums
	return nil
}

// sumOf names a list of entries as it is drawn, within this process.
func sumOf(entries []string) string {
	var h maphash.Hash
	h.SetSeed(fragmentSeed)
	for _, e := range entries {
		h.WriteString(e)
		h.WriteByte(0)
	}
	return strconv.FormatUint(h.Sum64(), 36)
}

// have notes entries as sent if they are what a page already shows.
func (s *sentFragments) have(fragments []templ.Component, stamped string) {
	var drawn []string
	sums := map[string]uint64{}
	for _, f := range fragments {
		if l, ok := f.(listed); ok {
			drawn, sums[l.id] = append(drawn, l.html), maphash.String(fragmentSeed, l.html)
		}
	}
	if stamped != "" && sumOf(drawn) == stamped {
		s.listed = sums
	}
}
