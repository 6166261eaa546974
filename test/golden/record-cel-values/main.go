// Records what cel-go, which the gateways run, makes of expressions over claims: the value, or that it fails.
// Two versions of it are in the field, so the file holds an answer of each, under the version's number.
//
// To record again, in test/golden/record-cel-values:
//
//	go run -modfile cel-0.32.mod . ../cel-values.json && go run . ../cel-values.json
//
// To add rows, write them without answers and record. The program reads and writes the file: an object of `callers`
// (claims by name) and `rows`. With - in place of a file it answers pairs {"expr", "claims"}, one a line, on standard
// input with one answer a line, as `npm run parity -- cel` asks it.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"log"
	"math"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
)

// As in the gateways (toolhive-core, cel/engine.go).
const (
	maxBytes  = 10_000
	costLimit = 1_000_000
)

type pair struct {
	Expr   string         `json:"expr"`
	Claims map[string]any `json:"claims"`
}

// row is an expression, whose claims it meets, and the answers by version of cel-go.
type row = map[string]string

type golden struct {
	Callers map[string]json.RawMessage `json:"callers"`
	Rows    []row                      `json:"rows"`
}

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 {
		log.Fatal("usage: go run [-modfile cel-0.32.mod] . FILE|-")
	}
	env, err := cel.NewEnv(cel.Variable("claims", cel.MapType(cel.StringType, cel.DynType)))
	if err != nil {
		log.Fatal(err)
	}
	if os.Args[1] == "-" {
		answer(env)
	} else {
		record(env, os.Args[1])
	}
}

func answer(env *cel.Env) {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<24)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for in.Scan() {
		var p pair
		if err := json.Unmarshal(in.Bytes(), &p); err != nil {
			log.Fatal(err)
		}
		fmt.Fprintln(out, evaluate(env, p.Expr, p.Claims))
	}
	if err := in.Err(); err != nil {
		log.Fatal(err)
	}
}

func record(env *cel.Env, file string) {
	text, err := os.ReadFile(file)
	if err != nil {
		log.Fatal(err)
	}
	var g golden
	if err := json.Unmarshal(text, &g); err != nil {
		log.Fatal(err)
	}
	version := version()
	for _, row := range g.Rows {
		var claims map[string]any
		if err := json.Unmarshal(g.Callers[row["caller"]], &claims); err != nil {
			log.Fatalf("%s: %v", row["caller"], err)
		}
		row[version] = evaluate(env, row["expr"], claims)
	}
	if err := os.WriteFile(file, print(g), 0o644); err != nil {
		log.Fatal(err)
	}
}

// version is the minor version of cel-go that this program is built with, such as 0.33.
func version() string {
	info, _ := debug.ReadBuildInfo()
	for _, module := range info.Deps {
		if module.Path == "cel.dev/cel-go" {
			parts := strings.Split(strings.TrimPrefix(module.Version, "v"), ".")
			return parts[0] + "." + parts[1]
		}
	}
	panic("this program is built without cel-go")
}

// print writes a row a line, so that a change can be read.
func print(g golden) []byte {
	var out bytes.Buffer
	out.WriteString("{\n\"callers\": ")
	callers := line(g.Callers)
	if err := json.Indent(&out, []byte(callers), "", "  "); err != nil {
		log.Fatal(err)
	}
	out.WriteString(",\n\"rows\": [\n")
	for i, row := range g.Rows {
		comma := ","
		if i == len(g.Rows)-1 {
			comma = ""
		}
		out.WriteString(line(row) + comma + "\n")
	}
	out.WriteString("]\n}\n")
	return out.Bytes()
}

func line(value any) string {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		log.Fatal(err)
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// evaluate answers with the printed value, or with `refused` (it does not compile), `cost` (the limit of the gateways)
// or `error`.
func evaluate(env *cel.Env, expr string, claims map[string]any) string {
	if len(expr) > maxBytes {
		return "refused"
	}
	ast, issues := env.Compile(expr)
	if issues.Err() != nil {
		return "refused"
	}
	program, err := env.Program(ast, cel.CostLimit(costLimit))
	if err != nil {
		return "refused"
	}
	value, _, err := program.Eval(map[string]any{"claims": claims})
	if err != nil {
		if strings.Contains(err.Error(), "cost limit exceeded") {
			return "cost"
		}
		return "error"
	}
	return printed(value)
}

// printed tells values of different types apart, and times by their nanoseconds.
func printed(value ref.Val) string {
	switch v := value.(type) {
	case types.Null:
		return "null"
	case types.Bool:
		return strconv.FormatBool(bool(v))
	case types.Int:
		return strconv.FormatInt(int64(v), 10)
	case types.Uint:
		return strconv.FormatUint(uint64(v), 10) + "u"
	case types.Double:
		return double(float64(v))
	case types.String:
		return line(string(v))
	case types.Bytes:
		return fmt.Sprintf("bytes(%x)", []byte(v))
	case types.Timestamp:
		return "timestamp(" + timestamp(v.Time) + ")"
	case types.Duration:
		return fmt.Sprintf("duration(%d)", v.Nanoseconds())
	case *types.Type:
		return "type(" + v.TypeName() + ")"
	case traits.Mapper:
		var entries []string
		for it := v.Iterator(); it.HasNext() == types.True; {
			key := it.Next()
			entries = append(entries, printed(key)+": "+member(v, key))
		}
		slices.Sort(entries)
		return "{" + strings.Join(entries, ", ") + "}"
	case traits.Lister:
		var items []string
		for it := v.Iterator(); it.HasNext() == types.True; {
			items = append(items, printed(it.Next()))
		}
		return "[" + strings.Join(items, ", ") + "]"
	}
	return "other(" + value.Type().TypeName() + ")"
}

// member is the value of a key; that of NaN, which equals no key, cannot be asked for.
func member(m traits.Mapper, key ref.Val) string {
	if d, ok := key.(types.Double); ok && math.IsNaN(float64(d)) {
		return "?"
	}
	return printed(m.Get(key))
}

func double(v float64) string {
	switch {
	case math.IsNaN(v):
		return "NaN"
	case math.IsInf(v, 0):
		return fmt.Sprintf("%+f", v)
	}
	return strconv.FormatFloat(v, 'e', -1, 64)
}

func timestamp(t time.Time) string {
	return fmt.Sprintf("%d.%09d", t.Unix(), t.Nanosecond())
}
