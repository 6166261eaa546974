module vmcp-admission.test/golden/record-patterns

go 1.26.0
