// The engines: a Redis and a PostgreSQL on free ports of loopback, with their data in a
// temporary folder, or those of the environment.
//
// Both write their logs before they answer, so their crash loses nothing. Only a crash of the
// machine would need fsync, which is off here.

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

type engines struct {
	dir         string
	redisAddr   string
	postgresURL string

	redisArgs []string  // nil: of the environment
	redis     *exec.Cmd // while it runs
	pgControl []string  // the pg_ctl command; nil: of the environment
}

var errMissing = errors.New("redis-server or PostgreSQL is missing: apt-get install redis-server postgresql, " +
	"or set HOTELSTAYS_REDIS_ADDR and HOTELSTAYS_POSTGRES_URL")

// startEngines starts the servers that the environment does not name.
func startEngines(ctx context.Context) (*engines, error) {
	dir, err := os.MkdirTemp("", "fleet")
	if err != nil {
		return nil, err
	}
	e := &engines{dir: dir, redisAddr: os.Getenv("HOTELSTAYS_REDIS_ADDR"), postgresURL: os.Getenv("HOTELSTAYS_POSTGRES_URL")}
	if e.redisAddr == "" {
		err = e.createRedis(ctx)
	} else {
		err = e.checkRedis(ctx)
	}
	if err == nil && e.postgresURL == "" {
		err = e.createPostgres(ctx)
	}
	if err != nil {
		e.stop()
		return nil, err
	}
	return e, nil
}

// forget removes the keys of a run from the Redis of the environment.
func (e *engines) forget(prefix string) {
	if e.redisArgs != nil {
		return
	}
	client := redis.NewClient(&redis.Options{Addr: e.redisAddr})
	defer client.Close()
	ctx := context.Background()
	for keys := client.Scan(ctx, 0, prefix+":*", 1000).Iterator(); keys.Next(ctx); {
		client.Unlink(ctx, keys.Val())
	}
}

func (e *engines) stop() {
	if e.pgControl != nil {
		_ = e.controlPostgres(context.Background(), "-m", "immediate", "stop")
	}
	if e.redis != nil {
		_ = e.redis.Process.Kill()
		_ = e.redis.Wait()
	}
	os.RemoveAll(e.dir)
}

func (e *engines) createRedis(ctx context.Context) error {
	if _, err := exec.LookPath("redis-server"); err != nil {
		return errMissing
	}
	host, port, err := freePort(ctx)
	if err != nil {
		return err
	}
	e.redisAddr = net.JoinHostPort(host, port)
	e.redisArgs = []string{"--bind", host, "--port", port, "--dir", e.dir, "--save", "", "--loglevel", "warning",
		// The data must survive a crash: every command is in the log before it is answered,
		// and no key is evicted.
		"--appendonly", "yes", "--appendfsync", "no", "--maxmemory-policy", "noeviction"}
	return e.runRedis(ctx)
}

func (e *engines) checkRedis(ctx context.Context) error {
	client := redis.NewClient(&redis.Options{Addr: e.redisAddr, MaxRetries: -1, DialerRetries: 1})
	defer client.Close()
	if err := client.Ping(ctx).Err(); err != nil {
		return fmt.Errorf("the Redis of HOTELSTAYS_REDIS_ADDR does not answer: %w", err)
	}
	return nil
}

// runRedis starts Redis and waits until it answers.
func (e *engines) runRedis(ctx context.Context) error {
	e.redis = exec.Command("redis-server", e.redisArgs...)
	if err := e.redis.Start(); err != nil {
		return fmt.Errorf("starting redis-server: %w", err)
	}
	client := redis.NewClient(&redis.Options{Addr: e.redisAddr})
	defer client.Close()
	return until(ctx, "Redis answers", 30*time.Second, func(ctx context.Context) bool { return client.Ping(ctx).Err() == nil })
}

// crashRedis kills Redis and starts it again.
func (e *engines) crashRedis(ctx context.Context) error {
	_ = e.redis.Process.Kill()
	_ = e.redis.Wait()
	return e.runRedis(ctx)
}

func (e *engines) createPostgres(ctx context.Context) error {
	control, err := findPostgres()
	if err != nil {
		return err
	}
	host, port, err := freePort(ctx)
	if err != nil {
		return err
	}
	dir := filepath.Join(e.dir, "postgres")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	var as []string
	if os.Getuid() == 0 { // the server refuses to run as root
		if err := giveToPostgres(e.dir, dir); err != nil {
			return err
		}
		as = []string{"runuser", "-u", "postgres", "--"}
	}
	data := filepath.Join(dir, "data")
	e.pgControl = append(as, control, "-D", data, "-w", "-s", "-l", filepath.Join(dir, "log"))
	err = e.controlPostgres(ctx, "-o", "-A trust -U postgres --no-sync -E UTF8 --locale=C", "init")
	if err == nil {
		err = e.controlPostgres(ctx, "-o", "-p "+port+" -k "+dir+" -c listen_addresses="+host+" -c max_connections=400 -c fsync=off", "start")
	}
	e.postgresURL = "postgres://postgres@" + net.JoinHostPort(host, port) + "/postgres?sslmode=disable"
	return err
}

// findPostgres returns the path of pg_ctl, which Debian keeps out of PATH.
func findPostgres() (string, error) {
	if path, err := exec.LookPath("pg_ctl"); err == nil {
		return path, nil
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/pg_ctl")
	if len(found) == 0 {
		return "", errMissing
	}
	return slices.Max(found), nil
}

// giveToPostgres makes the user postgres the owner of dir, and lets it enter around.
func giveToPostgres(around, dir string) error {
	owner, err := user.Lookup("postgres")
	if err != nil {
		return err
	}
	uid, _ := strconv.Atoi(owner.Uid)
	gid, _ := strconv.Atoi(owner.Gid)
	return errors.Join(os.Chmod(around, 0o711), os.Chown(dir, uid, gid))
}

func (e *engines) controlPostgres(ctx context.Context, args ...string) error {
	command := slices.Concat(e.pgControl, args)
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Dir = "/" // which its user can read
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%v: %w: %s", command, err, out)
	}
	return nil
}

// crashPostgres ends PostgreSQL without a shutdown, and starts it again.
func (e *engines) crashPostgres(ctx context.Context) error {
	return e.controlPostgres(ctx, "-m", "immediate", "restart")
}

// freePort returns a free port of loopback.
func freePort(ctx context.Context) (host, port string, err error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", "", err
	}
	defer l.Close()
	return net.SplitHostPort(l.Addr().String())
}

func until(ctx context.Context, what string, patience time.Duration, condition func(context.Context) bool) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for !condition(ctx) {
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("waiting until %s: %w", what, ctx.Err())
		}
	}
	return nil
}
