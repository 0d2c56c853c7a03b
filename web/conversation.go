package web

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"signalbox/session"
)

// turnJSON is one turn of a conversation with what was said in it. Without an id it
// is what was said since the last turn.
type turnJSON struct {
	ID      *string           `json:"id"`
	BeganAt *string           `json:"beganAt"`
	EndedAt *string           `json:"endedAt"`
	Outcome *session.LastTurn `json:"outcome,omitempty"`
	Usage   *session.Usage    `json:"usage,omitempty"`
	Items   []session.Item    `json:"items"`
}

func (s *Server) apiConversation(c echo.Context) error {
	limit, err := pageLimit(c)
	if err != nil {
		return err
	}
	turns, items, next, err := s.store.Conversation(c.Request().Context(), sessionID(c), c.QueryParam("before"), limit)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, listOf(toTurns(turns, items), next))
}

// toTurns puts items, which are in order, into their turns. One without a turn goes
// with the turn that it stands before.
func toTurns(turns []session.Turn, items []session.Item) []turnJSON {
	list := make([]turnJSON, len(turns))
	place := map[session.TurnName]int{}
	for i, t := range turns {
		list[i] = turnJSON{ID: &t.ID, BeganAt: stamp(t.Began), EndedAt: stamp(t.Ended), Outcome: t.Outcome, Usage: t.Usage, Items: []session.Item{}}
		place[t.Name()] = i
	}
	var before []session.Item
	for _, it := range items {
		i, ok := place[it.TurnName()]
		if !ok {
			before = append(before, it)
			continue
		}
		list[i].Items = append(append(list[i].Items, before...), it)
		before = nil
	}
	if before != nil {
		list = append(list, turnJSON{Items: before})
	}
	return list
}
