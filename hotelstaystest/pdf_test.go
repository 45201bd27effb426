// The PDF is valid and has the requested size.

package hotelstaystest

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"testing"
)

func TestRenderPDF(t *testing.T) {
	lines := []string{"A line (with brackets) and a \\ backslash", "Ünïcode"}
	natural := len(renderPDF(lines, 0))
	for _, size := range []int{
		0, natural, natural + 1, natural + 2, natural + 99, natural + 100, natural + 101, natural + 102, 5000, 99_990, 100_003, 1 << 20,
	} {
		doc := renderPDF(lines, size)
		failIf(t, !bytes.Equal(doc, renderPDF(lines, size)), "not the same bytes every time")
		want := max(size, natural)
		failIf(t, len(doc) != want, "%d bytes, want %d", len(doc), want)
		same(t, checkPDF(doc), nil, size)
	}
}

// checkPDF checks header, cross references, stream length and end.
func checkPDF(doc []byte) error {
	if !bytes.HasPrefix(doc, []byte("%PDF-1.4\n")) || !bytes.HasSuffix(doc, []byte("%%EOF\n")) {
		return fmt.Errorf("no header or end")
	}
	m := regexp.MustCompile(`startxref\n(\d+)\n%%EOF\n$`).FindSubmatch(doc)
	if m == nil {
		return fmt.Errorf("no startxref")
	}
	at, _ := strconv.Atoi(string(m[1]))
	if !bytes.HasPrefix(doc[at:], []byte("xref\n0 6\n0000000000 65535 f \n")) {
		return fmt.Errorf("startxref points to %.20q", doc[at:])
	}
	entries := doc[at+len("xref\n0 6\n")+20:]
	for n := 1; n <= 5; n++ {
		entry := entries[(n-1)*20 : n*20]
		offset, err := strconv.Atoi(string(entry[:10]))
		if err != nil || !bytes.HasPrefix(doc[offset:], []byte(fmt.Sprintf("%d 0 obj\n", n))) {
			return fmt.Errorf("entry %d is %q", n, entry)
		}
	}
	length := regexp.MustCompile(`(?s)/Length (\d+) >>\nstream\n(.*?)\nendstream`).FindSubmatch(doc)
	if length == nil || string(length[1]) != strconv.Itoa(len(length[2])) {
		return fmt.Errorf("the stream's length is wrong")
	}
	return nil
}
