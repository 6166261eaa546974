module record-cedar-verdicts

go 1.24

require github.com/cedar-policy/cedar-go v1.8.0

require golang.org/x/exp v0.0.0-20220921023135-46d9e7742f1e // indirect
