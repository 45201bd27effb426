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

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
	"github.com/hotelstays/hotelstays-go/types"
)

// TestMain runs the program itself in the child processes of the tests.
func TestMain(m *testing.M) {
	if os.Getenv("CATALOGSYNC_CHILD") == "1" {
		main()
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

func start(t *testing.T, srv *hotelstaystest.Server, file string) (child *exec.Cmd, said *bytes.Buffer) {
	t.Helper()
	child, said = exec.Command(os.Args[0], "-o", file), &bytes.Buffer{}
	child.Env = append(os.Environ(), "CATALOGSYNC_CHILD=1",
		"HOTELSTAYS_BASE_URL="+srv.URL, "HOTELSTAYS_APP_KEY="+srv.AppKey, "HOTELSTAYS_APP_SECRET="+srv.AppSecret)
	child.Stderr = said
	require.NoError(t, child.Start())
	return child, said
}

// The program is killed twice, and its file ends with an incomplete line. The last run reads no complete city again.
func TestKilledRunsWriteEveryHotelOnce(t *testing.T) {
	srv := hotelstaystest.NewServer(&hotelstaystest.Config{Catalog: hotelstaystest.Catalog{ProvincesPerCountry: 5,
		CitiesPerProvince: 24, HotelsPerCity: 15}})
	defer srv.Close()
	file := filepath.Join(t.TempDir(), "hotels.jsonl")

	for _, calls := range []int{60, 160} {
		child, said := start(t, srv, file)
		require.Eventually(t, func() bool { return srv.Ledger().Count(hotelstays.OpHotelsMetadata) >= calls }, 30*time.Second,
			time.Millisecond)
		require.NoError(t, child.Process.Kill())
		require.Error(t, child.Wait(), "it was killed: %s", said)
		require.NoFileExists(t, file)
		content, err := os.ReadFile(file + ".part")
		require.NoError(t, err)
		require.NotEmpty(t, content)
		require.NoError(t, os.WriteFile(file+".part", append(content, `{"service":"torn","ci`...), 0o644))
	}
	child, said := start(t, srv, file)
	require.NoError(t, child.Wait(), said)
	assert.Contains(t, said.String(), fmt.Sprintf("%d hotels are in %s", srv.HotelCount(), file))
	assertWhole(t, srv, file)
	cities := srv.CityCount() * 4 / 5 // one city in five has no hotels
	read := srv.Ledger().Count(hotelstays.OpHotelsMetadata) - srv.Ledger().RateLimited(hotelstays.OpHotelsMetadata)
	assert.LessOrEqual(t, read, cities+2*atOnce, "only cities in progress are read again")
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
		ids[hotel.HotelID] = true // in the sandbox a hotelId is a key, because the sandbox never changes it
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
	assert.Empty(t, left, "no other file is left")
}

// cities has four cities. Two hotels are in two cities each, and one of these hotels has no platformHotelId. City b has
// no hotels.
var cities = map[string][]*types.HotelMetadata{
	"a": {{PlatformHotelID: "1", HotelID: "x"}, {PlatformHotelID: "2", HotelID: "y"}, {HotelID: "z"}},
	"b": {},
	"c": {{PlatformHotelID: "3", HotelID: "x"}, {PlatformHotelID: "2", HotelID: "v"}},
	"d": {{HotelID: "z"}, {PlatformHotelID: "4", HotelID: "w"}},
}

func add(t *testing.T, c *catalogue) {
	t.Helper()
	for city, hotels := range cities {
		if !c.done[city] {
			require.NoError(t, c.add(city, hotels))
		}
	}
}

func open(t *testing.T, file, service string) (*catalogue, error) {
	t.Helper()
	c, err := openCatalogue(file, service)
	if err == nil {
		t.Cleanup(c.close)
	}
	return c, err
}

// The file is cut at each byte in turn. Then other bytes may follow, because a crash can leave any bytes at the end.
func TestNextRunContinuesAFileThatIsCutAtAnyByte(t *testing.T) {
	dir := t.TempDir()
	c, err := open(t, filepath.Join(dir, "whole"), "service")
	require.NoError(t, err)
	add(t, c)
	part, err := os.ReadFile(c.file + ".part")
	require.NoError(t, err)

	file := filepath.Join(dir, "killed")
	for at := range len(part) + 1 {
		for _, torn := range []string{"", "\x00\x00\x00\n", string(make([]byte, len(part)-at))} {
			require.NoError(t, os.WriteFile(file+".part", append(part[:at:at], torn...), 0o644))
			c, err := openCatalogue(file, "service")
			require.NoError(t, err)
			require.Len(t, c.done, bytes.Count(part[:at], []byte("\n")))
			add(t, c)
			found := map[string]int{}
			for e, err := range c.entries() {
				require.NoError(t, err)
				found[e.City] = len(e.Hotels)
			}
			require.Equal(t, map[string]int{"a": 3, "b": 0, "c": 2, "d": 2}, found)
			c.close()
		}
	}
}

func TestNextRunReplacesTheCompleteFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "hotels.jsonl")
	for range 2 {
		c, err := open(t, file, "service")
		require.NoError(t, err)
		assert.Empty(t, c.done)
		add(t, c)
		require.NoError(t, c.finish())
		got, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Equal(t, 6, bytes.Count(got, []byte("\n")))
		for _, id := range []string{"1", "2", "3", "4"} {
			require.Equal(t, 1, bytes.Count(got, []byte(`"platformHotelId":"`+id+`"`)))
		}
	}
}

func TestIncompleteFileOfAnotherServiceIsRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "hotels.jsonl")
	c, err := open(t, file, "one")
	require.NoError(t, err)
	add(t, c)
	c.close()
	_, err = open(t, file, "another")
	require.ErrorContains(t, err, "one")
	require.ErrorContains(t, err, "remove it")
	require.FileExists(t, file+".part")
	c, err = open(t, file, "one")
	require.NoError(t, err)
	assert.Len(t, c.done, 4)
}
