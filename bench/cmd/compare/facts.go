// The machine and the versions.

package main

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"

	"github.com/hotelstays/hotelstays-go/bench/internal/peers"
)

// libraries are the modules of the clients.
var libraries = []string{"github.com/goccy/go-json", "github.com/go-resty/resty/v2", "github.com/ogen-go/ogen", "github.com/go-faster/jx",
	"github.com/oapi-codegen/runtime", "github.com/stripe/stripe-go/v85"}

func printFacts(command string) {
	fmt.Printf("    %s\n\n", command)
	fmt.Println("| machine | |\n|---|---|")
	fmt.Printf("| processor | %s, %d cores |\n", processor(), runtime.NumCPU())
	fmt.Printf("| kernel | %s %s |\n", runtime.GOOS, kernel())
	fmt.Printf("| Go | %s %s, GOMAXPROCS %d |\n", runtime.Version(), runtime.GOARCH, runtime.GOMAXPROCS(0))
	versions, _ := exec.Command("go", append([]string{"list", "-m", "-f", "| {{.Path}} | {{.Version}} |"}, libraries...)...).Output()
	fmt.Printf("%s\n", versions)
	if len(peers.All()) < 6 {
		fmt.Print("The generated clients are missing: run `go generate ./...`, then build with `-tags generated`.\n\n")
	}
}

// processor returns its model, and kernel the release, as Linux names them.
func processor() string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	_, model, _ := strings.Cut(string(text), "model name")
	model, _, _ = strings.Cut(model, "\n")
	return cmp.Or(strings.Trim(model, "\t :"), runtime.GOARCH)
}

func kernel() string {
	text, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	return strings.TrimSpace(string(text))
}
