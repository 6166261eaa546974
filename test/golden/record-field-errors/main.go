// Records what Kubernetes' own Go library prints for field errors, and which code points Go prints unescaped.
//
// To record again: cd test/golden/record-field-errors && go run .
//
// It writes ../field-errors.json and ../go-print.json, both ASCII, one row a line.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"unicode"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// row is one recorded error: what the constructor was given, and what it printed.
// Max is the limit of TooLong, TooLongCharacters and TooMany, Min that of TooShort and TooFew;
// of TooMany and TooFew Value is the actual number of items.
type row struct {
	Constructor string          `json:"constructor"`
	Path        []any           `json:"path"`
	Value       json.RawMessage `json:"value,omitempty"`
	Detail      *string         `json:"detail,omitempty"`
	Allowed     *[]string       `json:"allowed,omitempty"`
	Max         *int            `json:"max,omitempty"`
	Min         *int            `json:"min,omitempty"`
	Text        string          `json:"text"`
	PathText    string          `json:"pathText"`
	Body        string          `json:"body"`
}

type index struct {
	Index int `json:"index"`
}

type key struct {
	Key string `json:"key"`
}

// toPath builds the library's path from the steps of a row: a string is a child.
func toPath(steps []any) *field.Path {
	var path *field.Path
	for _, step := range steps {
		switch step := step.(type) {
		case string:
			path = path.Child(step)
		case index:
			path = path.Index(step.Index)
		case key:
			path = path.Key(step.Key)
		}
	}
	return path
}

// build calls the constructor that r names. value is r's value as Go sees it.
func build(r row, value any) *field.Error {
	path := toPath(r.Path)
	switch r.Constructor {
	case "Required":
		return field.Required(path, *r.Detail)
	case "Forbidden":
		return field.Forbidden(path, *r.Detail)
	case "Invalid":
		return field.Invalid(path, value, *r.Detail)
	case "TypeInvalid":
		return field.TypeInvalid(path, value, *r.Detail)
	case "Duplicate":
		return field.Duplicate(path, value)
	case "NotFound":
		return field.NotFound(path, value)
	case "NotSupported":
		return field.NotSupported(path, value, *r.Allowed)
	case "TooLong":
		return field.TooLong(path, value, *r.Max)
	case "TooLongCharacters":
		return field.TooLongCharacters(path, value.(string), *r.Max)
	case "TooMany":
		return field.TooMany(path, int(value.(int64)), *r.Max)
	case "TooShort":
		return field.TooShort(path, value.(string), *r.Min)
	case "TooFew":
		return field.TooFew(path, int(value.(int64)), *r.Min)
	case "InternalError":
		return field.InternalError(path, errors.New(*r.Detail))
	}
	panic("no such constructor: " + r.Constructor)
}

var rows []row

// record completes r with what the library prints and keeps it. given is the value, if there is one.
// The constructor gets it as an API server or a Go webhook reads it from the row's JSON: a number that
// fits is an int64, any other a float64 (Go prints them differently: 1000000 and 1e+06).
func record(r row, given ...any) {
	var value any
	if len(given) > 0 {
		r.Value = must(json.Marshal(given[0]))
		if err := utiljson.Unmarshal(r.Value, &value); err != nil {
			panic(err)
		}
	}
	err := build(r, value)
	r.Text, r.Body, r.PathText = err.Error(), err.ErrorBody(), toPath(r.Path).String()
	rows = append(rows, r)
}

func main() {
	recordPaths()
	recordDetails()
	recordValues()
	recordAllowed()
	recordLimits()
	write("../field-errors.json", fieldErrorsText())
	write("../go-print.json", printableText())
}

func recordPaths() {
	paths := [][]any{
		{},
		{"spec"},
		{""},
		{"spec", ""},
		{"spec", "awsSts", "region"},
		{"spec", "with.dot"},
		{"spec", "roleMappings", index{0}},
		{"spec", "roleMappings", index{12}, "claim"},
		{"spec", "matrix", index{1}, index{2}},
		{"spec", "negative", index{-1}},
		{index{0}},
		{index{3}, "metadata", "name"},
		{key{"root"}},
		{key{"root"}, "child"},
	}
	keys := []string{
		"plain", "", "a/b", "toolhive.stacklok.dev/name", "a.b.c", `quo"te`, "single'quote", `back\slash`, "[0]",
		"a]b", " space ", "0", "-1", "true", "new\nline", "tab\t", "nul\x00", "del\x7f", "grüße", "日本", "😀",
		"e\u0301", "\u2028", "\ufeff", "\ufffd", "<&>",
	}
	for _, k := range keys {
		paths = append(paths, []any{"metadata", "labels", key{k}}, []any{"spec", "backends", key{k}, "type"})
	}
	detail := "say why"
	for _, path := range paths {
		record(row{Constructor: "Required", Path: path, Detail: &detail})
		record(row{Constructor: "Duplicate", Path: path}, "x")
	}
}

// recordDetails records every constructor that takes a detail, with details of every sort: they are never quoted.
func recordDetails() {
	details := []string{
		"", "must be set", "one: two: three", `write "this"`, `back\slash`, "two\nlines", "tab\tand nul\x00", "ü 😀 \u2028",
		"%q %v %", " ", "<&>",
	}
	path := []any{"spec", "type"}
	for _, detail := range details {
		record(row{Constructor: "Required", Path: path, Detail: &detail})
		record(row{Constructor: "Forbidden", Path: path, Detail: &detail})
		record(row{Constructor: "InternalError", Path: path, Detail: &detail})
		for _, value := range []any{"x", "", int64(7), nil, map[string]any{"a": int64(1)}} {
			record(row{Constructor: "Invalid", Path: path, Detail: &detail}, value)
			record(row{Constructor: "TypeInvalid", Path: path, Detail: &detail}, value)
		}
	}
}

// recordValues records every value with Invalid, and one in six with the other constructors that print one.
func recordValues() {
	path, detail, allowed := []any{"spec", "value"}, "must be good", []string{"a", "b"}
	for i, value := range append(values(), texts()...) {
		record(row{Constructor: "Invalid", Path: path, Detail: &detail}, value)
		if i%6 == 0 {
			record(row{Constructor: "TypeInvalid", Path: path, Detail: &detail}, value)
			record(row{Constructor: "NotSupported", Path: path, Allowed: &allowed}, value)
			record(row{Constructor: "Duplicate", Path: path}, value)
			record(row{Constructor: "NotFound", Path: path}, value)
		}
	}
}

// recordAllowed records lists of supported values, each of which is quoted.
func recordAllowed() {
	path := []any{"spec", "type"}
	lists := [][]string{
		{}, {"one"}, {"b", "a", "c"}, {""}, {"a", "a"}, {"with, comma", `quo"te`, `back\slash`},
		{"new\nline", "nul\x00", "del\x7f"}, {"ü", "😀", "e\u0301", "\u00a0", "\u200b", "\u2028", "\ufeff", "\ufffd"},
		{"%q", "<&>"},
	}
	for _, allowed := range lists {
		for _, value := range []any{"x", "", int64(3), nil} {
			record(row{Constructor: "NotSupported", Path: path, Allowed: &allowed}, value)
		}
	}
}

func recordLimits() {
	path := []any{"spec", "list"}
	for _, limit := range []int{-1, 0, 1, 2, 63, 253, 10000, 1 << 20} {
		for _, value := range []string{"", "x", "ü😀", `quo"te`} {
			record(row{Constructor: "TooLong", Path: path, Max: &limit}, value)
			record(row{Constructor: "TooLongCharacters", Path: path, Max: &limit}, value)
			record(row{Constructor: "TooShort", Path: path, Min: &limit}, value)
		}
		for _, actual := range []int{-1, 0, 1, 2, 1000} {
			record(row{Constructor: "TooMany", Path: path, Max: &limit}, actual)
			record(row{Constructor: "TooFew", Path: path, Min: &limit}, actual)
		}
	}
	record(row{Constructor: "TooLong", Path: path, Max: pointer(3)}, []any{"a", int64(1)})
}

// values lists what is not a string: numbers, booleans, null, lists and maps.
func values() []any {
	list := []any{
		true, false, nil,
		int64(0), int64(1), int64(-1), int64(42), int64(1000000), int64(-2147483648), int64(4294967296),
		int64(9007199254740991), int64(-9007199254740991),
	}
	floats := []float64{
		0.5, -0.5, 1.5, 0.1, 1.0 / 3, 3.14159, 100.25, 123456789.125, 1234567.0000001, 0.001, 0.0001, 0.00012,
		0.00001, 0.000012345, 0.000001, 0.0000015, 0.0000001, 1.5e-7, 1e-10, -1e-9, 1e-100, 5e-324, 2.2250738585072014e-308,
		1e15, 1e16, 1e20, 1.5e20, 123456789012345680000, 1e21, -1e21, 1.5e21, 1.2345e22, 1e23, 1e100, 1.7976931348623157e308,
	}
	for _, number := range floats {
		list = append(list, number, []any{number}, map[string]any{"number": number})
	}
	lists := []any{
		[]any{}, []any{nil}, []any{""}, []any{int64(1), "two", true, nil, 0.5}, []any{[]any{[]any{}}},
		[]any{map[string]any{}}, []any{"<a href=\"x\">&amp;</a>"},
	}
	maps := []any{
		map[string]any{}, map[string]any{"a": nil}, map[string]any{"b": int64(1), "a": int64(2), "C": int64(3), "_": true},
		map[string]any{"10": "ten", "9": "nine", "1": "one", "": "empty", "-1": "minus"},
		map[string]any{"nested": map[string]any{"z": []any{int64(1), map[string]any{"y": "x"}}, "a": false}},
		map[string]any{"quo\"te": "v", "back\\slash": "v", "new\nline": "v", "<&>": "v", "nul\x00": "v", "a/b": "v", "~": "v"},
		map[string]any{"\uff5e": "by bytes first", "😀": "by UTF-16 first", "é": int64(1), "e\u0301": int64(2), "z": int64(3)},
		map[string]any{"name": "x", "key": "y", "__proto__": "z", "constructor": "c", "toString": "t"},
	}
	list = append(append(list, lists...), maps...)
	for _, text := range texts() {
		list = append(list, []any{text})
	}
	return list
}

// texts lists strings that Go quotes in its own way.
func texts() []any {
	list := []any{
		"", "plain", "two words", " leading and trailing ", "it's", `say "hi"`, `C:\path\n`, "`backtick`", "${NAME}", "%q %d %%",
		"a/b.c:d", "<a href=\"x\">&amp;</a>", "line\nline", "\r\n", "\t", "\a\b\f\v", "\x00", "\x01\x1b[31mred\x1b[0m", "\x1f \x7f",
		"\u0080\u0085\u009f", "grüße", "Ünïcödé", "日本語", "Ωμέγα", "مرحبا", "שלום", "हिन्दी", "😀", "👩‍👩‍👧", "🇩🇪", "👍🏽", "☃\ufe0f",
		"e\u0301", "a\u0300\u0316", "\u0301", "\u0e33", "\u00a0", "a\u00a0b", "\u00ad", "\u034f", "\u061c", "\u115f", "\u1680",
		"\u180e", "\u2000\u2003\u2009\u200a", "\u200b", "\u200c\u200d", "\u200e\u200f", "\u2028", "\u2029", "\u202a\u202e",
		"\u202f", "\u205f", "\u2060", "\u2066\u2069", "\u3000", "\u3164", "\ufeff", "\ufffd", "\ufffc", "\ufff9", "\uffa0",
		"\ue000", "\uf8ff", "\U000f0000", "\U0010fffd", "\U0010ffff", "\ufffe", "\uffff", "\ufdd0", "\U0001fffe", "\u0378", "\u0530",
		"\u1c8a", "\u2fe0", "\u31e4", "\U0001f6dc", "\U0001fae9", "\U0001c000", "\U00020000", "\U0002a6dd", "\U0002a6e0", "\U0002ebf0",
		"\U00030000", "\U00031350", "\U000323b0", "\U00040000", "\U000e0001", "\U000e0020", "\U000e0100", "\U00010000", "\U0001d173",
		"\U0001d49c", "\U0001d49d", "\U00013430", "\U00012399", strings.Repeat("long ", 60), "mixed \"ü\"\n\x00\u2028😀\\",
	}
	// One code point in every 2,749 (a prime) over all planes, 16 in a string.
	var sample strings.Builder
	for r := rune(1); r <= unicode.MaxRune; r += 2749 {
		if r < 0xd800 || r > 0xdfff {
			sample.WriteRune(r)
		}
		if r/2749%16 == 15 {
			list = append(list, sample.String())
			sample.Reset()
		}
	}
	return append(list, sample.String())
}

// fieldErrorsText is the text of field-errors.json.
func fieldErrorsText() string {
	lines := make([]string, len(rows))
	for i, r := range rows {
		lines[i] = marshal(r)
	}
	return "[\n" + strings.Join(lines, ",\n") + "\n]\n"
}

// printableText is the text of go-print.json: the ranges, ends included, of the code points for which
// strconv.IsPrint holds.
func printableText() string {
	var ranges []string
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if !strconv.IsPrint(r) {
			continue
		}
		first := r
		for r < unicode.MaxRune && strconv.IsPrint(r+1) {
			r++
		}
		ranges = append(ranges, fmt.Sprintf("[%d, %d]", first, r))
	}
	var lines []string
	for len(ranges) > 0 {
		n := min(len(ranges), 8)
		lines = append(lines, strings.Join(ranges[:n], ", "))
		ranges = ranges[n:]
	}
	return fmt.Sprintf("{\n\"unicode\": %q,\n\"printable\": [\n%s\n]\n}\n", unicode.Version, strings.Join(lines, ",\n"))
}

// marshal is value's JSON in ASCII, so that invisible characters can be seen in the file.
func marshal(value any) string {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		panic(err)
	}
	var out strings.Builder
	for _, r := range strings.TrimSuffix(buffer.String(), "\n") {
		switch {
		case r < 0x7f:
			out.WriteRune(r)
		case r > 0xffff:
			fmt.Fprintf(&out, `\u%04x\u%04x`, 0xd800+(r-0x10000)>>10, 0xdc00+(r-0x10000)&0x3ff)
		default:
			fmt.Fprintf(&out, `\u%04x`, r)
		}
	}
	return out.String()
}

func write(file, text string) {
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		panic(err)
	}
}

func must(text []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return text
}

func pointer[T any](value T) *T { return &value }
