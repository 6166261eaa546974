// Says what cedar-go, which releases of the operator run, makes of policies, entities and requests.
// In test/golden/record-cedar-verdicts: go run . < questions
//
// Standard input: a JSON object a line, with `policy` or `entities` (is it accepted?), or with `policies` and a `request`
// (what is decided?). Standard output: one answer a line.
package main

import (
	"bufio"
	"encoding/json"
	"log"
	"os"

	"github.com/cedar-policy/cedar-go"
)

type question struct {
	Policy   *string  `json:"policy"`
	Entities *string  `json:"entities"`
	Policies []string `json:"policies"`
	Request  *request `json:"request"`
}

// request is a request as ToolHive makes it of a token and a call: see pkg/authz/authorizers/cedar there.
type request struct {
	Action string         `json:"action"`
	Type   string         `json:"type"`
	Name   string         `json:"name"`
	Server string         `json:"server"`
	Claims map[string]any `json:"claims"`
	Args   map[string]any `json:"args"`
	Hints  map[string]any `json:"hints"`
	Groups []string       `json:"groups"`
	// Group is the type of the entities of groups.
	Group string `json:"group"`
}

// answer is whether a text is accepted, or what is decided: each list has the indexes of policies.
type answer struct {
	OK      bool     `json:"ok"`
	Message string   `json:"message,omitempty"`
	Reasons []string `json:"reasons,omitempty"`
	Errors  []string `json:"errors,omitempty"`
}

func main() {
	input := json.NewDecoder(bufio.NewReader(os.Stdin))
	output := bufio.NewWriter(os.Stdout)
	encoder := json.NewEncoder(output)
	encoder.SetEscapeHTML(false)
	for input.More() {
		var asked question
		if err := input.Decode(&asked); err != nil {
			log.Fatal(err)
		}
		if err := encoder.Encode(answered(asked)); err != nil {
			log.Fatal(err)
		}
	}
	if err := output.Flush(); err != nil {
		log.Fatal(err)
	}
}

func answered(asked question) answer {
	entities := cedar.EntityMap{}
	if asked.Entities != nil {
		if err := json.Unmarshal([]byte(*asked.Entities), &entities); err != nil {
			return answer{Message: err.Error()}
		}
	}
	if asked.Policy != nil {
		var policy cedar.Policy
		if err := policy.UnmarshalCedar([]byte(*asked.Policy)); err != nil {
			return answer{Message: err.Error()}
		}
	}
	if asked.Request == nil {
		return answer{OK: true}
	}
	policies := cedar.NewPolicySet()
	for i, text := range asked.Policies {
		var policy cedar.Policy
		if err := policy.UnmarshalCedar([]byte(text)); err != nil {
			return answer{Message: err.Error()}
		}
		policies.Add(cedar.PolicyID(string(rune('0'+i))), &policy)
	}
	return decided(policies, entities, *asked.Request)
}

func decided(policies *cedar.PolicySet, entities cedar.EntityMap, of request) answer {
	subject, _ := of.Claims["sub"].(string)
	principal := cedar.NewEntityUID("Client", cedar.String(subject))
	action := cedar.NewEntityUID("Action", cedar.String(of.Action))
	resource := cedar.NewEntityUID(cedar.EntityType(of.Type), cedar.String(of.Name))

	claims := cedar.RecordMap{}
	for name, value := range of.Claims {
		put(claims, "claim_"+name, value)
	}
	args := cedar.RecordMap{}
	for name, value := range of.Args {
		switch value.(type) {
		case string, bool, float64:
			put(args, "arg_"+name, value)
		default:
			put(args, "arg_"+name+"_present", true)
		}
	}
	attributes := cedar.RecordMap{}
	for name, value := range of.Hints {
		put(attributes, name, value)
	}
	for name, value := range args {
		attributes[name] = value
	}
	feature := map[string]string{"Tool": "tool", "Prompt": "prompt", "Resource": "resource"}[of.Type]
	operation := map[string]string{"Tool": "call", "Prompt": "get", "Resource": "read"}[of.Type]
	attributes["name"] = cedar.String(of.Name)
	attributes["operation"] = cedar.String(operation)
	attributes["feature"] = cedar.String(feature)
	if of.Type == "Resource" {
		attributes["uri"] = cedar.String(of.Name)
	}
	context := cedar.RecordMap{}
	for _, each := range []cedar.RecordMap{claims, args} {
		for name, value := range each {
			context[name] = value
		}
	}
	var groups []cedar.EntityUID
	for _, name := range of.Groups {
		groups = append(groups, cedar.NewEntityUID(cedar.EntityType(of.Group), cedar.String(name)))
	}
	for _, entity := range []cedar.Entity{
		{UID: principal, Parents: cedar.NewEntityUIDSet(groups...), Attributes: cedar.NewRecord(claims)},
		{UID: action, Attributes: cedar.NewRecord(cedar.RecordMap{"operation": cedar.String(of.Action)})},
		{
			UID:        resource,
			Parents:    cedar.NewEntityUIDSet(cedar.NewEntityUID("MCP", cedar.String(of.Server))),
			Attributes: cedar.NewRecord(attributes),
		},
	} {
		entities[entity.UID] = entity
	}
	decision, diagnostic := cedar.Authorize(policies, entities, cedar.Request{
		Principal: principal, Action: action, Resource: resource, Context: cedar.NewRecord(context),
	})
	found := answer{OK: decision == cedar.Allow && len(diagnostic.Errors) == 0}
	for _, each := range diagnostic.Reasons {
		found.Reasons = append(found.Reasons, string(each.PolicyID))
	}
	for _, each := range diagnostic.Errors {
		found.Errors = append(found.Errors, string(each.PolicyID))
		found.Message = each.Message
	}
	return found
}

func put(record cedar.RecordMap, name string, value any) {
	if converted := converted(value); converted != nil {
		record[cedar.String(name)] = converted
	}
}

func converted(value any) cedar.Value {
	switch value := value.(type) {
	case bool:
		return cedar.Boolean(value)
	case string:
		return cedar.String(value)
	case float64:
		decimal, err := cedar.NewDecimalFromFloat(value)
		if err != nil {
			return nil
		}
		return decimal
	case []any:
		var items []cedar.Value
		for _, item := range value {
			if converted := converted(item); converted != nil {
				items = append(items, converted)
			}
		}
		return cedar.NewSet(items...)
	case map[string]any:
		record := cedar.RecordMap{}
		for name, item := range value {
			put(record, name, item)
		}
		return cedar.NewRecord(record)
	default:
		return nil
	}
}
