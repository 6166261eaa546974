// A webhook as an operator in Go would have it: controller-runtime, and the Validate() that the operator calls when it
// reconciles. Built and run by `npm run bench -- cpu`. Argument: the folder with tls.crt and tls.key. Prints its address.
package main

import (
	"context"
	"fmt"
	"log"
	"net"
	"os"

	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	api "github.com/stacklok/toolhive/cmd/thv-operator/api/v1beta1"
)

type validator[T runtime.Object] struct{}

func (validator[T]) ValidateCreate(_ context.Context, object T) (admission.Warnings, error) {
	if checked, ok := any(object).(interface{ Validate() error }); ok {
		return nil, checked.Validate()
	}
	return nil, nil
}

func (all validator[T]) ValidateUpdate(ctx context.Context, _, object T) (admission.Warnings, error) {
	return all.ValidateCreate(ctx, object)
}

func (validator[T]) ValidateDelete(context.Context, T) (admission.Warnings, error) {
	return nil, nil
}

func handler[T runtime.Object](scheme *runtime.Scheme) admission.Handler {
	return admission.WithValidator[T](scheme, validator[T]{}).Handler
}

func main() {
	scheme := runtime.NewScheme()
	utilruntime.Must(api.AddToScheme(scheme))
	handlers := map[string]admission.Handler{
		"MCPExternalAuthConfig": handler[*api.MCPExternalAuthConfig](scheme),
		"MCPGroup":              handler[*api.MCPGroup](scheme),
		"MCPOIDCConfig":         handler[*api.MCPOIDCConfig](scheme),
		"MCPRemoteProxy":        handler[*api.MCPRemoteProxy](scheme),
		"MCPServer":             handler[*api.MCPServer](scheme),
		"MCPServerEntry":        handler[*api.MCPServerEntry](scheme),
		"VirtualMCPServer":      handler[*api.VirtualMCPServer](scheme),
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	port := listener.Addr().(*net.TCPAddr).Port
	if err := listener.Close(); err != nil {
		log.Fatal(err)
	}
	server := webhook.NewServer(webhook.Options{Host: "127.0.0.1", Port: port, CertDir: os.Args[1]})
	server.Register("/validate", &admission.Webhook{
		Handler: admission.HandlerFunc(func(ctx context.Context, request admission.Request) admission.Response {
			return handlers[request.Kind.Kind].Handle(ctx, request)
		}),
	})
	fmt.Printf("{\"msg\":\"listening\",\"url\":\"https://127.0.0.1:%d\"}\n", port)
	if err := server.Start(context.Background()); err != nil {
		log.Fatal(err)
	}
}
