// The journal: a file that names each booking before it is sent.

package probe

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/types"
)

// ErrJournalInUse, wrapped together with ErrConfig, means that another run has opened the journal.
var ErrJournalInUse = errors.New("another run uses the journal")

// EntryState is the state of a booking, such as sent or cancelled. The zero value is not set: Cleanup treats it as
// EntrySent.
type EntryState string

// The states of a booking.
const (
	EntrySent      EntryState = "sent"      // Book was sent or is about to be sent, so an order may exist
	EntryBooked    EntryState = "booked"    // an order exists
	EntryCancelled EntryState = "cancelled" // every order of the reference is cancelled
	EntryAbsent    EntryState = "absent"    // no order exists
)

// JournalEntry is a line of the journal. Only the last line of each reference counts.
type JournalEntry struct {
	Time  time.Time  `json:"time"`
	Made  time.Time  `json:"made"` // when Book was first sent
	State EntryState `json:"state"`
	// Recovery has the booking's reference and session. Cleanup finds the order with these values.
	Recovery  *hotelstays.BookingRecovery `json:"recovery"`
	RatePkgID string                      `json:"ratePkgId"`
	Price     types.Money                 `json:"price"`
	// Orders are the orders that Book and QueryOrders returned. More than one order is a fault of the service.
	Orders []OrderRef `json:"orders,omitempty"`
	// Refused is the answer to a refused Book.
	Refused string `json:"refused,omitempty"`
	// Reason says why the booking could not be cancelled.
	Reason string `json:"reason,omitempty"`

	turnedUp   bool // this run found an order although Book was refused
	rolledBack bool // this run had to cancel the same order twice
}

// OrderRef has the reference numbers of an order that the service returned.
type OrderRef struct {
	PlatformReferenceNo string `json:"platformReferenceNo"`
	SupplierReferenceNo string `json:"supplierReferenceNo"`
	// Announced is the order status in the answer to a successful Cancel, or nil.
	Announced *types.OrderStatus `json:"announced,omitempty"`
	// Reached is true once the service has shown the cancellation: by the announced status or by a cancelled voucher.
	Reached bool `json:"reached,omitempty"`
}

func (e *JournalEntry) reference() string { return e.Recovery.CustomerReferenceNo }

// open reports whether the service may have an order for this booking that is not cancelled.
func (e *JournalEntry) open() bool { return e.State != EntryCancelled && e.State != EntryAbsent }

// addOrder adds an order to e.Orders. For a known order it stores the supplierReferenceNo, which may come late. It ignores
// an order without a platformReferenceNo.
func (e *JournalEntry) addOrder(o *types.Order) {
	if o.PlatformReferenceNo == "" {
		return
	}
	e.State = EntryBooked
	if i := e.index(o); i < 0 {
		e.Orders = append(e.Orders, OrderRef{PlatformReferenceNo: o.PlatformReferenceNo, SupplierReferenceNo: o.SupplierReferenceNo})
		e.turnedUp = e.turnedUp || e.Refused != ""
	} else if o.SupplierReferenceNo != "" {
		e.Orders[i].SupplierReferenceNo = o.SupplierReferenceNo
	}
}

// explains reports whether the entry has the order, and the order's status is no surprise. If Cancel announced a status, every
// other status is a surprise.
func (e *JournalEntry) explains(o *types.Order) bool {
	i := e.index(o)
	return i >= 0 && (e.Orders[i].Announced == nil || *e.Orders[i].Announced == o.Status)
}

func (e *JournalEntry) index(o *types.Order) int {
	return slices.IndexFunc(e.Orders, func(ref OrderRef) bool { return ref.PlatformReferenceNo == o.PlatformReferenceNo })
}

// journal is an open, locked file with one line of JSON for each state of a booking.
type journal struct {
	file    *os.File
	unlock  func()
	entries []*JournalEntry // the last entry of each reference, oldest first
	mu      sync.Mutex      // held by write, so that lines do not mix
	// broken is the error of the first failed write. After that nothing more is written, because nothing may follow an
	// incomplete line.
	broken error
}

// openJournal locks and reads a journal. A crash may leave an incomplete last line, which openJournal removes. No booking is
// lost, because a run sends Book only after the first line of the booking is complete.
func openJournal(path string) (_ *journal, err error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600) //nolint:gosec // the user chooses the path
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	j := &journal{file: file}
	if j.unlock, err = lock(file); err != nil {
		file.Close()
		return nil, fmt.Errorf("%w: %s: %w", ErrConfig, path, err)
	}
	defer func() {
		if err != nil {
			j.close()
		}
	}()
	text, err := io.ReadAll(file)
	if err != nil {
		return nil, err
	}
	const begin = `{"time":"` // the beginning of each line
	whole := bytes.LastIndexByte(text, '\n') + 1
	if torn := string(text[whole:]); !strings.HasPrefix(torn, begin) && !strings.HasPrefix(begin, torn) {
		return nil, fmt.Errorf("%w: %s is not a journal of the probe: its last line is incomplete", ErrConfig, path)
	}
	for line := range bytes.Lines(text[:whole]) {
		e := &JournalEntry{}
		if err := json.Unmarshal(line, e); err != nil || e.Recovery == nil {
			return nil, fmt.Errorf("%w: %s is not a journal of the probe: %w", ErrConfig, path, cmp.Or(err, errors.New("a line has no recovery")))
		}
		j.entries = slices.DeleteFunc(j.entries, func(old *JournalEntry) bool { return old.reference() == e.reference() })
		j.entries = append(j.entries, e)
	}
	_, err = file.Seek(int64(whole), io.SeekStart)
	return j, cmp.Or(err, file.Chmod(0o600), file.Truncate(int64(whole)), syncDir(filepath.Dir(path)))
}

// syncDir syncs a directory, so that a file created in it survives a crash. It does nothing on systems that cannot sync
// directories.
func syncDir(path string) error {
	dir, err := os.Open(path) //nolint:gosec // path is the folder of the journal
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := dir.Sync(); err != nil && !errors.Is(err, errors.ErrUnsupported) && !os.IsPermission(err) {
		return err
	}
	return nil
}

// write appends an entry to the file, and returns when the line is on disk.
func (j *journal) write(e *JournalEntry) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	e.Time = time.Now()
	text, err := json.Marshal(e)
	if err = cmp.Or(j.broken, err); err == nil {
		_, err = j.file.Write(append(text, '\n'))
	}
	if err == nil {
		err = j.file.Sync()
	}
	if j.broken = err; err != nil {
		return fmt.Errorf("writing the journal: %w", err)
	}
	if !slices.Contains(j.entries, e) {
		j.entries = append(j.entries, e)
	}
	return nil
}

// unfinished returns the entries of bookings that may still have an order to cancel.
func (j *journal) unfinished() (list []*JournalEntry) {
	for _, e := range j.entries {
		if e.open() {
			list = append(list, e)
		}
	}
	return list
}

func (j *journal) close() {
	j.file.Close()
	j.unlock()
}
