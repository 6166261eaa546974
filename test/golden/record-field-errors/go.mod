module vmcp-admission.test/golden/record-field-errors

go 1.26.0

require k8s.io/apimachinery v0.36.3

require sigs.k8s.io/json v0.0.0-20250730193827-2d320260d730 // indirect
