package main

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hotelstays/hotelstays-go/hotelstaystest"
)

func TestBooks(t *testing.T) {
	port, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := port.Addr().String()
	require.NoError(t, port.Close())
	journal := filepath.Join(t.TempDir(), "journal")
	sandbox := hotelstaystest.Config{ConfirmAfter: hotelstaystest.AtOnce, VoucherDelay: hotelstaystest.AtOnce}
	status, out, complaint := probed(t, sandbox, false, "-book", "-max-total", "500.50EUR", "-journal", journal,
		"-callback", "http://"+address+"/events", "-listen", address, "-run", "webhook/delivered", "-run", "cancel/fee")
	assert.Equal(t, exitHeld, status, complaint)
	assert.Contains(t, out, "order_created order_paid order_modified order_cancelled")
	assert.Contains(t, out, "1 held, 1 found out, 0 broken, 0 not tried")
	text, err := os.ReadFile(journal)
	require.NoError(t, err)
	assert.Contains(t, string(text), `"state":"cancelled"`)

	status, out, complaint = probed(t, sandbox, false, "-cleanup", "-journal", journal) // of a sandbox at another port
	assert.Equal(t, exitUsage, status, complaint)
	assert.Contains(t, complaint, "another environment or account")
	assert.Regexp(t, `^cancelled probe-\w+\n$`, out)
}

func TestFlagsOfBookings(t *testing.T) {
	journal := filepath.Join(t.TempDir(), "journal")
	require.NoError(t, os.WriteFile(journal, []byte("a diary\n"), 0o600))
	for args, says := range map[string]string{
		"-book":                          "needs a limit of money",
		"-book -max-total 500":           "such as 500EUR",
		"-book -max-total -5EUR":         "such as 500EUR",
		"-max-total 500EUR":              "need -book",
		"-callback https://you.example/": "need -book",
		"-book -cleanup":                 "choose one",
		"-book -max-total 5EUR -listen nowhere -callback https://you.example/": "nowhere",
		"-cleanup -journal " + journal:                                         "no journal of the probe",
	} {
		status, _, complaint := probed(t, hotelstaystest.Config{}, false, strings.Fields(args)...)
		assert.Equal(t, exitUsage, status, args)
		assert.Contains(t, complaint, says)
	}
}
