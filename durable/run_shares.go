// How the kinds of rows share the workers of a process.

package durable

import "sync"

// shares divides workers among kinds of rows: each kind that has no worker can still get one. But a kind may
// have two workers before any is kept for others, because a function of the caller may keep one of them.
type shares struct {
	mu      sync.Mutex
	total   int
	kinds   []Kind
	running map[Kind]int
	freed   chan struct{} // a worker was given back
}

// free returns how many further workers a kind may have.
func (s *shares) free(kind Kind) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	free, kept := s.total, 0
	for _, k := range s.kinds {
		free -= s.running[k]
		if k != kind && s.running[k] == 0 {
			kept++
		}
	}
	kept = max(min(kept, s.total-2), 0)
	if s.running[kind] == 0 && free > 0 {
		return max(free-kept, 1)
	}
	return max(free-kept, 0)
}

func (s *shares) take(kind Kind) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running[kind]++
}

func (s *shares) give(kind Kind) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running[kind]--
	select {
	case s.freed <- struct{}{}:
	default:
	}
}
