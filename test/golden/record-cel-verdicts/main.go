// Records whether cel-go, which the gateways run, compiles expressions over `claims: map(string, dyn)`.
// Two versions of it are in the field, so it is run once with each. In test/golden/record-cel-verdicts:
//
//	go run -modfile cel-0.32.mod . < expressions && go run . < expressions
//
// Standard input: one JSON object with `expr` a line. Standard output: one verdict a line.
package main

import (
	"bufio"
	"encoding/json"
	"log"
	"os"
	"time"

	"cel.dev/cel-go/cel"
)

// As in the gateways (toolhive-core, cel/engine.go).
const (
	maxBytes  = 10_000
	costLimit = 1_000_000
)

// A compilation that takes longer counts as a stall; it runs on in the background.
const patience = 10 * time.Second

// verdict is the type of an accepted expression, or the phase that refuses it (length, parse, check, program, stall) and
// the first error. Milliseconds is given from 100 on.
type verdict struct {
	OK           bool   `json:"ok"`
	Type         string `json:"type,omitempty"`
	Phase        string `json:"phase,omitempty"`
	Line         int    `json:"line,omitempty"`
	Col          int    `json:"col"`
	Message      string `json:"message,omitempty"`
	Milliseconds int64  `json:"milliseconds,omitempty"`
}

func main() {
	env, err := cel.NewEnv(cel.Variable("claims", cel.MapType(cel.StringType, cel.DynType)))
	if err != nil {
		log.Fatal(err)
	}
	input := json.NewDecoder(bufio.NewReader(os.Stdin))
	output := bufio.NewWriter(os.Stdout)
	encoder := json.NewEncoder(output)
	encoder.SetEscapeHTML(false)
	for input.More() {
		var row struct {
			Expr string `json:"expr"`
		}
		if err := input.Decode(&row); err != nil {
			log.Fatal(err)
		}
		if err := encoder.Encode(timed(env, row.Expr)); err != nil {
			log.Fatal(err)
		}
	}
	if err := output.Flush(); err != nil {
		log.Fatal(err)
	}
}

func timed(env *cel.Env, source string) verdict {
	start := time.Now()
	done := make(chan verdict, 1)
	go func() { done <- compile(env, source) }()
	select {
	case answer := <-done:
		if taken := time.Since(start).Milliseconds(); taken >= 100 {
			answer.Milliseconds = taken
		}
		return answer
	case <-time.After(patience):
		return verdict{Phase: "stall"}
	}
}

func compile(env *cel.Env, source string) verdict {
	if len(source) > maxBytes {
		return verdict{Phase: "length"}
	}
	ast, issues := env.Parse(source)
	if issues.Err() != nil {
		return refused("parse", issues)
	}
	checked, issues := env.Check(ast)
	if issues.Err() != nil {
		return refused("check", issues)
	}
	if _, err := env.Program(checked, cel.CostLimit(costLimit)); err != nil {
		return verdict{Phase: "program", Message: err.Error()}
	}
	return verdict{OK: true, Type: checked.OutputType().String()}
}

// Columns count from 1 in our answers, from 0 in cel-go's.
func refused(phase string, issues *cel.Issues) verdict {
	first := issues.Errors()[0]
	location := first.Location
	return verdict{Phase: phase, Line: location.Line(), Col: location.Column() + 1, Message: first.Message}
}
