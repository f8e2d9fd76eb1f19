package shardfilter

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
	"github.com/farrier-dev/farrier/internal/shard"
	"github.com/farrier-dev/farrier/test/seed"
)

func meta(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name} }

func reference(name string) *metalv1.LocalObjectReference {
	if name == "" {
		return nil
	}
	return &metalv1.LocalObjectReference{Name: name}
}

// referring makes a Server of a BMC object.
func referring(name, of string) *metalv1.Server {
	s := &metalv1.Server{ObjectMeta: meta(name)}
	s.Spec.BMCRef = reference(of)
	return s
}

// inline makes a Server with a BMC of its own.
func inline(name, address string) *metalv1.Server {
	s := &metalv1.Server{ObjectMeta: meta(name)}
	s.Spec.BMC = &metalv1.BMCAccess{Address: address}
	return s
}

// about makes an object of each kind that is about one BMC or one Server.
var about = map[string]func(name, of string) client.Object{
	"BMCUser": func(name, of string) client.Object {
		return &metalv1.BMCUser{ObjectMeta: meta(name), Spec: metalv1.BMCUserSpec{BMCRef: reference(of)}}
	},
	"BMCSettings": func(name, of string) client.Object {
		return &metalv1.BMCSettings{ObjectMeta: meta(name), Spec: metalv1.BMCSettingsSpec{BMCRef: reference(of)}}
	},
	"BMCVersion": func(name, of string) client.Object {
		return &metalv1.BMCVersion{ObjectMeta: meta(name), Spec: metalv1.BMCVersionSpec{BMCRef: reference(of)}}
	},
	"BIOSSettings": func(name, of string) client.Object {
		return &metalv1.BIOSSettings{ObjectMeta: meta(name), Spec: metalv1.BIOSSettingsSpec{ServerRef: reference(of)}}
	},
	"BIOSVersion": func(name, of string) client.Object {
		return &metalv1.BIOSVersion{ObjectMeta: meta(name), Spec: metalv1.BIOSVersionSpec{ServerRef: reference(of)}}
	},
}

// only returns the shard that covers an object; it fails the test if that is none, or one of several.
func only(t *testing.T, servers client.Reader, shards int, obj client.Object) int {
	t.Helper()
	found := -1
	for i := range shards {
		if (Filter{Shard: i, Shards: shards, Servers: servers}).Covers(t.Context(), obj) {
			if found >= 0 {
				t.Fatalf("%T %s is in shards %d and %d", obj, obj.GetName(), found, i)
			}
			found = i
		}
	}
	if found < 0 {
		t.Fatalf("%T %s is in no shard", obj, obj.GetName())
	}
	return found
}

// TestEverythingOfABMCIsInItsShard, and in no other: whatever it is called, and however it names the BMC.
func TestEverythingOfABMCIsInItsShard(t *testing.T) {
	chance := rand.New(rand.NewPCG(seed.New(t), 0)) //nolint:gosec // choices of a test
	api := controllertest.NewAPI(t)
	for i := range 100 {
		shards := 1 + chance.IntN(shard.Max)
		name := func(kind string) string { return fmt.Sprintf("%s-%d-%x", kind, i, chance.Uint32()) }
		of, address := name("bmc"), fmt.Sprintf("2001:db8::%x", chance.Uint32()>>16|1)
		want, wantInline := shard.Of(of, shards), shard.Of(address, shards)
		check := func(obj client.Object, want int) {
			t.Helper()
			if got := only(t, api, shards, obj); got != want {
				t.Errorf("of %d shards, %T %s is in %d, and its BMC in %d", shards, obj, obj.GetName(), got, want)
			}
		}
		refers, has := referring(name("server"), of), inline(name("server"), address)
		for _, s := range []*metalv1.Server{refers, has} {
			if err := api.Create(t.Context(), s.DeepCopy()); err != nil {
				t.Fatal(err)
			}
		}
		both := inline(name("server"), address) // the inline BMC is the one that is asked (package server)
		both.Spec.BMCRef = reference(of)
		check(&metalv1.BMC{ObjectMeta: meta(of)}, want)
		check(refers, want)
		check(has, wantInline)
		check(both, wantInline)
		only(t, api, shards, referring(name("server"), "")) // names no BMC
		for _, kind := range []string{"BMCUser", "BMCSettings", "BMCVersion"} {
			check(about[kind](name("object"), of), want)
			only(t, api, shards, about[kind](name("object"), ""))
		}
		for _, kind := range []string{"BIOSSettings", "BIOSVersion"} {
			check(about[kind](name("object"), refers.Name), want)
			check(about[kind](name("object"), has.Name), wantInline)
			missing := name("server")
			check(about[kind](name("object"), missing), shard.Of(missing, shards))
			only(t, api, shards, about[kind](name("object"), ""))
		}
	}
}

// TestAnAddressIsOneBMC: two Servers of one BMC may write its address differently.
func TestAnAddressIsOneBMC(t *testing.T) {
	for _, addresses := range [][]string{{"2001:db8::a", "2001:DB8::A", "2001:0db8:0::000a"}, {"no address"}, {""}} {
		for shards := 1; shards <= shard.Max; shards++ {
			want := only(t, nil, shards, inline("a", addresses[0]))
			for _, other := range addresses {
				if got := only(t, nil, shards, inline("b", other)); got != want {
					t.Errorf("%s is in shard %d of %d, and %s in %d", addresses[0], want, shards, other, got)
				}
			}
		}
	}
}

// undivided are objects that belong to no BMC, or to one without being looked after with it.
func undivided() []client.Object {
	return []client.Object{
		&metalv1.Endpoint{ObjectMeta: meta("o")}, &metalv1.BMCSecret{ObjectMeta: meta("o")},
		&metalv1.ServerClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "o"}},
		&metalv1.ServerBootConfiguration{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "o"}},
		&metalv1.ServerMaintenance{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "o"}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "o"}}, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "o"}},
	}
}

// TestWhatBelongsToNoBMCIsInAllShards.
func TestWhatBelongsToNoBMCIsInAllShards(t *testing.T) {
	const shards = 6
	api := controllertest.NewAPI(t, undivided()...)
	for _, obj := range undivided() {
		for i := range shards {
			f := Filter{Shard: i, Shards: shards, Servers: api}
			if !f.Covers(t.Context(), obj) {
				t.Errorf("%T is not in shard %d", obj, i)
			}
			if err := f.Client(api).Get(t.Context(), client.ObjectKeyFromObject(obj), obj); err != nil {
				t.Errorf("%T, shard %d: %v", obj, i, err)
			}
		}
	}
}

// TestAClientFindsItsShard: to Get an object of another shard does not exist. Lists have all, and what fails for another reason fails with that.
func TestAClientFindsItsShard(t *testing.T) {
	const shards = 4
	of, server := "bmc", referring("server", "bmc")
	objects := map[string]client.Object{"BMC": &metalv1.BMC{ObjectMeta: meta(of)}, "Server": server}
	for kind, made := range about {
		name := of
		if kind == "BIOSSettings" || kind == "BIOSVersion" {
			name = server.Name
		}
		objects[kind] = made("o", name)
	}
	api := controllertest.NewAPI(t)
	for _, obj := range objects {
		if err := api.Create(t.Context(), obj); err != nil {
			t.Fatal(err)
		}
	}
	for i := range shards {
		c := Filter{Shard: i, Shards: shards, Servers: api}.Client(api)
		for kind, obj := range objects {
			err := c.Get(t.Context(), client.ObjectKeyFromObject(obj), obj)
			own := i == shard.Of(of, shards)
			var status apierrors.APIStatus
			switch {
			case own && err != nil, !own && (!apierrors.IsNotFound(err) || !errors.As(err, &status)):
				t.Errorf("shard %d, %s: %v", i, kind, err)
			case !own:
				if d := status.Status().Details; d.Kind != kind || d.Group != metalv1.GroupVersion.Group || d.Name != obj.GetName() {
					t.Errorf("shard %d, %s: not found is %+v", i, kind, d)
				}
			}
			if err := c.Get(t.Context(), client.ObjectKey{Name: "none"}, obj.DeepCopyObject().(client.Object)); !apierrors.IsNotFound(err) { //nolint:forcetypeassert // a copy
				t.Errorf("shard %d, %s that does not exist: %v", i, kind, err)
			}
		}
		var servers metalv1.ServerList
		if err := c.List(t.Context(), &servers); err != nil || len(servers.Items) != 1 {
			t.Errorf("shard %d lists %d Servers: %v", i, len(servers.Items), err)
		}
	}
}

// TestAnObjectFollowsItsServer: BIOS settings that were made before their Server are in the shard of its BMC when it is there.
func TestAnObjectFollowsItsServer(t *testing.T) {
	const shards = 64
	api := controllertest.NewAPI(t)
	settings := about["BIOSSettings"]("o", "server")
	before := only(t, api, shards, settings)
	if err := api.Create(context.Background(), referring("server", "bmc")); err != nil {
		t.Fatal(err)
	}
	after := only(t, api, shards, settings)
	if before != shard.Of("server", shards) || after != shard.Of("bmc", shards) || before == after {
		t.Errorf("in shard %d, and then in %d", before, after)
	}
}
