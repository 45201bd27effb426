// A minimal PDF: one page of text.

package hotelstaystest

import (
	"fmt"
	"slices"
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
	b := []byte("%PDF-1.4\n%\xe2\xe3\xcf\xd3\n")
	offsets := make([]int, len(objects))
	for i, o := range objects {
		offsets[i] = len(b)
		b = fmt.Appendf(b, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	padding := max(0, size-len(b)-len(trailer(offsets, len(b))))
	padding = max(0, size-len(b)-len(trailer(offsets, len(b)+padding))) // the xref's offset may have more digits now
	end := trailer(offsets, len(b)+padding)
	b = slices.Grow(b, padding+len(end))
	return append(appendComments(b, padding), end...)
}

// trailer is the table of the objects, which starts at xref, and what follows it.
func trailer(offsets []int, xref int) []byte {
	b := fmt.Appendf(nil, "xref\n0 %d\n0000000000 65535 f \n", len(offsets)+1)
	for _, at := range offsets {
		b = fmt.Appendf(b, "%010d 00000 n \n", at)
	}
	return fmt.Appendf(b, "trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", len(offsets)+1, xref)
}

var comment = "%" + strings.Repeat("-", 100)

// appendComments appends lines of comments, each of about 100 bytes with its newline.
func appendComments(b []byte, size int) []byte {
	for size > 0 {
		n := min(size, 100)
		if size-n == 1 {
			n++
		}
		b = append(b, comment[:n-1]...)
		b = append(b, '\n')
		size -= n
	}
	return b
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
