// Says what the operator's own Validate() makes of resources. A line of standard input is a resource; a line of standard
// output is the error, `valid`, `no Validate` for a kind that has none, or `unread` where the JSON does not fit the types.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"log/slog"
	"os"
	"strings"

	api "github.com/stacklok/toolhive/cmd/thv-operator/api/v1beta1"
)

var kinds = map[string]func() any{
	"MCPExternalAuthConfig": func() any { return &api.MCPExternalAuthConfig{} },
	"MCPGroup":              func() any { return &api.MCPGroup{} },
	"MCPOIDCConfig":         func() any { return &api.MCPOIDCConfig{} },
	"MCPRemoteProxy":        func() any { return &api.MCPRemoteProxy{} },
	"MCPServer":             func() any { return &api.MCPServer{} },
	"MCPServerEntry":        func() any { return &api.MCPServerEntry{} },
	"VirtualMCPServer":      func() any { return &api.VirtualMCPServer{} },
}

func main() {
	slog.SetDefault(slog.New(slog.NewTextHandler(io.Discard, nil)))
	input := json.NewDecoder(bufio.NewReader(os.Stdin))
	output := bufio.NewWriter(os.Stdout)
	defer output.Flush()
	for input.More() {
		var text json.RawMessage
		if err := input.Decode(&text); err != nil {
			log.Fatal(err)
		}
		fmt.Fprintln(output, strings.ReplaceAll(validated(text), "\n", " "))
	}
}

func validated(text []byte) string {
	var of struct {
		Kind string `json:"kind"`
	}
	if err := json.Unmarshal(text, &of); err != nil {
		log.Fatal(err)
	}
	object := kinds[of.Kind]()
	if err := json.Unmarshal(text, object); err != nil {
		return "unread"
	}
	checked, ok := object.(interface{ Validate() error })
	if !ok {
		return "no Validate"
	}
	if err := checked.Validate(); err != nil {
		return err.Error()
	}
	return "valid"
}
