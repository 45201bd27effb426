package redact

import (
	"errors"
	"net/url"
	"slices"
	"strings"
)

// Links holds URLs that are secret, because anyone who has such a URL can get its document.
type Links []string

// Clean returns err, its first cause whose text has no link, or the text of err with the links redacted.
func (l Links) Clean(err error) error {
	secrets := l.parts()
	for cause := err; cause != nil; cause = errors.Unwrap(cause) {
		if text := cause.Error(); secrets.Text(text) == text {
			return cause
		}
	}
	return errors.New(secrets.Text(err.Error()))
}

// parts returns the links and their parts, because an error may quote only the path, or one parameter. Parts of less than
// minPart bytes are left out, because they may be words of any error.
func (l Links) parts() Set {
	const minPart = 8
	secrets := slices.Clone(Set(l))
	for _, link := range l {
		u, err := url.Parse(link)
		if err != nil {
			continue
		}
		parts := append(strings.Split(u.Path, "/"), u.Path, u.RequestURI(), u.RawQuery)
		for name, values := range u.Query() {
			parts = append(append(parts, name), values...)
		}
		secrets = append(secrets, slices.DeleteFunc(parts, func(part string) bool { return len(part) < minPart })...)
	}
	return secrets
}
