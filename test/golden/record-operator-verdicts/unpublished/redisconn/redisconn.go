// Package redisconn stands for a module that the Go module proxy does not have: names for the compiler, never called.
package redisconn

import (
	"context"
	"crypto/tls"
	"time"

	"github.com/redis/go-redis/v9"
)

type Config struct {
	Addr, Username, Password               string
	ClusterMode                            bool
	DB                                     int
	SentinelConfig                         *SentinelConfig
	TLS, SentinelTLS                       *TLSConfig
	DialTimeout, ReadTimeout, WriteTimeout time.Duration
}

type SentinelConfig struct {
	MasterName    string
	SentinelAddrs []string
}

type TLSConfig struct {
	InsecureSkipVerify bool
	CACert             []byte
}

func NewClient(context.Context, *Config) (redis.UniversalClient, error) { panic("not there") }

func BuildTLSConfig(*TLSConfig) (*tls.Config, error) { return nil, nil }
