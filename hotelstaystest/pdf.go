// A minimal PDF: one page of text.

package hotelstaystest

import (
	"fmt"
	"strings"
)

// renderPDF returns lines as a PDF, padded with a comment to at least size bytes. The same
// input gives the same bytes.
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
	table := func(offsets []int, xref int) []byte {
		b := fmt.Appendf(nil, "xref\n0 %d\n0000000000 65535 f \n", len(offsets)+1)
		for _, at := range offsets {
			b = fmt.Appendf(b, "%010d 00000 n \n", at)
		}
		return fmt.Appendf(b, "trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%010d\n%%%%EOF\n", len(offsets)+1, xref)
	}
	offsets := make([]int, len(objects))
	padding := size - len(pdfHeader) - len(table(offsets, 0))
	for _, o := range objects {
		padding -= len("0 0 obj\n") + len(o) + len("\nendobj\n")
	}
	b := append(make([]byte, 0, max(size, 1<<10)), pdfHeader...)
	if padding > 0 { // the padding is a comment line
		b = append(b, strings.Repeat("%", padding-1)+"\n"...)
	}
	for i, o := range objects {
		offsets[i] = len(b)
		b = fmt.Appendf(b, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	return append(b, table(offsets, len(b))...)
}

const pdfHeader = "%PDF-1.4\n%\xe2\xe3\xcf\xd3\n"

// pdfString escapes text for a PDF. Characters other than printable ASCII become question marks.
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
