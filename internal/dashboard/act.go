package dashboard

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metalv1 "github.com/farrier-dev/farrier/api/metal/v1alpha1"
	"github.com/farrier-dev/farrier/internal/dashboard/page"
	"github.com/farrier-dev/farrier/internal/verb"
)

const (
	// maxActs is how many acts with several steps go on in the background, and actTimeout how long each may take.
	maxActs    = 16
	actTimeout = 30 * time.Minute
)

// target is what a form is about.
type target struct {
	verb.Target
	form url.Values
}

// verbs are what forms ask for: POST /dashboard/servers/NAME/VERB and /dashboard/claims/NAMESPACE/NAME/VERB.
var verbs = map[string]func(context.Context, target) ([]verb.Order, error){
	"power-on": func(ctx context.Context, t target) ([]verb.Order, error) {
		return verb.Power(ctx, t.Target, metalv1.PowerOn)
	},
	"power-off": func(ctx context.Context, t target) ([]verb.Order, error) {
		return verb.Power(ctx, t.Target, metalv1.PowerOff)
	},
	"force-off": func(ctx context.Context, t target) ([]verb.Order, error) { return verb.ForceOff(ctx, t.Target) },
	"cycle": func(ctx context.Context, t target) ([]verb.Order, error) {
		return verb.Reset(ctx, t.Target, metalv1.OperationPowerCycleServer, "power cycle")
	},
	"reset": func(ctx context.Context, t target) ([]verb.Order, error) {
		return verb.Reset(ctx, t.Target, metalv1.OperationHardRestartServer, "power reset")
	},
	"restart": func(ctx context.Context, t target) ([]verb.Order, error) {
		return verb.Reset(ctx, t.Target, metalv1.OperationGracefulRestartServer, "power reset")
	},
	"release": func(ctx context.Context, t target) ([]verb.Order, error) { return verb.Release(ctx, t.Target) },
}

// serverVerbs are those that are about a Server alone.
var serverVerbs = map[string]func(context.Context, target) ([]verb.Order, error){
	"park":     func(ctx context.Context, t target) ([]verb.Order, error) { return verb.Park(ctx, t.Target) },
	"unpark":   func(ctx context.Context, t target) ([]verb.Order, error) { return verb.Unpark(ctx, t.Target) },
	"cordon":   func(ctx context.Context, t target) ([]verb.Order, error) { return verb.Cordon(ctx, t.Target, true) },
	"uncordon": func(ctx context.Context, t target) ([]verb.Order, error) { return verb.Cordon(ctx, t.Target, false) },
	"wipe": func(ctx context.Context, t target) ([]verb.Order, error) {
		return verb.Wipe(ctx, t.Target, t.form.Get("mode"))
	},
	"maintain": maintain,
	"end-maintenance": func(ctx context.Context, t target) ([]verb.Order, error) {
		return verb.EndMaintenance(ctx, t.Target)
	},
}

func maintain(ctx context.Context, t target) ([]verb.Order, error) {
	m := verb.Maintaining{Reason: strings.TrimSpace(t.form.Get("reason")), Policy: metalv1.ServerMaintenancePolicyOwnerApproval, Power: metalv1.Power(t.form.Get("power"))}
	if t.form.Get("policy") != "" {
		m.Policy = metalv1.ServerMaintenancePolicy(t.form.Get("policy"))
	}
	return verb.Maintain(ctx, t.Target, m)
}

// claiming is the claim that a form asks for.
func claiming(api client.Client, form url.Values) (verb.Claiming, error) {
	c := verb.Claiming{
		API: api, Namespace: namespaceOf(form), Name: strings.TrimSpace(form.Get("name")), Image: strings.TrimSpace(form.Get("image")),
		Power: metalv1.PowerOn, Server: strings.TrimSpace(form.Get("server")), Ignition: []byte(form.Get("ignition")), IgnitionFile: "FILE",
		Butane: form.Get("format") == "butane", Once: form.Get("once") != "",
	}
	if form.Get("power") != "" {
		c.Power = metalv1.Power(form.Get("power"))
	}
	if c.Name == "" {
		return c, &badForm{"name: a claim needs one"}
	}
	if text := strings.TrimSpace(form.Get("selector")); text != "" {
		selector, err := metav1.ParseToLabelSelector(text)
		if err != nil {
			return c, &badForm{"selector: " + err.Error()}
		}
		c.Selector = selector
	}
	return c, nil
}

func namespaceOf(form url.Values) string {
	if namespace := strings.TrimSpace(form.Get("namespace")); namespace != "" {
		return namespace
	}
	return metav1.NamespaceDefault
}

// badForm says what is wrong with a form.
type badForm struct{ text string }

func (b *badForm) Error() string { return b.text }

// refusal is an order that no object can carry out now, and why.
type refusal struct{ error }

func (r *refusal) Unwrap() error { return r.error }

// client returns one that acts as the person of a session: with their token, or in their name where a certificate has proved who they are.
func (d *Dashboard) client(s *session) (client.Client, error) {
	config := rest.CopyConfig(d.Config)
	if s.token != "" {
		config = rest.AnonymousClientConfig(d.Config)
		config.BearerToken = s.token
	} else {
		config.Impersonate = rest.ImpersonationConfig{UserName: s.user.Username, UID: s.user.UID, Groups: s.user.Groups, Extra: map[string][]string{}}
		for key, values := range s.user.Extra {
			config.Impersonate.Extra[key] = values
		}
	}
	config.Timeout = pageTimeout
	return client.New(config, client.Options{Scheme: d.API.Scheme(), Mapper: d.API.RESTMapper()})
}

// act carries out what a form asks for, and returns to the page that it is about.
func (d *Dashboard) act(w http.ResponseWriter, r *http.Request, s *session) {
	back, orders, err := d.orders(r, s)
	if err == nil {
		err = d.acts.run(r.Context(), s, orders)
	}
	if err != nil {
		d.write(w, r, s, d.refused(s, err))
		return
	}
	http.Redirect(w, r, back, http.StatusSeeOther)
}

// refused is the page of an act that did not come about.
func (d *Dashboard) refused(s *session, err error) page.View {
	var form *badForm
	var order *refusal
	switch {
	case errors.As(err, &form):
		return page.Failure(http.StatusBadRequest, form.text)
	case apierrors.IsForbidden(err) && s.token == "":
		return page.Failure(http.StatusForbidden, err.Error()+". Farrier acts in your name, because a certificate has proved it; if it may not impersonate anybody, sign in with a token.")
	case errors.As(err, &order) && !isStatus(err) && !isSilence(err):
		return page.Failure(http.StatusConflict, err.Error())
	}
	return d.failure(err)
}

// isStatus reports whether an error is an answer of the Kubernetes API.
func isStatus(err error) bool {
	var reported apierrors.APIStatus
	return errors.As(err, &reported)
}

// orders finds out what a form asks for, and which page it is about.
func (d *Dashboard) orders(r *http.Request, s *session) (back string, orders []verb.Order, err error) {
	api, err := d.client(s)
	if err != nil {
		return "", nil, err
	}
	parts := strings.Split(strings.TrimPrefix(r.URL.Path, root), "/")
	t := target{verb.Target{API: api}, r.PostForm}
	var do func(context.Context, target) ([]verb.Order, error)
	switch {
	case len(parts) == 1 && parts[0] == "claims":
		c, err := claiming(api, r.PostForm)
		c.Labels = maps.Clone(d.Labels)
		return root + "claims/" + url.PathEscape(c.Namespace) + "/" + url.PathEscape(c.Name), verb.Claim(c), err
	case len(parts) == 3 && parts[0] == "servers":
		t.Server, t.Namespace = parts[1], namespaceOf(r.PostForm)
		if do = verbs[parts[2]]; do == nil {
			do = serverVerbs[parts[2]]
		}
	case len(parts) == 4 && parts[0] == "claims":
		t.Namespace, t.Claim = parts[1], parts[2]
		do = verbs[parts[3]]
	}
	if do == nil {
		return "", nil, page.ErrNotFound
	}
	if orders, err = do(r.Context(), t); err != nil {
		return "", nil, &refusal{err}
	}
	return d.back(t), orders, nil
}

// back is the page that a form was about.
func (d *Dashboard) back(t target) string {
	if t.Claim != "" {
		return root + "claims/" + url.PathEscape(t.Namespace) + "/" + url.PathEscape(t.Claim)
	}
	return root + "servers/" + url.PathEscape(t.Server)
}

// acts are those that go on after their form was answered.
type acts struct {
	dashboard *Dashboard
	going     sync.WaitGroup
	room      chan struct{}

	mu  sync.Mutex
	ctx context.Context //nolint:containedctx // that of the run: what goes on in the background ends with it
}

func newActs(d *Dashboard) *acts { return &acts{dashboard: d, room: make(chan struct{}, maxActs)} }

// follow has acts end with a context.
func (a *acts) follow(ctx context.Context) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ctx = ctx
}

func (a *acts) wait() { a.going.Wait() }

// run carries out orders. The page shows by itself how the last one comes about; where others have to come about before it, that goes on in
// the background.
func (a *acts) run(ctx context.Context, s *session, orders []verb.Order) error {
	runner := verb.Runner{Out: discard{}, Progress: discard{}, NoWait: true, Timeout: actTimeout, Clock: a.dashboard.Clock}
	if !waits(orders) {
		if err := runner.Run(ctx, orders...); err != nil {
			return err
		}
		s.tell("Done: "+said(orders), false)
		return nil
	}
	a.mu.Lock()
	running := a.ctx
	a.mu.Unlock()
	select {
	case a.room <- struct{}{}:
	default:
		return &refusal{errors.New("many acts are under way: try again when some of them have come about")}
	}
	if running == nil || running.Err() != nil {
		<-a.room
		return &silent{errors.New("Farrier stops")}
	}
	if err := orders[0].Write(ctx); err != nil {
		<-a.room
		return err
	}
	orders[0].Write = func(context.Context) error { return nil }
	s.tell("Begun. It goes on in the background.", false)
	a.going.Go(func() {
		defer func() { <-a.room }()
		ctx, cancel := context.WithTimeout(running, actTimeout)
		defer cancel()
		if err := runner.Run(ctx, orders...); err != nil {
			s.tell(fmt.Sprintf("What was begun has not come about: %v", err), true)
		}
	})
	return nil
}

// waits reports whether an order waits for one before it.
func waits(orders []verb.Order) bool {
	for _, o := range orders[:len(orders)-1] {
		if o.Look != nil {
			return true
		}
	}
	return false
}

// said is what was written, as the commands that write the same.
func said(orders []verb.Order) string {
	var commands []string
	for _, o := range orders {
		for _, command := range o.Kubectl {
			first, _, _ := strings.Cut(command, "\n")
			commands = append(commands, first)
		}
	}
	return strings.Join(commands, "; ")
}

// discard is where a person would read what comes about: the page shows it.
type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }
