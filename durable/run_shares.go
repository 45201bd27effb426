// How the kinds of rows, and the accounts, share the workers of a process.

package durable

import "sync"

// shares divides the workers of a process among kinds of rows and among accounts. One worker is reserved for each
// kind that has no worker. But at least two workers stay unreserved, because a function of the caller may block one
// of them.
type shares struct {
	mu       sync.Mutex
	total    int
	kinds    []Kind
	running  map[Kind]int
	accounts map[string]int // account -> number of its workers; nil if there is only one account
	freed    chan struct{}  // gets a value when a worker has become free
}

func newShares(total int, kinds []Kind, many bool) *shares {
	s := &shares{total: total, kinds: kinds, running: map[Kind]int{}, freed: make(chan struct{}, 1)}
	if many {
		s.accounts = map[string]int{}
	}
	return s
}

// mayHave reports whether an account may get one more worker. An account without a worker may always get one. Other
// accounts must have fewer workers than are free, so that accounts with slow calls leave workers to others. The
// parameter jobs is the number of jobs that are about to begin, and the parameter own is how many of these jobs belong
// to the account.
func (s *shares) mayHave(account string, own, jobs int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hasRoom(account, own, jobs)
}

// hasRoom is like mayHave, for callers who hold the lock.
func (s *shares) hasRoom(account string, own, jobs int) bool {
	if s.accounts == nil {
		return true
	}
	free := s.total - jobs
	for _, running := range s.running {
		free -= running
	}
	own += s.accounts[account]
	return own == 0 || own < free
}

// free returns how many more workers a kind may get.
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

// takeShare takes a worker if mayHave allows it.
func (s *shares) takeShare(kind Kind, account string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.hasRoom(account, 0, 0) {
		return false
	}
	s.add(kind, account)
	return true
}

func (s *shares) take(kind Kind, account string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.add(kind, account)
}

func (s *shares) add(kind Kind, account string) {
	s.running[kind]++
	if s.accounts != nil {
		s.accounts[account]++
	}
}

func (s *shares) give(kind Kind, account string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running[kind]--
	if s.accounts[account] > 1 {
		s.accounts[account]--
	} else {
		delete(s.accounts, account)
	}
	select {
	case s.freed <- struct{}{}:
	default:
	}
}
