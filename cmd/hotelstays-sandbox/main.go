// Command hotelstays-sandbox serves the sandbox of the Hotel Stays Distribution API until it is
// interrupted. Its page shows what happens, and its control API causes faults and moves the clock.
//
//	go run ./cmd/hotelstays-sandbox -listen 127.0.0.1:8080
//
// It prints a shell script with the variables for the programs in the README, and the first commands to
// try. The page and the control API are under /_sandbox/. /_sandbox/openapi.json describes both, and the
// operations of the service.
//
// -help lists the flags. Flags override the file of -config, but flags that may be repeated add to the
// lists in the file. Only -no-control turns the control API off.
//
// The exit status is 2 for wrong usage, such as an address that is not loopback, and 1 if the program
// cannot listen or cannot write the certificate.
package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"encoding/pem"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"

	"github.com/hotelstays/hotelstays-go/cmd/hotelstays-sandbox/internal/sandboxpage"
	"github.com/hotelstays/hotelstays-go/hotelstaystest"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // stop restores the default, so that a second signal ends the program immediately
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run serves until ctx ends, and returns the exit status.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	err := serve(ctx, args, stdout, stderr)
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return 0
	case errors.Is(err, errUsage), errors.Is(err, hotelstaystest.ErrInvalidConfig):
		text := err.Error()
		if !slices.ContainsFunc(args, func(arg string) bool { return strings.HasPrefix(strings.TrimLeft(arg, "-"), "config") }) {
			text = inFlags.Replace(text)
		}
		fmt.Fprintln(stderr, "hotelstays-sandbox:", text)
		return 2
	}
	fmt.Fprintln(stderr, "hotelstays-sandbox:", err)
	return 1
}

// inFlags replaces the settings named in an error of hotelstaystest by the flags that set them, such as confirmAfter by
// -confirm-after.
var inFlags = strings.NewReplacer("hotelstaystest: invalid configuration", "wrong usage", "allowRemote", "-allow-remote",
	"addr ", "-listen ", "tlsNames", "-tls-name", "needs tls", "needs -tls", "control.token", "the token of -control-token-file",
	"control.hosts", "-control-host", "webhooks.callbackHosts", "-allow-callback", "confirmAfter", "-confirm-after")

func serve(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	set, err := parse(args, stderr)
	if err != nil {
		return err
	}
	if set.version {
		info, _ := debug.ReadBuildInfo() // a program built from a module always has this information
		fmt.Fprintln(stdout, "hotelstays-sandbox", info.Main.Version, info.GoVersion)
		return nil
	}
	srv, err := hotelstaystest.StartServer(&set.config)
	if err != nil {
		return err
	}
	defer srv.Close()
	if set.ca != "" {
		certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw})
		// Every user may read the file, even with a strict umask. The file gets its final name when it is complete, so
		// that no program reads half of it.
		part := set.ca + ".part"
		err := os.WriteFile(part, certificate, 0o644)
		if err == nil {
			err = errors.Join(os.Chmod(part, 0o644), os.Rename(part, set.ca))
		}
		if err != nil {
			return fmt.Errorf("-tls-ca: %w", err)
		}
	}
	stopLog := logRequests(srv.Ledger(), slog.NewTextHandler(stderr, nil))
	defer stopLog()
	greet(stdout, srv, set)
	<-ctx.Done()
	srv.Close() // the server closes before the deferred stopLog, so that the log has every request
	return nil
}

// errUsage is wrapped by every error about the command line.
var errUsage = errors.New("wrong usage")

func usageError(format string, args ...any) error {
	return fmt.Errorf("%w: %w", errUsage, fmt.Errorf(format, args...))
}

type settings struct {
	config     hotelstaystest.Config
	configFile string
	tokenFile  string
	tokenMade  bool
	noControl  bool
	ca         string
	version    bool
}

const defaultAddr = "127.0.0.1:8080"

// parse reads the flags, and then the file of -config. After that it reads the flags again, because flags override the file.
func parse(args []string, stderr io.Writer) (*settings, error) {
	set := &settings{config: hotelstaystest.Config{Addr: defaultAddr}}
	flags := set.flags()
	flags.SetOutput(io.Discard)
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		flags.SetOutput(stderr)
		flags.Usage()
		return nil, err
	case err != nil:
		return nil, usageError("%w; see -help", err)
	}
	if flags.NArg() > 0 {
		return nil, usageError("unexpected argument %q", flags.Arg(0))
	}
	if set.configFile != "" {
		if err := set.readFile(); err != nil {
			return nil, err
		}
		if err := set.flags().Parse(args); err != nil {
			return nil, err
		}
	}
	if set.ca != "" {
		if !set.config.TLS {
			return nil, usageError("-tls-ca needs -tls")
		}
		var err error
		if set.ca, err = filepath.Abs(set.ca); err != nil {
			return nil, err
		}
	}
	return set, set.guardControl()
}

// guardControl decides whether the page and the control API are served, and with which token.
func (set *settings) guardControl() error {
	c := &set.config.Control
	c.Enabled, c.Page = !set.noControl, sandboxpage.Handler
	switch {
	case set.tokenFile != "":
		token, err := os.ReadFile(set.tokenFile)
		if err != nil {
			return usageError("-control-token-file: %w", err)
		}
		if c.Token = strings.TrimSpace(string(token)); c.Token == "" {
			return usageError("-control-token-file: %s is empty; write the control token into it", set.tokenFile)
		}
	case set.config.AllowRemote && c.Token == "":
		c.Token, set.tokenMade = rand.Text(), true
	}
	return nil
}

// flags returns the flags of the program. The default of a flag is the current setting.
func (set *settings) flags() *flag.FlagSet {
	c := &set.config
	flags := flag.NewFlagSet("hotelstays-sandbox", flag.ContinueOnError)
	flags.Usage = func() {
		fmt.Fprintln(flags.Output(), "Usage of hotelstays-sandbox:")
		flags.PrintDefaults()
	}
	repeated := func(name string, into *[]string, usage string) {
		flags.Func(name, usage+"; may be repeated", func(value string) error {
			*into = append(*into, value)
			return nil
		})
	}
	flags.StringVar(&c.Addr, "listen", c.Addr, "`address` to listen on")
	flags.BoolVar(&c.AllowRemote, "allow-remote", c.AllowRemote, "let -listen take an address that is not loopback. "+
		"Each request to /_sandbox/ then needs the control token; one is made and printed if none is set. "+
		"Webhooks then go only to -allow-callback, and the API answers under any host name")
	flags.StringVar(&set.tokenFile, "control-token-file", "", "`file` with the control token")
	repeated("control-host", &c.Control.Hosts, "further host `name` that requests may use, besides loopback and -tls-name")
	flags.BoolVar(&set.noControl, "no-control", false, "serve neither the page nor the control API")
	flags.BoolVar(&c.TLS, "tls", c.TLS, "serve https and HTTP/2 with a certificate made at the start, for loopback")
	repeated("tls-name", &c.TLSNames, "further host `name` or IP address of the certificate; the sandbox also answers under it")
	flags.StringVar(&set.ca, "tls-ca", "", "`file` to write the certificate to, in PEM, for clients to trust")
	repeated("allow-callback", &c.Webhooks.CallbackHosts, "`host` that webhooks may go to, besides loopback, or instead of it with -allow-remote")
	flags.BoolVar(&set.version, "version", false, "print the version, and serve nothing")
	flags.StringVar(&set.configFile, "config", "", "configuration `file` in JSON, as hotelstaystest.Config documents it")
	flags.Uint64Var(&c.Seed, "seed", cmp.Or(c.Seed, 1), "seed of the generated catalogue")
	flags.Func("confirm-after", "`time` from Book to the confirmation, such as 20s, or never (default 3m0s)", func(text string) error {
		file, err := json.Marshal(map[string]string{"confirmAfter": text})
		return errors.Join(err, json.Unmarshal(file, c))
	})
	flags.BoolVar(&c.NoRateLimits, "no-rate-limits", c.NoRateLimits, "turn the rate limits off")
	return flags
}

func (set *settings) readFile() error {
	data, err := os.ReadFile(set.configFile)
	if err != nil {
		return usageError("-config: %w", err)
	}
	set.config = hotelstaystest.Config{Addr: defaultAddr}
	if err := json.Unmarshal(data, &set.config); err != nil {
		return usageError("-config %s: %w", set.configFile, err)
	}
	return nil
}

// greet prints the addresses and credentials of the sandbox as a shell script, whose lines a user can paste.
func greet(w io.Writer, srv *hotelstaystest.Server, set *settings) {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	export := func(name, value string) { line("export HOTELSTAYS_%s=%s", name, quoted(value)) }

	line("# The sandbox answers at %s until it is interrupted.", srv.URL)
	token := set.config.Control.Token
	switch {
	case set.noControl:
	case token == "":
		line("# Page: %s/_sandbox/", srv.URL)
	case !set.tokenMade:
		line("# Page: %s/_sandbox/?token= and the control token", srv.URL)
	default:
		line("# Page: %s/_sandbox/?token=%s", srv.URL, url.QueryEscape(token))
	}
	line("# OAuth client: %s, with the secret %s", srv.ClientID, srv.ClientSecret)
	line("\n# Variables for the programs in the README:")
	export("BASE_URL", srv.URL)
	export("APP_KEY", srv.AppKey)
	export("APP_SECRET", srv.AppSecret)
	export("WEBHOOK_SECRET", srv.WebhookSecret)
	if set.tokenMade {
		export("CONTROL_TOKEN", token)
	}
	curl, quickstart := "curl -sS", "go run ./examples/quickstart -destination "+quoted(srv.CityName(0))
	switch {
	case set.ca != "":
		export("SANDBOX_CA", set.ca)
		curl, quickstart = "curl -sS --cacert "+quoted(set.ca), "SSL_CERT_FILE="+quoted(set.ca)+" "+quickstart
	case set.config.TLS: // no file has the certificate: curl can skip the check, but the quickstart cannot
		curl, quickstart = "curl -sS --insecure", ""
	}
	if quickstart != "" {
		line("\n# In a clone of hotelstays-go: offers in a city whose destinationId is %s.", srv.CityID(0))
		line("%s", quickstart)
	}
	line("\n# A ticket:")
	body, _ := json.Marshal(map[string]string{"appKey": srv.AppKey, "appSecret": srv.AppSecret}) // Marshal of strings cannot fail
	line("%s -H 'Content-Type: application/json' -d %s %s", curl, quoted(string(body)), quoted(srv.URL+"/api/auth/ticket"))
	_, _ = io.WriteString(w, b.String())
}

// quoted returns text in single quotes for a shell.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
