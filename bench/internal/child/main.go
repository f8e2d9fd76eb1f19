package child

import (
	"context"
	"fmt"
	"os"
	"os/signal"
)

// Roles are what a benchmark's processes can be, by name.
type Roles map[string]func(context.Context) error

// Main is a benchmark's main function: the role that this process was started in, or, if in none, the whole of it. It
// ends with an interrupt, and an error ends the process with 1 and the benchmark's name before it.
func Main(name string, roles Roles, whole func(context.Context) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	do, role := whole, os.Getenv(roleVariable)
	if role != "" {
		if do = roles[role]; do == nil {
			do = func(context.Context) error { return fmt.Errorf("%s=%q: there is no such role", roleVariable, role) }
		}
	}
	if err := do(ctx); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}
