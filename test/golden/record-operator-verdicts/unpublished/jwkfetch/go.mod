module github.com/jwx-go/jwkfetch/v4

go 1.26.0
