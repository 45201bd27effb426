// Package signature checks the signature of a webhook delivery.
package signature

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"
)

const maxHeader = 4096

// Check returns the time of a valid signature of body, and the secret that made the signature. The caller compares the
// time with its clock.
func Check(body []byte, header string, secrets []string) (at time.Time, signer string, err error) {
	stamp, digests, err := parse(header)
	if err != nil {
		return time.Time{}, "", err
	}
	seconds, err := strconv.ParseUint(stamp, 10, 63) // refuses a number with + or - in front
	if err != nil {
		return time.Time{}, "", errors.New("the time t in the signature header is not in Unix seconds")
	}
	for _, secret := range secrets {
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write([]byte(stamp + "."))
		mac.Write(body)
		sum := mac.Sum(nil)
		if slices.ContainsFunc(digests, func(digest []byte) bool { return hmac.Equal(digest, sum) }) {
			return time.Unix(int64(seconds), 0), secret, nil
		}
	}
	if len(body) == 0 {
		return time.Time{}, "", errors.New("the body is empty; if a middleware reads the body, let it put the body back")
	}
	return time.Time{}, "", errors.New("the secret differs, or the body was changed; check the webhook signing secret, " +
		"which is not the application's secret")
}

// parse reads t=<unix seconds>,v1=<hex>[,v1=<hex>…]. It ignores other parts, such as v0=…. It refuses a second t, because
// only one t is signed.
func parse(header string) (stamp string, digests [][]byte, err error) {
	if len(header) > maxHeader {
		return "", nil, errors.New("the signature header is too long")
	}
	for part := range strings.SplitSeq(header, ",") {
		key, value, ok := strings.Cut(part, "=")
		switch {
		case !ok:
			return "", nil, errors.New("the signature header has a part without a =")
		case key == "t" && (stamp != "" || value == ""):
			return "", nil, errors.New("the signature header needs one t")
		case key == "t":
			stamp = value
		case key == "v1":
			digest, err := hex.DecodeString(value)
			if err != nil || len(digest) != sha256.Size {
				return "", nil, errors.New("a v1 is not a SHA-256 HMAC in hex")
			}
			digests = append(digests, digest)
		}
	}
	if stamp == "" || len(digests) == 0 {
		return "", nil, errors.New("the signature header lacks t or v1")
	}
	return stamp, digests, nil
}
