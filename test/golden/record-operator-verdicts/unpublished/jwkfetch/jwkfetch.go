// Package jwkfetch stands for a module that the Go module proxy does not have: names for the compiler, never called.
package jwkfetch

import (
	"context"
	"net/http"
	"time"

	"github.com/lestrrat-go/httprc/v3"
	"github.com/lestrrat-go/jwx/v4/jwk"
)

type (
	Cache  struct{}
	Option struct{}
)

func NewCache(context.Context, *httprc.Client, ...Option) (*Cache, error) { return &Cache{}, nil }

func WithHTTPClient(*http.Client) Option        { return Option{} }
func WithMaxBodySize(int64) Option              { return Option{} }
func WithConstantInterval(time.Duration) Option { return Option{} }

func (*Cache) Register(context.Context, string, ...Option) error { panic("not there") }
func (*Cache) Lookup(context.Context, string) (jwk.Set, error)   { panic("not there") }
func (*Cache) Refresh(context.Context, string) (jwk.Set, error)  { panic("not there") }
func (*Cache) IsRegistered(context.Context, string) bool         { return false }
func (*Cache) Shutdown(context.Context) error                    { return nil }
