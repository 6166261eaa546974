// Reads YAML documents as kubectl does: with sigs.k8s.io/yaml, in the version of the kubectl that is recorded in
// test/golden/yaml-scalars.json. A line of standard input is a document as a JSON string; a line of standard output is what the
// library makes of it: {"json": value} or {"error": message}.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"

	"sigs.k8s.io/yaml"
)

func main() {
	in := bufio.NewReader(os.Stdin)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var text string
		if err := json.Unmarshal(line, &text); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Fprintln(out, answer(text))
	}
}

// answer is the outcome as JSON. The library panics on some documents; kubectl dies of it.
func answer(text string) (outcome string) {
	defer func() {
		if problem := recover(); problem != nil {
			outcome = failure(fmt.Sprint(problem))
		}
	}()
	value, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		return failure(err.Error())
	}
	return `{"json":` + string(value) + `}`
}

func failure(message string) string {
	text, err := json.Marshal(map[string]string{"error": message})
	if err != nil {
		panic(err)
	}
	return string(text)
}
