module github.com/stacklok/toolhive-core/redisconn

go 1.26.0
