package session

import (
	"sync"
	"testing"
)

// signalled reports whether ch has a signal, and takes it.
func signalled(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}

func TestFeedWakesWhoWatches(t *testing.T) {
	var f Feed
	one, stopOne := f.Watch("s_1")
	two, stopTwo := f.Watch("s_2")
	list, stopList := f.Watch(AnySession)
	defer stopTwo()
	defer stopList()

	f.Changed("s_1")
	f.Changed("s_1") // nobody has read the first: one signal stands for both
	if !signalled(one) || signalled(one) || signalled(two) || !signalled(list) {
		t.Error("a change of s_1 should wake its watcher and the list, once")
	}
	f.ChangedAll()
	if !signalled(one) || !signalled(two) || !signalled(list) {
		t.Error("a change of all should wake everyone")
	}
	f.Changed(AnySession)
	if signalled(one) || !signalled(list) {
		t.Error("a change of the list should wake the list only")
	}
	stopOne()
	stopOne()
	f.Changed("s_1")
	if signalled(one) {
		t.Error("a signal after the watch ended")
	}
	if len(f.watchers) != 2 {
		t.Errorf("%d sessions are watched, want 2", len(f.watchers))
	}
}

func TestFeedNeverBlocks(t *testing.T) {
	var f Feed
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 200 {
				_, stop := f.Watch("s_1")
				f.Changed("s_1")
				f.ChangedAll()
				stop()
			}
		})
	}
	wg.Wait()
	if len(f.watchers) != 0 {
		t.Error("watchers are left")
	}
}
