package manager

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootv1 "github.com/farrier-dev/farrier/api/boot/v1alpha1"
	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/sim"
	"github.com/farrier-dev/farrier/test/loopback"
)

// The halls of TestInstallationsBesideEachOther; the BMC of the third is nobody's.
const (
	hallOne, hallTwo = "hall-1", "hall-2"
	besideEachOther  = 5
)

// hallOf is the installation that a BMC of the rack belongs to: two each, and one that none is for.
func hallOf(i int) string { return []string{hallOne, hallOne, hallTwo, hallTwo, ""}[i] }

// TestInstallationsBesideEachOther: two managers share an API, each with a filter and a namespace. Each has its own BMCs, servers and claims, and writes
// nothing of the other's: the audit log of the API and the BMCs count. What has no label is nobody's.
func TestInstallationsBesideEachOther(t *testing.T) {
	var from atomic.Value // where machines boot from, once it is not the first manager
	s := newSiteOf(t, besideEachOther, func(o *sim.Options) {
		first := o.BootURL()
		from.Store(first)
		o.BootURL = func() string { return from.Load().(string) }
	})
	boot := loopback.Free(t)
	second := s.secondInstallation(boot)
	for i, info := range s.BMCs() {
		endpoint := &metalv1.Endpoint{ObjectMeta: inHall(hallOf(i), info.Name)}
		endpoint.Spec.IP, endpoint.Spec.MACAddress = info.IP.String(), info.MAC
		s.create(endpoint)
	}
	one := launch(t, hallOne, append(s.args, "--watch-filter", hallOne)...)
	one.isReady()
	for _, i := range []int{0, 1} {
		s.serverIs(i, metalv1.ServerStateAvailable, metalv1.PowerStateOff)
	}
	for _, i := range []int{2, 3, 4} {
		if n := s.Stats(i).Connections; n > 0 {
			t.Errorf("BMC %d: %d connections, and its manager does not run", i, n)
		}
	}

	logins := s.logins()
	from.Store("http://" + boot + "/ipxe/")
	two := launch(t, hallTwo, second...)
	two.isReady()
	for _, i := range []int{2, 3} {
		s.serverIs(i, metalv1.ServerStateAvailable, metalv1.PowerStateOff)
	}
	claimed := s.hold(hallTwo, "held")
	if hallOf(claimed) != hallTwo {
		t.Errorf("a claim of %s has server %d, of %q", hallTwo, claimed, hallOf(claimed))
	}
	for i, want := range logins[:2] {
		if now := s.Stats(i); now.Logins != want || now.MaxConnections > 1 || now.Refused > 0 {
			t.Errorf("BMC %d, beside a second manager: %d logins and %d before; %d connections at once, %d refused", i, now.Logins, want, now.MaxConnections, now.Refused)
		}
	}
	if n := s.Stats(besideEachOther - 1).Connections; n > 0 {
		t.Errorf("the BMC of nobody: %d connections", n)
	}
	// One of them ends, and the other one goes on.
	one.Kill()
	if err := s.Delete(t.Context(), &metalv1.ServerClaim{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "held"}}); err != nil {
		t.Fatal(err)
	}
	s.serverIs(claimed, metalv1.ServerStateAvailable, metalv1.PowerStateOff)
	two.stop()
	s.everythingIsLabelled()
	s.nobodyWroteOthers()
}

// TestAWrongFilter is refused before anything is asked.
func TestAWrongFilter(t *testing.T) {
	t.Parallel()
	if said := refused(t, "--watch-filter", "Hall 1", "--boot-address", loopback.Free(t)); !strings.Contains(said, `--watch-filter: "Hall 1"`) {
		t.Errorf("said %q", said)
	}
}

// inHall is the metadata of an object of an installation.
func inHall(hall, name string) metav1.ObjectMeta {
	m := metav1.ObjectMeta{Name: name}
	if hall != "" {
		m.Labels = map[string]string{metalv1.LabelWatchFilter: hall}
	}
	return m
}

// secondInstallation makes the namespace of one with a filter, and returns what its manager is told.
func (s *site) secondInstallation(boot string) (args []string) {
	s.t.Helper()
	subjects := []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: hallTwo, Name: "farrier-manager"}}
	own := &rbacv1.Role{}
	if err := s.Get(s.t.Context(), client.ObjectKey{Namespace: s.namespace, Name: "farrier-manager"}, own); err != nil {
		s.t.Fatal(err)
	}
	named := metav1.ObjectMeta{Namespace: hallTwo, Name: "farrier-manager"}
	s.create(
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: hallTwo}}, &corev1.ServiceAccount{ObjectMeta: named},
		&rbacv1.Role{ObjectMeta: named, Rules: own.Rules},
		&rbacv1.RoleBinding{ObjectMeta: named, Subjects: subjects, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: named.Name}},
		&rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "farrier-manager." + hallTwo}, Subjects: subjects, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: named.Name}},
	)
	// The last of two flags counts.
	return append(append([]string{}, s.args...), "--kubeconfig", s.kubeconfigOf(hallTwo), "--manager-namespace", hallTwo, "--watch-filter", hallTwo,
		"--boot-address", boot)
}

// hold has a claim of an installation take a server without booting it, and returns which.
func (s *site) hold(hall, name string) (found int) {
	s.t.Helper()
	claim := &metalv1.ServerClaim{ObjectMeta: inHall(hall, name)}
	claim.Namespace, claim.Spec.Power = s.namespace, metalv1.PowerOff
	s.create(claim)
	eventually(s.t, "claim "+name, func() error {
		if err := s.Get(s.t.Context(), client.ObjectKeyFromObject(claim), claim); err != nil {
			return err
		}
		for i, info := range s.BMCs() {
			if ref := claim.Spec.ServerRef; ref != nil && ref.Name == info.Name+"-system-0" {
				found = i
				return nil
			}
		}
		return fmt.Errorf("is not bound: %+v", claim.Status)
	})
	return found
}

// kindsOf are the resources of Farrier's kinds, with their lists.
func (s *site) kindsOf() (kinds []schema.GroupVersionKind) {
	for kind, of := range s.Scheme().AllKnownTypes() {
		group := kind.Group == metalv1.GroupVersion.Group || kind.Group == bootv1.GroupVersion.Group
		if _, object := reflect.New(of).Interface().(client.Object); object && group {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// everythingIsLabelled checks that every object belongs to the installation of its BMC.
func (s *site) everythingIsLabelled() {
	s.t.Helper()
	counted := map[string]int{}
	for _, kind := range s.kindsOf() {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		if err := s.List(s.t.Context(), list); err != nil {
			s.t.Fatal(err)
		}
		for _, obj := range list.Items {
			hall := obj.GetLabels()[metalv1.LabelWatchFilter]
			counted[kind.Kind+" "+hall]++
			for i, info := range s.BMCs() {
				if strings.HasPrefix(obj.GetName(), info.Name) && hall != hallOf(i) {
					s.t.Errorf("%s %s is of %q, and its BMC of %q", kind.Kind, obj.GetName(), hall, hallOf(i))
				}
			}
		}
	}
	for _, kind := range []string{"Endpoint", "BMC", "BMCSecret", "Server"} {
		for _, hall := range []string{hallOne, hallTwo} {
			if counted[kind+" "+hall] != 2 {
				s.t.Errorf("%d objects of the kind %s in %s, want 2: %v", counted[kind+" "+hall], kind, hall, counted)
			}
		}
	}
	if counted["Endpoint "] != 1 || counted["BMC "] > 0 {
		s.t.Errorf("objects of nobody: %v", counted)
	}
}

// nobodyWroteOthers reads in the audit log who has written what.
func (s *site) nobodyWroteOthers() {
	s.t.Helper()
	log, err := os.Open(filepath.Join(filepath.Dir(s.api.Kubeconfig()), "audit", "audit.log"))
	if err != nil {
		s.t.Fatal(err)
	}
	defer log.Close()
	written := map[string]int{}
	lines := bufio.NewScanner(log)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var event struct {
			Verb      string
			User      struct{ Username string }
			ObjectRef struct{ Resource, APIGroup, Name string }
		}
		if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
			s.t.Fatal(err)
		}
		who := map[string]string{"system:serviceaccount:" + s.namespace + ":farrier-manager": hallOne, "system:serviceaccount:" + hallTwo + ":farrier-manager": hallTwo}[event.User.Username]
		if who == "" || !strings.HasSuffix(event.ObjectRef.APIGroup, "ironcore.dev") || event.Verb == "list" || event.Verb == "watch" {
			continue
		}
		written[who]++
		for i, info := range s.BMCs() {
			if strings.HasPrefix(event.ObjectRef.Name, info.Name) && hallOf(i) != who {
				s.t.Errorf("the manager of %s: %s of %s %s, which is of %q", who, event.Verb, event.ObjectRef.Resource, event.ObjectRef.Name, hallOf(i))
			}
		}
	}
	if s.t.Logf("requests about single objects: %v", written); written[hallOne] == 0 || written[hallTwo] == 0 {
		s.t.Errorf("requests about single objects: %v", written)
	}
}
