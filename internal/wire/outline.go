// Outline: the part of an answer that an error may show.

package wire

import (
	"context"
	"regexp"
	"strings"
	"sync"
)

// jsonBegins matches the beginning of JSON in a text, even if the JSON is escaped.
var jsonBegins = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\s*"|\{\s*["&\\]|\[\s*[-"{\[&\\0-9]`) })

// Outline returns a text, such as a proxy's page, up to the first JSON in it. Of the JSON it returns names and types,
// but no values: {code:number,data:{orders:[{holder:{email:string}}]}}. An array has only its first element. The
// outline ends after the JSON. If the JSON has a fault, the outline ends there, with an ellipsis.
func Outline(text []byte) string {
	begins := jsonBegins().FindIndex(text)
	if begins == nil {
		return string(text)
	}
	return string(text[:begins[0]]) + outlineOf(text[begins[0]:])
}

func outlineOf(json []byte) string {
	l := newLexer(context.Background(), whole(json))
	defer l.release()
	out := l.outline(nil)
	if l.failed {
		out = append(out, "…"...)
	}
	return string(out)
}

func (l *Lexer) outline(out []byte) []byte {
	switch l.peek() {
	case '{':
		out = append(out, '{')
		for more, first := l.object(), true; more; more, first = l.member(), false {
			if !first {
				out = append(out, ',')
			}
			out = l.outline(append(append(out, outlineName(l.name)...), ':'))
		}
		return l.closed(out, '}')
	case '[':
		out = append(out, '[')
		for more, first := l.array(), true; more; more, first = l.element(), false {
			if first {
				out = l.outline(out)
			} else {
				l.passed()
			}
		}
		return l.closed(out, ']')
	}
	if text := l.passed(); !l.failed {
		out = append(out, jsonTypeOf(text)...)
	}
	return out
}

func (l *Lexer) closed(out []byte, bracket byte) []byte {
	if l.failed {
		return out
	}
	return append(out, bracket)
}

// outlineName returns a member's name if it looks like a field's name. Otherwise it returns "*", because the name may
// be a value, such as an email address.
func outlineName(name []byte) string {
	const longest = 32
	if len(name) > longest || strings.Trim(string(name), "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_") != "" {
		return "*"
	}
	return string(name)
}
