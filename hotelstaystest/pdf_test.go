// The PDF is valid and has the requested size.

package hotelstaystest

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var (
	pdfForm = regexp.MustCompile(`(?s)^%PDF-1\.4\n.*\n(xref\n0 6\n0000000000 65535 f \n)((?:\d{10} 00000 n \n){5})trailer\n.*\n` +
		`startxref\n(\d+)\n%%EOF\n$`)
	pdfStream = regexp.MustCompile(`(?s)/Length (\d+) >>\nstream\n(.*?)\nendstream`)
)

func TestRenderPDF(t *testing.T) {
	lines := []string{"A line (with brackets) and a \\ backslash", "Ünïcode"}
	natural := len(renderPDF(lines, 0))
	for _, size := range []int{
		0, natural, natural + 1, natural + 2, natural + 99, natural + 100, natural + 101, natural + 102, 5000, 99_990, 100_003, 1 << 20,
	} {
		doc := renderPDF(lines, size)
		failIf(t, !bytes.Equal(doc, renderPDF(lines, size)), "not the same bytes every time")
		same(t, len(doc), max(size, natural))
		parts := pdfForm.FindSubmatchIndex(doc)
		stopIf(t, parts == nil, "%d bytes: %.200q", size, doc)
		same(t, must(strconv.Atoi(string(doc[parts[6]:parts[7]]))), parts[2], "startxref")
		for i, entry := range strings.Split(strings.TrimSuffix(string(doc[parts[4]:parts[5]]), "\n"), "\n") {
			at := must(strconv.Atoi(entry[:10]))
			failIf(t, !bytes.HasPrefix(doc[at:], fmt.Appendf(nil, "%d 0 obj\n", i+1)), "entry %d is %q", i+1, entry)
		}
		stream := pdfStream.FindSubmatch(doc)
		same(t, string(stream[1]), strconv.Itoa(len(stream[2])), "the stream's length")
	}
}
