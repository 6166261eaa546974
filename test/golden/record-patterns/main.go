// Records which strings Go's regexp package, which the API server uses, takes for the patterns of section 2.5 of
// the specification. The patterns are typed from the specification and not from our source.
//
// To record again: cd test/golden/record-patterns && go run .
//
// It writes ../patterns.json in ASCII, one row a line. Strings go through JSON first, as on the way to the API
// server: what is half a surrogate pair there is U+FFFD for Go.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"strings"
	"unicode/utf16"
)

// pattern is one pattern of the specification, with strings near its edges.
type pattern struct {
	name, text string
	// valid are taken; near look as if they might be. Both are recorded, and the first few of valid are mutated.
	valid, near []string
}

var patterns = []pattern{
	{
		name: "P-arn",
		text: `^arn:(aws|aws-cn|aws-us-gov):iam::\d{12}:role/[\w+=,.@\-_/]+$`,
		valid: []string{
			"arn:aws:iam::123456789012:role/a", "arn:aws-cn:iam::000000000000:role/x/y", "arn:aws-us-gov:iam::999999999999:role/A_z-0",
			"arn:aws:iam::123456789012:role/+=,.@-_/", "arn:aws:iam::123456789012:role//",
			"arn:aws:iam::123456789012:role/aws-service-role/x.amazonaws.com/AWSServiceRoleForX",
		},
		near: []string{
			"arn:aws:iam::123456789012:role/", "arn:aws:iam::12345678901:role/a", "arn:aws:iam::1234567890123:role/a",
			"arn:aws-iso:iam::123456789012:role/a", "arn:aws:sts::123456789012:role/a", "arn:aws:iam:eu:123456789012:role/a",
			"arn:aws:iam::123456789012:user/a", "arn:aws:iam::123456789012:role:a", "arn:aws:iam::123456789012:role/a b",
			"arn:aws:iam::123456789012:role/a*", "arn:aws:iam::123456789012:role/a\\", "arn:aws:iam::\u0661\u0662\u0663456789012:role/a",
			"arn:aws:iam::123456789012:role/\u00fc", "arn:aws:iam::123456789012:role/\u212a", "arn:aws:iam::123456789012:role/\u017f",
			"ARN:aws:iam::123456789012:role/a", "arn:AWS:iam::123456789012:role/a", "arn:aws:iam::123456789012:role/a:b",
		},
	},
	{
		name:  "P-region",
		text:  `^[a-z]{2}(-[a-z]+)+-\d+$`,
		valid: []string{"eu-central-1", "us-gov-west-1", "aa-b-0", "ap-southeast-12345", "us-iso-b-c-d-e-1", "zz-z-00"},
		near: []string{
			"eu-central", "eu-1", "eu--1", "eu-central-", "eu-central-1a", "eu-central1", "e-central-1", "eur-central-1", "eu-central--1",
			"eu-central-1-", "eu-central-1-1", "-central-1", "eu_central_1", "eu-c3ntral-1", "EU-central-1", "eu-Central-1",
			"eu-central-\u0661", "eu-\u00e9tat-1", "e\u212a-central-1", "eu-central-1 eu-central-1", "eu-a-1-b-2", "eu-central-+1",
		},
	},
	{
		name: "P-issuer",
		text: `^https?://[^\s?#]+[^/\s?#]$`,
		valid: []string{
			"https://auth.example.com", "http://ab", "https://a/b", "https://user:pw@a:8443/x/y", "http:////a", "https://[::1]:8443",
			"https://\u00e9\u00e9", "https://a//b",
		},
		near: []string{
			"https://", "https://a", "https://a/", "https://a?", "https://ab?c", "https://ab#c", "https://ab/", "https:///", "https:////",
			"http:/ab", "https//ab", "httpss://ab", "HTTPS://ab", "Https://ab", "ftp://ab", "https://a b", "https://ab ", " https://ab",
			"https://?ab", "https://#ab", "https://ab/?", "https://ab\\", "https://a%20b", "https://a\"<>b", "https://a'b",
		},
	},
	{
		name: "P-duration",
		text: `^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$`,
		valid: []string{
			"1h", "1h30m", "1.5h", "00000s", "1ns2us3µs4ms5s6m7h", "1ms1m1s", "720h", "0.0000001ns", "9999999999999999999999h", "1m1m1m",
		},
		near: []string{
			"1", "h", ".5h", "1.h", "1..5h", "1.5.5h", "-1h", "+1h", "1 h", "1h 30m", "1d", "7d", "1w", "1y", "1H", "1M", "1hs", "1nss", "1sm",
			"1h30", "1,5h", "1e3s", "1_000s", "1\u03bcs", "1us1\u03bcs", "1u", "1\u00b5", "1n", "1µ", "\u0661h", "\uff11h", "1\uff48",
			"1\u017f", "1m\u017f", "infinity", "0",
		},
	},
	{
		name: "P-dnslabel",
		text: `^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`,
		valid: []string{
			"okta", "a", "0", "a-b", "a--b", "0-0", "abc-123-xyz", strings.Repeat("a", 63), strings.Repeat("a", 64), "xn--bcher-kva",
		},
		near: []string{
			"-", "a-", "-a", "--", "-a-", "a_b", "a.b", "A", "okTa", "OKTA", "a b", "a+b", "a/b", "b\u00fccher", "\u212a", "a\u017fb", "\u0131",
			"a\u2010b", "a\u00adb", "\u0660", "a,b", "a:b",
		},
	},
	{
		name: "P-url",
		text: `^https?://.*$`,
		valid: []string{
			"https://a.example.com/x", "http://a", "https://", "http://", "https:// ", "https://?#", "http://\\", "https://a b", "https://\t",
			"https://http://",
		},
		near: []string{
			"https:/", "https:", "http:/ /", "httpss://a", "htt://a", "HTTPS://a", "Http://a", "ftp://a", "//a", "a", " https://a", "xhttps://a",
			"https//a", "https:\\\\a", "\uff48ttps://a", "http\u017f://a", "https://a\nhttps://b", "x\nhttps://a", "https\u200b://a", "https;//a",
		},
	},
	{
		name: "P-https",
		text: `^https://.*$`,
		valid: []string{
			"https://a.example.com/x", "https://a", "https://", "https:// ", "https://?#", "https://\\", "https://a b", "https://\t",
			"https://http://",
		},
		near: []string{
			"http://a", "http://", "https:/", "https:", "httpss://a", "htt://a", "HTTPS://a", "Https://a", "ftp://a", "//a", "a", " https://a",
			"xhttps://a", "https//a", "https:\\\\a", "\uff48ttps://a", "http\u017f://a", "https://a\nhttps://b", "x\nhttps://a", "https;//a",
		},
	},
	{
		name: "P-subjecttype",
		text: `^(access_token|id_token|jwt|urn:ietf:params:oauth:token-type:(access_token|id_token|jwt))?$`,
		valid: []string{
			"access_token", "id_token", "jwt", "urn:ietf:params:oauth:token-type:access_token", "urn:ietf:params:oauth:token-type:id_token",
			"urn:ietf:params:oauth:token-type:jwt", "",
		},
		near: []string{
			"refresh_token", "access-token", "accessToken", "JWT", "Jwt", "jwtjwt", "jwt jwt", "jw", "jwts", "id_token_", "_token", "token",
			"urn:ietf:params:oauth:token-type:", "urn:ietf:params:oauth:token-type:saml2", "urn:ietf:params:oauth:token-type:jwt:",
			"urn:ietf:params:oauth:token-type:urn:ietf:params:oauth:token-type:jwt", "URN:ietf:params:oauth:token-type:jwt",
			"urn:ietf:params:oauth:token_type:jwt", "urn:ietf:params:oauth:jwt", "access_to\u212aen", "access_token|jwt", "null", "none",
		},
	},
	{
		name: "P-reason",
		text: `^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$`,
		valid: []string{
			"Valid", "a", "Z", "A1", "a_", "A,b", "A:b", "A,,::b", "ValidationSucceeded", "A_,:_", strings.Repeat("A", 1024),
			strings.Repeat("A", 1025),
		},
		near: []string{
			"1", "_", "_a", "1a", "A,", "A:", ",A", ":A", "A b", "A-b", "A.b", "A/b", "A;b", "\u00c4", "A\u00e4", "A\u00e4b", "\u212a", "A\u017fb",
			"A\u0661", "A\u2019b", "A'", "A+b",
		},
	},
	{
		name: "P-condtype",
		text: `^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$`,
		valid: []string{
			"Valid", "a", "1", "a/b", "a.b/Ready", "toolhive.stacklok.dev/Synced", "a-b.c-d/E_f.g-h", "A-_.z", "0.0/0", "a--b/c", "A..B",
			strings.Repeat("A", 316), strings.Repeat("A", 317),
		},
		near: []string{
			"/", "/a", "a/", "a//b", "a/b/c", "A/b", "a.B/c", "a./b", ".a/b", "a..b/c", "-a/b", "a-/b", "a.-b/c", "a-.b/c", "a_b/c", "a/-b",
			"a/b-", "a/_b", "a/.b", "a/b.", "-", "_", ".", "-a", "a-", "_a", "a_", ".a", "a.", "a b", "a+b", "a:b", "\u00e9", "a\u00e9b",
			"\u212a", "a/\u212a", "a\uff0fb", "a\\b",
		},
	},
}

// strange are characters that regexp engines see differently, as UTF-16: the last four are halves of surrogate pairs.
var strange = [][]uint16{
	{'\n'}, {'\r'}, {'\r', '\n'}, {'\t'}, {'\v'}, {'\f'}, {' '}, {0}, {0x1c}, {0x7f}, {0x85}, {0xa0}, {0x1680}, {0x180e}, {0x2003},
	{0x200b}, {0x2028}, {0x2029}, {0x202f}, {0x205f}, {0x3000}, {0xfeff}, {0xfffd}, {0xffff}, {0x301}, {0xd83d, 0xde00},
	{0xdbff, 0xdfff}, {0xd800}, {0xdbff}, {0xdc00}, {0xdfff},
}

// mutated is how many of the valid strings are mutated.
const mutated = 3

// texts lists the strings of one pattern, each once.
func (p pattern) texts() []string {
	var list []string
	seen := map[string]bool{}
	add := func(units ...[]uint16) {
		text := quote(units...)
		if !seen[text] {
			seen[text] = true
			list = append(list, text)
		}
	}
	add()
	for _, text := range append(append([]string{}, p.valid...), p.near...) {
		add(units(text))
	}
	for i, text := range p.valid[:mutated] {
		whole := units(text)
		add(units(strings.ToUpper(text)))
		add(whole[1:])
		add(whole[:len(whole)-1])
		add(whole, whole)
		add(whole, []uint16{'\n'}, whole)
		for j, odd := range strange {
			add(whole, odd)
			// The first of them at every sort of place, the others at one of three.
			if i == 0 || j%3 == 0 {
				add(odd, whole)
			}
			if i == 0 || j%3 == 1 {
				add(whole[:len(whole)-1], odd, whole[len(whole)-1:])
			}
			if i == 0 || j%3 == 2 {
				add(whole[:len(whole)-1], odd)
			}
		}
	}
	return list
}

func units(text string) []uint16 { return utf16.Encode([]rune(text)) }

// quote writes UTF-16 as a JSON string in ASCII, halves of surrogate pairs included.
func quote(parts ...[]uint16) string {
	var out strings.Builder
	out.WriteByte('"')
	for _, part := range parts {
		for _, unit := range part {
			switch {
			case unit == '"' || unit == '\\':
				out.WriteByte('\\')
				out.WriteByte(byte(unit))
			case unit >= ' ' && unit < 0x7f:
				out.WriteByte(byte(unit))
			default:
				fmt.Fprintf(&out, `\u%04x`, unit)
			}
		}
	}
	out.WriteByte('"')
	return out.String()
}

func (p pattern) golden() string {
	compiled := regexp.MustCompile(p.text)
	var rows []string
	for _, text := range p.texts() {
		var decoded string
		if err := json.Unmarshal([]byte(text), &decoded); err != nil {
			panic(err)
		}
		rows = append(rows, fmt.Sprintf("[%s, %t]", text, compiled.MatchString(decoded)))
	}
	for _, text := range p.valid {
		if !compiled.MatchString(text) {
			panic(p.name + " does not take " + text)
		}
	}
	return fmt.Sprintf("%s: {\n\"text\": %s,\n\"rows\": [\n%s\n]\n}",
		quote(units(p.name)), quote(units(p.text)), strings.Join(rows, ",\n"))
}

func main() {
	var list []string
	for _, p := range patterns {
		list = append(list, p.golden())
	}
	text := fmt.Sprintf("{\n\"go\": %q,\n\"patterns\": {\n%s\n}\n}\n", runtime.Version(), strings.Join(list, ",\n"))
	if err := os.WriteFile("../patterns.json", []byte(text), 0o644); err != nil {
		panic(err)
	}
}
