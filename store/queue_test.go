package store

import "testing"

// Only a few pushes, for which nobody waits, give way to the pages.
func TestTheQueueIsPatient(t *testing.T) {
	push, change := &op{push: &Pushed{}}, &op{}
	many := make([]*op, lingerOps)
	for i := range many {
		many[i] = push
	}
	for _, tt := range []struct {
		name string
		q    *queue
		want bool
	}{
		{"one push", &queue{ops: []*op{push}}, true},
		{"a caller waits behind it", &queue{ops: []*op{push, change}}, false},
		{"many", &queue{ops: many}, false},
		{"the end", &queue{ops: []*op{push}, closed: true}, false},
	} {
		if got := tt.q.patient(); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}
