package fleet

import (
	"context"

	"github.com/farrier-dev/farrier/internal/bmc"
)

// Services is what else a BMC can be asked for. *bmc.Client has all of it; a client of a
// test that has not fails what needs it as unsupported.
type Services interface {
	SetIndicator(ctx context.Context, s bmc.System, to bmc.Indicator) error
	SetBootOrder(ctx context.Context, s bmc.System, order []string) error
	ResetManager(ctx context.Context, t bmc.ResetType) (bmc.ResetType, error)

	Accounts(ctx context.Context) ([]bmc.Account, error)
	FindAccount(ctx context.Context, username string) (bmc.Account, bool, error)
	CreateAccount(ctx context.Context, spec bmc.AccountSpec) (bmc.Account, error)
	SetPassword(ctx context.Context, a bmc.Account, password bmc.Secret) error
	SetAccount(ctx context.Context, a bmc.Account, password bmc.Secret) error
	DeleteAccount(ctx context.Context, a bmc.Account) error
	Roles(ctx context.Context) ([]string, error)
	LogsInAs(ctx context.Context, username string) bool
	PasswordRules(ctx context.Context) (bmc.PasswordRules, error)
	Verify(ctx context.Context, credentials bmc.Credentials) error

	BIOS(ctx context.Context, systemURI string) (bmc.BIOS, error)
	PendingBIOS(ctx context.Context, b bmc.BIOS) (map[string]any, error)
	AttributeRegistry(ctx context.Context, name string) (bmc.AttributeRegistry, error)
	SetBIOS(ctx context.Context, b bmc.BIOS, change map[string]any, applyTime string) (bmc.Task, error)
	ResetBIOS(ctx context.Context, b bmc.BIOS) error

	ManagerAttributes(ctx context.Context) (bmc.ManagerAttributes, error)
	SetManagerAttributes(ctx context.Context, m bmc.ManagerAttributes, change map[string]any) ([]bmc.Task, error)

	System(ctx context.Context, uri string) (bmc.System, error)
	Manager(ctx context.Context) (bmc.Manager, error)
	Document(ctx context.Context, uri string) (bmc.Document, error)
	SendDocument(ctx context.Context, method string, d bmc.Document, body map[string]any) (bmc.Task, error)

	SimpleUpdate(ctx context.Context, u bmc.Update) (bmc.Task, error)
	UpdateService(ctx context.Context) (bmc.UpdateService, error)
	PushUpdate(ctx context.Context, s bmc.UpdateService, u bmc.Update, image bmc.Image) (bmc.Task, error)
	Task(ctx context.Context, uri string) (bmc.Task, error)
	Tasks(ctx context.Context) ([]bmc.Task, error)
	Firmware(ctx context.Context) ([]bmc.Firmware, error)
	Banks(ctx context.Context, systemURI string) (bmc.Banks, error)
	UseBank(ctx context.Context, b bmc.Banks, bank bmc.Bank) error

	Subscribe(ctx context.Context, s bmc.Subscription) (bmc.Subscription, error)
	Subscriptions(ctx context.Context, mine func(destination string) bool) ([]bmc.Subscription, error)
	Unsubscribe(ctx context.Context, s bmc.Subscription) error

	Log(ctx context.Context, of string, limit int) ([]bmc.LogEntry, error)
}

var _ Services = (*bmc.Client)(nil)

// noServices stands for a client that has none.
var noServices = &bmc.Error{Kind: bmc.KindUnsupported, Op: "use a service", Message: "the client of this BMC has no such function"}

func (a *actor) services() (Services, error) {
	s, ok := a.client.(Services)
	if !ok {
		return nil, noServices
	}
	return s, nil
}

// uses reports whether the client works with these credentials already, because a job changed
// the password through it.
func (a *actor) uses(ctx context.Context, c bmc.Credentials) bool {
	u, ok := a.client.(interface {
		Uses(context.Context, bmc.Credentials) bool
	})
	return ok && u.Uses(ctx, c)
}
