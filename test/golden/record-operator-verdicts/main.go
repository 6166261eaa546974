// Records whether the operator of a ToolHive release reconciles objects: its own controllers, over a cluster in memory.
// In test/golden/record-operator-verdicts (the release needs a newer Go, which GOTOOLCHAIN fetches):
//
//	npm run --silent conformance -- worlds | GOTOOLCHAIN=go1.27.0 go run . > ../conformance/operator.jsonl
//
// Standard input: one world a line, {id, object, others}. Standard output: one line for each world whose object the CRD
// of the release takes, {id, refusals}: what the operator puts into conditions that are false, or why start-up fails.
// `unpublished/` stands for modules that the Go module proxy does not have: names for the compiler, never called.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/stacklok/toolhive-core/env"
	"go.yaml.in/yaml/v3"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	k8syaml "sigs.k8s.io/yaml"

	api "github.com/stacklok/toolhive/cmd/thv-operator/api/v1beta1"
	"github.com/stacklok/toolhive/cmd/thv-operator/controllers"
	"github.com/stacklok/toolhive/cmd/thv-operator/pkg/controllerutil"
	"github.com/stacklok/toolhive/pkg/authserver"
	authrunner "github.com/stacklok/toolhive/pkg/authserver/runner"
	"github.com/stacklok/toolhive/pkg/container/kubernetes"
	vmcpconfig "github.com/stacklok/toolhive/pkg/vmcp/config"
)

type world struct {
	ID     string           `json:"id"`
	Object map[string]any   `json:"object"`
	Others []map[string]any `json:"others"`
}

type verdict struct {
	ID       string   `json:"id"`
	Refusals []string `json:"refusals"`
}

// Rounds until a controller has added its finalizers and has nothing more to say.
const rounds = 6

func main() {
	slog.SetDefault(slog.New(slog.NewTextHandler(io.Discard, nil)))
	ctrl.SetLogger(logr.Discard())
	// Start-up looks for OpenID Connect discovery documents: no name resolves here.
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		return nil, errors.New("no network")
	}}
	os.Setenv("TOOLHIVE_SECRETS_PROVIDER", "none")
	if err := api.AddToScheme(scheme.Scheme); err != nil {
		log.Fatal(err)
	}
	defaults := readSchemas()
	input := bufio.NewScanner(os.Stdin)
	input.Buffer(nil, 64<<20)
	output := json.NewEncoder(os.Stdout)
	output.SetEscapeHTML(false)
	for input.Scan() {
		var given world
		if err := json.Unmarshal(input.Bytes(), &given); err != nil {
			log.Fatal(err)
		}
		refusals, err := judge(given, defaults)
		if err != nil {
			fmt.Fprintln(os.Stderr, given.ID, err)
			continue
		}
		if err := output.Encode(verdict{given.ID, refusals}); err != nil {
			log.Fatal(err)
		}
	}
}

// readSchemas reads the CRDs that the module of the release carries: their defaults are applied, as at the API server.
func readSchemas() map[string]*schema.Structural {
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/stacklok/toolhive").Output()
	if err != nil {
		log.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(dir)), "deploy/charts/operator-crds/files/crds/*.yaml"))
	if err != nil || len(files) == 0 {
		log.Fatal("no CRDs in the module: ", err)
	}
	found := map[string]*schema.Structural{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			log.Fatal(err)
		}
		var crd apiextensionsv1.CustomResourceDefinition
		if err := k8syaml.Unmarshal(text, &crd); err != nil {
			log.Fatal(err)
		}
		for _, version := range crd.Spec.Versions {
			if version.Name != "v1beta1" {
				continue
			}
			var internal apiextensions.JSONSchemaProps
			if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(
				version.Schema.OpenAPIV3Schema, &internal, nil); err != nil {
				log.Fatal(err)
			}
			structural, err := schema.NewStructural(&internal)
			if err != nil {
				log.Fatal(err)
			}
			found[crd.Spec.Names.Kind] = structural
		}
	}
	return found
}

// judge runs the controllers over the world; an error says that an object cannot be decoded.
func judge(given world, schemas map[string]*schema.Structural) (refusals []string, err error) {
	defer func() {
		if failure := recover(); failure != nil {
			err = fmt.Errorf("panic: %v", failure)
		}
	}()
	objects := []client.Object{}
	for _, content := range append([]map[string]any{given.Object}, given.Others...) {
		object, err := decode(content, schemas)
		if err != nil {
			return nil, err
		}
		objects = append(objects, object)
	}
	self := objects[0]
	builder := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(objects...).WithStatusSubresource(
		&api.MCPExternalAuthConfig{}, &api.MCPOIDCConfig{}, &api.MCPGroup{}, &api.MCPServer{}, &api.MCPRemoteProxy{},
		&api.MCPServerEntry{}, &api.VirtualMCPServer{})
	for _, kind := range []client.Object{&api.MCPServer{}, &api.MCPRemoteProxy{}, &api.MCPServerEntry{}} {
		builder = builder.WithIndex(kind, "spec.groupRef", groupOf)
	}
	cluster := builder.Build()
	// What others depend on comes first.
	for _, kind := range []string{"MCPOIDCConfig", "MCPExternalAuthConfig", "MCPGroup", "MCPServer", "MCPRemoteProxy", "MCPServerEntry"} {
		for _, object := range objects[1:] {
			if object.GetObjectKind().GroupVersionKind().Kind == kind {
				_ = run(cluster, object)
			}
		}
	}
	return refusalsOf(cluster, self), nil
}

func decode(content map[string]any, schemas map[string]*schema.Structural) (client.Object, error) {
	kind, _ := content["kind"].(string)
	if structural, ok := schemas[kind]; ok {
		defaulting.PruneNonNullableNullsWithoutDefaults(content, structural)
		defaulting.Default(content, structural)
	}
	text, err := json.Marshal(content)
	if err != nil {
		return nil, err
	}
	object, _, err := scheme.Codecs.UniversalDeserializer().Decode(text, nil, nil)
	if err != nil {
		return nil, err
	}
	typed, ok := object.(client.Object)
	if !ok {
		return nil, errors.New("not an object")
	}
	typed.SetResourceVersion("")
	typed.SetGeneration(1)
	return typed, nil
}

func groupOf(object client.Object) []string {
	switch object := object.(type) {
	case *api.MCPServer:
		return named(object.Spec.GroupRef.GetName())
	case *api.MCPRemoteProxy:
		return named(object.Spec.GroupRef.GetName())
	case *api.MCPServerEntry:
		return named(object.Spec.GroupRef.GetName())
	}
	return nil
}

func named(name string) []string {
	if name == "" {
		return nil
	}
	return []string{name}
}

func reconcilerOf(cluster client.Client, object client.Object) reconcile.Reconciler {
	recorder := events.NewFakeRecorder(1000)
	platform := controllerutil.NewSharedPlatformDetectorWithDetector(plain{})
	switch object.(type) {
	case *api.MCPOIDCConfig:
		return &controllers.MCPOIDCConfigReconciler{Client: cluster, Scheme: scheme.Scheme, Recorder: recorder}
	case *api.MCPExternalAuthConfig:
		return &controllers.MCPExternalAuthConfigReconciler{Client: cluster, Scheme: scheme.Scheme, Recorder: recorder}
	case *api.MCPGroup:
		return &controllers.MCPGroupReconciler{Client: cluster}
	case *api.MCPServer:
		return &controllers.MCPServerReconciler{Client: cluster, Scheme: scheme.Scheme, Recorder: recorder, PlatformDetector: platform}
	case *api.MCPRemoteProxy:
		return &controllers.MCPRemoteProxyReconciler{Client: cluster, Scheme: scheme.Scheme, Recorder: recorder, PlatformDetector: platform}
	case *api.MCPServerEntry:
		return &controllers.MCPServerEntryReconciler{Client: cluster}
	case *api.VirtualMCPServer:
		return &controllers.VirtualMCPServerReconciler{Client: cluster, Scheme: scheme.Scheme, Recorder: recorder, PlatformDetector: platform}
	}
	return nil
}

type plain struct{}

func (plain) DetectPlatform(*rest.Config) (kubernetes.Platform, error) {
	return kubernetes.PlatformKubernetes, nil
}

// run reconciles an object until it is settled; the error is that of the last round.
func run(cluster client.Client, object client.Object) (err error) {
	controller := reconcilerOf(cluster, object)
	if controller == nil {
		return nil
	}
	defer func() {
		if failure := recover(); failure != nil {
			err = fmt.Errorf("panic: %v", failure)
		}
	}()
	for range rounds {
		_, err = controller.Reconcile(context.Background(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(object)})
	}
	return err
}

// Conditions that are about pods, which never run here, or that are good news when false.
var aboutPods = regexp.MustCompile(
	`^(Ready|DeploymentReady|ServiceReady|BackendsDiscovered|IdentitySynthesized|Deprecated.*|SessionStorageWarning|StdioReplicaCapped)$`)

func refusalsOf(cluster client.Client, self client.Object) []string {
	found := []string{}
	add := func(text string) {
		if !slices.Contains(found, text) {
			found = append(found, text)
		}
	}
	if err := run(cluster, self); err != nil {
		add("reconcile: " + err.Error())
	}
	if err := cluster.Get(context.Background(), client.ObjectKeyFromObject(self), self); err != nil {
		return append(found, "gone: "+err.Error())
	}
	for _, condition := range conditionsOf(self) {
		if condition.Status == metav1.ConditionFalse && !aboutPods.MatchString(condition.Type) {
			add(condition.Type + " " + condition.Reason + ": " + condition.Message)
		}
	}
	if len(found) > 0 {
		return found
	}
	if err := startGateway(cluster); err != nil {
		add("start: " + err.Error())
	}
	config, err := authServerOf(cluster, self)
	if err != nil {
		add("reconcile of a workload: " + err.Error())
	} else if config != nil {
		if err := start(config); err != nil {
			add("start: " + err.Error())
		}
	}
	return found
}

func conditionsOf(object client.Object) []metav1.Condition {
	switch object := object.(type) {
	case *api.MCPOIDCConfig:
		return object.Status.Conditions
	case *api.MCPExternalAuthConfig:
		return object.Status.Conditions
	case *api.MCPGroup:
		return object.Status.Conditions
	case *api.MCPServer:
		return object.Status.Conditions
	case *api.MCPRemoteProxy:
		return object.Status.Conditions
	case *api.MCPServerEntry:
		return object.Status.Conditions
	case *api.VirtualMCPServer:
		return object.Status.Conditions
	}
	return nil
}

// authServerOf is what a pod would start: of a VirtualMCPServer its own, of a configuration that of some workload.
func authServerOf(cluster client.Client, self client.Object) (*authserver.RunConfig, error) {
	switch self := self.(type) {
	case *api.VirtualMCPServer:
		maps := &corev1.ConfigMapList{}
		if err := cluster.List(context.Background(), maps); err != nil {
			return nil, err
		}
		for _, item := range maps.Items {
			text, ok := item.Data["authserver-config.yaml"]
			config := &authserver.RunConfig{}
			if ok && yaml.Unmarshal([]byte(text), config) == nil {
				return config, nil
			}
		}
	case *api.MCPExternalAuthConfig:
		if self.Spec.EmbeddedAuthServer != nil {
			const resource = "https://mcp.example.com/mcp"
			return controllerutil.BuildAuthServerRunConfig(
				self.Namespace, self.Name, self.Spec.EmbeddedAuthServer, []string{resource}, nil, resource)
		}
	}
	return nil, nil
}

// startGateway checks the configuration that the operator wrote for the pods of a VirtualMCPServer, as they do first.
func startGateway(cluster client.Client) error {
	maps := &corev1.ConfigMapList{}
	if err := cluster.List(context.Background(), maps); err != nil {
		return err
	}
	for _, item := range maps.Items {
		text, ok := item.Data["config.yaml"]
		if !ok {
			continue
		}
		for _, variable := range fromEnvironment.FindAllStringSubmatch(text, -1) {
			setSecret(variable[1])
		}
		file := filepath.Join(os.TempDir(), "record-operator-verdicts.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			return err
		}
		config, err := vmcpconfig.NewYAMLLoader(file, &env.OSReader{}).Load()
		if err != nil {
			return err
		}
		if err := vmcpconfig.NewValidator().Validate(config); err != nil {
			return errors.New(strings.ReplaceAll(err.Error(), "\n", ""))
		}
	}
	return nil
}

// A name of an environment variable, as the operator writes it into the configuration.
var fromEnvironment = regexp.MustCompile(`(?mi)^\s*(?:- )?\w*env: "?(\w+)`)

var fromNetwork = regexp.MustCompile(`no network|dial tcp|lookup |no such host|connection refused|i/o timeout|deadline exceeded`)

// start starts an authorization server without its files, its Redis and the network.
func start(config *authserver.RunConfig) error {
	config.SigningKeyConfig, config.HMACSecretFiles, config.Storage = nil, nil, nil
	for i := range config.Upstreams {
		if oidc := config.Upstreams[i].OIDCConfig; oidc != nil {
			setSecret(oidc.ClientSecretEnvVar)
			oidc.CAFilePath = ""
		}
		if oauth2 := config.Upstreams[i].OAuth2Config; oauth2 != nil {
			setSecret(oauth2.ClientSecretEnvVar)
			oauth2.CAFilePath = ""
		}
	}
	delegates := config.DelegateClients
	if grants := config.InboundGrants; grants != nil && grants.TokenExchange != nil {
		delegates = append(delegates, grants.TokenExchange.DelegateClients...)
	}
	for _, delegate := range delegates {
		setSecret(delegate.ClientSecretEnvVar)
	}
	for i := range config.TrustedIssuers {
		config.TrustedIssuers[i].CAFilePath = ""
	}
	config.TLSListener = nil
	ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
	defer cancel()
	server, err := authrunner.NewEmbeddedAuthServer(ctx, config)
	if err == nil {
		return server.Close()
	}
	if fromNetwork.MatchString(err.Error()) {
		return nil
	}
	return err
}

func setSecret(name string) {
	if name != "" {
		os.Setenv(name, strings.Repeat("s", 40))
	}
}
