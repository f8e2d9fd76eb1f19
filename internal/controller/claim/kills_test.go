package claim

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/allocator"
	"github.com/farrier-dev/farrier/internal/controller/controllertest"
	"github.com/farrier-dev/farrier/internal/controller/readcache"
	"github.com/farrier-dev/farrier/test/seed"
)

// life drives a controller at random, in one goroutine: news come late and out of step, writes collide and lose
// their answers, and the process ends between any two of them.
type life struct {
	t      *testing.T
	random *rand.Rand
	store  *store
	r      *Reconciler
	queue  workqueue.TypedRateLimitingInterface[reconcile.Request]
	span   int // of a life, in writes
	lives  int
	steps  int
	others others
}

func newLife(t *testing.T, seed uint64, span int) *life {
	random := rand.New(rand.NewPCG(seed, 0))
	l := &life{t: t, random: random, store: newStore(random), span: span}
	l.store.unreliable = 0.02
	return l
}

// start is the start of a process: it knows nothing, and finds everything.
func (l *life) start() {
	l.lives++
	if l.queue != nil {
		l.queue.ShutDown()
	}
	l.queue = workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	past := live{store: l.store}
	var ours client.Client = l.store // as where nothing that was written is kept any more
	if l.random.IntN(2) == 0 {
		ours = readcache.New(past, l.store).Client(l.store)
	}
	l.r = &Reconciler{Client: ours, APIReader: past, Clock: clocktesting.NewFakeClock(controllertest.Start)}
	l.r.begin()
	l.store.sync()
	l.store.dieIn = 1 + l.random.IntN(l.span)
	for k, obj := range l.store.cache {
		l.news(k, nil, obj)
	}
}

func (l *life) news(k key, before, after client.Object) {
	switch obj := after.(type) {
	case *metalv1.Server:
		l.r.serverChanged(l.t.Context(), before, obj, l.queue)
	default:
		l.queue.Add(reconcile.Request{NamespacedName: types.NamespacedName{Namespace: k.namespace, Name: k.name}})
	}
}

// run goes on until nothing is left to do. The last lives are long enough for that.
func (l *life) run(kills int) {
	for l.start(); ; l.steps++ {
		if l.store.dieIn == 0 {
			l.start()
		}
		if l.lives > kills {
			l.store.dieIn, l.store.unreliable = -1, 0
		}
		switch choice := l.random.IntN(10); {
		case choice < 5 && len(l.store.news) > 0:
			l.news(l.store.hear())
		case choice < 8 && l.queue.Len() > 0:
			l.reconcile()
		case choice == 8:
			l.match()
		case choice == 9 && l.random.IntN(20) == 0 && l.lives <= kills:
			l.store.touch(fmt.Sprintf("s%03d", l.random.IntN(100)))
		case choice == 9 && l.others.act(l):
		case len(l.store.news) == 0 && l.queue.Len() == 0 && !l.match() && l.queue.Len() == 0 && !l.others.act(l):
			return
		}
	}
}

func (l *life) match() bool {
	concerned := l.r.matcher.match()
	for _, name := range concerned {
		l.queue.Add(reconcile.Request{NamespacedName: name})
	}
	return len(concerned) > 0
}

func (l *life) reconcile() {
	req, _ := l.queue.Get()
	result, err := l.r.Reconcile(l.t.Context(), req)
	l.queue.Done(req)
	if err != nil || result.RequeueAfter > 0 && result.RequeueAfter < time.Second {
		l.queue.Add(req)
	}
}

// check counts what is true in the end: no server twice, no claim with two, each claim and its server of one mind, and
// nobody waiting whom a free server would fit.
func (l *life) check() (bound int) {
	servers, claims := map[string]*metalv1.Server{}, []*metalv1.ServerClaim{}
	has := map[types.UID]string{}
	for _, obj := range l.store.truth {
		switch o := obj.(type) {
		case *metalv1.ServerClaim:
			claims = append(claims, o)
		case *metalv1.Server:
			servers[o.Name] = o
			owner := types.UID(o.Annotations[metalv1.AnnotationClaimedBy])
			if other := has[owner]; owner != "" && other != "" && o.Spec.ServerClaimRef != nil {
				l.t.Errorf("%s has %s and %s", owner, other, o.Name)
			}
			if o.Spec.ServerClaimRef != nil {
				has[owner] = o.Name
			}
		}
	}
	for _, c := range claims {
		name := has[c.UID]
		named := ""
		if c.Spec.ServerRef != nil {
			named = c.Spec.ServerRef.Name
		}
		if name != named || (c.Status.Phase == metalv1.ServerClaimPhaseBound) != (name != "") {
			l.t.Errorf("claim %s names %q, has %q and is %s", c.Name, named, name, c.Status.Phase)
		}
		if name != "" {
			bound++
			continue
		}
		if len(c.Status.Conditions) == 0 {
			l.t.Errorf("claim %s waits and does not say why", c.Name)
		}
		for _, s := range servers {
			if allocator.Fits(c, s) {
				l.t.Errorf("claim %s waits and %s would fit", c.Name, s.Name)
			}
		}
	}
	return bound
}

func (l *life) add(servers, claims int, change func(*rand.Rand, *metalv1.Server, *metalv1.ServerClaim)) {
	for i := range max(servers, claims) {
		s, c := free(fmt.Sprintf("s%03d", i)), newClaim(fmt.Sprintf("c%04d", i))
		c.UID, c.CreationTimestamp = types.UID("uid-"+c.Name), metav1.NewTime(controllertest.Start.Add(time.Duration(i)*time.Second))
		change(l.random, s, c)
		if i < servers {
			l.store.put(s)
		}
		if i < claims {
			l.store.put(c)
		}
	}
}

// seeds are n that are the same each time, and a new one.
func seeds(t *testing.T, n uint64) []uint64 {
	t.Helper()
	var all []uint64
	for i := range n {
		all = append(all, i)
	}
	return append(all, seed.New(t))
}

// TestExactlyAllServersAreBound: 1,000 claims, 500 servers, a manager that is killed at random.
func TestExactlyAllServersAreBound(t *testing.T) {
	for _, seed := range seeds(t, 2) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			l := newLife(t, seed, 800)
			l.add(500, 1000, func(*rand.Rand, *metalv1.Server, *metalv1.ServerClaim) {})
			l.run(8)
			if bound := l.check(); bound != 500 {
				t.Errorf("%d are bound", bound)
			}
			for _, kind := range []string{"*v1alpha1.Server", "*v1alpha1.ServerClaim", "*v1alpha1.ServerBootConfiguration"} {
				if l.store.writes[kind] != 500 {
					t.Errorf("500 servers were taken by %d writes of %s", l.store.writes[kind], kind)
				}
			}
			t.Logf("%d steps, %d lives, writes %v", l.steps, l.lives, l.store.writes)
		})
	}
}

// TestRandomSelectorsUnderKills: none twice, none left that a free server would fit.
func TestRandomSelectorsUnderKills(t *testing.T) {
	values := []string{"1", "2", "3", "4"}
	for _, seed := range seeds(t, 10) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			l := newLife(t, seed, 100)
			l.add(100, 160, func(random *rand.Rand, s *metalv1.Server, c *metalv1.ServerClaim) {
				pick := func() string { return values[random.IntN(len(values))] }
				s.Labels = map[string]string{"size": pick(), "zone": pick()}
				if random.IntN(5) == 0 {
					s.Spec.Taints = []metalv1.Taint{{Key: "k"}}
				}
				if random.IntN(4) == 0 {
					c.Spec.Tolerations = []metalv1.Toleration{{Key: "k", Operator: metalv1.TolerationOpExists}}
				}
				switch c.Spec.ServerSelector = (&metav1.LabelSelector{}); random.IntN(5) {
				case 0:
					c.Spec.ServerSelector.MatchLabels = map[string]string{"size": pick(), "zone": pick()}
				case 1:
					c.Spec.ServerSelector.MatchLabels = map[string]string{"size": pick()}
				case 2:
					c.Spec.ServerSelector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "zone", Operator: metav1.LabelSelectorOpNotIn, Values: []string{pick(), pick()}}}
				case 3:
					c.Spec.ServerRef = &metalv1.LocalObjectReference{Name: fmt.Sprintf("s%03d", random.IntN(100))}
				}
			})
			l.run(6)
			bound := l.checkNamed()
			t.Logf("%d of 160 bound in %d steps, %d lives", bound, l.steps, l.lives)
		})
	}
}

// checkNamed is check where claims may name a server that they do not get.
func (l *life) checkNamed() int {
	for k, obj := range l.store.truth {
		if c, ok := obj.(*metalv1.ServerClaim); ok && c.Status.Phase == metalv1.ServerClaimPhaseUnbound && c.Spec.ServerRef != nil {
			for _, other := range l.store.truth {
				if s, ok := other.(*metalv1.Server); ok && (allocator.Fits(c, s) || s.Annotations[metalv1.AnnotationClaimedBy] == string(c.UID)) {
					l.t.Errorf("claim %s waits for %s, and %s is free or its own", c.Name, c.Spec.ServerRef.Name, s.Name)
				}
			}
			delete(l.store.truth, k)
		}
	}
	return l.check()
}
