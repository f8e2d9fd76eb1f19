// Package childset keeps one child for each target of a Set: BIOSSettings for each Server that a BIOSSettingsSet selects, and so on for every row
// of the table in kinds.go. There is one engine; a kind of Set is a row.
//
// Two controllers share the work of a kind:
//
//   - Targets (targets.go) looks at one target, with all Sets of the kind and the children that the target has (view.go). It decides (decide.go,
//     pure) which child is created, brought to its template, removed or left alone, and writes that (act.go). So the change of one Server costs
//     the work for one Server, however large the fleet is.
//   - Sets (sets.go) looks at one Set: its finalizer, its operations (operations.go), its deletion, and the counters of its status
//     (status.go). It counts no more than once in some seconds, because every child of a Set changes its state several times.
//
// What a Set would do before anybody has applied it is decided by the same code, in memory (forecast.go).
//
// Rules that both keep to:
//
//   - A child belongs to the Set that controls it by UID. Nobody adopts a child, and nobody overwrites that of another Set or of a person: the
//     target is then taken, which the condition of the Set says.
//   - Of several Sets that select one target the oldest makes the child.
//   - What is in progress is not disturbed: a new template and the removal of an orphan wait, unless an operation allows them.
//   - The name of a child follows from Set and target (names.go), so a create that is repeated finds what the first one made.
//
// # Adding a kind of Set
//
// Its types in api/metal/v1alpha1, a row in kinds.go or versions.go, the indexes of its child in internal/controller/index, a line in cachedKinds of
// internal/system, and one in the kinds of internal/cli/manifest.
package childset
