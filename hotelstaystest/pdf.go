// A minimal PDF: one page of text.

package hotelstaystest

import (
	"bytes"
	"fmt"
	"strings"
)

// renderPDF writes lines as a PDF, padded with comments to at least size bytes. Equal
// input gives equal bytes.
func renderPDF(lines []string, size int) []byte {
	var text strings.Builder
	text.WriteString("BT /F1 12 Tf 16 TL 60 780 Td\n")
	for _, line := range lines {
		fmt.Fprintf(&text, "(%s) Tj T*\n", pdfString(line))
	}
	text.WriteString("ET")
	objects := []string{
		"<< /Type /Catalog /Pages 2 0 R >>",
		"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
		"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>",
		fmt.Sprintf("<< /Length %d >>\nstream\n%s\nendstream", text.Len(), text.String()),
		"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
	}
	doc := assemble(objects, 0)
	if missing := size - len(doc); missing > 0 {
		doc = assemble(objects, missing)
		doc = assemble(objects, missing-(len(doc)-size)) // the xref's offset may have more digits now
	}
	return doc
}

var dashes = strings.Repeat("-", 100)

func assemble(objects []string, padding int) []byte {
	var b bytes.Buffer
	b.WriteString("%PDF-1.4\n%\xe2\xe3\xcf\xd3\n")
	offsets := make([]int, len(objects))
	for i, o := range objects {
		offsets[i] = b.Len()
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	for padding > 0 { // comment lines of at most 100 bytes, newline included
		n := min(padding, 100)
		if padding-n == 1 {
			n++
		}
		if n == 1 {
			b.WriteString("\n")
		} else {
			b.WriteString("%" + dashes[:n-2] + "\n")
		}
		padding -= n
	}
	xref := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(objects)+1)
	for _, at := range offsets {
		fmt.Fprintf(&b, "%010d 00000 n \n", at)
	}
	fmt.Fprintf(&b, "trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", len(objects)+1, xref)
	return b.Bytes()
}

// pdfString escapes text. Characters other than printable ASCII become question marks.
func pdfString(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '(' || r == ')' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < ' ' || r > '~':
			b.WriteByte('?')
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
