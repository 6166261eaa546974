// Reads strings as Go reads them. A line of standard input is a question, {"of", "text"} and for patterns {"pattern"};
// a line of standard output is the answer, or `refused`.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"log"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"
)

type question struct {
	Of      string `json:"of"`
	Text    string `json:"text"`
	Pattern string `json:"pattern"`
}

const refused = "refused"

// compiled holds the patterns that were met; nil for one that is refused.
var compiled = map[string]*regexp.Regexp{}

func main() {
	input := json.NewDecoder(bufio.NewReader(os.Stdin))
	output := bufio.NewWriter(os.Stdout)
	defer output.Flush()
	for input.More() {
		var asked question
		if err := input.Decode(&asked); err != nil {
			log.Fatal(err)
		}
		fmt.Fprintln(output, answers[asked.Of](asked))
	}
}

var answers = map[string]func(question) string{
	"pattern":  match,
	"duration": duration,
	"url":      parts,
	"number":   number,
	"printed":  printed,
	"quoted":   func(asked question) string { return strconv.Quote(asked.Text) },
	"time":     moment,
}

func match(asked question) string {
	pattern, known := compiled[asked.Pattern]
	if !known {
		pattern, _ = regexp.Compile(asked.Pattern)
		compiled[asked.Pattern] = pattern
	}
	if pattern == nil {
		return refused
	}
	return strconv.FormatBool(pattern.MatchString(asked.Text))
}

func duration(asked question) string {
	read, err := time.ParseDuration(asked.Text)
	if err != nil {
		return refused
	}
	return strconv.FormatInt(read.Nanoseconds(), 10)
}

// parts are the scheme, whether there is user information, the bytes of the host and the port.
func parts(asked question) string {
	read, err := url.Parse(asked.Text)
	if err != nil {
		return refused
	}
	return fmt.Sprintf("%s %t %x %s", read.Scheme, read.User != nil, read.Hostname(), read.Port())
}

func number(asked question) string {
	read, err := strconv.ParseFloat(asked.Text, 64)
	if err != nil {
		return refused
	}
	return strconv.FormatFloat(read, 'g', -1, 64)
}

// printed is a JSON number as field.Error prints it: an integer as int64, another number as float64.
func printed(asked question) string {
	if !strings.ContainsAny(asked.Text, ".eE") {
		if read, err := strconv.ParseInt(asked.Text, 10, 64); err == nil {
			return fmt.Sprintf("%v", read)
		}
	}
	read, err := strconv.ParseFloat(asked.Text, 64)
	if err != nil {
		return refused
	}
	return fmt.Sprintf("%v", read)
}

func moment(asked question) string {
	if _, err := time.Parse(time.RFC3339, asked.Text); err != nil {
		return refused
	}
	return "taken"
}
