// Package readiness keeps claims away from servers that are not what a ServerReadinessRule asks for, by
// the taint of the rule.
//
// Two controllers share the work. Servers (servers.go) looks at one Server and all rules, and writes
// the taints that follow (decide.go, pure) in one patch; it is woken by a condition, a label or a taint that
// has changed, and by rules. Rules (rules.go) keeps a rule that is being deleted until its taint has gone
// from every Server, and says in status how many servers it keeps claims away from.
//
// A rule owns its taint on the servers that it selects: it takes the taint away when the
// conditions hold, whoever put it there. Elsewhere only what rules have put on a server is taken away,
// which the annotation farrier.dev/readiness-taints remembers.
package readiness
