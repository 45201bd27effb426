package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gofrs/flock"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/types"
)

// TestMain runs the program itself in the processes of the tests.
func TestMain(m *testing.M) {
	if os.Getenv("CATALOGSYNC_CHILD") == "1" {
		main()
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// start starts the program in a process, against the sandbox of the test.
func start(t *testing.T, srv *hotelstaystest.Server, file string) (child *exec.Cmd, said *bytes.Buffer) {
	t.Helper()
	child, said = exec.Command(os.Args[0], "-o", file), &bytes.Buffer{}
	child.Env = append(os.Environ(), "CATALOGSYNC_CHILD=1",
		"HOTELSTAYS_BASE_URL="+srv.URL, "HOTELSTAYS_APP_KEY="+srv.AppKey, "HOTELSTAYS_APP_SECRET="+srv.AppSecret)
	child.Stderr = said
	require.NoError(t, child.Start())
	return child, said
}

// Killed twice, with incomplete lines in both files, it writes every hotel once, and reads no
// complete city again.
func TestKilledInTheMiddle(t *testing.T) {
	srv := hotelstaystest.NewServer(&hotelstaystest.Config{Catalog: hotelstaystest.Catalog{ProvincesPerCountry: 5,
		CitiesPerProvince: 12, HotelsPerCity: 30}})
	defer srv.Close()
	file := filepath.Join(t.TempDir(), "hotels.jsonl")

	for _, calls := range []int{60, 160} {
		child, said := start(t, srv, file)
		require.Eventually(t, func() bool { return srv.Ledger().Count(types.OpHotelsMetadata) >= calls }, 30*time.Second,
			time.Millisecond)
		require.NoError(t, child.Process.Kill())
		require.Error(t, child.Wait(), "it was killed: %s", said)
		require.NoFileExists(t, file)
		for _, name := range []string{file + ".part", file + ".journal"} {
			content, err := os.ReadFile(name)
			require.NoError(t, err)
			require.NotEmpty(t, content)
			require.NoError(t, os.WriteFile(name, append(content, `{"hotelId":"torn","ci`...), 0o644))
		}
	}
	child, said := start(t, srv, file)
	require.NoError(t, child.Wait(), said)
	assert.Contains(t, said.String(), fmt.Sprintf("%d hotels are in %s", srv.HotelCount(), file))
	assertWhole(t, srv, file)
	cities := srv.CityCount() * 4 / 5 // the others have no hotels
	assert.LessOrEqual(t, srv.Ledger().Count(types.OpHotelsMetadata), cities+2*atOnce,
		"what was under way is read again, and nothing else")
}

// assertWhole checks that every hotel of the sandbox is in the file, once, and nothing else.
func assertWhole(t *testing.T, srv *hotelstaystest.Server, file string) {
	t.Helper()
	content, err := os.ReadFile(file)
	require.NoError(t, err)
	matched, ids := []string{}, map[string]bool{}
	for line := range strings.Lines(string(content)) {
		var hotel types.HotelMetadata
		require.NoError(t, json.Unmarshal([]byte(line), &hotel))
		ids[hotel.HotelID] = true // the sandbox keeps them
		if hotel.PlatformHotelID != "" {
			matched = append(matched, hotel.PlatformHotelID)
		}
	}
	slices.Sort(matched)
	assert.Equal(t, srv.HotelIDs(srv.HotelCount()), matched)
	assert.Len(t, ids, srv.HotelCount())
	assert.Equal(t, srv.HotelCount(), strings.Count(string(content), "\n"))
	left, err := filepath.Glob(file + ".*")
	require.NoError(t, err)
	assert.Empty(t, left, "nothing is left behind")
}

// Two runs do not write one file, also if the first one has just removed its lock.
func TestALockThatWasRemoved(t *testing.T) {
	c := &catalogue{lock: flock.New(filepath.Join(t.TempDir(), "lock"))}
	defer c.lock.Close()
	mine, err := c.lock.TryLock()
	require.NoError(t, err)
	require.True(t, mine)
	for _, there := range []bool{true, false} {
		got, err := c.lockIsThere()
		require.NoError(t, err)
		assert.Equal(t, there, got)
		os.Remove(c.lock.Path())
	}
}

// cities: one hotel is in two cities, one without platformHotelId is in two as well, and one
// city has no hotels.
func cities() map[string][]*types.HotelMetadata {
	hotel := func(platform, id string) *types.HotelMetadata {
		return &types.HotelMetadata{PlatformHotelID: platform, HotelID: id}
	}
	return map[string][]*types.HotelMetadata{
		"a": {hotel("1", "x"), hotel("2", "y"), hotel("", "z")},
		"b": {},
		"c": {hotel("3", "x"), hotel("2", "v")},
		"d": {hotel("", "z"), hotel("4", "w")},
	}
}

const inTheFile = 6 // lines of all cities

// add adds the missing cities, in the order of their names.
func add(t *testing.T, c *catalogue) {
	t.Helper()
	all := cities()
	for _, city := range []string{"a", "b", "c", "d"} {
		if !c.done[city] {
			require.NoError(t, c.add(city, all[city]))
		}
	}
}

func open(t *testing.T, file, service string) (*catalogue, error) {
	t.Helper()
	c, err := openCatalogue(file, service, newProgress(&bytes.Buffer{}, false))
	if err == nil {
		t.Cleanup(c.close)
	}
	return c, err
}

// The file becomes complete, wherever the part or the journal was cut, and whatever follows the
// cut.
func TestKilledAtAnyByte(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "whole")
	c, err := open(t, file, "service")
	require.NoError(t, err)
	add(t, c)
	part, err := os.ReadFile(file + ".part")
	require.NoError(t, err)
	journal, err := os.ReadFile(file + ".journal")
	require.NoError(t, err)

	file = filepath.Join(dir, "killed")
	try := func(part, journal []byte, cities int) {
		t.Helper()
		require.NoError(t, os.WriteFile(file+".part", part, 0o644))
		require.NoError(t, os.WriteFile(file+".journal", journal, 0o644))
		c, err := openCatalogue(file, "service", newProgress(&bytes.Buffer{}, false))
		require.NoError(t, err)
		require.Len(t, c.done, cities)
		add(t, c)
		c.close()
		require.Equal(t, inTheFile, c.hotels)
		got, err := os.ReadFile(c.part.Name()) // finish renames it
		require.NoError(t, err)
		require.Equal(t, inTheFile, bytes.Count(got, []byte("\n")))
		for _, id := range []string{"1", "2", "3", "4"} {
			require.Equal(t, 1, bytes.Count(got, []byte(`"platformHotelId":"`+id+`"`)))
		}
	}
	for _, torn := range []string{"", "\x00\x00\x00\n"} {
		whole, end := 0, int64(0) // cities in the journal, and where they end
		for at := range len(journal) + 1 {
			if at > 0 && journal[at-1] == '\n' {
				var e entry
				lines := bytes.SplitAfter(journal[:at], []byte("\n"))
				require.NoError(t, json.Unmarshal(lines[len(lines)-2], &e))
				whole, end = whole+1, e.End
			}
			for _, written := range []int64{end, (end + int64(len(part))) / 2} {
				if written > 0 { // a journal without its part counts for nothing
					try(append(slices.Clone(part[:written]), torn...), append(slices.Clone(journal[:at]), torn...), whole)
				}
			}
		}
	}
	// Lines that are not where the journal says.
	try(bytes.Replace(part, []byte("}\n"), []byte("} \n"), 1), journal, 0)
	// A power cut: the journal is there, the part is not.
	for at := range part {
		cities := 0
		for line := range bytes.Lines(journal) {
			var e entry
			require.NoError(t, json.Unmarshal(line, &e))
			if at > 0 && e.End <= int64(at) {
				cities++
			}
		}
		try(part[:at], journal, cities)
		zeros := append(slices.Clone(part[:at]), make([]byte, len(part)-at)...)
		if at > 0 {
			try(zeros, journal, cities)
		}
	}
}

// A complete file stays until a newer one is complete, and its leftover journal has no effect.
func TestRunAgain(t *testing.T) {
	file := filepath.Join(t.TempDir(), "hotels.jsonl")
	for range 2 {
		c, err := open(t, file, "service")
		require.NoError(t, err)
		assert.Empty(t, c.done)
		add(t, c)
		require.NoError(t, c.finish())
		c.close()
		require.NoError(t, os.WriteFile(file+".journal", []byte(`{"service":"service","city":"b","end":0}`+"\n"), 0o644))
	}
}

// A file holds the hotels of one service.
func TestAnotherService(t *testing.T) {
	file := filepath.Join(t.TempDir(), "hotels.jsonl")
	c, err := open(t, file, "one")
	require.NoError(t, err)
	add(t, c)
	c.close()
	_, err = open(t, file, "another")
	require.ErrorContains(t, err, "one")
	require.ErrorContains(t, err, "remove it")
	c, err = open(t, file, "one")
	require.NoError(t, err)
	assert.Len(t, c.done, 4)
}

// A second run at the same time is refused.
func TestTwoAtOnce(t *testing.T) {
	file := filepath.Join(t.TempDir(), "hotels.jsonl")
	c, err := open(t, file, "service")
	require.NoError(t, err)
	add(t, c)
	_, err = open(t, file, "service")
	require.ErrorContains(t, err, "another run")
	require.NoError(t, c.finish())
	c.close()
	_, err = open(t, file, "service")
	require.NoError(t, err)
}

// An impossible file is refused before the catalogue is read.
func TestNoFile(t *testing.T) {
	dir := t.TempDir()
	_, err := open(t, dir, "service")
	require.ErrorContains(t, err, "set a file with -o")
	left, err := filepath.Glob(dir + ".*")
	require.NoError(t, err)
	assert.Empty(t, left)
	t.Chdir(dir)
	_, err = open(t, "", "service")
	require.ErrorContains(t, err, "set a file with -o")

	child := exec.Command(os.Args[0], "other.jsonl") // without -o
	child.Env = append(os.Environ(), "CATALOGSYNC_CHILD=1")
	said, err := child.CombinedOutput()
	require.Error(t, err)
	assert.Equal(t, 2, child.ProcessState.ExitCode(), "%s", said)
	assert.Contains(t, string(said), `unexpected argument "other.jsonl"`)
}

func TestProgress(t *testing.T) {
	for _, terminal := range []bool{true, false} {
		var out bytes.Buffer
		p := newProgress(&out, terminal)
		p.show(0, 0)
		p.show(0, 4)
		p.show(2, 0)
		p.show(5, 0) // more than were expected
		p.finish(5, "hotels.jsonl")
		assert.Contains(t, out.String(), "5 hotels are in hotels.jsonl\n")
		assert.Equal(t, terminal, strings.Contains(out.String(), "\r"))
		assert.Equal(t, terminal, strings.Contains(out.String(), "5/5"))
		assert.Equal(t, !terminal, strings.Contains(out.String(), "0 of 4 hotels\n"))
	}
}

// The hotels of an earlier run are among the expected ones.
func TestProgressOfASecondRun(t *testing.T) {
	var out bytes.Buffer
	p := newProgress(&out, false)
	for range 2 {
		p.shown = time.Time{} // a line is due
		p.show(5, 4)
	}
	assert.Equal(t, "5 of 5 hotels\n5 of 8 hotels\n", out.String())
}

func TestServiceOfTheEnvironment(t *testing.T) {
	for _, name := range []string{"HOTELSTAYS_BASE_URL", "HOTELSTAYS_APP_KEY", "HOTELSTAYS_APP_SECRET"} {
		t.Setenv(name, "")
	}
	t.Setenv("HOTELSTAYS_APP_KEY", "key")
	_, _, err := findService()
	require.ErrorContains(t, err, "or none for the sandbox")
	t.Setenv("HOTELSTAYS_BASE_URL", "https://host.example")
	t.Setenv("HOTELSTAYS_APP_SECRET", "secret")
	svc, closeSandbox, err := findService()
	require.NoError(t, err)
	defer closeSandbox()
	assert.Equal(t, "https://host.example", svc.name)
}
