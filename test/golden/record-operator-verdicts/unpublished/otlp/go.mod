module github.com/getsentry/sentry-go/otel/otlp

go 1.26.0
