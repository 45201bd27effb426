//go:build unix

// Voucher files at each stage of a download, on a full disk and under concurrent writers.

package chaos_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	hotelstays "github.com/hotelstays/hotelstays-go"
	"github.com/hotelstays/hotelstays-go/internal/test/testkit"
	"github.com/hotelstays/hotelstays-go/types"
)

var voucherRef = &hotelstays.OrderVoucherRequest{CustomerReferenceNo: "ref-1"}

// versionOf returns a document whose text is its version, repeated.
func versionOf(version, size int) []byte {
	line := fmt.Sprintf("%%PDF-1.4 version %08d\n", version)
	return []byte(strings.Repeat(line, size/len(line)+1)[:size])
}

func versions(size int) func(int) []byte { return func(v int) []byte { return versionOf(v, size) } }

// assertWhole asserts that path has a whole document of some version, or does not exist. The folder may have only
// temporary files beside it.
func assertWhole(t *testing.T, path string, size int, what string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	for _, entry := range entries {
		if entry.Name() != filepath.Base(path) {
			assert.True(t, strings.HasPrefix(entry.Name(), ".voucher-"), "%s: %s", what, entry.Name())
		}
	}
	document, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return
	}
	require.NoError(t, err)
	version := -1
	if len(document) == size {
		version, _ = strconv.Atoi(string(document[len("%PDF-1.4 version "):len("%PDF-1.4 version 00000000")]))
	}
	whole := version >= 0 && bytes.Equal(document, versionOf(version, size))
	assert.True(t, whole, "%s: a file of %d bytes that is not a document", what, len(document))
}

func voucherClient(t *testing.T, url string) *hotelstays.Client {
	client, err := hotelstays.New(url, testkit.BearerToken("token"), hotelstays.WithRateLimiter(testkit.NoRateLimits{}))
	require.NoError(t, err)
	t.Cleanup(client.CloseIdleConnections)
	return client
}

// voucherServer returns the URL of a server. It answers each OrderVoucher with the voucher of a new version, and each
// request for a document with serve.
func voucherServer(t *testing.T, document func(version int) []byte,
	serve func(w http.ResponseWriter, r *http.Request, version int)) string {
	var version atomic.Int64
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			v, _ := strconv.Atoi(r.URL.Path[1:])
			serve(w, r, v)
			return
		}
		v := int(version.Add(1))
		sum := sha256.Sum256(document(v))
		resp := hotelstays.OrderVoucherResponse{
			CustomerReferenceNo: "ref-1", PlatformReferenceNo: "P1", SupplierReferenceNo: "S1", Status: types.VoucherGenerated,
			Voucher: &types.Voucher{
				VoucherNumber: "V1", Version: v, ContentType: "application/pdf", ByteSize: int64(len(document(v))),
				DownloadURL: fmt.Sprintf("http://%s/%d", r.Host, v),
				Signature:   &types.VoucherSignature{Alg: "HMAC-SHA256", KeyID: "key", Digest: hex.EncodeToString(sum[:]), Signature: "00"},
			},
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"code": 0, "msg": "ok", "data": resp})
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

// spoolSize returns the size of the temporary file beside path, or -1 if there is not exactly one.
func spoolSize(path string) int {
	found, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".voucher-*"))
	if len(found) != 1 {
		return -1
	}
	info, err := os.Stat(found[0])
	if err != nil {
		return -1
	}
	return int(info.Size())
}

// At each stage of a download, path has its old content, and there is one temporary file. If a process is killed, these
// files stay. They do not stop another writer.
func TestVoucherFileIsCompleteAtEachStageOfADownload(t *testing.T) {
	const size = 100_000
	old, document := versionOf(1, size), versionOf(2, size)
	for _, sent := range []int{0, 1, size / 2, size - 1, size} {
		for _, there := range []bool{false, true} {
			what := fmt.Sprintf("%d of %d bytes, a file before: %t", sent, size, there)
			dir := t.TempDir()
			path := filepath.Join(dir, "voucher.pdf")
			if there {
				require.NoError(t, os.WriteFile(path, old, 0o600))
			}
			client := voucherClient(t, voucherServer(t, func(int) []byte { return document },
				func(w http.ResponseWriter, r *http.Request, version int) {
					if version > 1 {
						_, _ = w.Write(document)
						return
					}
					_, _ = w.Write(document[:sent])
					_ = http.NewResponseController(w).Flush() // without a Content-Length
					<-r.Context().Done()
				}))
			ctx, cancel := context.WithCancel(t.Context())
			var first sync.WaitGroup
			first.Go(func() {
				_, err := client.SaveVoucher(ctx, voucherRef, path)
				assert.ErrorIs(t, err, context.Canceled, what)
			})
			assert.Eventually(t, func() bool { return spoolSize(path) == sent }, 20*time.Second, time.Millisecond, what)
			if there {
				assertFile(t, path, old, what)
			} else {
				assert.NoFileExists(t, path, what)
			}
			assertWhole(t, path, size, what)

			_, err := client.SaveVoucher(t.Context(), voucherRef, path)
			assert.NoError(t, err, what)
			assertFile(t, path, document, what)
			cancel()
			first.Wait()
			assertFile(t, path, document, what)
			assertFiles(t, dir, "voucher.pdf")
		}
	}
}

// A limit on the size of files stands for a full disk. The limit applies to the whole process, so it is far above the
// size of files that go test writes.
func TestFullDiskLeavesTheOldVoucher(t *testing.T) {
	const size, limit = 8 << 20, 4 << 20
	old := versionOf(0, size)
	client := voucherClient(t, voucherServer(t, versions(size),
		func(w http.ResponseWriter, _ *http.Request, v int) { _, _ = w.Write(versionOf(v, size)) }))
	resp, err := client.OrderVoucher(t.Context(), voucherRef)
	require.NoError(t, err)
	for _, there := range []bool{false, true} {
		dir := t.TempDir()
		t.Setenv("TMPDIR", dir)
		path := filepath.Join(dir, "voucher.pdf")
		names := []string{}
		if there {
			require.NoError(t, os.WriteFile(path, old, 0o600))
			names = append(names, "voucher.pdf")
		}
		var w bytes.Buffer
		var downloaded, saved error
		withFilesUpTo(t, limit, func() {
			downloaded = client.DownloadVoucher(t.Context(), resp.Voucher, &w)
			_, saved = client.SaveVoucher(t.Context(), voucherRef, path)
		})
		assert.Zero(t, w.Len())
		assert.Regexp(t, `^hotelstays: voucher "V1" version \d: write `, downloaded.Error())
		assert.Regexp(t, `^hotelstays: voucher "V1" version \d of order "ref-1": write .* file too large`, saved.Error())
		assertFiles(t, dir, names...)
		if there {
			assertFile(t, path, old)
		}
	}
}

// withFilesUpTo limits the size of the files that this process writes while f runs.
func withFilesUpTo(t *testing.T, size uint64, f func()) {
	t.Helper()
	signal.Ignore(syscall.SIGXFSZ)
	defer signal.Reset(syscall.SIGXFSZ)
	var limit syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit))
	defer func() { assert.NoError(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit)) }()
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: size, Max: limit.Max}))
	f()
}

func TestReadersFindAWholeVoucherWhileOthersSave(t *testing.T) {
	const size, savers, saves = 50_000, 4, 8
	url := voucherServer(t, versions(size), func(w http.ResponseWriter, _ *http.Request, v int) { _, _ = w.Write(versionOf(v, size)) })
	client := voucherClient(t, url)
	dir := t.TempDir()
	path := filepath.Join(dir, "voucher.pdf")
	var writers, readers sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	for range savers {
		writers.Go(func() {
			for range saves {
				_, err := client.SaveVoucher(t.Context(), voucherRef, path)
				assert.NoError(t, err)
			}
		})
	}
	readers.Go(func() {
		for ; ctx.Err() == nil; time.Sleep(time.Millisecond) {
			assertWhole(t, path, size, "while others save")
		}
	})
	writers.Wait()
	cancel()
	readers.Wait()
	assertWhole(t, path, size, "after the last save")
	assertFiles(t, dir, "voucher.pdf")
}
