package admission

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipxev1 "github.com/farrier-dev/farrier/api/ipxe/v1alpha1"
	"github.com/farrier-dev/farrier/internal/controller/index"
)

// profileInUse tells whoever deletes a Profile how many Assignments have it: their machines are given nothing else, and wait.
func profileInUse(ctx context.Context, c *check, _, before *ipxev1.Profile) error {
	users, err := c.users(ctx, before)
	if err != nil || len(users) == 0 {
		return err
	}
	shown := users[:min(len(users), maxNamed)]
	text := make([]string, 0, maxNamed)
	for _, user := range shown {
		text = append(text, fmt.Sprintf("%q", user.Name))
	}
	names := strings.Join(text, ", ")
	if more := len(users) - len(shown); more > 0 {
		names += fmt.Sprintf(" and %d more", more)
	}
	c.warn(field.NewPath("metadata", "name"), "Assignments that use this Profile: %d (%s); their machines wait until they have a Profile again", len(users), names)
	return nil
}

// users are the Assignments that have a Profile, by name. Those that will be named are read from the API first; the others are as the cache has them.
func (c *check) users(ctx context.Context, profile *ipxev1.Profile) ([]types.NamespacedName, error) {
	has := func(a *ipxev1.Assignment) bool {
		return a.DeletionTimestamp == nil && (a.Spec.ProfileName == profile.Name || a.Spec.ProfileName == "" && index.Selects(a, profile))
	}
	var found []types.NamespacedName
	for _, value := range index.Uses(profile) {
		var list ipxev1.AssignmentList
		if err := c.Cached.List(ctx, &list, client.MatchingFields{index.AssignmentByProfile: value}, client.UnsafeDisableDeepCopy); err != nil {
			return nil, fmt.Errorf("find Assignments of a Profile: %w", err)
		}
		for i := range list.Items {
			if has(&list.Items[i]) {
				found = append(found, client.ObjectKeyFromObject(&list.Items[i]))
			}
		}
		found = append(found, c.recent.holders(held{ipxe("Assignment"), index.AssignmentByProfile, value})...)
	}
	slices.SortFunc(found, func(a, b types.NamespacedName) int { return strings.Compare(a.Name, b.Name) })
	found = slices.Compact(found)

	for i, read := 0, 0; i < min(len(found), maxNamed) && read < maxConfirmed; read++ {
		var a ipxev1.Assignment
		exists, err := c.live(ctx, found[i], &a)
		if err != nil {
			return nil, err
		}
		if exists && has(&a) {
			i++
		} else {
			found = slices.Delete(found, i, i+1)
		}
	}
	return found, nil
}
